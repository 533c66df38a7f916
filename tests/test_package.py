"`import transfer_metrics` is quick, has its public names at top level and by area, and explains them to readers, editors and type checkers"
import ast, doctest, inspect, os, pickle, re, runpy, subprocess, sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
import pytest
import transfer_metrics as tm
from transfer_metrics._modidx import d
from transfer_metrics.public import document, listed

root = Path(__file__).parent.parent
contract = runpy.run_path(str(root/'docs/stubs.py'))['contract']
modules = [m for m in d['syms'] if '.cli' not in m]
areas = sorted({m.split('.')[1] for m in modules if m.count('.')==2})
heavy = {'torch', 'numpy', 'pandas', 'matplotlib', 'scipy', 'sklearn', 'fastcore'}

def python(code): return subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.split()

def test_import_is_quick():
    code = 'import sys, time; old,t = set(sys.modules),time.perf_counter(); import transfer_metrics as tm; dir(tm); dir(tm.loss_data)\n' \
           'print(time.perf_counter()-t, *{m.split(".")[0] for m in sys.modules}-{m.split(".")[0] for m in old})'
    runs = [python(code) for _ in range(3)]
    assert min(float(t) for t,*_ in runs) < .3
    assert not set(runs[0][1:]) & heavy

def test_one_area_alone():
    "A learning curve does not wait for the other areas"
    loaded = python('import sys, transfer_metrics as tm; tm.Curve; print(*(o for o in sys.modules if o.startswith("transfer_metrics.")))')
    others = [o for o in areas if o not in ('learning_curves','models','store','stats')]   # the others are of the ground floor
    assert not [m for m in loaded if m.count('.')==2 and m.split('.')[1] in others]

def test_top_level():
    "Every metric and the contract, about 100 names, beside the areas and the modules of the ground floor"
    names = [o for o,where in listed('transfer_metrics').items() if where!='transfer_metrics']
    assert set(names)==set(tm.registry())|set(contract)
    assert 80 <= len(names) <= 120
    assert [o for o in contract if o in tm.registry()]==[]   # a metric is there without standing in the contract
    assert set(areas) < set(dir(tm))

@pytest.mark.parametrize('module', modules)
def test_names_resolve(module):
    "Each name of `__all__`, constants too, by area or by module"
    mod = import_module(module)
    parts = module.split('.')
    place = getattr(tm, parts[1]) if len(parts)==3 else sys.modules[module]
    missing = [nm for nm in mod.__all__ if nm not in dir(place)]
    assert not missing, f'{missing} of {module} are not in dir({place.__name__}): run `python docs/stubs.py`'
    for nm in mod.__all__: assert getattr(place, nm) is mod.__dict__[nm], nm

@pytest.mark.parametrize('package', ['transfer_metrics', *(f'transfer_metrics.{o}' for o in areas)])
def test_dir_resolves(package):
    place = sys.modules.get(package) or import_module(package)
    for nm in dir(place): getattr(place, nm)

def test_function_before_module():
    "A function and its module have one name: the function is found, whatever was imported before"
    code = 'import transfer_metrics.experiments.study, transfer_metrics.model_selection.ranking, transfer_metrics.transferability.leep\n' \
           'import transfer_metrics as tm; from transfer_metrics.transferability import leep\n' \
           'print(*(callable(o) for o in (tm.registry, tm.study, tm.rank, tm.metric, tm.experiments.study, tm.transferability.leep, leep)))'
    assert python(code)==['True']*7
    assert inspect.ismodule(tm.stats) and inspect.ismodule(tm.state)

def test_pickle():
    for o in tm.leep, tm.Curve, tm.stats.kendall: assert pickle.loads(pickle.dumps(o)) is o

@pytest.mark.parametrize('name,place,text', [
    ('no_such_metric', tm, 'no_such_metric'), ('scor_models', tm, "did you mean 'score_models'"), ('eep', tm, 'it is transfer_metrics.transferability.eep'),
    ('whitenings', tm, 'it is transfer_metrics.loss_data.whitenings'), ('rotat', tm.invariance, "did you mean 'rotate'"),
    ('leep', tm.invariance, 'it is transfer_metrics.leep'), ('__wrapped__', tm, '__wrapped__')])
