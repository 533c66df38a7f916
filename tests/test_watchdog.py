"""Every metric, and the head, on random input of extreme scale and degenerate shape: a number that is not NaN or a `ValueError`, soon

A few cases of each; `WATCHDOG=30000 python -m pytest tests/test_watchdog.py` runs so many in all."""
import math
import os
import signal
import warnings
from contextlib import contextmanager
import numpy as np
import pandas as pd
import pytest
from test_extremes import classes, plain_features, probabilities, scaled
from transfer_metrics.experiments.retrain_head import retrain_head
from transfer_metrics.invariance.cot import cot
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.registry import registry

metrics = registry()
names = [*metrics,'cot of a prior','otce of all options','retrain_head']
cases = int(os.environ.get('WATCHDOG', 8*len(names)))//len(names)
first = int(os.environ.get('WATCHDOG_FIRST', 0))
most = 10.  # seconds on a processor, a thousand times what most cases take

class Late(BaseException):
    "Not an `Exception`, so that nobody takes it for a result"

@contextmanager
def watched():
    "Ends what takes too long"
    def bark(*_): raise Late(f'not done after {most} s')
    before = signal.signal(signal.SIGPROF, bark)
    signal.setitimer(signal.ITIMER_PROF, most)
    try: yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

def spoilt(r, x):
    "Now and then with a number that is none, or without rows or columns"
    kind = r.random()
    if kind<.02: x[tuple(r.integers(0, k) for k in x.shape)] = r.choice([math.nan,math.inf])
    elif kind<.03: x = x[:0]
    elif kind<.04: x = x[...,:0]
    return x

def features(r, y, d=None):
    "Features of one scale or of many, some rows equal, some nearly"
    x = plain_features(r, y)
    _,x,_,_ = scaled(r, x)
    if d: x = np.resize(x, (len(y),d))
    kind = r.random()
    if kind<.1: x[:] = x[0]
    elif kind<.2: x = x+x[:1]*r.choice([1e8,1e-16]).astype(x.dtype)
    elif kind<.25: x = (x/max(float(abs(x).max()), 1e-300)*np.finfo(x.dtype).max).astype(x.dtype)
    return spoilt(r, x)

def shares(r, k):
    "A prior, most of it tiny"
    q = np.exp(-r.uniform(0, r.choice([0,1,20,45,340]), k))
    q[r.random(k)<r.choice([0,.3])] = 0
    q[r.integers(k)] += r.choice([1e-9,1])
    return q/q.sum()

def numbers(r, k):
    "Numbers with gaps of any size between them, or far from 0"
    kind = r.integers(6)
    if kind==0: return 10.**r.uniform(-300, 300, k)
    if kind==1: return r.random()+r.integers(-5, 6, k)*10.**-r.integers(8, 17)
    if kind==2: return r.integers(0, 3, k).astype(float)
    if kind==3: return r.normal(size=k)*10.**r.integers(-300, 300)
    if kind==4: return np.nextafter(np.full(k, r.random()), r.choice([0,1], k))
    return r.random(k)

def curve(r, same):
    "A learning curve"
    k = int(r.integers(1, 7))
    n = np.cumsum(abs(numbers(r, k)))
    if r.random()<.6: n = np.cumsum(r.integers(1, 100, k))-1
    runs = [numbers(r, k) for _ in range(r.integers(1, 4))]
    return Curve(n, spoilt(r, np.array(runs)), **same)

def losses(r):
    "A loss-data curve"
    k = int(r.integers(1, 7))
    samples = np.cumsum(10**r.integers(0, r.choice([2,9]), k))
    seeds = int(r.integers(1, 4))
    loss = np.concatenate([abs(numbers(r, k)) for _ in range(seeds)])
    if r.random()<.1: loss[r.integers(len(loss))] = r.choice([math.inf,math.nan,-1])
    return pd.DataFrame({'seed': np.repeat(range(seeds), k), 'samples': np.tile(samples, seeds), 'val_loss': loss})

