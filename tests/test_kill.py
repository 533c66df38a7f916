"""Killed at any moment, resumed: what an undisturbed run gives, bit for bit, and at most one item computed twice

Two kills of each; `KILLS=50 python -m pytest tests/test_kill.py` makes so many. Nothing of a damaged or foreign file is taken for a result."""
import ctypes
import os
import pickle
import resource
import signal
import time
import traceback
from contextlib import nullcontext
import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from transfer_metrics.experiments.fine_tuning import fine_tune
from transfer_metrics.experiments.study import study
from transfer_metrics.experiments.tasks import random_tasks
from transfer_metrics.invariance.domains import ImageSet
from transfer_metrics.invariance.evaluation import evaluate
from transfer_metrics.loss_data.estimator import loss_data_curve
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.models import Outputs, outputs
from transfer_metrics.progress import live, tqdm
from transfer_metrics.transferability.leep import leep

# The first gradient starts a thread for each device there is, and no process with such threads can be forked to train. As
# `torch.export` brings a device, this comes before any test may export.
torch.ones(1, requires_grad=True).sum().backward()

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
kills = int(os.environ.get('KILLS', 2))
pause = .01  # of each item, so that kills meet all of them

g = torch.Generator().manual_seed(0)
y = torch.arange(48)%3
images = torch.rand(48, 1, 4, 4, generator=g)
x = torch.randn(48, 4, generator=g)+y[:,None]

def count():
    "Note that an item is computed"
    fd = os.open(os.environ['COUNTED'], os.O_WRONLY|os.O_CREAT|os.O_APPEND)
    os.write(fd, b'.')
    os.close(fd)
    time.sleep(pause)

def counted(log): return log.stat().st_size if log.exists() else 0

class Net(nn.Module):
    "Notes each forward pass while it is trained, or each at all"
    def __init__(self, seed, training=True):
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Dropout(), nn.ReLU())
        self.head = nn.Linear(8, 3)
        self.when = training
    def forward(self, x):
        if self.training==self.when: count()
        return self.head(self.body(x))

class Probe:
    "An estimator that notes that it is fitted"
    def __init__(self, seed=0): self.seed = seed
    def get_params(self, deep=True): return dict(seed=self.seed)
    def set_params(self, **k): return self
    def fit(self, x, y):
        count()
        time.sleep(.11) # what takes a tenth of a second or more is written as soon as it is there
        self.classes_,n = np.unique(y, return_counts=True)
        self.share = n/n.sum()
        return self
    def predict_proba(self, x): return np.tile(self.share, (len(x),1))

def noted_leep(probs, labels):
    count()
    return leep(probs, labels)

def noted_method(model, train, test):
    count()
    return float(train[0].mean())

def outs(i):
    z = x+i
    return Outputs(features=z, probs=z[:,:3].softmax(1), labels=y)

def scores(path):
    models = {f'm{i}': outs(i) for i in range(8)}
    return score_models(models, None, noted_leep, store=path, progress=False)

def studied(path):
    tasks = random_tasks(y.numpy(), 4, per_class=8)
    models = {f'm{i}': Net(i, None) for i in range(2)}
    return study('s', models, (images,y), tasks, metrics='leep', methods=noted_method, store=path, progress=False)

def evaluated(path):
    sets = [ImageSet(f's{i}', images+i, y) for i in range(4)]
    models = {f'm{i}': Net(i, False) for i in range(2)}
    return evaluate(models, sets, metrics=['nuclear_norm','accuracy'], store=path, progress=False)

def curve(path):
    return loss_data_curve(x, y, probe=Probe(), points=[10,20,30,40], n_seeds=2, store=path, progress=False)

def kept(path):
    batches = [(images[i:i+8],y[i:i+8]) for i in range(0, 48, 8)]
    out = outputs(Net(0, False), batches, store=path, progress=False)
    return {k: np.array(getattr(out, k)) for k in ('features','logits','probs','labels')}

def tuned(path):
    found = fine_tune(Net(0), (images,y), (images,y), epochs=4, batch_size=16, checkpoint=path, progress=False)
    weights = [p.detach().numpy() for p in found.model.parameters()]
    return dict(curve=found.curve, accuracy=np.array(found), **{f'weights {i}': w for i,w in enumerate(weights)})

