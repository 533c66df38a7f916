"Generated files are the ones that the notebooks generate, and notebooks, package and packaging keep the rules of the house"
import ast, inspect, re, runpy, subprocess, sys
from collections import Counter
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
import pytest
from fastcore.docments import docments
from fastcore.nbio import NbCell, read_nb
from nbdev.config import get_config
from nbdev.doclinks import nbglob
import transfer_metrics as tm
from transfer_metrics._modidx import d

cfg = get_config(Path(__file__).parent)
root,lib = cfg.config_path,cfg.lib_path.name
paths = {p.relative_to(cfg.nbs_path).with_suffix('').as_posix(): p for p in sorted(nbglob(cfg.nbs_path, as_path=True))}
runs = runpy.run_path(str(root/'docs/runs.py'))
each_notebook = pytest.mark.parametrize('name', paths)
ini = ConfigParser(delimiters='=', interpolation=None)
ini.read(root/'settings.ini', encoding='utf-8')
extra_of = {k.removesuffix('_requirements').replace('-', '_') for k in ini['DEFAULT'] if k.endswith('_requirements')}
syms = {nm: m for m,nms in d['syms'].items() for nm in nms if not re.search(r'\._', nm.removeprefix(m))}  # public names

def shell(*cmd, cwd=root):
    r = subprocess.run([str(o) for o in cmd], cwd=cwd, capture_output=True, text=True)
    assert r.returncode==0, f'{" ".join(map(str, cmd))}\n{r.stdout}{r.stderr}'

def tree(d, made):
    "Contents of the files in `d` that the pattern `made` matches, not those of caches"
    ps = {p.relative_to(d): p for p in d.glob(made) if p.is_file()}
    return {k.as_posix(): p.read_bytes() for k,p in ps.items() if not any(o[0]=='.' or o=='__pycache__' for o in k.parts)}

@pytest.mark.parametrize('command,made,given', [
    ('nbdev-export', [f'{lib}/**/*.py'], '__*__.py'), ('python docs/stubs.py', [f'{lib}/**/*.pyi'], '*.py'),
    ('nbdev-clean', ['nbs/**/*'], '__init__.py'), ('python docs/readme.py', ['README.md', 'docs/readme/**/*'], '__init__.py')],
    ids=['export', 'stubs', 'clean', 'readme'])
def test_in_sync(command, made, given, tmp_path):
    "Made again by `command` in a copy of the sources, and of the files called `given` of the package, the files are the same"
    for o in 'nbs','docs': copytree(root/o, tmp_path/o, ignore=ignore_patterns('__*', '.*', 'readme'))
    for o in 'pyproject.toml','settings.ini',*(p.relative_to(root) for p in cfg.lib_path.rglob(given)):
        (tmp_path/o).parent.mkdir(parents=True, exist_ok=True)
        copy(root/o, tmp_path/o)
    prog,*args = command.split()
    shell(*([sys.executable] if prog=='python' else [Path(sys.executable).with_name(prog)]), *args, cwd=tmp_path)
    was,now = ({k: v for o in made for k,v in tree(p, o).items()} for p in (root, tmp_path))
    differ = sorted(k for k in was.keys()|now.keys() if was.get(k)!=now.get(k))
    assert not differ, f'`{command}` changes {differ}: run it and commit the result'

def test_ruff(): shell(sys.executable, '-m', 'ruff', 'check', lib)

def test_mypy(): shell(sys.executable, '-m', 'mypy')

def test_floors():
    "Every library that the tests need has a lowest version, which `.ci/floors.py` reads"
    r = subprocess.run([sys.executable, root/'.ci/floors.py'], capture_output=True, text=True, check=True)
    assert {'numpy','torch','torchmetrics','dask'} <= {o.split('==')[0] for o in r.stdout.split()}

def test_changelog(): assert re.search(rf'^## {re.escape(cfg.version)}\b', (root/'CHANGELOG.md').read_text(), re.M)

def test_citation(): assert f'\nversion: {cfg.version}\n' in (root/'CITATION.cff').read_text()

@pytest.mark.parametrize('path', sorted(cfg.lib_path.rglob('*.py')), ids=lambda p: p.relative_to(cfg.lib_path).as_posix())
def test_no_assert(path):
    "Checks of input are `ValueError`s: `python -O` drops assertions"
    assert not [o.lineno for o in ast.walk(ast.parse(path.read_text())) if isinstance(o, ast.Assert)]

