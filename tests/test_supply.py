"What is shipped and what it is built on: no pickle, heavy libraries only where they are used, licences, tested versions"
import ast
import json
import re
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

root = Path(__file__).parent.parent
lib = root/'transfer_metrics'
sources = {p.relative_to(lib).as_posix(): ast.parse(p.read_text(encoding='utf-8')) for p in sorted(lib.rglob('*.py'))}

def calls(tree):
    "Name and options of each call, such as `torch.load`"
    for o in ast.walk(tree):
        if isinstance(o, ast.Call): yield ast.unparse(o.func),{k.arg: ast.unparse(k.value) for k in o.keywords}

hostile = re.compile(r'(c?pickle|marshal|shelve|joblib|dill)\.(loads?|Unpickler|open)|eval|exec|os\.(system|popen)|(torch\.)?hub\.load|yaml\.load')

@pytest.mark.parametrize('path', sources)
def test_files_cannot_run_code(path):
    for name,options in calls(sources[path]):
        assert not hostile.fullmatch(name), name
        if name=='torch.load': assert options.get('weights_only')=='True'
        assert options.get('allow_pickle', 'False')=='False' and options.get('shell', 'False')=='False', name

heavy = {'ot','sklearn','torchvision','matplotlib','torchmetrics','dask','distributed','PIL'}

def imported(statement):
    "Top-level packages that a statement imports"
    if isinstance(statement, ast.Import): return {a.name.split('.')[0] for a in statement.names}
    if isinstance(statement, ast.ImportFrom) and not statement.level: return {statement.module.split('.')[0]}
    return set()

def test_heavy_libraries_in_functions():
    "No module imports them when it is imported itself"
    found = {path: heavy&imported(o) for path,tree in sources.items() for o in tree.body if heavy&imported(o)}
    assert not found

light_work = '''
import contextlib, io, json, sys, warnings
import transfer_metrics as tm
from transfer_metrics.cli.main import all_commands, main
found = {}
def note(what): found[what] = sorted(set(sys.modules))
note('import')
for c in all_commands():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main([c, '--help'])
    note(c)
tm.average_relative_reduction(tm.Curve([0,10], [.1,.5]), tm.Curve([0,10], [.2,.6]))
note('curve')
import pandas as pd
tm.rank(pd.DataFrame(dict(model=['a','b'], metric='leep', value=[-.1,-.2])))
note('rank')
warnings.simplefilter('ignore')
given = dict(features=[[0.,1.],[1.,0.],[0.,2.],[3.,0.]], labels=[0,1,0,1], probs=[[.9,.1],[.1,.9],[.8,.2],[.3,.7]], predicted=[0,1,0,1])
metrics = [m for m in tm.registry('transferability').values() if set(m.args)<=set(given) and m.name!='nleep']
for m in metrics: m.f(**{a: given[a] for a in m.args})
note('scores')
print(json.dumps(found))
'''

def test_light_work_stays_light():
    "The package, the help of each command, a curve, a ranking and the scores of outputs need none of them; the help not even torch"
    done = subprocess.run([sys.executable, '-c', light_work], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {'rank','curve','scores','accuracy'}<=set(found)
    for what,modules in found.items():
        tops = {m.split('.')[0] for m in modules}
        assert not heavy&tops, what
        if what not in ('curve','rank','scores'): assert 'torch' not in tops, what

passes = '''
import sys, torch, transfer_metrics as tm
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
data = torch.rand(20, 1, 8, 8), torch.arange(20)%3
out = tm.outputs(model, data, progress=False)
tm.score_models(dict(model=model), data, progress=False)
tm.rotation_invariance(model, data[0], progress=False)
assert out.features.shape==(20,144)
print('torch._dynamo' in sys.modules)
'''

def test_passes_load_no_compiler():
    "Reading a network does not make torch load its compiler, which takes two seconds"
    done = subprocess.run([sys.executable, '-c', passes], capture_output=True, text=True, check=True)
    assert done.stdout.split()==['False']

# Data that ships outside of `datasets/tables`, and the licence beside it; the curves and shifts were measured by this project
data = {'datasets/cifar101_predictions.npz': 'datasets/CIFAR-10.1-LICENSE', 'datasets/digits_disjoint.csv': None, 'datasets/digits_noisy.csv': None,
        'datasets/cifar10_shifts.csv.gz': None}
tables = 'datasets/tables/'

def test_wheel_holds_licences(tmp_path):
    "Its own, and that of each file which others have made"
    copytree(lib, tmp_path/lib.name, ignore=ignore_patterns('__pycache__'))
    for o in 'pyproject.toml','settings.ini','setup.py','MANIFEST.in','README.md','LICENSE': copy(root/o, tmp_path)
    build = "from setuptools.build_meta import build_wheel; build_wheel('dist')"
    subprocess.run([sys.executable, '-c', build], cwd=tmp_path, capture_output=True, check=True)
    wheel, = (tmp_path/'dist').glob('*.whl')
    with zipfile.ZipFile(wheel) as z:
        names = [n.removeprefix(f'{lib.name}/') for n in z.namelist() if n.startswith(f'{lib.name}/')]
        others = {n for n in names if not n.endswith(('.py','.pyi','py.typed','-LICENSE'))}
        assert {n for n in others if not n.startswith(tables)}==set(data)
        assert {k for k in data.values() if k}<=set(names)
        told = z.read(f'{lib.name}/{tables}TABLES-LICENSE').decode().split('The MIT License')[0]
        listed = set(re.findall(r'\b\w+\.csv', told))
        assert listed=={n.removeprefix(tables) for n in others if n.startswith(tables) and n.endswith('.csv')}
        own, = (n for n in z.namelist() if n.endswith('.dist-info/licenses/LICENSE'))
        assert z.read(own)==(root/'LICENSE').read_bytes()
        meta, = (n for n in z.namelist() if n.endswith('.dist-info/METADATA'))
        assert '\nLicense-Expression: Apache-2.0\n' in z.read(meta).decode()

def test_tested_versions():
    "One version of each package, and of each that is required one that is allowed"
    lines = [o for o in (root/'requirements-tested.txt').read_text().splitlines() if not o.startswith('#')]
    pinned = [Requirement(o) for o in lines]
    versions = {r.name: str(r.specifier).removeprefix('==') for r in pinned}
    assert lines==[f'{k}=={v}' for k,v in sorted(versions.items())]
    ini = ConfigParser(delimiters='=', interpolation=None)
    ini.read(root/'settings.ini', encoding='utf-8')
    wanted = [Requirement(o) for k,v in ini['DEFAULT'].items() if k.endswith('requirements') for o in v.split()]
    assert len(wanted)>20
    for r in wanted: assert r.specifier.contains(versions[canonicalize_name(r.name)]), r