# What to call, how many items it counts, and how many of them are one that may be lost
calls = dict(score_models=(scores, 8, 1), study=(studied, 8, 1), evaluate=(evaluated, 8, 1), loss_data_curve=(curve, 8, 1),
             outputs=(kept, 6, 6), fine_tune=(tuned, 12, 3))

def same(a, b):
    "Equal bit for bit, but for the time it took"
    if isinstance(a, dict):
        assert a.keys()==b.keys()
        for k in a: same(a[k], b[k])
    elif isinstance(a, pd.DataFrame):
        timed = ['seconds']
        pd.testing.assert_frame_equal(a.drop(columns=timed, errors='ignore'), b.drop(columns=timed, errors='ignore'), check_exact=True)
    else: np.testing.assert_array_equal(a, b)

def child(f, *args):
    "A process that runs `f`; it ends with 1 if that fails"
    pid = os.fork()
    if pid: return pid
    code = 1
    try:
        f(*args)
        code = 0
    except BaseException: traceback.print_exc()
    finally: os._exit(code) # whatever fails, printing included, must not go on as a second pytest

def ended(pid):
    _,status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)

@pytest.fixture(scope='module')
def undisturbed(tmp_path_factory):
    "Results of each call, and how long it took"
    found = {}
    def of(name):
        if name in found: return found[name]
        f,items,_ = calls[name]
        folder = tmp_path_factory.mktemp(name)
        os.environ['COUNTED'] = str(folder/'log')
        f(folder/'first.csv') # what is slow once
        start = time.perf_counter()
        value = f(folder/'store.csv')
        found[name] = value,time.perf_counter()-start
        assert counted(folder/'log')==2*items
        return found[name]
    return of

@pytest.mark.parametrize('name', calls)
def test_killed_and_resumed(name, undisturbed, tmp_path, monkeypatch):
    f,items,lost = calls[name]
    expected,seconds = undisturbed(name)
    r = np.random.default_rng(0)
    killed = 0
    for k in range(kills):
        folder = tmp_path/str(k)
        folder.mkdir()
        log,path = folder/'log',folder/'store.csv'
        monkeypatch.setenv('COUNTED', str(log))
        pid = child(f, path)
        time.sleep(r.uniform(0, seconds))
        os.kill(pid, signal.SIGKILL)
        killed += ended(pid)==-signal.SIGKILL
        same(f(path), expected)
        assert items<=counted(log)<=items+lost
        again = counted(log)
        same(f(path), expected)
        if name!='outputs': assert counted(log)==again
    assert kills<10 or killed>kills/2

tables = [k for k in calls if k not in ('outputs','fine_tune')]

@pytest.mark.parametrize('name', tables)
def test_two_processes_on_one_store(name, undisturbed, tmp_path, monkeypatch):
    f,*_ = calls[name]
    expected,_ = undisturbed(name)
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    path = tmp_path/'store.csv'
    pids = [child(f, path) for _ in range(2)]
    assert [ended(p) for p in pids]==[0,0]
    header,*lines = path.read_text().splitlines()
    assert header.endswith(',key') and all(line.count(',')>=header.count(',') for line in lines)
    before = counted(tmp_path/'log')
    same(f(path), expected)
    assert counted(tmp_path/'log')==before

@pytest.mark.parametrize('name', [*tables,'fine_tune'])
def test_truncated_or_garbled(name, undisturbed, tmp_path, monkeypatch):
    "What is left of a cut table is used; of a checkpoint nothing, and it says so"
    f,*_ = calls[name]
    expected,_ = undisturbed(name)
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    whole = tmp_path/'whole.csv'
    f(whole)
    r = np.random.default_rng(1)
    content = whole.read_bytes()
    for how in 'cut','zeros':
        path = tmp_path/f'{how}.csv'
        at = int(r.integers(len(content)//2, len(content)-2))
        rest = b'' if how=='cut' else bytes(len(content)-at)
        path.write_bytes(content[:at]+rest)
        if name=='fine_tune':
            with pytest.raises(ValueError, match='`checkpoint` .*choose another path'): f(path)
        else: same(f(path), expected)

@pytest.mark.parametrize('name', calls)
def test_disk_full_in_the_middle(name, undisturbed, tmp_path, monkeypatch):
    "An `OSError`; when there is room again, the same call goes on"
    f,*_ = calls[name]
    expected,_ = undisturbed(name)
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    path = tmp_path/'store.csv'
    def cramped():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft,hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300,hard))
        try: f(path)
        except OSError: os._exit(7)
        finally: resource.setrlimit(resource.RLIMIT_FSIZE, (soft,hard)) # so that another error can be told
    assert ended(child(cramped))==7
    same(f(path), expected)

