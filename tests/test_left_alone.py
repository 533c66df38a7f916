"""Models of every kind are left as they were, also by what fails; loaders that give other samples the second time are noticed"""
from functools import partial
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
import transfer_metrics as tm
from transfer_metrics.invariance.domains import ImageSet

g = torch.Generator().manual_seed(0)
y = torch.arange(24)%3
images = torch.rand(24, 1, 4, 4, generator=g)

class Plain(nn.Module):
    "Dropout and batch normalisation, a parameter used twice, and answers of several kinds"
    def __init__(self, kind='tensor'):
        super().__init__()
        torch.manual_seed(0)
        self.kind = kind
        self.first = nn.Linear(16, 16)
        self.second = nn.Linear(16, 16)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout()
        self.head = nn.Linear(16, 3)
    def forward(self, x):
        x = x.flatten(1).to(self.head.weight.dtype)
        z = self.head(self.drop(self.norm(self.second(self.first(x)))))
        return {'logits': z} if self.kind=='dict' else z

def hooked():
    model = Plain()
    model.seen = []
    model.head.register_forward_hook(lambda m, x, z: model.seen.append(m.training))
    model.first.register_forward_pre_hook(lambda m, x: None)
    return model

def partly():
    "Some in training mode, some not; some frozen, some with gradients"
    model = Plain()
    model.norm.eval()
    model.first.weight.requires_grad_(False)
    model.head.weight.grad = torch.ones_like(model.head.weight)
    return model

makers = dict(plain=Plain, dict=lambda: Plain('dict'), hooked=hooked, partly=partly, evaluating=lambda: Plain().eval(),
              half=lambda: Plain().bfloat16(), compiled=lambda: torch.compile(Plain(), backend='eager'), parallel=lambda: nn.DataParallel(Plain()))

def told(model):
    "All that there is to a model"
    modules = list(model.modules())
    params = dict(model.named_parameters(remove_duplicate=False))
    hooks = [[list(getattr(m, k)) for k in ('_forward_hooks','_forward_pre_hooks','_backward_hooks')] for m in modules]
    kept = {k: (id(p), p.data_ptr(), p.requires_grad, p.dtype, None if p.grad is None else p.grad.tolist()) for k,p in params.items()}
    values = {k: v.tolist() for k,v in model.state_dict().items()}
    names = [sorted(k for k in vars(m) if k!='seen') for m in modules]
    return [[id(m) for m in modules], [m.training for m in modules], hooks, kept, values, names]

class Failing(Dataset):
    "Fails in the middle"
    def __len__(self): return len(y)
    def __getitem__(self, i):
        if i==17: raise RuntimeError('this image cannot be read')
        return images[i],y[i]

def failing(model): tm.outputs(model, DataLoader(Failing(), 8), progress=False)
def scored(model): return tm.score_models({'m': model}, (images,y), metrics=['leep','h_score'], progress=False)
def judged(model): return tm.evaluate({'m': model}, [ImageSet('s', images, y)], metrics=['nuclear_norm','accuracy'], progress=False)
def tuned(model): return tm.fine_tune(model, (images,y), (images,y), epochs=1, batch_size=8, progress=False)
uses = dict(outputs=lambda model: tm.outputs(model, DataLoader(TensorDataset(images, y), 8), progress=False), scored=scored, judged=judged, tuned=tuned)

@pytest.mark.filterwarnings('ignore:inflated')
@pytest.mark.parametrize('use', [*uses,'failing'])
@pytest.mark.parametrize('kind', makers)
def test_left_alone(kind, use):
    model = makers[kind]()
    before = told(model)
    torch.manual_seed(3)
    random = torch.get_rng_state()
    if use=='failing':
        with pytest.raises(RuntimeError, match='cannot be read'): failing(model)
    else: uses[use](model)
    assert told(model)==before
    assert torch.equal(torch.get_rng_state(), random)
    if kind=='hooked': assert model.seen and not any(model.seen) or use=='tuned'

def compiled_inside():
    model = Plain()
    model.second = torch.compile(model.second, backend='eager')
    return model

def test_same_answers():
    "However a model is wrapped or compiled, in whole or in part, and whatever its mode"
    expected = tm.outputs(Plain(), (images,y), progress=False)
    for kind,make in (makers|dict(compiled_inside=compiled_inside)).items():
        if kind=='half': continue
        found = tm.outputs(make(), (images,y), progress=False)
        np.testing.assert_array_equal(found.logits, expected.logits, err_msg=kind)
        np.testing.assert_array_equal(found.features, expected.features, err_msg=kind)

