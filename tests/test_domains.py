"Domains and heads that tell views apart: what is refused, and that models are left as they were"
from copy import deepcopy
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset
from transfer_metrics.datasets.images import open_picture
from transfer_metrics.invariance.domains import Domain, interior_domain
from transfer_metrics.invariance.exterior import exterior_domain
from transfer_metrics.invariance.prediction import TransformHead, fit_head, jigsaw_prediction, rotation_prediction

g = torch.Generator().manual_seed(0)
x = torch.rand(60, 1, 8, 8, generator=g, dtype=torch.float64)
y = torch.arange(60)%3

def refused(text): return pytest.raises(ValueError, match=text)

@pytest.mark.parametrize('images,options,text', [
    (x[:,0], {}, r'`images` must be \[n, c, h, w\]'),
    (x-.5, {}, 'normalise in the model'),
    (x, dict(labels=y[:5]), '`labels` must be one class number an image'),
    (x[:2], dict(labels=['a','b']), '`labels` must be integers'),
    (x[:2], dict(labels=torch.tensor([.2,1.7])), '`labels` must be integers'),
    (x, dict(transforms=['affine','blur']), "unknown transform 'blur'"),
    (x, dict(transforms=['affine','contrast']), 'from 1 to 2, got 3')])
def test_interior(images, options, text):
    with refused(text): interior_domain(images, 3, **options)

def test_domain():
    with refused('`n_sets` must be a whole number of at least 1'): interior_domain(x, 0)
    with refused("the names of the sets must differ, got 'a' twice"): Domain(['a','b','a'], None)

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).double()

def fit(model=None, images=x, **options): return fit_head(model or net(), images, **{'epochs': 3, 'progress': False} | options)
def turns(head, images=x, **options): return rotation_prediction(net(), images, head, progress=False, **options)

def test_pieces():
    "Batches of any size, any order, a loader"
    head = fit()
    value = turns(head)
    for images,size in (x,7),(x.flip(0),10**6),(DataLoader(TensorDataset(x, y), 16, shuffle=True),1):
        assert turns(head, images, batch_size=size)==pytest.approx(value, rel=1e-12)

def test_reproducible():
    "The same seed gives the same head, from batches too"
    head = fit()
    np.testing.assert_array_equal(fit().weight, head.weight)
    np.testing.assert_allclose(fit(images=DataLoader(TensorDataset(x, y), 25)).weight, head.weight, atol=1e-9)

def test_left_as_it_was():
    torch.manual_seed(0)
    layers = torch.nn.BatchNorm2d(1),torch.nn.Flatten(),torch.nn.Dropout(),torch.nn.Linear(64, 10)
    busy = torch.nn.Sequential(*layers).double().train()
    before,state = deepcopy(busy.state_dict()),torch.get_rng_state()
    rotation_prediction(busy, x, fit(busy), progress=False)
    assert busy.training and torch.equal(state, torch.get_rng_state())
    for k,v in busy.state_dict().items(): assert torch.equal(v, before[k])

two_orders = dict(permutations=[(1,0,2,3),(2,0,1,3)], val_frac=0)

@pytest.mark.parametrize('options', [dict(), dict(grid=4, permutations=5), two_orders], ids=str)
def test_saved(options, tmp_path):
    "A head of any grid and permutations is the same when it is loaded"
    head = fit(task='jigsaw', **options)
    back = TransformHead.load(head.save(tmp_path/'heads/head.NPZ')) # NumPy would add another ending to this one
    assert (back.task,back.grid,back.permutations,back.layer)==('jigsaw',head.grid,head.permutations,'')
    solved = [jigsaw_prediction(net(), x, h, progress=False) for h in (head,back)]
    assert solved[0]==solved[1]

def test_refuses_files(tmp_path):
    with refused('`path`: no such file'): TransformHead.load(tmp_path/'other.npz')
    np.savez(tmp_path/'foreign.npz', weight=np.eye(4))
    with refused('is not a saved head, it lacks bias, task'): TransformHead.load(tmp_path/'foreign.npz')
    with refused('`path` must name a file that ends in .npz'): fit().save(tmp_path/'head.pt')

def test_refuses_heads():
    jig = fit(task='jigsaw')
    with refused(r"`head` must be a TransformHead for 'rotation', got TransformHead\(jigsaw, 24 views"): turns(jig)
    four = TransformHead(np.eye(4), np.zeros(4), 'rotation')
    with refused(r'the head reads 4 features, got 16; was it fitted to another model or layer\?'): turns(four)
    with refused('at least one batch'): turns(fit(), iter([]))
    with refused(r'`weight` must be \[d, 4\]'): TransformHead(np.eye(3), np.zeros(3), 'rotation')

@pytest.mark.parametrize('options,text', [
    (dict(task='jigsaw', grid=3, permutations=4), 'divisible by `grid`=3'),
    (dict(task='flip'), "`task` must be 'rotation' or 'jigsaw'"),
    (dict(val_frac=1.), r'`val_frac` must be a number in \[0, 1\)'),
    (dict(images=x[:1]), 'at least two'),
    (dict(layer='neck'), "no layer 'neck'"),
    (dict(images=x*1e150, lr=1e300, layer='1'), 'grown without bound, lower `lr`')])
def test_refuses_fits(options, text):
    with refused(text): fit(**options)

@pytest.mark.parametrize('layout', ['folder','npz','npy','unlabelled'])
def test_only_what_is_chosen_is_read(layout, tmp_path, monkeypatch):
    "The images of a set that `choose` names, with their labels; the others stay on the disk"
    x = np.arange(6, dtype=np.uint8)[:,None,None,None]*np.ones((8,8,3), np.uint8)
    y = np.array([0,0,0,1,1,1])
    if layout=='npz': np.savez(tmp_path/'some.npz', images=x, labels=y)
    elif layout=='npy':
        np.save(tmp_path/'data.npy', x)
        np.save(tmp_path/'labels.npy', y)
    else:
        for i,(picture,c) in enumerate(zip(x, y, strict=True)):
            folder = tmp_path/'ab'[c] if layout=='folder' else tmp_path
            folder.mkdir(exist_ok=True)
            Image.fromarray(picture).save(folder/f'{i}.png')
    opened,asked = [],[]
    def counted(path):
        opened.append(path.stem)
        return open_picture(path)
    monkeypatch.setattr('transfer_metrics.invariance.exterior.open_picture', counted)
    def choose(n, labels):
        asked.append((n, None if labels is None else list(labels)))
        return np.array([1,4])
    some, = exterior_domain(tmp_path, choose=choose)
    assert asked==[(6, None if layout=='unlabelled' else y.tolist())]
    assert some.images[:,0,0,0].tolist()==[1,4]
    assert (some.labels is None if layout=='unlabelled' else some.labels.tolist()==[0,1])
    assert opened==([] if layout in ('npz','npy') else ['1','4'])
    every, = exterior_domain(tmp_path, choose=lambda n, labels: None)
    assert len(every.images)==6
