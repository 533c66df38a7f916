"Invariance of a model over views of images: batches, loaders, order, large logits, small types, and what is refused"
from copy import deepcopy
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
import transfer_metrics as tm
from transfer_metrics.invariance.views import rotate
from transfer_metrics.state import state_of

n,k = 60,4
x = torch.from_numpy(np.random.default_rng(0).normal(size=(n,1,6,6)))

class Net(torch.nn.Module):
    "Linear, its logits multiplied and rounded to a type"
    def __init__(self, by=1., dtype=torch.float64):
        super().__init__()
        torch.manual_seed(0)
        self.head = torch.nn.Linear(36, k).double()
        self.by,self.dtype = by,dtype
    def forward(self, x): return (self.by*self.head(x.flatten(1))).to(self.dtype)

def ri(model, images, **options): return tm.rotation_invariance(model, images, progress=False, **options)
def ji(model, images, **options): return tm.jigsaw_invariance(model, images, progress=False, **options)
def said(x): return Net()(x).softmax(1).detach()

whole = ri(Net(), x)

def test_definition():
    turned = torch.stack([said(rotate(x, j)) for j in (1,2,3)])
    assert whole==pytest.approx(tm.mean_effective_invariance(said(x), turned), rel=1e-12)

@pytest.mark.parametrize('size', [1, 7, 10**6])
def test_batch_size(size): assert ri(Net(), x, batch_size=size)==pytest.approx(whole, rel=1e-12)

@pytest.mark.parametrize('images', [x.numpy(), TensorDataset(x, torch.zeros(n)), DataLoader(TensorDataset(x, torch.zeros(n)), 16),
                                    [(o,) for o in x.split(25)]], ids=['numpy', 'data set', 'loader', 'batches'])
def test_kinds_of_images(images): assert ri(Net(), images)==pytest.approx(whole, rel=1e-12)

def test_order():
    o = np.random.default_rng(1).permutation(n)
    assert ri(Net(), x[o], batch_size=13)==pytest.approx(whole, rel=1e-12)
    assert ji(Net(), x[o], batch_size=13)==pytest.approx(ji(Net(), x), rel=1e-12)

def test_views_in_pieces():
    "Several views at once: the samples come in batches, the views together"
    views = torch.stack([said(rotate(x, j)) for j in (1,2)])
    a = state_of('mean_effective_invariance').update(said(x[:1]), views[:,:1])
    b = state_of('mean_effective_invariance').update(said(x[1:]), views[:,1:])
    assert b.merge(a).value()==pytest.approx(tm.mean_effective_invariance(said(x), views), rel=1e-12)

@pytest.mark.parametrize('by,dtype', [(1e5,torch.float64), (1e4,torch.float16)])
def test_certain(by, dtype):
    "Logits so large that the model is certain: the share of answers that stay"
    cls = said(x).argmax(1)
    stays = torch.stack([said(rotate(x, j)).argmax(1)==cls for j in (1,2,3)])
    assert ri(Net(by, dtype), x)==pytest.approx(float(stays.double().mean()), abs=2e-3)

def test_small_types():
    assert ri(Net(1, torch.float16), x)==pytest.approx(whole, abs=1e-3)
    turned = torch.stack([said(rotate(x, j)) for j in (1,2,3)])
    assert tm.mean_effective_invariance(said(x).half(), turned.half())==pytest.approx(whole, abs=1e-3)

def test_left_as_it_was():
    "Also in the middle of training, and the answer is that of evaluation mode"
    torch.manual_seed(0)
    layers = torch.nn.BatchNorm2d(1),torch.nn.Flatten(),torch.nn.Dropout(),torch.nn.Linear(36, k)
    model = torch.nn.Sequential(*layers).double().train()
    before,state = deepcopy(model.state_dict()),torch.get_rng_state()
    value = ri(model, x)
    assert model.training and torch.equal(state, torch.get_rng_state())
    for name,v in model.state_dict().items(): assert torch.equal(v, before[name])
    assert value==pytest.approx(ri(model.eval(), x), rel=1e-15)

p,two = said(x),torch.full((n,2), .5)

@pytest.mark.parametrize('f,text', {
    lambda: tm.effective_invariance(p, two): r'`probs` and `probs_t` must have one shape, got \(60, 4\) and \(60, 2\)',
    lambda: tm.mean_effective_invariance(p, p[:3]): r'`probs_t` must be \[n, k\] or \[views, n, k\] with n=60 and k=4',
    lambda: tm.mean_effective_invariance(p, p.log()): 'rows of `probs_t` must be probabilities',
    lambda: ji(Net(), x, grid=4, permutations=2): 'batch 0: sides of `images` must be divisible by `grid`=4',
    lambda: ri(torch.nn.Identity(), x): 'batch 0: the output of the model is not made',
    lambda: ri(torch.nn.Sequential(torch.nn.Flatten(0, 2), torch.nn.Linear(6, 4, dtype=x.dtype)), x, batch_size=10**6): 'one row of logits an image, got 360 rows for 60 images',
    lambda: ri(Net(np.nan), x, batch_size=10**6): 'NaN or infinite for 60 of 60',
    lambda: ri(Net(), iter([])): 'at least one batch, got none',
    lambda: ri(torch.nn.Linear(6, 10).double(), x[0,0]): r'`images` must be \[n, c, h, w\]',
    lambda: ri(Net(), None): r'`images` must be \(x, y\), a data set',
    lambda: ri(said, x): 'torch.nn.Module',
}.items(), ids=lambda o: o if isinstance(o, str) else "")
def test_refuses(f, text):
    with pytest.raises(ValueError, match=text): f()