@np.errstate(all='ignore')
def given(name, r):
    "Input of the metric `name`"
    n = int(r.integers(1, 15))
    y = classes(r, n)
    z = classes(r, int(r.integers(1, 15)))
    p = probabilities(r, n)
    d = int(r.integers(1, 6))
    same = dict(direction=r.choice(['max','min']), start=r.choice(['zero','first']))
    makers = dict(
        labels=lambda: y, predicted=lambda: r.integers(0, 5, n), curve=lambda: losses(r),
        base=lambda: curve(r, same), transfer=lambda: curve(r, same), targets=lambda: numbers(r, n),
        features=lambda: features(r, y, d), logits=lambda: features(r, y, d+1),
        source_features=lambda: features(r, z, d), source_labels=lambda: z,
        probs=lambda: spoilt(r, p.copy()), probs_t=lambda: p[::-1], source_probs=lambda: np.resize(p, (len(z),p.shape[1])))
    args = metrics[name].args
    found = {k: makers[k]() for k in args}
    if 'source_probs' in args: found['source_labels'] = r.integers(0, p.shape[1], len(z))
    return found

def of_prior(r):
    p = probabilities(r, int(r.integers(1, 40)))
    prior = shares(r, p.shape[1]) if r.random()<.7 else p.mean(0)
    return cot(p, prior=prior)

def of_options(r):
    options = dict(reg=10.**r.uniform(-12, 2), max_samples=None)
    return metrics['otce'].f(**given('otce', r), **options)

def head(r):
    y = classes(r, int(r.integers(1, 15)))
    with np.errstate(all='ignore'): x = features(r, y)
    return retrain_head(x, y, (x,y), C=10.**r.integers(-8, 9))

others = {'cot of a prior': of_prior, 'otce of all options': of_options, 'retrain_head': head}

def value(name, r):
    if name in others: return others[name](r)
    return metrics[name].f(**given(name, r))

@pytest.mark.parametrize('name', names)
def test_ends_with_a_number_or_says_why(name):
    ends = metrics[name].range if name in metrics else (-math.inf,1)
    for seed in range(first, first+cases):
        r = np.random.default_rng(seed)
        with warnings.catch_warnings(), watched():
            warnings.simplefilter('ignore', UserWarning) # not converged, few samples: said, and not what is tested
            try: found = value(name, r)
            except ValueError as e:
                assert str(e), seed
                continue
            except BaseException as e:
                e.add_note(f'seed {seed}')
                raise
        assert not math.isnan(found), f'seed {seed}'
        assert ends[0]-1e-6<=found<=ends[1]+1e-6, f'seed {seed}: {found}'

def steps(r):
    "Sizes, and levels of a few units"
    k = int(r.integers(1, 6))
    n = np.cumsum(r.integers(1, 50, k))
    return n,r.integers(0, 6, k)+r.choice([0,1])*r.random(k)

@pytest.mark.filterwarnings('ignore:the curve begins')
@pytest.mark.parametrize('name', ['average_relative_reduction','average_symmetric_reduction','integrated_speedup','mean_log_speedup'])
def test_levels_close_together(name):
    "The unit and the origin of performance do not count, though levels be 1e-10 apart"
    f = metrics[name].f
    for seed in range(40):
        r = np.random.default_rng(seed)
        same = dict(direction=str(r.choice(['max','min'])), start=str(r.choice(['zero','first'])))
        (n,a),(m,b) = steps(r),steps(r)
        unit,origin = 10.**-r.integers(6, 11),r.choice([0,.1,.5])
        expected = f(Curve(n, a, **same), Curve(m, b, **same))
        found = f(Curve(n, origin+unit*a, **same), Curve(m, origin+unit*b, **same))
        assert found==pytest.approx(expected, rel=1e-3, abs=1e-3), seed
