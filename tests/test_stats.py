"Statistics of scores and accuracies: any input, any order of the models, any kind of array; what is refused"
import math
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from transfer_metrics.stats import (
    all_statistics, bootstrap_interval, kendall, linear_fit, pearson, recall_at_k, regret_at_k, relative_top_k, spearman, stability,
    weighted_kendall)

correlations = pearson,spearman,kendall,weighted_kendall
picks = regret_at_k,relative_top_k,recall_at_k
models = list('ABCDEF')
score = pd.Series([.1, .2, .3, .4, .5, .6], models)
accuracy = pd.Series([.60, .54, .70, .78, .74, .84], models)

def point(f, *data, **options): return float(f(*data, n_boot=0, **options))

def varies(pairs): return all(len(set(c))>1 for c in zip(*pairs, strict=True))

small = st.integers(-4, 4)
numbers = st.lists(st.tuples(small, small), min_size=5, max_size=12).filter(varies)

def check_range(e):
    assert -1<=e.value<=1
    if not math.isnan(e.lo): assert -1<=e.lo<=e.hi<=1

def check_mirrored(e, turned):
    assert_allclose(turned.value, -e.value, atol=1e-12)
    if math.isnan(e.lo) and math.isnan(turned.lo): return
    assert_allclose([turned.lo,turned.hi], [-e.hi,-e.lo], atol=1e-12)

def check_correlation(f, x, y, shuffled):
    "Range, order of the models, exchange of scores and accuracies, direction, and for ranks any increasing change of scale"
    names = [f'model {i:02}' for i in range(len(x))]
    def estimate(*data): return f(*(pd.Series(o, names) for o in data), n_boot=100)
    e = estimate(x, y)
    check_range(e)
    assert_allclose([point(f, *shuffled), point(f, y, x)], e.value, atol=1e-12)
    # the top is special to weighted tau, and to a perfect order
    if f is not weighted_kendall and abs(e.value)<1-1e-9: check_mirrored(e, estimate(-x, y))
    if f is pearson: return
    stretched = np.where(x==x.max(), math.inf, np.exp(x))
    assert repr(estimate(stretched, y))==repr(e)

@settings(derandomize=True, database=None, deadline=None, max_examples=40)
@given(numbers, st.randoms(use_true_random=False))
def test_any_input(pairs, random):
    x,y = np.array(pairs, float).T
    shuffled = np.array(random.sample(pairs, len(pairs)), float).T
    for f in correlations: check_correlation(f, x, y, shuffled)
    k = random.randint(1, len(x))
    regret,relative,recall = (point(f, x, y-y.min()+1, k=k) for f in picks)
    assert regret>=0 and 0<relative<=1 and 0<=recall<=1+1e-12
    assert_allclose([point(f, y, y+5, k=k) for f in picks], [0,1,1], atol=1e-12)

def test_kinds_of_array():
    e = kendall(score, accuracy)
    s,a = score.to_numpy(),accuracy.to_numpy()
    tensor = torch.tensor(s, requires_grad=True)
    for x,y in (s.tolist(),a.tolist()),(tensor,a),(score,accuracy[::-1]),(s,accuracy): assert kendall(x, y)==e

def sixteen_models():
    rng = np.random.default_rng(1)
    score,noise = rng.normal(size=(2,16))
    ability = .6*score+.8*noise
    names = [f'model {i}' for i in range(16)]
    return pd.DataFrame(dict(score=score, accuracy=.85+.04*ability), names)

@pytest.mark.parametrize('f', [*correlations, *picks, linear_fit])
def test_order_of_rows(f):
    "The order of the rows does not matter, with names and without"
    frame = sixteen_models()
    mixed = frame.sample(frac=1, random_state=0)
    e = f(frame.score, frame.accuracy)
    assert f(mixed.score, mixed.accuracy)==e
    assert f(frame.score, mixed.accuracy)==e
    def without_names(frame): return f(frame.score.to_numpy(), frame.accuracy.to_numpy())
    assert without_names(mixed)==without_names(frame)

@pytest.mark.parametrize('ties', [False,True])
@pytest.mark.parametrize('k', [1,3,8])
@pytest.mark.parametrize('f', picks)
def test_picks_of_draws(f, k, ties):
    "What is said of how often each model is drawn is what is said of the rows that are drawn, one draw after the other"
    rng = np.random.default_rng(k)
    s,a = rng.integers(1, 5, size=(2,8))/5 if ties else rng.random((2,8))
    run = dict(n_boot=100, interval='percentile')
    one_by_one = bootstrap_interval(lambda s, a: point(f, s, a, k=k), s, a, **run)
    e = f(s, a, k=k, **run)
    assert_allclose([e.value,e.lo,e.hi], [one_by_one.value,one_by_one.lo,one_by_one.hi], atol=1e-12)

def test_stability_of_draws():
    "The same of several set-ups, whose order may be undefined in a draw"
    setups = np.random.default_rng(0).integers(3, size=(4,5)).astype(float)
    def mean_tau(*rows): return np.mean([point(kendall, rows[i], rows[j]) for i in range(4) for j in range(i)])
    run = dict(n_boot=200, interval='percentile')
    one_by_one = bootstrap_interval(mean_tau, *setups, **run)
    e = stability(setups, **run)
    assert e.undefined==one_by_one.undefined>0
    assert_allclose([e.value,e.lo,e.hi], [one_by_one.value,one_by_one.lo,one_by_one.hi], atol=1e-12)

@pytest.mark.parametrize('perfect', [False,True])
def test_all_statistics(perfect):
    "Those of one draw for all are those of each function, also of a perfect order, and whatever the order of the rows"
    frame = sixteen_models()
    if perfect: frame['score'] = frame.accuracy
    mixed = frame.sample(frac=1, random_state=0)
    found = all_statistics(mixed.score, mixed.accuracy, ks=[2], n_boot=500)
    for name,f in zip(('pearson','spearman','kendall','weighted_kendall'), correlations, strict=True):
        assert found[name]==f(frame.score, frame.accuracy, n_boot=500)
    for name,f in zip(('regret','relative_top','recall'), picks, strict=True):
        assert found[f'{name}@2']==f(frame.score, frame.accuracy, k=2, n_boot=500)

@pytest.mark.parametrize('f', [*correlations, *picks])
def test_seed(f):
    "There are enough resamples for other seeds to give nearly the same ends"
    frame = sixteen_models()
    found = [f(frame.score, frame.accuracy, seed=i) for i in range(4)]
    ends = [(e.lo,e.hi) for e in found]
    assert np.ptp(ends, 0).max()<.01

def test_options_of_the_interval():
    e = kendall(score, accuracy)
    assert kendall(score, accuracy, seed=1)!=e
    narrow = kendall(score, accuracy, coverage=.5)
    assert e.lo<=narrow.lo<=narrow.hi<=e.hi

@pytest.mark.parametrize('f', [*correlations, *picks, linear_fit])
def test_refuses(f):
    "The matching of models is the same for all"
    def refused(text): return pytest.raises(ValueError, match=text)
    renamed = accuracy.rename({'F': 'G'})
    with refused(r"\['F', 'G'\] on one side"): f(score, renamed)
    with refused('of one length'): f([1, 2, 3], [1, 2])
    with refused('at least two models'): f([1], [1])
    with refused('must (not be NaN|be finite), got nan at position 1'): f([1, 2], [1, math.nan])
    with refused(r'`coverage` must be a number in \(0, 1\)'): f(score, accuracy, coverage=95)
