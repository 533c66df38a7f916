"`score_models` over real processes, some of which die, and over a real Dask cluster"
import logging
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
import numpy as np
import pytest
import torch
from torch import nn
from transfer_metrics.datasets.digits import SourceNet, digits_loaders
from transfer_metrics.models import Outputs, outputs
from transfer_metrics.transferability.h_score import h_score
from transfer_metrics.transferability.leep import leep
from transfer_metrics.model_selection.ranking import score_models

metrics = {'leep': leep, 'lw': partial(h_score, shrinkage='ledoit_wolf')}
columns = ['model', 'metric', 'value', 'n', 'error']

def net(seed):
    "A model, made where it is called"
    torch.manual_seed(seed)
    return SourceNet('untrained', 5)

class Killer(nn.Module):
    "Kills the process that runs it, as the system does when memory is short"
    def __init__(self, parent): super().__init__(); self.parent,self.head = parent,nn.Linear(64, 3)
    def forward(self, x):
        if os.getpid()!=self.parent: os.kill(os.getpid(), signal.SIGKILL)
        return self.head(x.flatten(1))

class Forgetful(Killer):
    "Kills its process the first time, and not when the file is there"
    def __init__(self, parent, file): super().__init__(parent); self.file = file
    def forward(self, x):
        if not os.path.exists(self.file): open(self.file, 'w').close(); super().forward(x)
        return self.head(x.flatten(1))

def zoo(tmp_path, train):
    "Every kind of model that travels"
    made = outputs(net(2), train, progress=False)
    return {'model': net(0), 'function': partial(net, 1), 'path': made.save(tmp_path/'o'), 'outputs': made, 'wrong': nn.Linear(3, 2), 'gone': tmp_path/'nowhere'}

def pool_of(k, method): return ProcessPoolExecutor(k, mp_context=get_context(method), initializer=torch.set_num_threads, initargs=(1,))

server = get_context('forkserver')  # whose processes have the libraries already
server.set_forkserver_preload(['transfer_metrics.datasets.digits', 'transfer_metrics.model_selection.ranking'])

def check(pool, tmp_path):
    "The same as here, from workers and then from the file, layers included"
    train,_ = digits_loaders()
    for layer in None,['body.7', 'head']:
        models,store = zoo(tmp_path, train),tmp_path/'scores.csv'
        here = score_models(models, train, metrics, layer=layer, progress=False)
        there = score_models(models, train, metrics, layer=layer, executor=pool, store=store, progress=False)
        known = score_models({k: models[k] for k in ('model', 'function', 'path', 'outputs')}, train, metrics, layer=layer, store=store, progress=False)
        assert there[columns].fillna(-9.).values.tolist()==here[columns].fillna(-9.).values.tolist()
        assert (here.error!='').sum()==(4 if layer is None else 6)
        finished = there[there.error==''].fillna(-9.)
        assert known.fillna(-9.).values.tolist()==finished.values.tolist()    # seconds too: nothing was computed again

def test_spawned_processes(tmp_path):
    with pool_of(2, 'spawn') as pool:
        check(pool, tmp_path)
        bad = score_models({'a': net(0)}, digits_loaders()[0], {'leep': leep, 'mine': lambda labels: 1.}, executor=pool, progress=False)
        assert bad.error.str.contains("Can't pickle|Can't get local").all()

def test_worker_dies(tmp_path):
    "What was finished is kept, the error says what is not, and a new pool goes on from there"
    train,store = digits_loaders()[0],tmp_path/'scores.csv'
    models = {'a': net(0), 'b': net(1), 'killer': Forgetful(os.getpid(), tmp_path/'flag'), 'c': net(2)}
    with pool_of(1, 'forkserver') as pool, pytest.raises(BrokenExecutor, match=r'before 2 of 4 models were done: killer, c\. .*scores\.csv: the same call goes on'):
        score_models(models, train, metrics, executor=pool, store=store, progress=False)
    before = store.read_bytes()
    with pool_of(1, 'forkserver') as pool: df = score_models(models, train, metrics, executor=pool, store=store, progress=False)
    assert (df.error=='').all() and df.model[df.metric!='n_parameters'].tolist()==[k for k in models for _ in metrics]
    assert store.read_bytes().startswith(before) and len(before.splitlines())==1+4 and len(store.read_bytes().splitlines())==1+8
    with pool_of(1, 'forkserver') as pool, pytest.raises(BrokenExecutor, match='Pass store='): score_models({'k': Killer(os.getpid())}, train, leep, executor=pool, progress=False)