class Anew:
    "Batches that are drawn anew at each reading"
    def __init__(self, draw):
        self.random = np.random.default_rng(0)
        self.draw = draw
        self.probs = torch.softmax(images.flatten(1)[:,:5]*4, 1).numpy()
    def __iter__(self):
        p,labels = self.draw(self.random, self.probs, y.numpy())
        for i in range(0, len(p), 6): yield p[i:i+6],labels[i:i+6]

def shuffled(r, p, labels, n=24):
    i = r.permutation(24)[:n]
    return p[i],labels[i]

def augmented(r, p, labels):
    p = p*r.uniform(.5, 1, p.shape)
    return p/p.sum(1, keepdims=True),labels

@pytest.mark.parametrize('draw', [partial(shuffled, n=18), augmented])
def test_other_samples_the_second_time(draw):
    with pytest.raises(ValueError, match='the same samples at each reading'): tm.streamed('leep', Anew(draw), progress=False)
    assert np.isfinite(tm.streamed('leep', iter(Anew(draw)), progress=False))

class Grows:
    "The first reading ends before a label that the second has"
    def __init__(self, labels):
        self.labels = labels
        self.readings = 0
    def __iter__(self):
        self.readings += 1
        for labels in self.labels[:self.readings]: yield np.full((len(labels), 2), .5),labels

@pytest.mark.parametrize('labels,new', [([['cat','dog'],['owl','cat']], "'owl'"), ([[0,1],[1,7]], '7')])
def test_a_label_that_the_first_reading_had_not(labels, new):
    with pytest.raises(ValueError, match=f'`labels` must be the same at each reading, the second time there was also {new}'):
        tm.streamed('leep', Grows(labels), progress=False)

def test_another_order_the_second_time():
    batches = Anew(shuffled)
    assert tm.streamed('leep', batches, progress=False)==pytest.approx(tm.leep(batches.probs, y.numpy()), abs=1e-12)

def test_models_that_would_see_different_samples():
    "A loader that shuffles and leaves some out is said, once; a single model, or a loader that leaves out none, is silent"
    data = TensorDataset(images, y)
    def scored(names, batch_size): return tm.score_models({k: Plain() for k in names}, DataLoader(data, batch_size, shuffle=True, drop_last=True), 'nce', progress=False)
    with pytest.warns(UserWarning, match='shuffles and drops its last batch') as said: scored('ab', 7)
    assert [w.filename for w in said]==[__file__]
    scored('a', 7)
    scored('ab', 8)

def test_each_thing_reads_once():
    "So that a loader that draws images anew cannot give two halves of an answer"
    class Counted(Anew):
        def __init__(self):
            super().__init__(None)
            self.readings = 0
        def __iter__(self):
            self.readings += 1
            i = self.random.permutation(24)
            noise = torch.from_numpy(self.random.random((24,1,4,4))).float()
            yield images[i]+noise,y[i]
    model = Plain()
    out = tm.outputs(model, (images,y), progress=False)
    said = dict(source=(out.probs,y), progress=False)
    layers = dict(layer=['first','head'], progress=False)
    uses = [lambda l: tm.outputs(model, l, **layers), lambda l: tm.score_models({'m': model}, l, ['leep','otce'], progress=False),
            lambda l: tm.label_free_report(model, l, **said), lambda l: tm.jigsaw_invariance(model, l, progress=False),
            lambda l: tm.predicted_accuracy(model, (images,y), l, progress=False), lambda l: tm.predicted_accuracy(model, l, images, progress=False)]
    for use in uses:
        loader = Counted()
        use(loader)
        assert loader.readings==1

@pytest.mark.parametrize('loader', [[(images,y)],DataLoader(TensorDataset(images, y), 8, shuffle=True),(images,y)])
def test_evaluate_takes_no_loader(loader):
    "Its image sets are in memory, so that a second look is at the same images"
    with pytest.raises(ValueError, match='`domain` must be image sets'): tm.evaluate({'m': Plain()}, loader, progress=False)
    with pytest.raises(ValueError, match='`source` must be a dict'): tm.evaluate({'m': Plain()}, [ImageSet('s', images, y)], source=loader, progress=False)
    with pytest.raises(ValueError, match='`?source'): tm.label_free_report(Plain(), images, source=loader, progress=False)