def test_unknown_name(name, place, text):
    with pytest.raises(AttributeError, match=text): getattr(place, name)

def test_version(): assert tm.__version__==version('transfer-metrics')

def test_as_module():
    "`python -m transfer_metrics` is the command"
    done = subprocess.run([sys.executable, '-m', 'transfer_metrics', '--version'], capture_output=True, text=True)
    assert tm.__version__ in done.stdout and not done.returncode
    done = subprocess.run([sys.executable, '-m', 'transfer_metrics', 'rnk'], capture_output=True, text=True)
    assert 'did you mean' in done.stderr and done.returncode==2

# documentation

def test_help_of_package():
    for part in 'import transfer_metrics as tm', 'transferability: ', 'leep', 'loss_data_curve', 'Curve', 'label_free_report', 'fine_tune':
        assert part in tm.__doc__, part
    assert '{' not in tm.__doc__

top = sorted(o for o,where in listed('transfer_metrics').items() if where!='transfer_metrics')

@pytest.mark.parametrize('name', [o for o in top if inspect.isfunction(getattr(tm, o))])
def test_help(name):
    "`help` names every argument and what it is, and what comes back"
    f = getattr(tm, name)
    doc = inspect.getdoc(f)
    sig = inspect.signature(f)
    for k in sig.parameters: assert f'\n{k} : ' in doc or f'*{k}' in doc, f'`{k}` is not in the help of `{name}`'
    if sig.return_annotation not in (inspect.Signature.empty, None): assert '\nReturns\n-------\n' in doc
    lines = doc.split('\n')
    for line,below in zip(lines, lines[1:], strict=False):
        if ' : ' in line and not line.startswith((' ', '>>>')) and '>>>' not in doc.split(line)[0]: assert below.startswith('    '), f'{name}: no text for {line!r}'

def test_help_of_direct_import():
    code = 'from transfer_metrics.transferability.leep import leep; print("Parameters" in leep.__doc__)'
    assert python(code)==['True']

def test_help_of_methods():
    for f in tm.Curve.from_frame, tm.AccuracyFit.fit, tm.Outputs.load, tm.Outputs.save: assert '\nParameters\n' in inspect.getdoc(f), f

def test_document_keeps_sections():
    before = tm.leep.__doc__
    document(tm.leep)
    assert tm.leep.__doc__==before

def examples(name):
    "The doctests of the docstring of a name at top level, and of the methods of a class"
    return examples_of(getattr(tm, name), name)

def examples_of(obj, name):
    own = vars(sys.modules[getattr(obj, '__module__', 'transfer_metrics')])   # what its module imports, such as torch
    at_hand = own | {k: getattr(tm, k) for k in top} | {'__name__': '__main__', 'tm': tm}
    found = doctest.DocTestFinder(recurse=inspect.isclass(obj)).find(obj, name, globs=at_hand)
    return [o for o in found if o.examples]

def without_example():
    "Functions at top level whose help has no example yet"
    return [o for o in top if callable(getattr(tm, o)) and not examples(o)]

@pytest.mark.parametrize('name', [o for o in top if examples(o)])
def test_example(name):
    for o in examples(name):
        said = []
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(o, out=said.append)
        assert not result.failed, ''.join(said)

def by_area(module):
    "What a module exports and the top level does not"
    home = import_module(module)
    for name in getattr(home, '__all__', ()):
        obj = getattr(home, name)
        if getattr(obj, '__module__', '')==module and getattr(tm, name, None) is not obj: yield name,obj

@pytest.mark.parametrize('module', modules)
def test_example_by_area(module):
    for name,obj in by_area(module):
        for o in examples_of(obj, name):
            said = []
            result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(o, out=said.append)
            assert not result.failed, ''.join(said)

def test_some_examples(): assert not {'leep', 'nce', 'h_score', 'logme'} & set(without_example())

# stubs

