"""What holds for every registered metric of learning curves and of loss-data curves

A new metric of two curves needs a line in `units`."""
import warnings
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from transfer_metrics.learning_curves.compare import compare_curves
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
    refused('`labels` must have at least one sample, got none', name, labels=[])
    if 'train_labels' in metrics[name].options: refused('`train_labels` must have at least one sample', name, train_labels=[])
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

nan,inf = np.nan,np.inf

@pytest.mark.parametrize('name,value', [('handicap',inf), ('integrated_speedup',inf), ('average_relative_reduction',-inf), ('esc',inf)])
def test_infinite_is_told(name, value):
    "The card of a metric says when its value is infinite, where the curves make it so"
    ends_low,higher = Curve([0,20,60], [.4,.5,.6]),Curve([0,20,60], [.65,.7,.75])
    if name=='esc': found = loss(name, five, epsilon=1e-9)
    elif value<0: found = metrics[name](higher, ends_low)
    else: found = metrics[name](ends_low, higher)
    assert found==value
    assert 'infini' in metrics[name].avoid

pair,three = [.1,.2],[.1,.2,.3]

@pytest.mark.parametrize('text,args,options', [
    ('`n` must not be negative, got -5', ([-5,0,5],three), {}), (r'got \(3,\) and \(2,\)', ([0,1,2],pair), {}),
    (r'transpose `perf`\?', ([0,1,2],np.zeros((3,5))), {}), ('`perf` must have at least one point, got none', ([],[]), {}), ('all of the 2 points are NaN', ([0,1],[nan,nan]), {}),
    ('got infinity', ([0,1],[.1,inf]), {}), ("`direction` must be 'max' or 'min', got 'up'", ([0],[.1]), dict(direction='up')),
    ("`start` must be 'zero' or 'first'", ([0],[.1]), dict(start='none')),
    ('mean of 1 to 2 points, as many as the curve has, got 3', ([0,1],pair), dict(asymptote=3)),
    ("`asymptote` must be 'last'", ([0,1],pair), dict(asymptote='best')),
    ('one begins at n = 5, another ends at n = 3', ([[0,3],[5,9]],[pair,[.3,.4]]), {})])
def test_curve_refuses(text, args, options):
    with pytest.raises(ValueError, match=text): Curve(*args, **options)

def test_curve_functions_refuse():
    import transfer_metrics as tm
    from transfer_metrics.learning_curves.curve import fit_asymptote
    with pytest.raises(ValueError, match='needs three points with n > 0, got 2'): fit_asymptote(Curve([0,1,2], three))
    with pytest.raises(ValueError, match='it lacks perf'): Curve.from_frame(pd.DataFrame({'n': [0], 'accuracy': [.1]}))
    with pytest.raises(ValueError, match='`frame` must have at least one row, got none'): Curve.from_frame(pd.DataFrame({'n': [], 'perf': []}))
    with pytest.raises(ValueError, match='`frame` must be a DataFrame, got dict'): Curve.from_frame({})
    with pytest.raises(ValueError, match='`p` must hold levels of performance, got 1 NaN'): tm.lexp(base, [.5,nan])
    with pytest.raises(ValueError, match=r'`curve` must be a Curve\(n, perf\), got list'): tm.lexp(pair, .5)
    with pytest.raises(ValueError, match=r'`perf` must be \[curves, 3\]'): base.each([pair])
    with pytest.raises(ValueError, match='`perf` must be finite, got 1 values'): base.each([[nan,.5,.5]])

def test_points_outside_are_dropped():
    with pytest.warns(UserWarning, match='2 points outside n = 5 to 10, the range that all runs cover, are dropped'):
        c = Curve([[0,5,10],[5,10,20]], [three,[.2,.3,.4]], start='first')
    assert c.n.tolist()==[5,10]

def test_kinds_of_levels():
    "Any kind of array goes in, and levels come back as what they were"
    import torch
    import transfer_metrics as tm
    c = Curve(torch.tensor([0,20,60]), pd.Series([.2,.5,.7]))
    found = tm.lexp(c, torch.tensor([.35,.6]))
    assert type(found) is torch.Tensor
    assert_allclose(found, [10,40], rtol=1e-5)
    found = tm.lexp(c, pd.Series([.35,.6], index=['a','b']))
    assert type(found) is pd.Series and found.index.tolist()==['a','b']
    assert_allclose(found, [10,40], rtol=1e-9)

