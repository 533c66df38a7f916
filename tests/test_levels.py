"""Averages over levels that are 1e-10 or 1e-3 apart, against the integral of their definition in rational numbers

A few hundred cases; `LEVELS=30000 python -m pytest tests/test_levels.py` makes so many."""
import math
import os
from decimal import Decimal, localcontext
from fractions import Fraction
import numpy as np
import pytest
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.registry import registry

cases = int(os.environ.get('LEVELS', 400))
inf = math.inf
digits = 60

def log(x):
    "Of a positive fraction"
    return Decimal(x.numerator).ln()-Decimal(x.denominator).ln()

def real(x): return Decimal(x.numerator)/Decimal(x.denominator)

def needed(curve, u, v):
    "What a curve needs just above the level `u` and just below `v`, with no corner in between; with `u==v` at that level"
    n,q,zero = curve
    if v<=q[0]: return zero,zero
    for (n0,q0),(n1,q1) in zip(zip(n, q, strict=True), zip(n[1:], q[1:], strict=True), strict=False):
        if q1<v: continue
        slope = (n1-n0)/(q1-q0)
        return n0+slope*(u-q0),n0+slope*(v-q0)
    return inf,inf

def corners(curve):
    "Best levels so far"
    _,q,_ = curve
    return {max(q[:i+1]) for i in range(len(q))}

def mean_ratio(num, den):
    "Mean of the ratio of two lines, each from its value at the beginning to that at the end"
    (a,b),(c,d) = num,den
    if d==inf: return inf if b==inf else 0
    if b==inf: return inf
    if c==0:
        if a>0: return inf
        return real(Fraction(b, d)) if d else (inf if b else 1)
    if c==d: return real((a+b)/2/c)
    rise,run = b-a,d-c
    return real(rise/run)+real((a-c*rise/run)/run)*log(d/c)

def mean_log(line):
    a,b = line
    if b==inf: return inf
    if b==0: return -inf
    if a==b: return log(a)
    from_0 = log(a)*real(a) if a else 0
    return (log(b)*real(b)-from_0)/real(b-a)-1

def reduced(base, transfer):
    r = mean_ratio(transfer, base)
    return -inf if r==inf else 1-r

def faster(base, transfer): return mean_ratio(base, transfer)

def log_faster(base, transfer):
    if base[1]==transfer[1]==0: return 0
    both = mean_log(base),mean_log(transfer)
    if not all(map(math.isfinite, both)): both = map(float, both)
    x,y = both
    return x-y

def symmetric(base, transfer):
    "In two parts where the lines cross"
    (c,d),(a,b) = base,transfer
    first,last = a-c,b-d
    if inf in (b,d) or first*last>=0:
        ahead = a+b<=c+d
        if b==d==inf: return 0
        r = mean_ratio(transfer, base) if ahead else mean_ratio(base, transfer)
        return 1-r if ahead else r-1
    t = first/(first-last)
    n = c+t*(d-c)
    parts = symmetric((c,n), (a,n)),symmetric((n,d), (n,b))
    return real(t)*parts[0]+real(1-t)*parts[1]

def spanned(kind, base, transfer):
    "The ends of the levels"
    (_,p,_),(_,q,_) = base,transfer
    return dict(union=(min(p[0], q[0]),max(p[-1], q[-1])), overlap=(max(p[0], q[0]),min(p[-1], q[-1])),
                base_to_transfer=(p[0],q[-1]), transfer_to_base=(q[0],p[-1]))[kind]

def brute(quantity, span, base, transfer):
    "The mean over the levels of the span, piece by piece"
    lo,hi = sorted(spanned(span, base, transfer))
    if lo==hi: return quantity(needed(base, lo, lo), needed(transfer, lo, lo))
    cuts = sorted({lo,hi}|{p for p in corners(base)|corners(transfer) if lo<p<hi})
    parts = [(v-u, quantity(needed(base, u, v), needed(transfer, u, v))) for u,v in zip(cuts, cuts[1:], strict=False)]
    if any(x==-inf for _,x in parts): return -inf
    if any(x==inf for _,x in parts): return inf
    return sum(real(w/(hi-lo))*x for w,x in parts)

names = dict(average_relative_reduction=(reduced, ('union','overlap','base_to_transfer')), integrated_speedup=(faster, ('transfer_to_base',)),
             mean_log_speedup=(log_faster, ('overlap',)), average_symmetric_reduction=(symmetric, ('union','overlap','base_to_transfer')))

def close(r, k):
    "Levels that are 1e-10 apart, some of them in groups"
    steps = r.integers(0, 6, k)
    if r.random()<.3: steps = steps+r.choice([0,10**9,3*10**9], k)
    return [Fraction(int(s), 10**10) for s in steps]

def apart(r, k):
    "Levels that are a thousandth apart or more"
    return [Fraction(int(s), 1000) for s in r.integers(150, 900, k)]

def drawn(r, direction, start, origin, levels_of):
    "A curve, and the same in fractions: sizes, levels of which more is better, and what the first level costs"
    k = int(r.integers(1, 6))
    n = np.cumsum(r.integers(1, 50, k))-int(r.integers(2))
    levels = [origin+p for p in levels_of(r, k)]
    perf = [float(p) for p in levels]
    sign = 1 if direction=='max' else -1
    sizes = [Fraction(int(o)) for o in n]
    zero = Fraction(0) if start=='zero' else sizes[0]
    return Curve(n, perf, direction=direction, start=start),(sizes,[sign*p for p in levels],zero)

@pytest.mark.filterwarnings('ignore:the curve begins')
@pytest.mark.parametrize('levels_of,digits_left', [(close, 2e-5), (apart, 1e-10)], ids=['close', 'apart'])
@pytest.mark.parametrize('name', names)
def test_against_rational_numbers(name, levels_of, digits_left):
    "A level is known to 1e-16, so of a step of 1e-10 six digits are left, of one of 1e-3 more than ten"
    quantity,spans = names[name]
    f = registry()[name].f
    with localcontext(prec=digits):
        for seed in range(cases//len(names)):
            r = np.random.default_rng(seed)
            direction,start = str(r.choice(['max','min'])),str(r.choice(['zero','first']))
            origin = Fraction(int(r.integers(-9, 10)), 10)
            (base,b),(transfer,t) = (drawn(r, direction, start, origin, levels_of) for _ in range(2))
            span = str(r.choice(spans))
            expected = float(brute(quantity, span, b, t))
            options = {} if len(spans)==1 else dict(span=span)
            found = f(base, transfer, **options)
            assert found==pytest.approx(expected, rel=digits_left, abs=digits_left), f'seed {seed} {span}'