def patched():
    "Public methods under `@patch` of public classes: class, method, stub of the module"
    for module in modules:
        path = Path(import_module(module).__file__)
        for o in ast.parse(path.read_text()).body:
            if not (isinstance(o, ast.FunctionDef) and any('patch' in ast.unparse(x) for x in o.decorator_list)): continue
            cls = ast.unparse(o.args.args[0].annotation)
            if not o.name.startswith('_') and not cls.startswith('_'): yield cls,o.name,path.with_suffix('.pyi')

def test_patched_in_stubs():
    "A method under `@patch` stands in its class, with the arguments that it has"
    for cls,name,path in patched():
        body = next(o.body for o in ast.parse(path.read_text()).body if isinstance(o, ast.ClassDef) and o.name==cls)
        method = [o for o in body if isinstance(o, ast.FunctionDef) and o.name==name]
        assert len(method)==1, f'{cls}.{name} in {path}'

@pytest.mark.parametrize('path', sorted((root/'transfer_metrics').rglob('*.pyi')), ids=lambda o: o.relative_to(root/'transfer_metrics').as_posix())
def test_stub_signatures(path):
    "Functions and methods of a stub have the arguments of the package"
    mod = import_module('.'.join(path.relative_to(root).with_suffix('').parts).removesuffix('.__init__'))
    for o in ast.parse(path.read_text()).body:
        defs = [(mod, o)] if isinstance(o, ast.FunctionDef) else [(getattr(mod, o.name), f) for f in o.body] if isinstance(o, ast.ClassDef) else []
        for place,f in defs:
            obj = inspect.getattr_static(place, getattr(f, 'name', ''), None)
            if not isinstance(f, ast.FunctionDef) or isinstance(obj, property): continue
            args = f.args.posonlyargs+f.args.args+[f.args.vararg]+f.args.kwonlyargs+[f.args.kwarg]
            sig = inspect.signature(getattr(obj, '__func__', getattr(obj, 'f', obj)))
            assert list(sig.parameters)==[a.arg for a in args if a], f'{place.__name__}.{f.name} in {path}'

user_code = '''
import transfer_metrics as tm
from transfer_metrics.transferability import leep, eep
score: float = tm.leep([[.9, .1]], ['a'], chance_corrected=True)
line: float = leep([[.9, .1]], ['a'])
curve: tm.Curve = tm.Curve.from_frame
outputs: str = tm.Outputs.load('x.npz')
fit: str = tm.AccuracyFit().fit([.1, .2], [.5, .6])
tm.leep([[.9, .1]], ['a'], chance_corected=True)
tm.no_such_metric
tm.stats.kendall, tm.loss_data.whitenings, tm.study, tm.rank, tm.registry
'''

known = {6: 'from_frame', 7: '"Outputs"', 8: '"AccuracyFit"', 9: 'chance_corected', 10: 'no_such_metric'} # what is said of each wrong line

def test_type_checker_knows(tmp_path):
    "A type checker sees the functions, the methods under `@patch` and their types, and no name that is not there"
    (tmp_path/'use.py').write_text(user_code)
    (tmp_path/'mypy.ini').write_text('[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n') # most of the time, and of no name above
    options = '--config-file=mypy.ini', '--ignore-missing-imports', '--follow-imports=silent', f'--cache-dir={root}/.mypy_cache/use'
    r = subprocess.run([sys.executable, '-m', 'mypy', *options, 'use.py'], cwd=tmp_path, capture_output=True, text=True, env=os.environ|{'MYPYPATH': str(root)})
    said = {int(o.split(':')[1]): o for o in r.stdout.splitlines() if re.match(r'use.py:\d+: error', o)}
    assert said.keys()==known.keys(), r.stdout+r.stderr
    for line,part in known.items(): assert part in said[line], said[line]

def test_numbers_as_names():
    "Models may be named by numbers: layers, epochs, seeds"
    import numpy as np
    rng = np.random.default_rng(0)
    y = np.arange(60)%3
    outs = {i: tm.Outputs(features=rng.normal(size=(60, 4)), labels=y) for i in (3, 12)}
    scores = tm.score_models(outs, progress=True)
    assert set(scores.model)=={3, 12}
    assert set(tm.rank(scores).index)=={3, 12}
