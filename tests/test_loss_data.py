"Loss-data curves: what holds for each metric, and networks that must not be trained together"
import math
import sys
import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
import transfer_metrics as tm
from transfer_metrics.loss_data.curve import as_curve, loss_frame
from transfer_metrics.loss_data.probes import algorithm, as_probe, train_probes
from transfer_metrics.registry import metric, registry

metrics = {k: m for k,m in registry('loss_data').items() if m.args[0]=='curve'}
each = pytest.mark.parametrize('name', metrics)
sizes,losses = [1,10,100,1000,10_000],np.outer([.8,1,1.2], [2,1,.5,.25,.125])
five = pd.DataFrame({'seed': np.repeat([0,1,2], 5), 'samples': sizes*3, 'val_loss': losses.ravel()})
labels = np.arange(80)%8

def loss(name, curve=five, **options):
    m = metrics[name]
    return m(curve, *([options.pop('labels', labels)] if 'labels' in m.args else []), **options)

def refused(text, name, **options):
    with pytest.raises(ValueError, match=text): loss(name, **options)

def same(a, b): assert_allclose(a, b, rtol=1e-9, atol=1e-12)

@each
def test_refuses(name):
    for n in 0,10_001: refused(f'`n` must be from 1 to 10000, .* got {n}', name, n=n)
    refused('`curve` must hold one representation, got 2: ', name, curve=pd.concat([five.assign(name=o) for o in 'ab']))
    refused('`curve` must have the columns', name, curve=five[['seed']])
    refused('`curve` must be a DataFrame', name, curve=[1,2])
    refused('must be finite and not negative', name, curve=five.assign(val_loss=np.inf))
    wrong = dict(unit=('bytes','`unit` must be'), edge=('middle','`edge` must be'),
                 epsilon=(-.1,'`epsilon` must be a number'),
                 n_classes=(0,'`n_classes` must be a whole number'))
    for k,(v,text) in wrong.items():
        if k in metrics[name].options: refused(text, name, **{k: v})
    if 'edge' in metrics[name].options: refused("needed for edge='left'", name, edge='left')
    if 'labels' in metrics[name].args:
        refused('`labels` must not be missing', name, labels=[0,1,None])
        refused('`labels` must have at least one label', name, labels=[])

@each
def test_rows_and_sizes(name):
    "Rows in any order, probes measured twice, seeds with the same mean, an `n` that is rounded up, bits, and other units of loss"
    for edge in 'right','left','loglog':
        rule = dict(edge=edge, n_classes=10) if 'edge' in metrics[name].options else {}
        v = loss(name, **rule)
        same(loss(name, five.sample(frac=1, random_state=0), **rule), v)
        same(loss(name, pd.concat([five,five]), **rule), v)
        same(loss(name, five[five.seed==1], **rule), v)
        same(loss(name, n=500, **rule), loss(name, n=1000, **rule))
        if 'unit' in metrics[name].options: same(loss(name, unit='bits', **rule)*np.log(2), v)
        if 'epsilon' in metrics[name].options: assert loss(name, epsilon=3, **rule)==(1 if name=='esc' else 0)
        if rule and edge!='left':
            for scale in 1e-60,1e60:
                level = dict(epsilon=.2*scale) if name=='sdl' else {}
                small = dict(epsilon=.2) if name=='sdl' else {}
                same(loss(name, five.assign(val_loss=scale*five.val_loss), **rule, **level)/scale,
                     loss(name, **rule, **small))

@pytest.mark.parametrize('text,change', [
    ('val_loss is missing', lambda f: f.rename(columns={'val_loss': 'loss'})),
    ('`samples` must be a whole number of at least 1, got 0', lambda f: f.assign(samples=0)),
    ('`samples` must be a whole number of at least 1, got 2.5', lambda f: f.assign(samples=2.5)),
    ('`seed` must be a whole number, got nan', lambda f: f.assign(seed=math.nan)),
    ('got inf in row 0 of `df`', lambda f: f.assign(val_loss=math.inf)),
    ('`val_loss` must be an array of real', lambda f: f.assign(val_loss='low')),
    ('`name` must not be missing', lambda f: f.assign(name=None)), ('got none in 0 rows', lambda f: f[:0]),
    ('got none in 15 rows', lambda f: f.assign(val_loss=math.nan))])
