"A sweep: each forward pass is made once, whatever is asked of it later and whenever it was killed; a model that fails is a row"
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.transforms import v2
from transfer_metrics.adapters import Adapter
from transfer_metrics.cli.main import main
from transfer_metrics.containers import Loaded
from transfer_metrics.datasets import images as files
from transfer_metrics.experiments.retrain_head import retrain_head
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.model_selection.sweep import kept_outputs
from transfer_metrics.shared_images import SharedImages, _shelves

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

def test_settings_of_a_module_matter(tmp_path, count):
    "A number or a word beside the weights, a buffer that is not saved, a hook and what it captured"
    def looked(model):
        kept_outputs({'m': model}, loader, store=tmp_path, progress=False)
        return count()
    class Scaled(Net):
        def __init__(self):
            super().__init__(0)
            self.scale = 1.
            self.register_buffer('shift', torch.zeros(8), persistent=False)
        def forward(self, x):
            noted()
            return self.head(self.body(x)*self.scale+self.shift)
    model = Scaled()
    assert looked(model)==passes and looked(Scaled())==0
    model.scale = 2.
    assert looked(model)==passes
    model.shift += 1
    assert looked(model)==passes
    assert looked(model)==0
    def halved(by): return model.head.register_forward_hook(lambda module, args, out: out/by)
    first = halved(2)
    assert looked(model)==passes and looked(model)==0
    first.remove()
    assert looked(model)==0 # the key of before
    halved(3)
    assert looked(model)==passes
    before = score_models({'m': model}, loader, 'leep', store=tmp_path, progress=False)
    count()
    model.head.register_forward_hook(lambda module, args, out: -out)
    after = score_models({'m': model}, loader, 'leep', store=tmp_path, progress=False)
    assert count()==passes and after.value[0]!=before.value[0]

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('after', [1, 7])
def test_killed_and_resumed(after, tmp_path, count):
    "Bit for bit what an undisturbed run gives; what was whole is not made again"
    expected = scored(tmp_path/'whole', pause=.02)
    count()
    store,log = tmp_path/'sweep',tmp_path/'log'
    pid = os.fork()
    if not pid:
        try: scored(store, pause=.02)
        finally: os._exit(0) # an error must not go on as a second pytest
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

class Flat(nn.Module):
    "One linear layer on pictures of any size"
    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.head = nn.Linear(48, 3)
    def forward(self, x): return self.head(nn.functional.adaptive_avg_pool2d(x, 4).flatten(1))

class Own(torch.utils.data.Dataset):
    "A data set that nobody knows"
    def __init__(self, data): self.data = data
    def __len__(self): return len(self.data)
    def __getitem__(self, i): return self.data[i]

class Missing(Own):
    def __init__(self, error):
        self.data = range(4)
        self.error = error
    def __getitem__(self, i):
        if i>2: raise self.error
        return i

def pictures(folder, monkeypatch, n=12):
    "Pictures in folders; each one that is opened is noted"
    opened = files.open_picture
    monkeypatch.setattr(files, 'open_picture', lambda path: noted() or opened(path))
    r = np.random.default_rng(0)
    for i in range(n):
        place = folder/('cat' if i%3 else 'dog')
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(r.integers(0, 256, (8,8,3), dtype=np.uint8)).save(place/f'{i}.png')
    data = files.load_images(folder)
    data.transform = None
    return data

class Prepared:
    "Pictures as a batch, which workers can be sent"
    def __init__(self, size):
        self.change = v2.Compose([v2.Resize(size), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([.4]*3, [.3]*3)])
    def __call__(self, found): return torch.stack([self.change(x) for x in found])

def prepared(seed, size): return Adapter(Flat(seed), f'm{seed}', Prepared(size))