@pytest.mark.parametrize('text,change', [
    ("it lacks ['val_loss']", lambda f: f.rename(columns={'val_loss': 'loss'})),
    ('`samples` must hold whole numbers, 1 or more, got 0', lambda f: f.assign(samples=0)),
    ('`samples` must hold whole numbers, 1 or more, got 2.5', lambda f: f.assign(samples=2.5)),
    ('`seed` must hold whole numbers, got nan', lambda f: f.assign(seed=nan)),
    ('`val_loss` must be finite and not negative (a mean negative log-likelihood, in nats), got inf in row 0', lambda f: f.assign(val_loss=inf)),
    ('`val_loss` must hold real numbers', lambda f: f.assign(val_loss='low')), ('`name` must not be missing', lambda f: f.assign(name=None)),
    ('got 0 rows', lambda f: f[:0]), ('got 15 rows, all of them NaN', lambda f: f.assign(val_loss=nan)), ('`df` must be a DataFrame', lambda f: [1,2])])
def test_loss_frame_refuses(text, change):
    from transfer_metrics.loss_data.curve import loss_frame
    with pytest.raises(ValueError) as e: loss_frame(change(five))
    assert text in str(e.value)

@pytest.mark.parametrize('text,options', [
    ("'example' was measured up to n = 10000, got 20000", dict(ns=[20_000])), ('`ns` must be a number of at least 1, got 0', dict(ns=[0])),
    ('`ns` must be one or more training sizes', dict(ns=[])), ('`epsilons` must be a number of at least 0, got -0.1', dict(epsilons=[-.1])),
    ("`edge` must be 'right', 'left' or 'loglog', got 'middle'", dict(edge='middle')), ("is needed for edge='left'", dict(edge='left')),
    ("`unit` must be 'nats' or 'bits', got 'bytes'", dict(unit='bytes')),
    ('`n_classes` must be a whole number of at least 8, got 5', dict(labels=labels, n_classes=5)),
    ('`coverage` must be a number in (0, 1)', dict(coverage=95))])
def test_compute_metrics_refuses(text, options):
    import transfer_metrics as tm
    with pytest.raises(ValueError) as e: tm.compute_metrics(five.assign(name='example'), **options)
    assert text in str(e.value)

def test_compute_metrics_warns():
    "Of a loss that is missing, and of a curve that rises"
    import transfer_metrics as tm
    with pytest.warns(UserWarning, match='dropped because their loss is NaN'): tm.compute_metrics(five.assign(val_loss=five.val_loss.where(five.index!=4)))
    one = five[five.seed==1]
    with pytest.warns(UserWarning, match='^non-monotone'): tm.compute_metrics(one.assign(val_loss=one.val_loss.where(one.samples!=1000, 1)))
    with pytest.raises(ValueError, match='as of `compute_metrics`, it lacks n, metric'): tm.metrics_table(five.assign(name='a'))

def test_compute_metrics_edges():
    "One seed has no interval, a size is rounded up, one point is a curve, and what is never reached has an infinite upper end"
    import transfer_metrics as tm
    single = tm.compute_metrics(five[five.seed==1], ns=[50], epsilons=[.5])
    assert single.lo.isna().all() and single.hi.isna().all()
    assert set(single.n)=={100} and set(single.n_requested)=={50}
    assert single[single.metric=='mdl'].upper.tolist()==[inf]
    point = tm.compute_metrics(five[five.samples==10], epsilons=[.5]).set_index('metric')
    assert point.value[['mdl','esc']].tolist()==[10,10]
    assert point.loc['esc', ['lower','upper','censored']].tolist()==[10,inf,True]
    two = pd.concat([five.assign(name='fine'),five[five.samples!=100].assign(name='coarse')])
    own = tm.compute_metrics(two, ns=[50,1000], epsilons=[.5])
    assert own.groupby(['name','n_requested'], sort=False).n.first().tolist()==[100,1000,1000,1000]

