"""What holds for every registered metric of learning curves and of loss-data curves

A new metric of two curves needs a line in `units`."""
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.registry import registry

metrics = registry()
pairs = [k for k,m in metrics.items() if m.args==('base','transfer')]
losses = [k for k,m in metrics.items() if m.args[0]=='curve']
each_pair = pytest.mark.parametrize('name', pairs)
each_loss = pytest.mark.parametrize('name', losses)

# What a metric is multiplied by if n counts in sevenths, and if the performance counts in thirds; whether the origin of the performance is free
share,level = (1,1,True),(1,3,True)
units = dict(integrated_speedup=share, mean_log_speedup=share, average_relative_reduction=share, average_symmetric_reduction=share,
             jumpstart=level, asymptotic_advantage=level, handicap=(7,1,True), transfer_ratio=(1,1,False))
# Those that change their sign if the curves change places
signed = {'mean_log_speedup','average_symmetric_reduction','jumpstart','asymptotic_advantage'}

base,transfer = Curve([0,20,60], [.2,.5,.7]),Curve([0,10,60], [.35,.6,.8])

def same(found, wanted): assert_allclose(found, wanted, rtol=5e-10, atol=5e-10)

class Walks:
    "Two random walks on whole levels"
    def __init__(self, seed):
        r = np.random.default_rng(seed)
        self.options = dict(start=str(r.choice(['zero','first'])), asymptote=str(r.choice(['last','max'])))
        first = int(r.integers(3))
        self.points = [self.walk(r, first, p0) for p0 in (1,int(r.integers(-3, 4)))]

    def walk(self, r, first, p0):
        k = int(r.integers(1, 9))
        n = first+np.cumsum(r.integers(1, 6, k))-1
        n[0] = first
        return n,p0+np.r_[0,np.cumsum(r.integers(-4, 5, k-1))]

    def curves(self, unit=1, scale=1, shift=0, **more):
        return [Curve(unit*n, scale*p+shift, **self.options|more) for n,p in self.points]

@pytest.mark.filterwarnings('ignore:the curve begins')
@each_pair
def test_units(name):
    "Units do not matter, nor the order of points; a loss is a negated gain, as good as it is large; never NaN"
    f,(in_n,in_perf,shifts) = metrics[name].f,units[name]
    for seed in range(60):
        walks = Walks(seed)
        v = f(*walks.curves())
        assert not np.isnan(v)
        same(f(*walks.curves(unit=7)), in_n*v)
        same(f(*walks.curves(scale=3, shift=2 if shifts else 0)), in_perf*v)
        if walks.options['asymptote']=='last': same(f(*walks.curves(scale=-1, direction='min')), v)
        walks.points = [(n[::-1],p[::-1]) for n,p in walks.points]
        same(f(*walks.curves()), v)

@pytest.mark.filterwarnings('ignore:the curve begins')
@pytest.mark.parametrize('name', sorted(signed))
def test_swapped(name):
    for seed in range(60):
        b,t = Walks(seed).curves()
        if name=='mean_log_speedup' and max(b.p0, t.p0)>=min(b.p_star, t.p_star): continue # a reversed range: one has it for free
        same(metrics[name].f(t, b), -metrics[name].f(b, t))

@pytest.mark.filterwarnings('ignore:the curve begins')
@each_pair
def test_many_at_once(name):
    "Of many curves the value of each"
    f = metrics[name].f
    for seed in range(20):
        walks = Walks(seed)
        b,t = walks.curves()
        m,q = walks.points[1]
        rows = np.stack([q,q-1,q[::-1]])
        same(f(b, t.each(rows)), [f(b, Curve(m, row, **walks.options)) for row in rows])
        same(f(b.each(b.perf[None]), t), [f(b, t)])

@each_pair
def test_refuses_what_is_no_curve(name):
    f = metrics[name].f
    for bad,kind in ([.1,.2],'list'),(.5,'float'),(None,'NoneType'):
        with pytest.raises(ValueError, match=rf'`base` must be a Curve\(n, perf\), got {kind}'): f(bad, transfer)
        with pytest.raises(ValueError, match=rf'`transfer` must be a Curve\(n, perf\), got {kind}'): f(base, bad)

@each_pair
def test_refuses_other_curves(name):
    "A gain and a loss, levels that are free on one side only, and two numbers of curves"
    f = metrics[name].f
    with pytest.raises(ValueError, match="must have the same direction, got 'max' and 'min'"): f(base, Curve([0,10], [2.,1.], direction='min'))
    with pytest.raises(ValueError, match="must have the same start, got 'zero' and 'first'"): f(base, Curve([0,10], [.1,.2], start='first'))
    rows = np.zeros((3,3))
    with pytest.raises(ValueError, match='as many curves are needed on each side, or one on a side, got 2 and 3'):
        f(base.each(rows[:2]), transfer.each(rows))

@pytest.mark.parametrize('name', ['speedup','relative_reduction'])
def test_levels_refused(name):
    import transfer_metrics as tm
    with pytest.raises(ValueError, match='got 1 NaN'): getattr(tm, name)(base, transfer, [.5,np.nan])

