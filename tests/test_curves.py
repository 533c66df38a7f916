"""Learning curves: metrics against integrals in rational numbers, many curves at once, tables as people have them

`LEVELS=30000 python -m pytest tests/test_curves.py` compares as many random pairs."""
import os
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
import transfer_metrics as tm
from transfer_metrics.learning_curves.compare import read_curves
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.registry import registry

metrics = registry('learning_curves')
inf = float('inf')

# The averages over levels, piece by piece, in rational numbers and decimals with 60 digits
def log(x): return Decimal(x.numerator).ln()-Decimal(x.denominator).ln()
def real(x): return Decimal(x.numerator)/Decimal(x.denominator)

def needed(curve, u, v):
    "What a curve needs just above the level `u` and just below `v`, no corner in between; with `u==v` at that level"
    n,q,zero = curve
    if v<=q[0]: return zero,zero
    for n0,n1,q0,q1 in zip(n, n[1:], q, q[1:], strict=False):
        if q1>=v: return n0+(n1-n0)/(q1-q0)*(u-q0),n0+(n1-n0)/(q1-q0)*(v-q0)
    return inf,inf

def mean_ratio(num, den):
    (a,b),(c,d) = num,den
    if d==inf: return inf if b==inf else 0
    if b==inf or c==0<a: return inf
    if c==0: return real(Fraction(b, d)) if d else inf if b else 1
    if c==d: return real((a+b)/2/c)
    slope = (b-a)/(d-c)
    return real(slope)+real((a-c*slope)/(d-c))*log(d/c)

def mean_log(line):
    a,b = line
    if b in (0,inf): return -inf if b==0 else inf
    if a==b: return log(a)
    return (log(b)*real(b)-(log(a)*real(a) if a else 0))/real(b-a)-1

def reduced(base, transfer):
    r = mean_ratio(transfer, base)
    return -inf if r==inf else 1-r

def log_faster(base, transfer):
    if base[1]==transfer[1]==0: return 0
    x,y = mean_log(base),mean_log(transfer)
    return x-y if abs(x)<inf and abs(y)<inf else float(x)-float(y)

def symmetric(base, transfer):
    (c,d),(a,b) = base,transfer
    if b==d==inf: return 0
    if inf in (b,d) or (a-c)*(b-d)>=0:
        return 1-mean_ratio(transfer, base) if a+b<=c+d else mean_ratio(base, transfer)-1
    t = (a-c)/((a-c)-(b-d)) # the curves cross
    n = c+t*(d-c)
    return real(t)*symmetric((c,n), (a,n))+real(1-t)*symmetric((n,d), (n,b))

def brute(quantity, span, base, transfer):
    p,q = base[1],transfer[1]
    lo,hi = sorted(dict(union=(min(p[0], q[0]),max(p[-1], q[-1])), overlap=(max(p[0], q[0]),min(p[-1], q[-1])),
                        base_to_transfer=(p[0],q[-1]), transfer_to_base=(q[0],p[-1]))[span])
    if lo==hi: return quantity(needed(base, lo, lo), needed(transfer, lo, lo))
    cuts = sorted({lo,hi,*(o for o in (*p,*q) if lo<o<hi)})
    parts = [(v-u,quantity(needed(base, u, v), needed(transfer, u, v))) for u,v in zip(cuts, cuts[1:], strict=False)]
    for end in -inf,inf:
        if any(x==end for _,x in parts): return end
    return sum(real(w/(hi-lo))*x for w,x in parts)

all_spans = 'union','overlap','base_to_transfer'
averages = dict(average_relative_reduction=(reduced,all_spans), average_symmetric_reduction=(symmetric,all_spans),
                integrated_speedup=(lambda base, transfer: mean_ratio(base, transfer),('transfer_to_base',)),
                mean_log_speedup=(log_faster,('overlap',)))

