"""Every notebook runs as it is, showing what it was committed with, and with the installed package in place of its exported cells.
Each run is a process of its own, forked from a server that has imported the heavy libraries: nothing leaks from one notebook
into the next (registry, patches, rcParams, seeds), at 0.1 s a notebook where a fresh interpreter takes 5 s."""
import ast, gc, os, re, shutil, warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import isclose
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
import matplotlib.pyplot as plt
import pytest
import torch
from execnb.shell import CaptureShell
from fastcore.basics import AttrDict
from fastcore.nbio import read_nb
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.test import nb_test_cells

cfg = get_config(Path(__file__).parent)
SEED = int(os.environ.get('PAGE_SEED', 0))  # of torch's own generator; pages hold for any, and each run shows the same
paths = {p.relative_to(cfg.nbs_path).with_suffix('').as_posix(): p for p in sorted(nbglob(cfg.nbs_path, as_path=True))}
server = get_context('forkserver')
libraries = 'torch torchvision pandas.io.formats.style scipy.stats sklearn.datasets sklearn.linear_model matplotlib.pyplot ot hypothesis nbdev.test'
shells_own = 'IPython.core.magics.execution matplotlib_inline.backend_inline sqlite3'
server.set_forkserver_preload(f'{libraries} {shells_own}'.split())
float_re = re.compile(r'[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(?:e[-+]?\d+)?', re.I)
noise_re = re.compile(r' at 0x[0-9a-f]+|\bT_[0-9a-f]{5}')  # memory addresses, ids of styled frames

def default_exp(nb):
    "Full name of the module that `nb` exports to, None if it exports to none"
    return next((f"{cfg.lib_path.name}.{d['default_exp']}" for d in (c.directives for c in nb.cells) if 'default_exp' in d), None)

def defined(o):
    "Names that the statement `o` defines in its module; `@patch` leaves none"
    if isinstance(o, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [] if {ast.unparse(d).split('(')[0] for d in o.decorator_list} & {'patch', 'patch_to'} else [o.name]
    targets = o.targets if isinstance(o, ast.Assign) else [o.target] if isinstance(o, ast.AnnAssign) else []
    return [t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)]

def imported(src, mod):
    "The exported cell `src` with its imports (also those under `if` or `try`) kept and all else imported from `mod`"
    body = ast.parse(src).body
    keep = [ast.unparse(o) for o in body if isinstance(o, (ast.Import, ast.ImportFrom, ast.If, ast.Try))]
    return '\n'.join(keep + [f'from {mod} import {nm}' for o in body for nm in defined(o)])

def execute(path, package):
    "As `executed`; with the package the notebook lies alone in a folder, as on Colab, without the rest of the project"
    if not package: return executed(path, package, path)
    with TemporaryDirectory() as d: return executed(path, package, Path(shutil.copy(path, d)))

def executed(path, package, place):
    "The tested cells of the notebook at `path`, as `(id, source, outputs)`, and the traceback if one fails, run at `place`"
    gc.freeze()  # collections pass over what the server has imported, half a million objects
    nb,tested = read_nb(path),{c.id for c in nb_test_cells(path, cfg.tst_flags.split())}
    cells = [c for c in nb.cells if c.id in tested]
    for c in cells if package else []:
        if ks := c.directives.keys() & {'export', 'exports', 'exporti'}:
            to = c.directives[ks.pop()]
            c.source = imported(c.source, f'{cfg.lib_path.name}.{to}' if to else default_exp(nb))
    os.chdir(place.parent)
    shell = CaptureShell(place, mpl_format='png')  # only that there is a figure is compared, not how fine it is
    plt.uninstall_repl_displayhook()  # figures are drawn as they are shown; pyplot would draw each before that as well
    for k in ['set_matplotlib_formats', 'sys']: shell.user_ns.pop(k)  # this shell's own; readers' shells do not have them
    warnings.simplefilter('error')
    warnings.filterwarnings('ignore', category=DeprecationWarning, module=f'(?!__main__|{cfg.lib_path.name})')  # between other libraries
    warnings.filterwarnings('ignore', category=FutureWarning, module='torch.storage')  # torch 2.4, at what it does itself
    torch.manual_seed(SEED)  # in a reader's process it is another one each time
    for c in cells:
        shell.cell(c, timeout=300)
        if shell.exc: return [], shell.prettytb(path)
    return [(c.id, c.source, c.outputs) for c in cells], None