def test_frame_refuses(text, change):
    with pytest.raises(ValueError, match=text): loss_frame(change(five))

def test_metric_of_a_notebook(monkeypatch):
    "Whatever is registered in the area and takes a curve is in the table, and is compared if lower is better"
    def steepest(curve): return float(np.max(-np.diff(np.log(as_curve(curve).loss))))
    steepest.__module__ = as_curve.__module__
    metric(unit='nats', range=(0,math.inf), higher_is_better=False)(steepest)
    monkeypatch.setattr(sys.modules[as_curve.__module__], 'steepest', steepest, raising=False)
    row = tm.compute_metrics(five, epsilons=[]).set_index('metric').loc['steepest']
    same([row.value,row.lo,row.hi], np.log(2))
    two = pd.concat([five.assign(name='a'),five.assign(name='b', val_loss=five.val_loss**2)])
    d = tm.loss_data.compare_representations(two, epsilons=[]).set_index('metric')
    same(d.difference['steepest'], np.log(2))

@pytest.mark.parametrize('layers', [
    lambda: [nn.Linear(6, 5),nn.Linear(5, 3)], # no ReLU between
    lambda: [nn.Linear(6, 5, bias=False),nn.ReLU(),nn.Linear(5, 3)],
    lambda: [nn.BatchNorm1d(6, track_running_stats=False),nn.Linear(6, 3)], # a row depends on the others
    lambda: [nn.BatchNorm1d(6),nn.Dropout(.3),nn.Linear(6, 3)],
    lambda: [nn.Unflatten(1, (1,6)),nn.Conv1d(1, 2, 3),nn.Flatten(),nn.Linear(8, 3)]])
def test_modules(layers):
    "A module gives the same whether it is trained with others or alone"
    g = torch.Generator().manual_seed(0)
    x,y = torch.randn(90, 6, generator=g, dtype=torch.float64),torch.arange(90)%3
    probe = as_probe(lambda shape, c: nn.Sequential(*layers()).double(), lr=.01)
    jobs = [(torch.randperm(90, generator=g)[:n], seed) for n in (5,20,33,60) for seed in range(2)]
    options = dict(n_classes=3, train_steps=15, batch_size=20, progress=False)
    together = sorted(train_probes(probe, x, y, (x,y), jobs, **options))
    steps = as_probe(tuple(lambda *a, f=f: f(*a) for f in algorithm(probe, (6,), 3, x[:0])))
    alone = sorted(train_probes(steps, x, y, (x,y), jobs, **options))
    assert not any(error for *_,error in (*together,*alone))
    same([v for _,v,_ in together], [v for _,v,_ in alone])

def test_precision_and_random_state():
    x,y = np.random.default_rng(0).normal(size=(60,4)),np.arange(60)%2
    options = dict(probe='linear', points=[30], n_seeds=2, train_steps=5, progress=False, device='cpu')
    usual = tm.loss_data_curve(x, y, **options).val_loss
    for dtype in torch.float16,torch.bfloat16,torch.float32:
        assert_allclose(tm.loss_data_curve(torch.from_numpy(x).to(dtype), y, **options).val_loss, usual, rtol=.01)
    state = np.random.get_state()[1].copy(),torch.get_rng_state() # noqa: NPY002
    class Careless:
        def fit(self, x, y): return self
        def predict_proba(self, x):
            p = np.random.rand(len(x))*.5+torch.rand(1).item()*.2+.1 # noqa: NPY002
            return np.stack([p,1-p], 1)
    options['probe'] = Careless()
    found = [tm.loss_data_curve(x, y, **options).val_loss for _ in range(2)]
    assert found[0].equals(found[1]) and found[0].nunique()==2
    assert (np.random.get_state()[1]==state[0]).all() # noqa: NPY002
    assert torch.get_rng_state().equal(state[1])

@pytest.mark.skipif(not torch.cuda.is_available(), reason='no GPU')
def test_cuda():
    x,y = np.random.default_rng(0).normal(size=(300,4)),np.arange(300)%2
    for probe in 'mlp',lambda shape, c: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, c)):
        options = dict(probe=probe, hidden=(16,), points=[20,270], n_seeds=2, train_steps=50, progress=False)
        usual,found = (tm.loss_data_curve(x, y, device=device, **options).val_loss for device in ('cpu','cuda'))
        assert_allclose(found, usual, rtol=2e-3)
