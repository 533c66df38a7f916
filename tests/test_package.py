"`import transfer_metrics` is quick, and has every public name of its modules"
import subprocess, sys
from importlib import import_module
from importlib.metadata import version
import pytest
import transfer_metrics as tm
from transfer_metrics._modidx import d

modules = [m for m in d['syms'] if '.cli' not in m]

def test_import_is_quick():
    code = 'import sys, time; old,t = set(sys.modules),time.perf_counter(); import transfer_metrics as tm; dir(tm)\n' \
           'print(time.perf_counter()-t, *{m.split(".")[0] for m in sys.modules}-{m.split(".")[0] for m in old})'
    runs = [subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
    assert min(float(t) for t,*_ in runs) < .3
    assert not set(runs[0][1:]) & {'torch', 'numpy', 'pandas', 'matplotlib', 'scipy', 'sklearn', 'fastcore'}

@pytest.mark.parametrize('module', modules)
def test_names_resolve(module):
    mod = import_module(module)
    own = [nm for nm in mod.__all__ if getattr(mod.__dict__[nm], '__module__', None)==module]
    missing = [nm for nm in own if nm not in dir(tm)]
    assert not missing, f'{missing} of {module} are not in dir(transfer_metrics)'
    for nm in own: assert getattr(tm, nm) is mod.__dict__[nm], nm

def test_dir_resolves():
    for nm in dir(tm): getattr(tm, nm)

def test_unknown_name():
    with pytest.raises(AttributeError, match='no_such_metric'): tm.no_such_metric  # noqa: B018
    assert not hasattr(tm, '__wrapped__')

def test_version(): assert tm.__version__==version('transfer-metrics')
