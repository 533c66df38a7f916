"A sweep: each forward pass is made once, whatever is asked of it later and whenever it was killed; a model that fails is a row"
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transfer_metrics.cli.main import main
from transfer_metrics.experiments.retrain_head import retrain_head
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.model_selection.sweep import kept_outputs

g = torch.Generator().manual_seed(0)
y = torch.arange(40)%3
images = torch.rand(40, 1, 4, 4, generator=g)+y[:,None,None,None]
loader = DataLoader(TensorDataset(images, y), batch_size=10)
passes = 4 # of each model over the loader

def noted():
    fd = os.open(os.environ['COUNTED'], os.O_WRONLY|os.O_CREAT|os.O_APPEND)
    os.write(fd, b'.')
    os.close(fd)

class Net(nn.Module):
    "Notes each batch, and takes its time"
    def __init__(self, seed, pause=0.):
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)
        self.pause = pause
    def forward(self, x):
        noted()
        time.sleep(self.pause)
        return self.head(self.body(x))

def zoo(pause=0.): return {f'm{i}': Net(i, pause) for i in range(4)}|{'broken': nn.Linear(2, 2)}

@pytest.fixture
def count(tmp_path, monkeypatch):
    "How many batches were looked at since the last call"
    log = tmp_path/'log'
    monkeypatch.setenv('COUNTED', str(log))
    def since():
        n = log.stat().st_size if log.exists() else 0
        log.unlink(missing_ok=True)
        return n
    return since

def scored(store, metrics='logme,leep', pause=0., **options):
    return score_models(zoo(pause), loader, metrics, store=store, progress=False, **options)

def same(a, b): pd.testing.assert_frame_equal(a.drop(columns='seconds'), b.drop(columns='seconds'), check_exact=True)

def test_each_pass_is_made_once(tmp_path, count):
    store = tmp_path/'sweep'
    first = scored(store)
    assert count()==4*passes
    assert set(first.model[first.error!=''])=={'broken'}
    same(scored(store), first)
    scored(store, 'h_score,nce,knn')
    with ThreadPoolExecutor(2) as pool: scored(store, 'lfc', executor=pool)
    outs = kept_outputs(zoo(), loader, store=store, progress=False)
    assert isinstance(outs.pop('broken'), Exception)
    accuracy = [retrain_head(o.features, o.labels, (o.features, o.labels)) for o in outs.values()]
    assert min(accuracy)>.5 and count()==0
    scored(store, 'logme', layer=['body.1','head'])
    assert count()==4*passes # of two layers together
    scored(store, 'logme', layer=['body.1','body.2'])
    assert count()==4*passes # of the new one
    assert scored(store, resume=False).value.equals(first.value) and count()==4*passes
    other = DataLoader(TensorDataset(images+1, y), batch_size=10)
    score_models({'m0': Net(0)}, other, 'logme', store=store, progress=False)
    assert count()==passes

def test_names_do_not_matter_and_weights_do(tmp_path, count):
    for name,seed,n in ('a',0,passes),('b',0,0),('a',1,passes):
        outs = kept_outputs({name: Net(seed)}, loader, store=tmp_path, progress=False)
        assert count()==n and outs[name].name==name

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('after', [1, 7])
def test_killed_and_resumed(after, tmp_path, count):
    "Bit for bit what an undisturbed run gives; what was whole is not made again"
    expected = scored(tmp_path/'whole', pause=.02)
    count()
    store,log = tmp_path/'sweep',tmp_path/'log'
    pid = os.fork()
    if not pid:
        scored(store, pause=.02)
        os._exit(0)
    until = time.monotonic()+60
    while (not log.exists() or log.stat().st_size<after) and time.monotonic()<until: time.sleep(.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    begun = count()
    there = len([*store.glob('outputs/[!.]*')])
    same(scored(store, pause=.02), expected)
    assert after<=begun and there<4 and count()==(4-there)*passes
    for o in kept_outputs(zoo(.02), loader, store=store, progress=False).values():
        if not isinstance(o, Exception): assert len(o)==40 and np.isfinite(o.features).all()

def test_time_left(capfd, tmp_path, count):
    "The bar over models tells how many are done and what is left"
    score_models({k: m for k,m in zoo(.05).items() if k!='broken'}, loader, 'logme', store=tmp_path)
    shown = capfd.readouterr().err
    assert '4/4 [' in shown and ('model/s' in shown or 's/model' in shown)

def test_command(tmp_path, monkeypatch, count, capsys):
    "`rank --store` makes a pass once; `--limit` keeps the share of each class"
    for i in range(12):
        folder = tmp_path/'images'/('cat' if i%3 else 'dog')
        folder.mkdir(parents=True, exist_ok=True)
        Image.new('RGB', (8, 8), (20*i, 90, 20)).save(folder/f'{i}.png')
    (tmp_path/'counted_nets.py').write_text('from test_sweep import noted\nfrom torch import nn\nimport torch\n\nclass N(nn.Module):\n'
        '    def __init__(self):\n        super().__init__()\n        torch.manual_seed(0)\n        self.head = nn.Linear(48, 3)\n'
        '    def forward(self, x):\n        noted()\n        return self.head(nn.functional.adaptive_avg_pool2d(x, 4).flatten(1))\n\ndef net(): return N()\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(os.path.dirname(__file__))
    command = ['rank', '--models', 'counted_nets:net', '--images', 'images', '--limit', '6', '--store', 'sweep', '--no-progress']
    main([*command, '--metrics', 'leep'])
    assert count()==1 and 'cat 4, dog 2' in capsys.readouterr().out
    main([*command, '--metrics', 'logme,knn'])
    assert count()==0