def many_runs(r=10, seed=0):
    "Two curves with `r` runs of 12 test items each, and the answers that they average"
    rng = np.random.default_rng(seed)
    answers = [(rng.random((r,3,12))<np.array(p)[:,None]).astype(float) for p in ([.2,.5,.7],[.4,.6,.8])]
    return [Curve([0,20,60], a.mean(-1)) for a in answers],answers

@pytest.mark.parametrize('text,options', [
    ("unknown metric 'speed'", dict(metric='speed')), ("got 'seeds'", dict(resample='seeds')), ('are needed for', dict(resample='items')),
    (r'in \(0, 1\)', dict(coverage=95)), ('of at least 0', dict(n_boot=-1)), ("got 'normal'", dict(interval='normal')),
    ('one number for each of many curves', dict(metric=lambda base, transfer: float(base.perf.mean())))])
def test_bootstrap_refuses(text, options):
    import transfer_metrics as tm
    curves,_ = many_runs()
    with pytest.raises(ValueError, match=text): tm.bootstrap(**dict(metric='jumpstart', base=curves[0], transfer=curves[1])|options)

def test_bootstrap_refuses_curves():
    import transfer_metrics as tm
    (b,t),answers = many_runs()
    def refused(text, *curves, **options):
        with pytest.raises(ValueError, match=text): tm.bootstrap('jumpstart', *curves, **options)
    refused('at least two runs', base, base)
    refused('got 10 and 8', b, many_runs(8)[0][1], paired=True)
    refused(r'leave out each\(\)', b.each(), t)
    refused('have no use with', b, t, items=answers)
    items = dict(resample='items')
    refused('pair of arrays', b, t, items=answers[0], **items)
    refused('must average to its `perf`', b, t, items=[a[:,::-1] for a in answers], **items)
    refused(r'must be \[runs, k, items\]', b, t, items=[a.swapaxes(1, 2) for a in answers], **items)

def test_compare_refuses():
    import transfer_metrics as tm
    from transfer_metrics.learning_curves.compare import plot_transfer
    with pytest.raises(ValueError, match=r'`transfer` must be a Curve\(n, perf\), got float'): compare_curves(base, .5)
    with pytest.raises(ValueError, match=r'leave out each\(\)'): compare_curves(base.each(), transfer)
    wrong = dict(n_boot=-1, coverage=95, seed=-1, resample='rows', interval='t', pared=True)
    for k,v in wrong.items(): # also where one run a side leaves nothing to resample
        with pytest.raises(ValueError, match=k): compare_curves(base, transfer, **{k: v})
    with pytest.raises(ValueError, match="the same direction, got 'max' and 'min'"): plot_transfer(base, Curve([0,10], [2.,1.], direction='min'))
    with pytest.raises(ValueError, match=r'`coverage` must be a number in \(0, 1\), got 95'): plot_transfer(base, transfer, coverage=95)

def test_fractions_and_percent():
    "Accuracies in fractions beside accuracies in percent are told; levels of two kinds of losses and near curves are not"
    sizes = [10,100,1000]
    fractions = Curve(sizes, [.2,.5,.8], start='first')
    percent = Curve(sizes, [40,65,85], start='first')
    for pair in ((fractions,percent),(percent,fractions)):
        with pytest.warns(UserWarning, match='fractions and percent'): compare_curves(*pair, n_boot=0)
    low = Curve(sizes, [.8,4,18], start='first') # percent of a hard task
    for pair in ((fractions,low),(low,fractions)):
        with pytest.warns(UserWarning, match='fractions and percent'): compare_curves(*pair, n_boot=0)
    with warnings.catch_warnings(action='error'):
        compare_curves(percent, percent, n_boot=0)
        compare_curves(fractions, Curve(sizes, [.4,.7,1.3], start='first'), n_boot=0)
        losses = [Curve(sizes, perf, direction='min', start='first') for perf in ([.9,.5,.2],[40,30,21])]
        compare_curves(*losses, n_boot=0)