spans = [k for k in pairs if 'span' in metrics[k].options]
@pytest.mark.parametrize('name', spans)
def test_span_refused(name):
    f = metrics[name].f
    covers = 'lies outside both curves: base covers 0.2 to 0.7, transfer covers 0.35 to 0.8'
    for span in (.9,1),(0,.1):
        with pytest.raises(ValueError, match=covers): f(base, transfer, span=span)
    for span in 'all',(.1,.2,.3),(.1,np.inf),.5:
        with pytest.raises(ValueError, match="`span` must be 'union', 'overlap', 'base_to_transfer' or two levels"): f(base, transfer, span=span)
    with pytest.warns(UserWarning, match='goes beyond both curves'): beyond = f(base, transfer, span=(.5,.9))
    same(beyond, f(base, transfer, span=(.5,.8)))
    falling = [Curve(c.n, 1-c.perf, direction='min') for c in (base,transfer)]
    same(f(*falling, span=(.3,.5)), f(base, transfer, span=(.5,.7)))
    with pytest.raises(ValueError, match='0.01 to 0.1 lies outside both curves: base covers 0.8 to 0.3'): f(*falling, span=(.01,.1))

def test_final_levels():
    "An average goes up to the best level where that is the asymptote, and no fit enters it"
    f = metrics['average_relative_reduction'].f
    def with_fit(c): return Curve(c.n, c.perf, asymptote='exp')
    assert f(with_fit(base), with_fit(Curve([0,10,60], [.35,.6,.8])))==f(base, transfer)
    peak,lower = Curve([0,10,20], [.2,.9,.6], asymptote='max'),Curve([0,10], [.2,.6])
    same(f(lower, peak), (.4*(1-4/7)+.3)/.7)

def test_no_size_in_common():
    early,late = Curve([0,60], [.2,.7], start='first'),Curve([100,200], [.3,.5], start='first')
    with pytest.raises(ValueError, match='base was measured from 0 to 60, transfer from 100 to 200'): metrics['transfer_ratio'].f(early, late)

sizes = [1,10,100,1000,10_000]
five = pd.DataFrame({'seed': np.repeat([0,1,2], 5), 'samples': sizes*3, 'val_loss': np.outer([.8,1,1.2], [2,1,.5,.25,.125]).ravel()})
labels = np.arange(80)%8

def given(name): return dict(labels=labels) if 'labels' in metrics[name].args else {}
def loss(name, curve=five, **more): return metrics[name].f(curve, **given(name)|more)

def refused(text, name, **more):
    with pytest.raises(ValueError, match=text): loss(name, **more)

@each_loss
def test_loss_refuses(name):
    "Sizes beyond the data, several representations, no curve, losses that are none"
    for n in 0,10_001,20_000: refused(f'`n` must be from 1 to 10000, the largest that was measured, got {n}', name, n=n)
    refused(r"`curve` must hold one representation, got 2: \['a', 'b'\]", name, curve=pd.concat([five.assign(name=o) for o in 'ab']))
    refused('`curve` must have the columns', name, curve=five[['seed']])
    refused('`curve` must be a DataFrame', name, curve=[1,2])
    refused('must be finite and not negative', name, curve=five.assign(val_loss=np.inf))

options_refused = dict(
    unit=('bytes',"`unit` must be 'nats' or 'bits', got 'bytes'"), edge=('middle',"`edge` must be 'right', 'left' or 'loglog', got 'middle'"),
    epsilon=(-.1,'`epsilon` must be a number of at least 0, got -0.1'), n_classes=(0,'`n_classes` must be a whole number of at least 1, got 0'))
@pytest.mark.parametrize('name,option', [(k, o) for k in losses for o in metrics[k].options if o in options_refused])
def test_loss_option_refused(name, option):
    value,text = options_refused[option]
    refused(text, name, **{option: value})
    if option=='edge': refused("`n_classes` is needed for edge='left'", name, edge='left')

@pytest.mark.parametrize('name', [k for k in losses if 'labels' in metrics[k].args])
def test_labels_refused(name):
    refused('`labels` must not be missing', name, labels=[0,1,None])
    refused('`labels` is empty', name, labels=[])
    if 'train_labels' in metrics[name].options: refused('`train_labels` is empty', name, train_labels=[])
    else: refused(r'`labels` must be a number of at least 0, got -1\.0', name, labels=-1.)

@each_loss
def test_rows_and_sizes(name):
    "Rows in any order, a probe measured twice, seeds that average to the same curve, and an `n` that is rounded up"
    for edge in ('right','left','loglog'):
        rule = dict(edge=edge, n_classes=10) if 'edge' in metrics[name].options else {}
        v = loss(name, **rule)
        same(loss(name, five.sample(frac=1, random_state=0), **rule), v)
        same(loss(name, pd.concat([five,five]), **rule), v)
        same(loss(name, five[five.seed==1], **rule), v)
        same(loss(name, n=500, **rule), loss(name, n=1000, **rule))
        if 'unit' in metrics[name].options: same(loss(name, unit='bits', **rule)*np.log(2), v)
        if 'epsilon' not in metrics[name].options: continue
        nothing = loss(name, epsilon=3, **rule)
        assert nothing==(1 if name=='esc' else 0)

@pytest.mark.parametrize('name,scale', [(k, s) for k in losses if k in ('mdl','sdl') for s in (1e-150,1e150)])
def test_loss_scale(name, scale):
    for edge in 'right','loglog':
        rule = lambda s, edge=edge: dict(edge=edge)|({} if name=='mdl' else dict(epsilon=.2*s))
        scaled = loss(name, five.assign(val_loss=five.val_loss*scale), **rule(scale))
        assert_allclose(scaled/scale, loss(name, **rule(1)), rtol=1e-6)
