"""Every notebook runs, and shows what it was committed with

Each runs in a process of its own, forked from a server that has imported the heavy libraries. `PAGES=package` puts the installed
package in place of the exported cells, and the notebook alone into an empty folder, as on Colab; slow cells run with `PAGES_SLOW=1`,
those that need data only if `TRANSFER_METRICS_DATA` names the folder."""
import ast
import gc
import os
import re
import shutil
import warnings
from concurrent.futures import ProcessPoolExecutor
from math import isclose
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
import matplotlib.pyplot as plt
import pytest
import torch
from execnb.shell import CaptureShell
from fastcore.nbio import read_nb
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.test import nb_test_cells

cfg = get_config(Path(__file__).parent)
package,slow = os.environ.get('PAGES')=='package',os.environ.get('PAGES_SLOW')=='1'
paths = {p.relative_to(cfg.nbs_path).with_suffix('').as_posix(): p for p in sorted(nbglob(cfg.nbs_path, as_path=True))}
server = get_context('forkserver')
libraries = 'torch torchvision pandas.io.formats.style scipy.stats sklearn.datasets sklearn.linear_model matplotlib.pyplot ot nbdev.test'
server.set_forkserver_preload(f'{libraries} IPython.core.magics.execution matplotlib_inline.backend_inline'.split())
float_re = re.compile(r'[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(?:e[-+]?\d+)?', re.I)
noise_re = re.compile(r' at 0x[0-9a-f]+|\bT_[0-9a-f]{5}') # memory addresses, ids of styled frames

def imported(source, module):
    "An exported cell with its definitions imported from the package"
    body = ast.parse(source).body
    defined = [o.name for o in body if isinstance(o, (ast.FunctionDef,ast.ClassDef))]
    targets = [t for o in body if isinstance(o, (ast.Assign,ast.AnnAssign)) for t in getattr(o, 'targets', [getattr(o, 'target', o)])]
    names = defined+[n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    kept = [ast.unparse(o) for o in body if isinstance(o, (ast.Import,ast.ImportFrom))]
    return '\n'.join(kept+[f'from {module} import {k}' for k in names])

def execute(path):
    "The tested cells of a notebook with their outputs, and the traceback if one fails"
    gc.freeze()
    nb = read_nb(path)
    runs_slow = slow and ('TRANSFER_METRICS_DATA' in os.environ or 'TRANSFER_METRICS_DATA' not in path.read_text('utf-8'))
    tested = {c.id for c in nb_test_cells(path, [] if runs_slow else cfg.tst_flags.split())}
    cells = [c for c in nb.cells if c.id in tested]
    module = next((c.directives['default_exp'] for c in nb.cells if 'default_exp' in c.directives), None)
    for c in cells:
        if package and 'export' in c.directives: c.source = imported(c.source, f'{cfg.lib_path.name}.{module}')
    with TemporaryDirectory() as folder:
        place = Path(shutil.copy(path, folder)) if package else path
        os.chdir(place.parent)
        shell = CaptureShell(place, mpl_format='png')
        plt.uninstall_repl_displayhook()
        warnings.simplefilter('error')
        warnings.filterwarnings('ignore', category=DeprecationWarning,
                                module=f'(?!__main__|{cfg.lib_path.name})') # of other libraries
        torch.manual_seed(0)
        for c in cells:
            shell.cell(c, timeout=900 if slow else 300)
            if shell.exc: return [],shell.prettytb(path)
        os.chdir('/')
    return [(c.id, c.source, c.outputs) for c in cells],None

def shown(outputs):
    "What a reader sees: text of every kind, and that there is a figure"
    res = []
    for o in outputs:
        data = o.get('data', {})
        if any(k.startswith('image/') for k in data): res.append('<figure>')
        elif o.output_type=='stream': res += [''.join(o.text)] if o.name=='stdout' else []
        else: res += [''.join(data[k]) for k in sorted(data) if k.startswith('text/')]
    return [' '.join(noise_re.sub('', s).split()) for s in res]

def same(a, b):
    "Whether texts agree, and their floats to three significant digits"
    fa,fb = ([float(x) for x in float_re.findall(s)] for s in (a,b))
    return float_re.sub('#', a)==float_re.sub('#', b) and all(isclose(x, y, rel_tol=1e-3, abs_tol=1e-12) for x,
                                                              y in zip(fa, fb, strict=True))

@pytest.mark.parametrize('name', paths)
def test_notebook(name):
    for module in re.findall(r'#\| needs: (\w+)', paths[name].read_text('utf-8')): pytest.importorskip(module)
    with ProcessPoolExecutor(1, mp_context=server) as ex: cells,traceback = ex.submit(execute, paths[name]).result()
    if traceback: pytest.fail(traceback, pytrace=False)
    committed = {c.id: c.outputs for c in read_nb(paths[name]).cells if c.cell_type=='code'}
    stale = []
    for i,source,outputs in cells:
        if package and 'interactive' in source: continue # the file is not in the empty folder
        if '#| slow' in source: continue # networks that another processor trains differ; the assertions must hold
        new,old = shown(outputs),shown(committed[i])
        if len(new)!=len(old) or not all(map(same, new, old)):
            stale.append(f'cell {i}\n{source}\ncommitted: {old}\nnow:       {new}')
    if stale: pytest.fail('\n\n'.join(['stale outputs', *stale]), pytrace=False)
