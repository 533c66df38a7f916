"Each command on its example and on files, once right and once wrong; what it writes; the README's commands"
import json
import re
import subprocess
import sys
from pathlib import Path
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from typer.testing import CliRunner
from transfer_metrics.cli import main as cli

@pytest.fixture(autouse=True)
def narrow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('COLUMNS', '80')

def run(line, code=0):
    "Output of a command, none of whose lines is wider than the terminal"
    if not cli.app.registered_commands: cli.load()
    with pytest.MonkeyPatch.context() as m:
        m.setattr('sys.stdout.reconfigure', lambda **kw: None, raising=False)
        m.setattr('sys.stderr.reconfigure', lambda **kw: None, raising=False)
        found = CliRunner().invoke(cli.app, [*line.split(),*(['--no-progress'] if line.split()[0]!='--help' else [])],
                                   catch_exceptions=False)
    assert found.exit_code==code, found.output
    if not code: assert max(map(len, found.stdout.splitlines()), default=0)<=80
    return found.stdout if not code else found.stderr

@pytest.fixture
def photos(tmp_path):
    digits = load_digits()
    for digit,name in enumerate(('zero','one','two')):
        (tmp_path/'photos'/name).mkdir(parents=True)
        for i,pixels in enumerate(digits.images[digits.target==digit][:12]):
            Image.fromarray((255-pixels*15.9).astype('uint8')).resize((32,32)).save(tmp_path/'photos'/name/f'{i}.png')
    return 'photos'

own = '''import torch
class Small(torch.nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(8), torch.nn.Flatten())
        self.head = torch.nn.Linear(192, k)
    def forward(self, x): return self.head(self.body(x))
def small():
    torch.manual_seed(0)
    return Small()
'''

@pytest.fixture
def arrays(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(['cat','dog'], 40)
    for k,gap in (('good',3),('bad',.3)): np.save(tmp_path/f'{k}.npy', rng.normal(size=(80,5))+gap*(y=='dog')[:,None])
    pd.Series(y, name='label').to_csv(tmp_path/'y.csv', index=False)
    (tmp_path/'cut.npz').write_bytes((tmp_path/'good.npy').read_bytes()[:300])

@pytest.mark.parametrize('command', ['rank','curves','loss-data','accuracy','benchmark'])
def test_example(command):
    out = run(f'{command} --json out.json --report out.html --csv out.csv')
    found = json.loads(Path('out.json').read_text('utf-8'))
    assert found['command']==f'transfer-metrics {command}' and found['summary'] and found['tables']
    assert len(pd.read_csv('out.csv')) and '<h1>' in Path('out.html').read_text('utf-8')
    assert 'wrote out.html' in out and found['settings'].get('seed', '0')=='0'

def test_rank(photos, arrays, tmp_path):
    (tmp_path/'nets_of_test.py').write_text(own)
    sys.path.insert(0, str(tmp_path))
    out = run('rank --images photos --models nets_of_test:small?size=16,nets_of_test:small?size=8&mean=.5,.5,.5&std=.5,.5,.5 --store kept')
    assert 'is first' in out and "input of 'head'" in out
    assert run('rank --images photos --models nets_of_test:small?size=16,nets_of_test:small?size=8&mean=.5,.5,.5&std=.5,.5,.5 --store kept')==out
    out = run('rank --features good=good.npy,bad.npy --labels y.csv --plot p.png --csv r.csv')
    assert 'good is first' in out and Path('p.png').stat().st_size>5000
    scores = pd.read_csv('r.csv')
    assert set(scores.model)=={'good','bad'} and {'lo','hi','p_best','taken','warning'}<=set(scores)

def test_curves(tmp_path):
    pd.DataFrame({'init': ['none']*6+['b']*6, 'n': [10,20,40]*4, 'perf': ['40%','50%','60%']*2+['55%','65%','70%']*2,
                  'run': [0]*3+[1]*3+[0]*3+[1]*3}).to_csv('c.csv')
    out = run('curves c.csv --by init --reach .62')
    assert 'of the data' in out and 'no interval' in out and 'nominal coverage' not in out

@pytest.mark.parametrize(('line','says'), [
    ('rank --images nothing --models resnet18', 'nothing'), ('rank --features a.npy', 'a.npy'),
    ('rank --features cut.npz', 'cut.npz'), ('accuracy --known-outputs cut.npz --new-outputs cut.npz', 'cut.npz'),
    ('rank --images photos --models nets_of_nobody:net', 'no model has a score'),
    ('rank --models resnet18', 'needs samples'),
    ('rank --features good.npy --labels y.csv --metrics lep', "did you mean 'leep'"),
    ('curves nothing.csv', 'nothing.csv'),
    ('invariance --config y.csv', 'as JSON'),
    ('accuracy --known-outputs y.csv --new-outputs y.csv --classes a,b', 'probabilities per class (a, b)'),
    ('benchmark tl', "did you mean 'tll'"), ('loss-data --features good.npy --labels y.csv --points a',
                                             'numbers separated by commas')])
def test_errors(arrays, photos, line, says):
    "One line that says what is wrong, and exit code 2"
    err = run(line, code=2)
    assert says in err and err.strip().count('\n')==0 and 'Traceback' not in err

def test_help_without_torch():
    script = '\n'.join(["import sys", "sys.argv = ['transfer-metrics','--help']", "from transfer_metrics.cli.main import main", "try: main()",
        "except SystemExit: pass", "assert 'torch' not in sys.modules and 'pandas' not in sys.modules"])
    subprocess.run([sys.executable, '-c', script], check=True, capture_output=True)

def test_names_that_the_console_cannot_encode(arrays, tmp_path):
    np.save(tmp_path/'gänse😀.npy', np.load('good.npy'))
    done = subprocess.run([sys.executable, '-m', 'transfer_metrics', 'rank', '--features', 'gänse😀.npy', '--labels',
                           'y.csv', '--csv', 'r.csv', '--no-progress'],
                          env={**__import__('os').environ, 'PYTHONIOENCODING': 'ascii'}, capture_output=True)
    assert done.returncode==0 and pd.read_csv('r.csv').model.iloc[0]=='gänse😀', done.stderr

def test_readme():
    "Two commands of one line, which .ci/run runs; one figure; two screens"
    text = (Path(__file__).parent.parent/'README.md').read_text(encoding='utf-8')
    assert len(re.findall(r'^```sh\n.*\n```$', text, re.M))==2 and text.count('<img')==1 and len(text.splitlines())<110