@each_notebook
def test_anatomy(name):
    "Title and subtitle, module named after the notebook if it exports anything, Colab badge, installation"
    cells = read_nb(paths[name]).cells
    assert re.match(r'# .+\n\n> .+', cells[0].source)
    exp = [(i, c.directives['default_exp']) for i,c in enumerate(cells) if 'default_exp' in c.directives]
    mod = '.'.join(re.sub(r'^\d+\w?_', '', o) for o in name.split('/'))
    assert exp==([(1, mod)] if any('export' in c.directives for c in cells) else []) # a guide or a study exports nothing
    badge,install = cells[1+len(exp):3+len(exp)]
    assert badge.source==runs['top'](name, read_nb(paths[name])), 'run `python docs/runs.py`'
    needed = [*dict.fromkeys(c.directives['needs'] for c in cells if 'needs' in c.directives)]
    extras = ','.join(['notebook', *(o.replace('_', '-') for o in needed if o in extra_of)])
    others = ''.join(f' {o}' for o in needed if o not in extra_of)
    assert install.source==f'#| hide\n#| eval: false\n! [ -e /content ] && pip install -Uqq {cfg.lib_name}[{extras}]{others}'

def test_times():
    "What docs/times.json knows are notebooks that exist"
    assert set(runs['times'])<=set(paths)

@pytest.mark.parametrize('sources,seconds,said', [
    ([], None, 'Needs nothing but the package.'),
    (['1'], 10, 'Needs nothing but the package. Runs in under 10 s on one core.'),
    (['#| needs: timm\n1'], 5, 'Needs `timm` beside the package. Runs in under 5 s on one core.'),
    (['#| slow\n1','#| slow\n2'], 5, 'Needs nothing but the package. Runs in under 5 s on one core; 2 cells marked `#| slow` take longer.'),
    (["#| slow\nos.environ['TRANSFER_METRICS_DATA']"], None, 'Its cells marked `#| slow` need images on the disk, in the folder that the '
     'variable `TRANSFER_METRICS_DATA` names; where there is none, they show the results that are stored in the page. '
     'One cell marked `#| slow` takes longer than the others.')])
def test_needs(sources, seconds, said):
    "What a notebook says that it needs is what its cells need"
    nb = read_nb(paths['index'])
    nb.cells = [NbCell(i, dict(cell_type='code', source=o, outputs=[], metadata={})) for i,o in enumerate(sources)]
    assert ' '.join([*runs['needs'](nb), *runs['runs'](nb, seconds)])==said

@each_notebook
def test_committed(name):
    "Under 1 MB; no error, progress bar or warning among the outputs; no nbdev, which readers on Colab do not have"
    assert paths[name].stat().st_size < 1_000_000
    cells = [c for c in read_nb(paths[name]).cells if c.cell_type=='code']
    assert not [c.id for c in cells for o in c.outputs if o.output_type=='error' or o.get('name')=='stderr']
    assert not [c.id for c in cells if re.search(r'^\s*(from|import) nbdev', c.source, re.M)]

def resolve(nm):
    "The object that the index calls `nm`"
    obj = import_module(syms[nm])
    for o in nm.removeprefix(f'{syms[nm]}.').split('.'): obj = getattr(obj, o)
    return obj.fget if isinstance(obj, property) else obj

def overrides(nm):
    "Is `nm` a method that a base of its class has as well?"
    owner,_,method = nm.rpartition('.')
    return owner in syms and any(method in vars(o) for o in resolve(owner).__mro__[1:])

@pytest.mark.parametrize('nm', syms)
def test_documented(nm):
    "A docstring, and a docment for each argument and for what is returned; what overrides a method has those of that method"
    obj = resolve(nm)
    assert obj.__doc__, 'no docstring'
    if overrides(nm): return
    if inspect.isclass(obj) and '__init__' not in vars(obj): return
    args = {k: v for k,v in docments(obj, full=True, args_kwargs=True).items() if k not in ('self', 'cls')}
    if inspect.isclass(obj) or args['return'].anno is None: args.pop('return', None)
    assert not (bare := [k for k,v in args.items() if not v.docment]), f'no docment for {bare}'

def test_raises():
    "Help on each function at top level has a section on its errors; `metric` only notes what it is given, and raises nothing"
    functions = {k: f for k in tm.__all__ if inspect.isfunction(f := getattr(tm, k))}
    without = {k for k,f in functions.items() if '\n\nRaises\n------\n' not in inspect.getdoc(f)}
    assert without=={'metric'}

def test_names_unique():
    "Each public name is defined once, so that `transfer_metrics.name` is clear; commands have names of their own"
    assert not [nm for nm,k in Counter(nm.removeprefix(f'{m}.') for nm,m in syms.items() if '.cli' not in m).items() if k>1]
