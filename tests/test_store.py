"Results survive a kill at any moment, and nothing that is damaged or foreign is taken for one"
import json
import os
import signal
import subprocess
import sys
import time
import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from transfer_metrics.datasets.networks import small_cnn
from transfer_metrics.store import Rows, atomic, key_of, load_arrays, load_numpy, save_arrays

job = """
import sys, time
import numpy as np
from transfer_metrics.store import Rows, key_of, save_arrays
folder = sys.argv[1]
rows = Rows(f'{folder}/rows.jsonl')
for i in range(40):
    key = key_of('model', i)
    if key in rows: continue
    print(i, flush=True)
    time.sleep(.02)
    save_arrays(f'{folder}/{i}', features=np.full(100_000, i))
    rows.put(key, dict(value=i/3, label='a"\\n'))
"""

@pytest.mark.skipif(os.name!='posix', reason='kills processes')
def test_killed_and_resumed(tmp_path):
    "SIGKILL at several moments: at most the item under way is computed twice, the result is that of an undisturbed run"
    computed = []
    for seconds in (.3,.2,None):
        with subprocess.Popen([sys.executable, '-c', job, str(tmp_path)], stdout=subprocess.PIPE, text=True) as p:
            computed.append(p.stdout.readline())
            if seconds:
                time.sleep(seconds)
                p.send_signal(signal.SIGKILL)
            computed += p.stdout.read().splitlines()
    assert len(computed)<=42 and {int(o) for o in computed}=={*range(40)}
    rows = Rows(tmp_path/'rows.jsonl')
    assert [rows.get(key_of('model', i)) for i in range(40)]==[dict(value=i/3, label='a"\n') for i in range(40)]
    assert all((load_arrays(tmp_path/str(i))['features']==i).all() for i in range(40))
    left = [p.name for p in tmp_path.iterdir()
            if p.name[0]=='.'] # of an item that another process computed under another name
    with atomic(tmp_path/'39') as temporary: temporary.mkdir()
    assert len(left)<=3 and not [o for o in left if o.startswith('.39.')]

def test_temporary_folders_of_killed_runs_go(tmp_path):
    code = f"import os\nfrom transfer_metrics.store import atomic\nwith atomic({str(tmp_path/'x')!r}): os._exit(9)"
    for _ in range(2): subprocess.run([sys.executable, '-c', code], check=False)
    assert len([*tmp_path.iterdir()])==1
    with atomic(tmp_path/'x') as temporary: temporary.write_text('new')
    assert [p.name for p in tmp_path.iterdir()]==['x']
    with pytest.raises(KeyError), atomic(tmp_path/'x') as temporary:
        temporary.write_text('half')
        raise KeyError
    assert (tmp_path/'x').read_text()=='new' and len([*tmp_path.iterdir()])==1

def test_rows(tmp_path):
    file = tmp_path/'a'/'rows.jsonl'
    rows = Rows(file)
    rows.put('a', [np.float32(.5),np.nan,None,np.arange(2)])
    with open(file, 'a') as f: f.write('{"key": "b", "row": [1')
    again = Rows(file)
    half,nan,*more = again.get('a')
    assert 'b' not in again and again.get('b', 7)==7 and half==.5 and np.isnan(nan) and more==[None,[0,1]]
    again.put('b', 2)
    rows.put('c', 3) # another process
    assert len(Rows(file))==3 and len(Rows(file, resume=False))==0
    Rows(file, resume=False).put('a', 'new')
    assert Rows(file).get('a')=='new'
    memory = Rows()
    memory.put('a', 1)
    assert memory.get('a')==1
    other = tmp_path/'other.csv'
    for text in '{"a": 1}','{\n "key": 1\n}','model,score\na,1\n':
        other.write_text(text)
        with pytest.raises(ValueError, match='must be a file of results'): Rows(other)
    cut = tmp_path/'cut'
    cut.write_text('{"ke') # of a process that was killed while it wrote the first result
    assert len(Rows(cut))==0
    with pytest.raises(OSError, match=r'cannot write the store .*rows'): Rows(other/'rows')
    with pytest.raises(OSError, match=r'cannot write .*other.csv/x'), atomic(other/'x'): pass
    assert other.read_text()=='model,score\na,1\n'