def test_images_are_decoded_once(tmp_path, count, monkeypatch):
    "Three models of two preprocessings open each picture twice, and say what they say alone, to the last bit"
    data = pictures(tmp_path/'images', monkeypatch)
    def scored(given=data, sizes=(6,6,5), metrics='logme,leep,knn', **options):
        models = {f'm{i}': prepared(i, size) for i,size in enumerate(sizes)}
        return score_models(models, given, metrics, progress=False, batch_size=5, **options)
    alone = scored(memory=0)
    assert count()==36 and (alone.error=='').all()
    for few in 512,1: # as numbers, as bytes
        monkeypatch.setattr(SharedImages, 'few', few)
        same(scored(), alone)
        assert count()==24
    with ProcessPoolExecutor(1) as pool: same(scored(executor=pool), alone)
    assert count()==24
    with ThreadPoolExecutor(2) as pool: same(scored(executor=pool), alone)
    assert 24<=count()<=36
    same(scored(workers=1), alone)
    assert count()==24
    half = torch.utils.data.Subset(data, range(0, 12, 2))
    assert scored(half).n.max()==6 and count()==12
    with pytest.warns(UserWarning, match='more than the 1e-07 GiB that they may have'): same(scored(memory=1e-7), alone)
    assert count()==36
    store = tmp_path/'sweep'
    same(scored(store=store), alone)
    same(scored(store=store, workers=1), alone)
    assert count()==24
    scored(store=store, sizes=(6,6,5,5,5))
    assert count()==12 # for the two that are new
    shelf, = [o for o in _shelves.values() if o.to_come or o.sets] or [None]
    assert shelf is None

def test_images_that_change_are_not_kept(tmp_path, count, monkeypatch):
    "A shuffled loader, a random transform; an unknown data set is kept if it is asked for"
    data = pictures(tmp_path/'images', monkeypatch)
    def opens(given, **options):
        models = {f'm{i}': prepared(i, 6) if isinstance(given, Own) else Flat(i) for i in range(2)}
        score_models(models, given, 'logme', progress=False, **options)
        return count()
    assert [opens(Own(data)), opens(Own(data), memory=1)]==[24,12]
    data.transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    assert [opens(DataLoader(data, 5)), opens(DataLoader(data, 5), memory=0)]==[12,24]
    assert opens(DataLoader(data, 5, shuffle=True), memory=1)==24
    data.transform = v2.Compose([v2.RandomCrop(6), data.transform])
    assert opens(DataLoader(data, 5))==24

@pytest.mark.parametrize('error', [OSError('no such picture'), ValueError('of two: lines\nand a cause'), ValueError()])
def test_an_error_of_a_worker_is_that_of_the_sample(error):
    "With all its lines, and no process is left while it is looked at"
    with pytest.raises(type(error)) as found: list(Loaded(Missing(error), 1, workers=1))
    assert str(found.value)==str(error) and active_children()==[]

def test_ctrl_c_is_for_the_process_that_has_the_workers():
    "They do not die of it one by one, which would look like a failure of the model"
    with pytest.raises(ValueError, match='`workers` must be a whole number'): Loaded(range(6), 1, workers=1.5)
    batches = iter(Loaded(range(6), 1, workers=1))
    next(batches)
    for o in active_children(): os.kill(o.pid, signal.SIGINT)
    assert len(list(batches))==5

def shelf_there(shelf): return shelf.limit,[*shelf.to_come]

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
def test_forked_workers_share_the_memory():
    "A worker has its part of it, also where it is forked after the images were asked for"
    shelf = SharedImages(1, among=4)
    shelf.expect(['a'])
    with ProcessPoolExecutor(1, mp_context=get_context('fork')) as pool: there = pool.submit(shelf_there, shelf).result()
    assert there==(2**28,[None])

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
        '    def forward(self, x):\n        noted()\n        return self.head(nn.functional.adaptive_avg_pool2d(x, 4).flatten(1))\n\ndef net(): return N()\n\ndef other(): return N()\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(os.path.dirname(__file__))
    command = ['rank', '--models', 'counted_nets:net', '--images', 'images', '--limit', '6', '--store', 'sweep', '--no-progress']
    main([*command, '--metrics', 'leep'])
    assert count()==1 and 'cat 4, dog 2' in capsys.readouterr().out
    main([*command, '--metrics', 'logme,knn'])
    assert count()==0
    opened = []
    open_picture = files.open_picture
    monkeypatch.setattr(files, 'open_picture', lambda path: opened.append(path) or open_picture(path))
    for memory,n in ('-1',6),('0',12):
        opened.clear()
        main(['rank', '--models', 'counted_nets:net,counted_nets:other', '--images', 'images', '--limit', '6', '--memory', memory,
              '--metrics', 'leep', '--no-progress'])
        assert len(opened)==n