forked = '''
import torch
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from transfer_metrics.models import Outputs
from transfer_metrics.model_selection.ranking import score_models
torch.set_num_threads(2)
x,y = torch.randn(2000, 300),torch.arange(2000)%7
x@x.T, x.exp().sum()
outs = {k: Outputs(features=x+i, labels=y) for i,k in enumerate('abc')}
here = score_models(outs, None, 'h_score,logme', progress=False)
with ProcessPoolExecutor(2, mp_context=get_context('fork')) as pool: there = score_models(outs, None, 'h_score,logme', executor=pool, progress=False)
assert not here.error.any() and torch.allclose(torch.tensor(here.value), torch.tensor(there.value), rtol=1e-9), there
'''

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
def test_forked_processes_do_not_hang():
    "After a fork, PyTorch's threads are gone; a worker that waits for them waits for ever"
    env = {k: v for k,v in os.environ.items() if k!='OMP_NUM_THREADS'}
    r = subprocess.run([sys.executable, '-c', forked], env=env, timeout=120, capture_output=True, text=True)
    assert r.returncode==0, r.stderr

def test_dask(tmp_path):
    "A cluster of two processes; a model that kills its workers is reported, the others are scored, at once or by the next call"
    dask = pytest.importorskip('dask')
    distributed = pytest.importorskip('distributed')
    with warnings.catch_warnings():
        warnings.simplefilter('default')
        patient = {'distributed.comm.timeouts.connect': '120s', 'distributed.comm.timeouts.tcp': '120s'}  # on a busy machine the imports alone take half a minute
        strict = {'distributed.scheduler.allowed-failures': 0}
        with dask.config.set(patient | strict), \
             distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=':0', silence_logs=logging.CRITICAL,
                                      preload=['transfer_metrics.datasets.digits', 'transfer_metrics.model_selection.ranking']) as cluster, distributed.Client(cluster) as client:
            check(client.get_executor(), tmp_path)
            models,call = {'a': net(5), 'killer': Killer(os.getpid()), 'b': net(6)},partial(score_models, loader=digits_loaders()[0], metrics={'leep': leep, 'mine': lambda labels: 1.},
                                                                                      executor=client.get_executor(), store=tmp_path/'killed.csv', progress=False)
            start = time.monotonic()
            df = call(models).set_index('model').error
            assert time.monotonic()-start<60
            assert df['killer'].str.startswith('KilledWorker').all()
            assert df[['a', 'b']].map(lambda e: e[:12] in ('', 'KilledWorker')).all()   # Dask may blame one that waited at the same worker
            assert (call({k: models[k] for k in 'ab'}).error=='').all()

class Placed(nn.Module):
    "Notes in a file where it was sent to"
    def __init__(self, file):
        super().__init__()
        self.file,self.head = str(file),nn.Linear(64, 3)
    def to(self, device):
        with open(self.file, 'a') as f: f.write(f'{device}\n')
        time.sleep(.2)
        return self
    def forward(self, x): return self.head(x.flatten(1))

@pytest.mark.parametrize('kind', ['own','threads','processes'])
def test_one_model_a_device(kind, tmp_path):
    "Each worker has a device of its own, in threads that are there without a pool too"
    train,file = digits_loaders()[0],tmp_path/'places'
    models = {k: Placed(file) for k in 'abcd'}
    pools = dict(own=lambda: None, threads=lambda: ThreadPoolExecutor(2), processes=lambda: pool_of(2, 'forkserver'))
    pool = pools[kind]()
    df = score_models(models, train, 'leep', device=['cpu','cpu:0'], executor=pool, progress=False)
    if pool: pool.shutdown()
    assert (df.error=='').all()
    assert {*file.read_text().split()}=={'cpu','cpu:0'}

def test_threads_leave_warnings_as_they_were():
    "What one thread does not say again is said by all others, and afterwards"
    r = np.random.default_rng(0)
    y = np.arange(80)%4
    outs = {f'net{i}': Outputs(features=r.normal(size=(80,6))+np.eye(4,6)[y], labels=y) for i in range(12)}
    with warnings.catch_warnings():
        before = list(warnings.filters)
        with ThreadPoolExecutor(6) as pool: score_models(outs, metrics='h_score', executor=pool, interval=.95, progress=False)
        added = [o for o in warnings.filters if o not in before]
    assert not [o for o in added if o[0]=='ignore' and issubclass(UserWarning, o[2])]
