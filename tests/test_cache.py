"Trained models that are kept for the next time: without a home, in a folder that cannot be written, and when several processes begin at once"
import os
import signal
import time
import warnings
import pytest
import torch
from test_kill import child, ended, powerless
from transfer_metrics.datasets import digits
from transfer_metrics.datasets.digits import digits_zoo

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')

def weights():
    "Those of a model that takes no time to train"
    model, = digits_zoo('untrained', progress=False).values()
    return torch.cat([p.detach().flatten() for p in model.parameters()])

@pytest.fixture(scope='module')
def expected(tmp_path_factory):
    model, = digits_zoo('untrained', cache=tmp_path_factory.mktemp('cache'), progress=False).values()
    return torch.cat([p.detach().flatten() for p in model.parameters()])

def not_kept(expected, why):
    "The right model, and one warning"
    with warnings.catch_warnings(record=True, action='always') as said: found = weights()
    assert torch.equal(found, expected)
    text, = {str(w.message) for w in said}
    assert text.startswith('the trained model could not be kept for the next time: ') and why in text, text

@pytest.mark.parametrize('home', [None,'somewhere'])
def test_no_home(home, expected, monkeypatch, tmp_path):
    "Nothing is written into the folder where one happens to be"
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    if home is None:
        monkeypatch.delenv('HOME', raising=False)
        monkeypatch.setattr(digits.os.path, 'expanduser', lambda path: path) # as of a user whom the system does not know
    else: monkeypatch.setenv('HOME', home)
    not_kept(expected, 'there is no home folder, pass `cache` or set XDG_CACHE_HOME')
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert torch.equal(weights(), expected)
    assert len(list((tmp_path/'transfer-metrics').iterdir()))==1

@pytest.mark.parametrize('mode', [0o555,0o000])
def test_home_that_cannot_be_written(mode, expected, monkeypatch, tmp_path):
    home = tmp_path/'home'
    home.mkdir(mode=mode)
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    monkeypatch.setenv('HOME', str(home))
    def weak():
        powerless()
        not_kept(expected, str(home))
    assert ended(child(weak))==0

def test_cache_folder_is_a_file(expected, monkeypatch, tmp_path):
    (tmp_path/'file').touch()
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path/'file'))
    not_kept(expected, str(tmp_path/'file'))

def test_cold_cache_raced(expected, monkeypatch, tmp_path):
    "Three processes find nothing, one is killed while it writes: the others have the models, and so has the next"
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    names = 'untrained','few'
    begun = tmp_path/'begun'
    def load(out):
        zoo = digits_zoo(names, progress=False)
        torch.save({k: m.state_dict() for k,m in zoo.items()}, out)
    def half(_, file):
        "What has been written when the process is killed"
        file.write(b'PK')
        file.flush()
        begun.touch()
        signal.pause()
    def stopped():
        monkeypatch.setattr(torch, 'save', half)
        load('nowhere')
    victim = child(stopped)
    outs = [tmp_path/f'{i}.pt' for i in range(2)]
    pids = [child(load, o) for o in outs]
    limit = time.monotonic()+60
    while not begun.exists() and time.monotonic()<limit: time.sleep(.01)
    os.kill(victim, signal.SIGKILL)
    assert ended(victim)==-signal.SIGKILL
    assert [ended(p) for p in pids]==[0,0]
    load(tmp_path/'after.pt')
    first,*others = [torch.load(o, weights_only=True) for o in (*outs,tmp_path/'after.pt')]
    for k in names:
        for other in others: torch.testing.assert_close(other[k], first[k], rtol=0, atol=0)
    assert len(list((tmp_path/'transfer-metrics').glob('*.pt')))==2