def run(path, package):
    for k in re.findall(r'#\| needs: (\w+)', path.read_text('utf-8')): pytest.importorskip(k)  # of an extra, see settings.ini
    with ProcessPoolExecutor(1, mp_context=server) as ex: cells,tb = ex.submit(execute, path, package).result()
    if tb: pytest.fail(tb, pytrace=False)
    return cells

def shown(outputs):
    "What the reader sees of `outputs`: text of every kind, figures by presence; not stderr, where progress bars go"
    res = []
    for o in outputs:
        data = o.get('data', {})
        if any(k.startswith('image/') for k in data): res.append('<figure>')
        elif o.output_type=='stream': res += [''.join(o.text)] if o.name=='stdout' else []
        else: res += [''.join(data[k]) for k in sorted(data) if k.startswith('text/')]
    return [' '.join(noise_re.sub('', s).split()) for s in res]

def same(a, b):
    "Do texts `a` and `b` agree, floats to three significant digits?"
    fa,fb = ([float(x) for x in float_re.findall(s)] for s in (a, b))
    return float_re.sub('#', a)==float_re.sub('#', b) and all(map(partial(isclose, rel_tol=1e-3, abs_tol=1e-12), fa, fb))

def stale(cells, committed):
    "What to tell of the `cells` whose outputs are not the `committed` ones"
    for i,src,outs in cells:
        new,old = shown(outs),shown(committed[i])
        if len(new)!=len(old) or not all(map(same, new, old)): yield f'cell {i}\n{src}\ncommitted: {old}\nnow:       {new}'

def shows_the_same(name, package):
    "The notebook runs, and shows what it was committed with"
    committed = {c.id: c.outputs for c in read_nb(paths[name]).cells if c.cell_type=='code'}
    msgs = list(stale(run(paths[name], package), committed))
    if msgs: pytest.fail('\n\n'.join(['stale outputs', *msgs]), pytrace=False)

@pytest.mark.parametrize('name', paths)
def test_as_it_is(name): shows_the_same(name, package=False)

# Every process imports this file, so that it does not parse 150 notebooks here
exporting = [k for k,p in paths.items() if b'"#| default_exp ' in p.read_bytes()]

# With the package in place of its source, which is the same text (`test_in_sync`): not by default, but in `.ci/run` where
# it counts as another processor, and in the jobs of other versions, which may print otherwise.
@pytest.mark.package
@pytest.mark.parametrize('name', exporting)
def test_with_package(name): run(paths[name], package=True)

@pytest.mark.package
@pytest.mark.parametrize('name', paths)
def test_shown_with_package(name): shows_the_same(name, package=True)

def test_exporting():
    "None is left out"
    assert exporting==[k for k,p in paths.items() if default_exp(read_nb(p))]

def test_comparison():
    "The comparison above is itself compared"
    for a,b in [('0.6474 [1e-3]', '0.6471 [0.001]'), ('-0.0', '2e-17'), ('12.345', '12.3456')]: assert same(a, b)
    for a,b in [('0.647', '0.648'), ('3 rows', '4 rows'), ('0.5', 'nan'), ('a 0.5', 'b 0.5'), ('1.0', '1.0 2.0'), ('1e-5', '2e-5')]: assert not same(a, b)
    outs = [AttrDict(output_type='execute_result', data={'text/plain': ['<f at 0x7f12ab>']}), AttrDict(output_type='stream', name='stderr', text='50%')]
    assert shown(outs)==['<f>']

def test_replacement():
    "Definitions of every form become imports"
    src = 'import numpy as np\nfrom fastcore.all import *\na,(b,*c) = 1,(2,3)\nd:int = 4\nx.y = 5\nz[0] = 6\n' \
          '@metric(unit="nats")\ndef f(): k = 1\nclass C: m = 2\n@patch\ndef g(self:C): pass\n@patch_to(C)\ndef h(self): pass\nf.register(C)'
    assert imported(src, 'm').splitlines()==['import numpy as np', 'from fastcore.all import *', *(f'from m import {n}' for n in 'abcdfC')]
