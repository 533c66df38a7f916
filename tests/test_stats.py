"Statistics of scores and accuracies: any input, any order of the models, any kind of array"
import math
from functools import partial
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from transfer_metrics.stats import (
    all_statistics, bootstrap_interval, estimate, kendall, pearson, recall_at_k, regret_at_k, relative_top_k,
    resample, spearman, stability, weighted_kendall)

correlations = pearson,spearman,kendall,weighted_kendall
picks = dict(regret=regret_at_k, relative_top=relative_top_k, recall=recall_at_k)
names = 'pearson','spearman','kendall','weighted_kendall','regret@3','relative_top@3','recall@3'
score,noise = np.random.default_rng(1).normal(size=(2,16))
frame = pd.DataFrame(dict(score=score, accuracy=.85+.04*(.6*score+.8*noise)), [f'model {i}' for i in range(16)])
small = st.integers(-4, 4)
varied = st.lists(st.tuples(small, small), min_size=5, max_size=12).filter(lambda o: np.ptp(o, 0).all())

@settings(derandomize=True, database=None, deadline=None, max_examples=40)
@given(varied, st.randoms(use_true_random=False))
def test_any_input(pairs, random):
    "Range, order of the models, exchange of scores and accuracies, direction, and for ranks any increasing change of scale"
    x,y = np.array(pairs, float).T
    for f in correlations:
        v = f(x, y)
        assert -1<=v<=1
        assert_allclose([f(*np.array(random.sample(pairs, len(pairs)), float).T),f(y, x)], v, atol=1e-12)
        if f is not weighted_kendall: assert_allclose(f(-x, y), -v, atol=1e-12)
        if f is not pearson: assert_allclose(f(np.where(x==x.max(), math.inf, np.exp(x)), y), v, atol=1e-12)
    k = random.randint(1, len(x))
    regret,relative,recall = (f(x, y-y.min()+1, k=k) for f in picks.values())
    assert regret>=0 and 0<relative<=1 and 0<=recall<=1+1e-12
    assert_allclose([f(y, y+5, k=k) for f in picks.values()], [0,1,1], atol=1e-12)

def test_order_of_rows_and_kinds_of_array():
    mixed = frame.sample(frac=1, random_state=0)
    for f in [partial(estimate, k, n_boot=500) for k in names]:
        e = f(frame.score, frame.accuracy)
        assert f(mixed.score, mixed.accuracy)==f(frame.score, mixed.accuracy)==e
        lists = frame.score.tolist(),torch.tensor(frame.accuracy.tolist(), dtype=torch.float64)
        assert f(mixed.score.to_numpy(), mixed.accuracy.to_numpy())==f(*lists)

@pytest.mark.parametrize('ties', [False,True])
def test_draws(ties):
    "The statistic of counts is the statistic of the rows that are drawn"
    rng = np.random.default_rng(0)
    s,a = rng.integers(1, 5, size=(2,8))/5 if ties else rng.random((2,8))
    for k in 1,3,8:
        for name,f in picks.items():
            rows = bootstrap_interval(lambda s, a, f=f, k=k: f(s, a, k=k), s, a, n_boot=100, interval='percentile')
            e = estimate(f'{name}@{k}', s, a, n_boot=100)
            assert_allclose([e.value,e.lo,e.hi], [rows.value,rows.lo,rows.hi], atol=1e-12)
    setups = rng.integers(3, size=(4,5)).astype(float)
    def mean_tau(*rows): return np.mean([kendall(rows[i], rows[j]) for i in range(4) for j in range(i)])
    rows,e = bootstrap_interval(mean_tau, *setups, n_boot=200, interval='percentile'),stability(setups, n_boot=200)
    assert e.undefined==rows.undefined>0
    assert_allclose([e.value,e.lo,e.hi], [rows.value,rows.lo,rows.hi], atol=1e-12)

def test_intervals():
    "Two seeds agree; a lower coverage is narrower; a perfect order has an open end; groups are drawn independently"
    ends = [[(e.lo,e.hi) for e in all_statistics(frame.score, frame.accuracy, ks=[2], seed=i).values()]
            for i in range(3)]
    assert np.ptp(ends, 0).max()<.01
    e,narrow = (estimate('kendall', frame.score, frame.accuracy, coverage=c) for c in (.95,.5))
    assert e.lo<=narrow.lo<=narrow.hi<=e.hi
    for k in 'spearman','kendall','weighted_kendall':
        e,turned = estimate(k, score, score, n_boot=500),estimate(k, -score, score, n_boot=500)
        assert .5<e.lo<e.hi==1 and -1==turned.lo<turned.hi<-.5
    x,y = np.random.default_rng(0).normal(size=(2,40))
    e = resample(lambda a, b: a@x/40-b@y/40, [40,40])
    assert (e.hi-e.lo)/3.92==pytest.approx(math.hypot(x.std(), y.std())/40**.5, rel=.05)

def test_refuses():
    def refused(text): return pytest.raises(ValueError, match=text)
    for f in (*correlations,*picks.values()):
        with refused(r"\['model 0', 'x'\] in only one of them"): f(frame.score, frame.accuracy.rename({'model 0': 'x'}))
        with refused('one entry per model'): f([1,2,3], [1,2])
        with refused('at least two models'): f([1], [1])
        with refused('must (not be NaN|be finite), got nan at position 1'): f([1,2], [1,math.nan])
    with refused(r'`coverage` must be a number in \(0, 1\)'): estimate('kendall', score, score, coverage=95)
