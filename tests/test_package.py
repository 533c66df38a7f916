"What ships: an import without torch, a wheel with its data and licences, generated files that are up to date, versions"
import re
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
import transfer_metrics as tm

root = Path(__file__).parent.parent

def run(*command, cwd=root):
    done = subprocess.run([str(o) for o in command], cwd=cwd, capture_output=True, text=True)
    assert not done.returncode, f'{command}\n{done.stdout}{done.stderr}'
    return done.stdout

def test_light_imports():
    "The package imports no torch; the registry and the scores nothing that draws or loads images"
    code = 'import sys, transfer_metrics as tm; dir(tm); print(*sys.modules); {}; print(*sys.modules)'
    code = code.format('tm.registry(); tm.leep([[1.,0],[0,1]], [0,1])')
    first,scores = run(sys.executable, '-Wignore', '-c', code).splitlines()
    assert not {'torch','numpy','pandas'} & set(first.split())
    assert not {'matplotlib','torchvision','timm','transformers','torchmetrics','dask'} & set(scores.split())

def test_generated_files(tmp_path):
    "Made again from the notebooks, the modules, stubs and README are the ones committed"
    for o in 'nbs','docs','transfer_metrics','pyproject.toml','settings.ini','README.md':
        if (root/o).is_dir(): shutil.copytree(root/o, tmp_path/o, ignore=shutil.ignore_patterns('__pycache__', '.*'))
        else: shutil.copy(root/o, tmp_path)
    for command in 'nbdev-export',f'{sys.executable} docs/stubs.py','nbdev-clean',f'{sys.executable} docs/readme.py':
        program,*args = command.split()
        run(shutil.which(program) or Path(sys.executable).with_name(program), *args, cwd=tmp_path)
    patterns = 'transfer_metrics/**/*.py','transfer_metrics/**/*.pyi','nbs/**/*.ipynb','README.md'
    made = [p.relative_to(tmp_path) for k in patterns for p in tmp_path.glob(k)]
    differ = [p for p in made if not (root/p).exists() or (root/p).read_bytes()!=(tmp_path/p).read_bytes()]
    assert not differ, f'{differ}: run nbdev-export, python docs/stubs.py, nbdev-clean, python docs/readme.py'

def test_ruff(): run(sys.executable, '-m', 'ruff', 'check', 'transfer_metrics', 'tests')

@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    "The built wheel"
    folder = tmp_path_factory.mktemp('wheel')
    shutil.copytree(root/'transfer_metrics', folder/'transfer_metrics', ignore=shutil.ignore_patterns('__pycache__'))
    for o in 'pyproject.toml','settings.ini','setup.py','MANIFEST.in','README.md','LICENSE': shutil.copy(root/o, folder)
    run(sys.executable, '-c', "from setuptools.build_meta import build_wheel; build_wheel('dist')", cwd=folder)
    return zipfile.ZipFile(*(folder/'dist').glob('*.whl'))

def test_wheel(wheel):
    "It has every file of the package, a licence beside the data of others, and its own"
    names = set(wheel.namelist())
    files = (p for p in (root/'transfer_metrics').rglob('*') if p.is_file() and '__pycache__' not in p.parts)
    ours = {p.relative_to(root).as_posix() for p in files}
    assert not ours-names
    licence, = (k for k in names if k.endswith('dist-info/licenses/LICENSE'))
    assert wheel.read(licence)==(root/'LICENSE').read_bytes()
    tables = wheel.read('transfer_metrics/datasets/tables/TABLES-LICENSE').decode()
    for k in names:
        if '/tables/' in k and k.endswith('.csv'): assert Path(k).name in tables, f'{k} is not in TABLES-LICENSE'

def test_versions():
    "One version everywhere; a tested version of each required package, within its limits"
    assert f'\nversion: {tm.__version__}\n' in (root/'CITATION.cff').read_text()
    assert re.search(rf'^## {re.escape(tm.__version__)}\b', (root/'CHANGELOG.md').read_text(), re.M)
    lines = (root/'requirements-tested.txt').read_text().splitlines()
    tested = {canonicalize_name(k): v for k,v in (o.split('==') for o in lines)}
    ini = ConfigParser(delimiters='=', interpolation=None)
    ini.read(root/'settings.ini', encoding='utf-8')
    for line in (o for k,v in ini['DEFAULT'].items() if k.endswith('requirements') for o in v.split('\n')[1:]):
        r = Requirement(line)
        assert r.specifier.contains(tested[canonicalize_name(r.name)]), line
