"The recipes for several processes, each with two: torchrun, shards, pools, Dask and Ray. What is killed loses only itself"
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
import numpy as np
import pytest
import torch
from torch import nn
import transfer_metrics as tm
from transfer_metrics.distributed import RayExecutor, merge

rng = np.random.default_rng(0)
x = torch.from_numpy(rng.normal(size=(201, 8)).astype('float32'))
y = np.sort(np.arange(201)%4) # the second process has classes that the first has not

def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 5))

class Killer(nn.Module):
    "Kills the process that runs it, unless that is the parent"
    def __init__(self, parent):
        super().__init__()
        self.parent,self.net = parent,net()
    def forward(self, x):
        if os.getpid()!=self.parent: os.kill(os.getpid(), signal.SIGKILL)
        return self.net(x)

def python(*args):
    env = os.environ|{'OMP_NUM_THREADS': '1'}
    return subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True, timeout=240, env=env)

job = f'''
import json, os, signal, sys, warnings
sys.path.insert(0, {str(Path(__file__).parent)!r})
from datetime import timedelta
import numpy as np, torch.distributed as dist
from torchmetrics import MetricCollection
from test_distributed import net, x, y
import transfer_metrics as tm
from transfer_metrics.distributed import torchrun_outputs
from transfer_metrics.state import State
folder = sys.argv[1]
warnings.simplefilter('ignore')
dist.init_process_group('gloo', timeout=timedelta(seconds=60))
rank,found = dist.get_rank(),{{}}
out = torchrun_outputs(net(), (x,y), batch_size=16, progress=False)
assert (out.labels==y).all()
np.save(f'{{folder}}/features{{rank}}.npy', out.features)
mine = slice(0, 60) if rank==0 else slice(60, 201)
given = dict(features=out.features[mine], labels=y[mine], probs=out.probs[mine])
for k in 'h_score','leep':
    states,state,score = [None]*2,State(k),tm.as_metric(k)
    dist.all_gather_object(states, state.update(*(given[a] for a in state.args)))
    found[f'state {{k}}'] = (states[0]+states[1]).value()
    for i in range(0, 150, 50):
        if len(y[mine][i:i+50]): score.update(*(given[a][i:i+50] for a in state.args))
    found[f'metric {{k}}'] = float(score.compute())
alone = tm.as_metric('h_score')
if rank: alone.update(out.features, y)
found['alone h_score'] = float(alone.compute()) # a process without samples
both = MetricCollection([tm.as_metric(k) for k in ('h_score','leep','logme')])
both.update(**given)
found |= {{f'collection {{k}}': float(v) for k,v in both.compute().items()}}
try: torchrun_outputs(net(), (x.log() if rank else x,y), progress=False) # NaN in one process
except ValueError as e: found['error'] = str(e)
with open(f'{{folder}}/{{rank}}.json', 'w') as f: json.dump(found, f)
dist.barrier()
if rank: os.kill(os.getpid(), signal.SIGKILL)
dist.barrier()
'''

def test_torchrun(tmp_path):
    "Outputs, states and torchmetrics of two processes are those of one; an error is raised in both; a kill ends the job"
    (tmp_path/'job.py').write_text(job)
    done = python('-m', 'torch.distributed.run', '--nproc-per-node=2', tmp_path/'job.py', tmp_path)
    assert done.returncode and 'SIGKILL' in done.stderr, done.stderr
    out = tm.outputs(net(), (x,y), batch_size=16, progress=False)
    for rank in 0,1:
        np.testing.assert_array_equal(np.load(tmp_path/f'features{rank}.npy'), out.features)
        found = json.loads((tmp_path/f'{rank}.json').read_text())
        assert 'process 1: ValueError' in found.pop('error')
        for k,v in found.items():
            name = k.split()[1]
            assert v==pytest.approx(tm.registry()[name](out.probs if name=='leep' else out.features, y), rel=1e-9), k

killed = f'''
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_distributed import Killer, tm, x, y
tm.outputs(Killer(0), (x,y), shard=1, of=2, progress=False).save(sys.argv[1])
'''

def test_killed_shard(tmp_path):
    "Only its own part is computed again; merged, the shards are the outputs of one process, bit for bit"
    def part(**shard): return tm.outputs(net(), (x,y), batch_size=16, progress=False, **shard)
    part(shard=0, of=2).save(tmp_path/'0')
    assert python('-c', killed, tmp_path/'1').returncode==-signal.SIGKILL and not (tmp_path/'1').exists()
    part(shard=1, of=2).save(tmp_path/'1')
    merged = merge([tmp_path/'0',tmp_path/'1'])
    for k,v in part().arrays().items(): np.testing.assert_array_equal(getattr(merged, k), v)
    assert merged.taken==part().taken

@contextmanager
def pool():
    with ProcessPoolExecutor(2, mp_context=get_context('spawn')) as executor: yield executor

@contextmanager
def dask():
    pytest.importorskip('dask')
    distributed = pytest.importorskip('distributed')
    import dask
    with dask.config.set({'distributed.scheduler.allowed-failures': 0, 'distributed.comm.timeouts.connect': '120s'}), \
         distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                  silence_logs=50) as cluster, \
         distributed.Client(cluster) as client: yield client.get_executor()

@contextmanager
def ray():
    ray = pytest.importorskip('ray')
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level='error')
    try: yield RayExecutor()
    finally: ray.shutdown()

@pytest.mark.filterwarnings('default')
@pytest.mark.parametrize('start', [pool,dask,ray])
def test_executors(start, tmp_path, monkeypatch):
    "Scores as in one process; a model that kills its worker does not lose those that are stored"
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([str(Path(__file__).parent),*sys.path]))
    score = partial(tm.score_models, data=(x,y), metrics='h_score,leep', progress=False)
    models = {f'net {i}': net(i) for i in range(3)}
    here = score(models)
    with start() as executor:
        there = score(models, executor=executor)
        assert there[['model','metric','value']].equals(here[['model','metric','value']]) and not there.error.any()
        found = score(models|dict(killer=Killer(os.getpid())), executor=executor, store=tmp_path)
        errors = found[found.model=='killer'].error
        assert len(errors)==2 and errors.str.contains('ill|erminated|died').all(), errors.tolist()
    again = score(models, store=tmp_path)
    assert again[['model','metric','value']].equals(here[['model','metric','value']])