class Bomb:
    "Makes a file when it is unpickled"
    def __init__(self, path): self.path = str(path)
    def __reduce__(self): return os.mkdir,(self.path,)

@pytest.mark.parametrize('name', ['features','labels','logits'])
def test_hostile_outputs(name, tmp_path, monkeypatch):
    "Pickles in arrays are not run, headers that promise too much are refused"
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    path = tmp_path/'store.csv'
    kept(path)
    file = path/f'{name}.npy'
    file.unlink()
    np.save(file, np.array([Bomb(tmp_path/'ran')], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError): Outputs.load(path)
    assert not (tmp_path/'ran').exists()
    with open(file, 'wb') as o:
        np.lib.format.write_array_header_1_0(o, dict(descr='<f4', fortran_order=False, shape=(2**50,4)))
    with pytest.raises((ValueError,OSError)): Outputs.load(path)

def test_hostile_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    for save in (lambda p: torch.save(Bomb(tmp_path/'ran'), p)), (lambda p: p.write_bytes(pickle.dumps(Bomb(tmp_path/'ran')))):
        path = tmp_path/'checkpoint.pt'
        save(path)
        with pytest.raises(ValueError, match='is not a checkpoint'): tuned(path)
        assert not (tmp_path/'ran').exists()

@pytest.mark.parametrize('layer', ['../head','..','/tmp/head'])
def test_layers_do_not_leave_the_folder(layer, tmp_path):
    with pytest.raises(ValueError, match='cannot be the name of a folder'):
        outputs(Net(0, None), (images,y), layer=[layer,'head'], store=tmp_path/'store', progress=False)
    assert not list(tmp_path.iterdir())

@pytest.mark.parametrize('name', calls)
def test_no_such_folder_can_be_made(name, tmp_path, monkeypatch):
    "Where nothing can be written, an `OSError` or `ValueError` names the place before anything is computed"
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    (tmp_path/'file').write_text('')
    with pytest.raises((OSError,ValueError), match='file'): calls[name][0](tmp_path/'file'/'store')
    assert not counted(tmp_path/'log')

def powerless():
    "What a user who is not root may do"
    if os.geteuid(): return
    libc = ctypes.CDLL(None, use_errno=True)
    version = 0x20080522
    header = (ctypes.c_uint32*2)(version, 0)
    no_capabilities = (ctypes.c_uint32*6)()
    if libc.capset(header, no_capabilities): raise OSError(ctypes.get_errno(), 'capset')

def refused(f, path):
    "Whether `f` ends with an error that names the path"
    powerless()
    try: f(path)
    except PermissionError as e: os._exit(7 if str(path) in str(e) else 1)

@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), 'capset'), reason='not on Linux')
@pytest.mark.parametrize('name', calls)
def test_folder_that_cannot_be_written(name, undisturbed, tmp_path, monkeypatch):
    "Refused before anything is computed; but what is known is read"
    f,items,_ = calls[name]
    expected,_ = undisturbed(name)
    monkeypatch.setenv('COUNTED', str(tmp_path/'log'))
    folder = tmp_path/'folder'
    folder.mkdir(mode=0o555)
    assert ended(child(refused, f, folder/'store.csv'))==7
    assert not counted(tmp_path/'log')
    if name=='outputs': return # always computed
    folder.chmod(0o755)
    f(folder/'store.csv')
    folder.chmod(0o555)
    (folder/'store.csv').chmod(0o444)
    def known():
        powerless()
        same(f(folder/'store.csv'), expected)
    assert ended(child(known))==0
    assert counted(tmp_path/'log')==items

def held():
    "A worker that is killed while it makes a bar"
    type(tqdm(disable=True)).get_lock().acquire()
    os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.parametrize('bars', [nullcontext, live])
def test_killed_while_it_makes_a_bar(bars):
    "The process that started it makes its own all the same"
    def late(*_): raise TimeoutError('waits for a lock that nobody gives back')
    before = signal.signal(signal.SIGALRM, late)
    with bars():
        tqdm(disable=True)
        assert ended(child(held))==-signal.SIGKILL
        signal.alarm(10)
        try: tqdm(disable=True)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