@pytest.mark.filterwarnings('ignore:nothing was measured')
@pytest.mark.parametrize('step,digits', [(10**-10,2e-5), (10**-3,1e-10)], ids=['close','apart'])
@pytest.mark.parametrize('name', averages)
def test_against_rational_numbers(name, step, digits):
    "A level is known to 1e-16: of a step of 1e-10 six digits are left, of one of 1e-3 more than ten"
    quantity,spans = averages[name]
    with localcontext(prec=60):
        for seed in range(int(os.environ.get('LEVELS', 400))//8):
            r = np.random.default_rng(seed)
            direction,start,span = str(r.choice(['max','min'])),str(r.choice(['zero','first'])),str(r.choice(spans))
            origin,pairs = Fraction(int(r.integers(-9, 10)), 10),[]
            for _ in range(2):
                k = int(r.integers(1, 6))
                n = np.cumsum(r.integers(1, 50, k))-int(r.integers(2))
                levels = [origin+int(o)*Fraction(1, round(1/step)) for o in r.integers(0, 6, k)*int(r.choice([1,50]))]
                exact = [(1 if direction=='max' else -1)*o for o in levels]
                sizes = [Fraction(int(o)) for o in n]
                pairs.append((Curve(n, [float(o) for o in levels], direction=direction, start=start),
                              (sizes,exact,Fraction(0) if start=='zero' else sizes[0])))
            (base,b),(transfer,t) = pairs
            found = metrics[name].f(base, transfer, **({'span': span} if len(spans)>1 else {}))
            expected = float(brute(quantity, span, b, t))
            assert found==pytest.approx(expected, rel=digits, abs=digits), f'seed {seed}, {span}'

# What a metric is multiplied by if n counts in sevenths, and perf in thirds; whether the origin of perf is free
share,level = (1,1,True),(1,3,True)
units = dict(integrated_speedup=share, mean_log_speedup=share, average_relative_reduction=share, jumpstart=level,
             average_symmetric_reduction=share, asymptotic_advantage=level, handicap=(7,1,True),
             effective_data=(7,1,True), transfer_ratio=(1,1,False))
base,transfer = Curve([0,20,60], [.2,.5,.7]),Curve([0,10,60], [.35,.6,.8])

def same(found, wanted): assert_allclose(found, wanted, rtol=5e-10, atol=5e-10)

@pytest.mark.filterwarnings('ignore:nothing was measured')
@pytest.mark.parametrize('name', metrics)
def test_units_order_and_many_curves(name):
    "Units and order do not matter, a loss is a negated gain, never NaN; many curves at once are the value of each"
    f,(in_n,in_perf,shifts) = metrics[name].f,units[name]
    for seed in range(40):
        r = np.random.default_rng(seed)
        options = dict(start=str(r.choice(['zero','first'])), asymptote=str(r.choice(['last','max'])))
        first,walks = int(r.integers(3)),[]
        for p0 in 1,int(r.integers(-3, 4)):
            k = int(r.integers(1, 9))
            walks.append((np.r_[first,first+r.integers(1, 6, k-1).cumsum()],
                          np.r_[p0,p0+r.integers(-4, 5, k-1).cumsum()]))
        def value(n=1, perf=1, shift=0, flip=1, f=f, walks=walks, **more):
            return f(*[Curve((n*x[::flip]).copy(), (perf*p+shift)[::flip].copy(), **more) for x,p in walks])
        v = value(**options)
        assert not np.isnan(v)
        same(value(n=7, **options), in_n*v)
        same(value(perf=3, shift=2*shifts, **options), in_perf*v)
        same(value(flip=-1, **options), v)
        if options['asymptote']=='last': same(value(perf=-1, direction='min', **options), v)
        b,t = (Curve(*o, **options) for o in walks)
        rows = np.stack([t.perf,t.perf-1,t.perf[::-1]])
        same(f(b, t.each(rows)), [f(b, Curve(t.n, row, **options)) for row in rows])

@pytest.mark.parametrize('name', metrics)
def test_metrics_refuse(name):
    f = metrics[name].f
    with pytest.raises(ValueError, match=r'`base` must be a Curve\(n, perf\), got list'): f([.1,.2], transfer)
    with pytest.raises(ValueError, match="the same direction, got 'max' and 'min'"):
        f(base, Curve([0,10], [2.,1.], direction='min'))
    with pytest.raises(ValueError, match="the same start, got 'zero' and 'first'"):
        f(base, Curve([0,10], [.1,.2], start='first'))

@pytest.mark.parametrize('text,args,options', [
    ('`n` must not be negative, got -5', ([-5,0],[.1,.2]), {}), (r'got \(3,\) and \(2,\)', ([0,1,2],[.1,.2]), {}),
    ('must have at least one number', ([],[]), {}), ('must have at least one number', ([0,1],[np.nan]*2), {}),
    ('got infinity', ([0,1],[.1,inf]), {}),
    ("`direction` must be one of 'max', 'min', got 'up'", ([0],[.1]), dict(direction='up')),
    ("`start` must be one of", ([0],[.1]), dict(start='none')),
    ('`asymptote` must be .* from 1 to 2, got 3', ([0,1],[.1,.2]), dict(asymptote=3)),
    ("`asymptote` must be", ([0,1],[.1,.2]), dict(asymptote='best'))])
def test_curve_refuses(text, args, options):
    with pytest.raises(ValueError, match=text): Curve(*args, **options)

def test_levels_keep_their_type():
    import torch
    c = Curve(torch.tensor([0,20,60]), pd.Series([.2,.5,.7]))
    assert_allclose(tm.lexp(c, torch.tensor([.35,.6])), [10,40], rtol=1e-5)
    assert tm.lexp(c, pd.Series([.35,.6], index=['a','b'])).round(9).to_dict()=={'a': 10, 'b': 40}
    for f in tm.speedup,tm.relative_reduction:
        with pytest.raises(ValueError, match='got 1 NaN'): f(base, transfer, [.5,np.nan])

def test_final_level_of_an_average():
    "It is the best level where that is the asymptote, and never a fit"
    f = tm.average_relative_reduction
    fits = [Curve(c.n, c.perf, asymptote='exp') for c in (base,transfer)]
    assert f(*fits)==f(base, transfer)
    same(f(Curve([0,10], [.2,.6], asymptote='max'), Curve([0,10,20], [.2,.9,.6], asymptote='max')), (.4*(1-4/7)+.3)/.7)

def test_bootstrap_refuses():
    rng = np.random.default_rng(0)
    items = [(rng.random((10,3,12))<.5).astype(float) for _ in range(2)]
    b,t = (Curve([0,20,60], x.mean(2)) for x in items)
    for text,options in (("`metric` must be one of", dict(metric='speed')), ("got 'seeds'", dict(resample='seeds')),
                         ('`items` are needed', dict(resample='items')), ('`coverage` must be', dict(coverage=95)),
                         ("got 'normal'", dict(interval='normal')),
                         ('one number for each of many curves', dict(metric=lambda b, t: 1.)),
                         ('not the result of `Curve.each`', dict(base=b.each())),
                         ('got 10 and 3', dict(paired=True, transfer=Curve([0,1], np.ones((3,2)))))):
        with pytest.raises(ValueError, match=text), warnings.catch_warnings(action='ignore'):
            tm.bootstrap(**dict(metric='jumpstart', base=b, transfer=t)|options)

def test_likely_mistakes_are_named():
    n = [0,100,1000]
    with pytest.warns(UserWarning, match='in fractions and the other in percent'):
        assert 'Check the input' in tm.compare_curves(Curve(n, [.2,.5,.8]), Curve(n, [.8,4,18])).summary()
    with pytest.warns(UserWarning, match='get worse with more data'):
        tm.compare_curves(Curve(n, [2,1,.5]), Curve(n, [2,.9,.4]))
    apart = tm.compare_curves(Curve([0,20], [.2,.5], start='first'),
                              Curve([50,90], [.4,.7], start='first')).table.set_index('metric')
    assert apart.reason.transfer_ratio=='the curves have no size in common' and apart.value.isna().sum()==1

# Tables as people have them: power laws from n = 100 on, five seeds an arm; seed 4 from scratch lacks the largest size
sizes = {'scratch': [100,200,400,800,1600,3200,6400], 'imagenet': [100,300,1000,3000]}
laws = {'scratch': (.92,.45,.45), 'imagenet': (.93,.2,.5)}
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame([dict(init=arm, seed=s, train_size=n,
                              val_acc=round(top-gap*(n/100)**-rate+.006*rng.normal(), 4))
                         for arm,(top,gap,rate) in laws.items() for s in range(5) for n in sizes[arm]
                         if (arm,s,n)!=('scratch',4,6400)])
named = dict(n='train_size', perf='val_acc', run='seed', by='init')

def test_long_table(tmp_path):
    "Both conventions of the start are the headline, and the truth lies between them; the short run goes, not the size"
    table().to_csv(tmp_path/'long.csv', index=False)
    with warnings.catch_warnings(action='ignore'):
        b,t = read_curves(tmp_path/'long.csv', **named)
        found = tm.compare_curves(b, t)
    assert (b.name,b.n[-1],b.run_names)==('scratch',6400,['0','1','2','3'])
    assert b.note=='run 4 is left out, because it lacks sizes that the other runs have'
    p = np.linspace(.475, .93-.2/np.sqrt(30), 100_000)[:-1]
    truth = 100*np.where(p<.92, 1-(.2/(.93-p))**2/(.45/np.maximum(.92-p, 1e-9))**(1/.45), 1).mean() # of both laws
    headline,*rest = found.summary().split('\n')
    low,high = (int(o) for o in headline.replace(' %', '').split() if o.isdigit() and o!='100')
    assert low<truth<high and 'nothing was measured below n = 100' in headline
    assert any('left out' in o for o in rest) and any('n = 6,400 and 3,000' in o for o in rest) and len(rest)<12
    row = found.table.set_index('metric').loc['average_relative_reduction']
    same(row.value, tm.average_relative_reduction(b, t))

@pytest.mark.filterwarnings('ignore:nothing was measured', 'ignore:an interval', 'ignore:.* is left out',
                            'ignore:rows with the same n', 'ignore:.* are NaN')
def test_layouts(tmp_path):
    "Every layout gives the curves of the long table"
    long = table()
    expected = read_curves(long, **named)
    def check(path, **options):
        for c,e in zip(read_curves(path, **options), expected, strict=True):
            assert_allclose(c.n, e.n)
            assert_allclose(c.perf, e.perf, atol=1e-9)
            assert len(c.runs)==len(e.runs)
    def write(name, frame, **options):
        frame.to_csv(tmp_path/name, **dict(index=False)|options)
        return tmp_path/name
    # semicolons, decimal commas, a byte order mark, spaces and CRLF; percent signs; thousands
    check(write('euro.csv', long.rename(columns={'val_acc': ' val_acc '}), sep=';', decimal=',', encoding='utf-8-sig',
                lineterminator='\r\n'), **named)
    check(write('percent.csv', long.assign(val_acc=[f'{100*o:.6g}%' for o in long.val_acc])), **named)
    check(write('thousands.csv', long.assign(train_size=[f'{o:,}' for o in long.train_size])), **named)
    check(write('points.csv', long.assign(train_size=[f'{o:,}'.replace(',', '.') for o in long.train_size]), sep=';',
                decimal=','), **named)
    long.to_parquet(tmp_path/'long.parquet')
    check(tmp_path/'long.parquet', **named)
    pytest.importorskip('openpyxl')
    long.to_excel(tmp_path/'long.xlsx', index=False)
    check(tmp_path/'long.xlsx', **named)
    # three arms, two files, seeds as columns, runs as rows
    more = pd.concat([long,long[long.init=='scratch'].assign(init='other')])
    with pytest.raises(ValueError, match='must have two values, got scratch, imagenet, other; choose two'):
        read_curves(more, **named)
    check(write('three.csv', more), keep='scratch,imagenet', **named)
    with pytest.raises(ValueError, match='two values'): read_curves(write('three.csv', more), keep='scratch', **named)
    swapped = long.iloc[::-1].replace(dict(init=dict(scratch='no_pretraining')))
    check(write('swapped.csv', swapped), **named)
    with pytest.raises(ValueError, match='not clear which of'):
        read_curves(write('unclear.csv', swapped.replace(dict(init=dict(no_pretraining='other')))), **named)
    files = [write(f'{k}.csv', rows) for k,rows in long.groupby('init', sort=False)]
    check(files, n='train_size', perf='val_acc')
    wide = long.assign(column=long.init+'-'+long.seed.astype(str)+' - val/acc')
    wide = wide.pivot(index='train_size', columns='column', values='val_acc')
    check(write('wandb.csv', wide.rename_axis('Step'), index=True), n='Step', perf='scratch*,imagenet*')
    rows = long.pivot(index=['init','seed'], columns='train_size', values='val_acc').reset_index()
    check(write('rows.csv', rows), by='init')
    assert read_curves(write('rows.csv', rows), by='init')[0].run_names==list('0123')
    mean = long.groupby(['train_size','init']).val_acc.mean().unstack()
    assert [len(c.n) for c in read_curves(write('arms.csv', mean, index=True), n='train_size',
                                          perf='scratch,imagenet')]==[7,4]

def test_tables_refuse(tmp_path):
    long = table()
    for text,options in (("`by` must name the column .* got the columns 'init', 'seed'",
                          dict(n='train_size', perf='val_acc')),
                         ("no column 'n' among 'init', 'seed', 'train_size', 'val_acc'", dict(by='init')),
                         ("`keep` must be one of 'scratch', 'imagenet', got 'imagnet'; did you mean 'imagenet'",
                          named|dict(keep='scratch,imagnet')),
                         ('`table` must have the columns arm', named|dict(by='arm'))):
        with pytest.raises(ValueError, match=text): read_curves(long, **options)
    long['val_acc'] = long.val_acc.astype(str).replace('0.4706', 'crashed')
    with pytest.raises(ValueError, match='must hold numbers'), warnings.catch_warnings(action='ignore'):
        read_curves(long.assign(val_acc=['crashed',*long.val_acc[1:]]), **named)
    (tmp_path/'comma.csv').write_text('n,acc,by\n100,0,49,a\n')
    with pytest.raises(ValueError, match='decimal commas need semicolons'):
        read_curves(tmp_path/'comma.csv', perf='acc', by='by')

def test_published_fine_tuning():
    "Runs as rows; by hand with other code: jumpstart -0.3968, asymptotic advantage 0.2255, minus infinity"
    losses = pd.DataFrame([['a',5.67,4.64,4.10,3.26,2.53,1.99,'x'],['b',4.89,4.19,3.81,3.17,2.38,1.74,'y'],
                           ['c',4,4,4,4,4,4,'z']],
                          columns=['config','0','400','3200','25600','204800','1638400','family'])
    pair = read_curves(losses, by='config', keep='a,b', direction='min')
    assert repr(pair[0])=='Curve(1 run of 6 points, n 0 to 1,638,400, perf 1.99 to 5.67, min)'
    summary = tm.compare_curves(*pair).summary()
    assert 'n = 1,638,400' in summary and 'e+0' not in summary