def test_lost_bytes_are_not_believed(tmp_path):
    folder = save_arrays(tmp_path/'out', features=np.arange(6.).reshape(3, 2), labels=['a','b','c'])
    found = load_arrays(folder)
    assert isinstance(found['features'], np.memmap) and found['labels'].tolist()==['a','b','c']
    for harm in (lambda p: p.write_bytes(p.read_bytes()[:-8]), lambda p: p.write_bytes(p.read_bytes()[:-1]+b'\1'),
                 lambda p: p.unlink()):
        save_arrays(folder, features=np.arange(6.))
        harm(folder/'features.npy')
        with pytest.raises(ValueError, match='has changed or disappeared since it was saved'): load_arrays(folder)
    with pytest.raises(ValueError, match=r'`a` must hold numbers or text.*a.astype\(str\)'):
        save_arrays(tmp_path/'b', a=np.array([1,'a'], object))
    (tmp_path/'foreign').mkdir()
    (tmp_path/'foreign'/'thesis.tex').touch()
    with pytest.raises(ValueError, match='it holds '): save_arrays(tmp_path/'foreign', a=[1])
    save_arrays(tmp_path/'own', a=[1])
    save_arrays(tmp_path/'own', b=[2])
    assert [*load_arrays(tmp_path/'own')]==['b']
    (tmp_path/'own'/'notes.txt').write_text('of the user')
    with pytest.raises(ValueError, match='it holds notes.txt'): save_arrays(tmp_path/'own', a=[1])

class Data(torch.utils.data.Dataset):
    def __init__(self, x, transform=None): self.x,self.transform = x,transform
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i]

@pytest.mark.parametrize('save', [np.savez,np.savez_compressed,lambda path, x: np.save(path, x)])
def test_damaged_numpy_files(tmp_path, save):
    "A file that was cut, overwritten or made of Python objects is refused, or its arrays are those that were saved"
    x = np.arange(300.)
    save(tmp_path/'x', x=x)
    path, = tmp_path.iterdir()
    data = path.read_bytes()
    for i in range(0, len(data), 41):
        for bad in data[:i],data[:i]+b'?'+data[i+1:]:
            path.write_bytes(bad)
            try: found = load_numpy(path)
            except ValueError as e: assert path.name in str(e) and 'pickle' not in str(e)
            else: assert path.suffix=='.npy' or not found or np.array_equal(found['x'], x)
    save(tmp_path/'x', x=np.array([None]))
    with pytest.raises(ValueError, match='Python objects'): load_numpy(path)
    with pytest.raises(ValueError, match='No such file'): load_numpy(tmp_path/'nothing.npz')

def test_keys(tmp_path):
    "The same content has the same key, in another process as well; whatever differs has another one"
    from functools import partial
    from torchvision.transforms import v2
    torch.manual_seed(0)
    (tmp_path/'a.txt').write_text('a')
    def net(seed=0, width=4):
        torch.manual_seed(seed)
        return small_cnn(3, width=width)
    eyes = np.eye(3)
    makers = [
        lambda: 1, lambda: 1., lambda: '1', lambda: True, lambda: None, lambda: [1,2], lambda: [2,1], lambda: [1,[2]],
        lambda: dict(a=1), lambda: {1,2}, lambda: float('nan'), lambda: np.eye(3), lambda: np.eye(3, dtype='float32'),
        lambda: np.eye(3)[:,::-1], lambda: np.eye(3).reshape(1, 9), lambda: np.array(['a','b']),
        lambda: np.array(['a',1], object),
        lambda: np.array(5, 'datetime64[D]'), lambda: torch.eye(3), lambda: torch.eye(3).bfloat16(),
        lambda: pd.DataFrame(dict(a=[1,2])), lambda: pd.DataFrame(dict(b=[1,2])), net, lambda: net(1),
        lambda: net(0, 8),
        lambda: tmp_path/'a.txt', lambda: np.mean, lambda: partial(np.mean, axis=0), lambda: partial(np.mean, axis=1),
        lambda: Data(eyes), lambda: Data(eyes+1), lambda: Data(eyes, v2.Resize(3)), lambda: Data(eyes, v2.Resize(4)),
        lambda: v2.Compose([v2.Resize(5)]).forward]
    keys = [key_of(make()) for make in makers]
    assert keys==[key_of(make()) for make in makers] and len({*keys})==len(keys)
    assert key_of(1, 2)!=key_of([1,2]) and key_of(torch.eye(4)[:,1:])==key_of(torch.eye(4)[:,1:].clone())
    code = ('import numpy as np, torch\nfrom transfer_metrics.store import key_of\n'
            'print(key_of([np.eye(2),{"b","a"},dict(c=torch.ones(2))]))')
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.split()
    assert out==[key_of([np.eye(2),{'b','a'},dict(c=torch.ones(2))])]
    before = key_of(tmp_path/'a.txt')
    (tmp_path/'a.txt').write_text('bc')
    cycle = []
    cycle.append(cycle)
    assert key_of(tmp_path/'a.txt')!=before and key_of(cycle)==key_of(cycle) and key_of(torch.Generator()) and json.dumps(before)
    assert key_of(nn.Linear(2, 2))!=key_of(nn.Linear(2, 2))
