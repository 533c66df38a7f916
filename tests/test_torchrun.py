"Two and three real processes under `torchrun`, over Gloo: the same table as one process, and an end, not a wait, when one of them dies"
import json
import os
import subprocess
import sys
import time
import numpy as np
import pandas as pd
import pytest
import torch
from transfer_metrics.cli.main import main
from transfer_metrics.registry import registry

torchrun = [sys.executable, '-m', 'torch.distributed.run', '--nproc-per-node=2']
env = os.environ | {'OMP_NUM_THREADS': '1'}

def run(*command, seconds=240): return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, timeout=seconds)

@pytest.fixture(scope='module')
def arrays(tmp_path_factory):
    "An odd number of samples, with labels that are words, and classes that only one of the two processes sees"
    d,rng = tmp_path_factory.mktemp('arrays'),np.random.default_rng(0)
    y = np.array(['cat','dog','owl'])[rng.integers(0, 3, 201)]
    y[[1,3]] = 'eel'
    x = rng.normal(size=(201,6))+(y=='cat')[:,None]+50
    for k,v in dict(features=x.astype('float32'), labels=y, probs=rng.dirichlet(np.ones(4), 201)).items(): np.save(d/f'{k}.npy', v)
    return d

@pytest.mark.filterwarnings('default')
def test_rank(arrays):
    "Scores that add up, and scores that gather the rows, equal those of one process"
    given = ['rank', '--features', arrays/'features.npy', '--probs', arrays/'probs.npy', '--labels', arrays/'labels.npy', '--metrics', 'all', '--no-progress', '--csv']
    one = main(list(map(str, [*given, arrays/'one.csv'])))
    two = run(*torchrun, '-m', 'transfer_metrics.cli.main', *given, arrays/'two.csv')
    assert (one, two.returncode)==(0,0), two.stderr
    a,b = (pd.read_csv(arrays/f'{k}.csv', keep_default_na=False) for k in ('one','two'))
    assert len(a)>8 and (a.error=='').all() and (b.error=='').all()
    assert a[['model','metric','n']].equals(b[['model','metric','n']])
    np.testing.assert_allclose(b.value.astype(float), a.value.astype(float), rtol=1e-8, atol=1e-8)
    assert two.stdout.count('Scores on')==1 # the first process speaks for all

script = """
import os, signal, sys, numpy as np
from transfer_metrics.distributed import joined, shared
from transfer_metrics.transferability.h_score import h_score
how,folder = sys.argv[1:]
x,y = np.random.default_rng(0).normal(size=(40,3)),np.arange(40)%2
with joined(timeout=120) as (rank, world):
    open(f'{folder}/joined{rank}', 'w').close()
    shared(h_score)(x, y)
    if rank==1 and how=='killed': os.kill(os.getpid(), signal.SIGKILL)
    if rank==1 and how=='damaged': x[7] = np.nan
    try: shared(h_score)(x, y)
    except (ValueError, ConnectionError) as e:
        with open(f'{folder}/part{rank}', 'w') as f: f.write(f'{type(e).__name__}: {e}')
        os.replace(f'{folder}/part{rank}', f'{folder}/said{rank}')  # whole, or not there: torchrun may end it at any moment
        raise
"""

def ended(how, folder):
    "The end of a job in which one process fails"
    (folder/'job.py').write_text(script)
    start = time.monotonic()
    done = run(*torchrun, folder/'job.py', how, folder, seconds=110) # less than the time that processes wait for each other
    assert done.returncode and all((folder/f'joined{r}').exists() for r in (0,1)), done.stderr
    return time.monotonic()-start, done.stderr

def test_damaged_data(tmp_path):
    "All processes stop, with the message of the one that failed"
    ended('damaged', tmp_path)
    for r in 0,1:
        said = (tmp_path/f'said{r}').read_text()
        assert said.startswith('ValueError') and 'process 1' in said and '`features` must be finite' in said

def test_killed(tmp_path):
    "The job ends and names the process that is gone"
    _,err = ended('killed', tmp_path)
    assert 'SIGKILL' in err or 'Signal 9' in err
    if (tmp_path/'said0').exists(): assert 'another process has failed' in (tmp_path/'said0').read_text() # unless torchrun was quicker

three = """
import json, os, signal, sys, warnings, numpy as np
from torch.utils.data import TensorDataset
from transfer_metrics.cli.common import share_of
from transfer_metrics.distributed import gather, joined, shard, shared
from transfer_metrics.models import Outputs
import torch
folder, = sys.argv[1:]
x,y = np.random.default_rng(0).normal(size=(40,3)),np.arange(40)%2
probs = np.random.default_rng(1).dirichlet(np.ones(4), 40)
own = [slice(0, 1),slice(1, 33),slice(33, 40)]
warnings.simplefilter('ignore', UserWarning)
found = {}
def said(name, f, *args):
    try: found[name] = f(*args)
    except (ValueError, ConnectionError) as e: found[name] = f'{type(e).__name__}: {e}'
    with open(f'{folder}/{rank}.json', 'w') as f: json.dump(found, f)
with joined(timeout=120) as (rank, world):
    s = own[rank]
    for metric in 'h_score','logme','sfda','parc': said(metric, shared(metric), x[s], y[s])
    for metric in 'leep','pactran_dirichlet': said(metric, shared(metric), probs[s], y[s])
    two = Outputs(features=x[:2], labels=y[:2])
    said('shard', shard, TensorDataset(torch.zeros(2)))
    said('share_of', share_of, two)
    said('empty', shared('h_score'), x[:5*rank], y[:5*rank])
    mine = {'a': torch.arange(3.+rank).double(), 'empty': torch.zeros(0, 2), 'labels': ['x', (1, 'y'), 2][:1+rank], 'rows': [torch.ones(rank)]}
    if rank: mine['only'] = torch.tensor([[True,False]])
    got = gather(mine)
    assert [o['a'].tolist() for o in got]==[[0,1,2],[0,1,2,3],[0,1,2,3,4]] and got[0]['a'].dtype==torch.float64
    assert all(o['empty'].shape==(0,2) for o in got) and [o['labels'] for o in got]==[['x'],['x', (1, 'y')],['x', (1, 'y'), 2]]
    assert 'only' not in got[0] and got[1]['only'].tolist()==[[True,False]] and [len(o['rows'][0]) for o in got]==[0,1,2]
    found['gathered'] = True # tensors of different sizes, of other types, missing in some processes, and labels of any kind
    said('done', float)
    if rank==2:
        open(f'{folder}/killed', 'w').close()
        os.kill(os.getpid(), signal.SIGKILL)
    said('after', shared('h_score'), x, y)
"""

def test_three_processes(tmp_path):
    "Uneven shares, fewer samples than processes, and one of three that is killed: the same value, or an error in all, soon"
    (tmp_path/'job.py').write_text(three)
    many = [*torchrun[:-1],'--nproc-per-node=3']
    done = run(*many, tmp_path/'job.py', tmp_path)
    waited = time.time()-(tmp_path/'killed').stat().st_mtime
    assert done.returncode and waited<60, done.stderr
    said = [json.loads((tmp_path/f'{rank}.json').read_text()) for rank in range(3)]
    rng = np.random.default_rng(0)
    x,y,probs = rng.normal(size=(40,3)),np.arange(40)%2,np.random.default_rng(1).dirichlet(np.ones(4), 40)
    for k in 'h_score','logme','sfda','parc','leep','pactran_dirichlet':
        m = registry()[k]
        expected = m.f(probs if 'probs' in m.args else x, y)
        assert [o[k] for o in said]==pytest.approx([expected]*3, rel=1e-9), k
    for o in said:
        assert 'at least one sample for each of the 3 processes, got 2' in o['shard']
        assert o['gathered']
        assert '3 processes need a sample each, got 2' in o['share_of']
        assert 'process 0: ValueError' in o['empty'] and 'process 1' not in o['empty']
    for o in said[:2]:
        assert 'another process has failed' in o.get('after', 'another process has failed') # unless torchrun was quicker

if torch.distributed.is_available() and not torch.distributed.is_gloo_available(): pytestmark = pytest.mark.skip('torch without Gloo')
