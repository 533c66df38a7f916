"""LEEP, NCE, H-score and LogME of random inputs at extreme scales: no error, no NaN, bounds and invariances hold

Some cases of each; `EXTREMES=26000 python -m pytest tests/test_extremes.py` runs so many."""
import math
import os
from functools import partial
import numpy as np
import pytest
import torch
import transfer_metrics as tm
from transfer_metrics.linalg import power2
from transfer_metrics.state import state_of
from transfer_metrics.transferability.h_score import h_score
from transfer_metrics.transferability.leep import eep, label_entropy, leep
from transfer_metrics.transferability.logme import evidence, logme
from transfer_metrics.transferability.nce import nce

pytestmark = [pytest.mark.filterwarnings(f'ignore:{k}:UserWarning') for k in ('saturated','inflated')] # few samples are meant

cases = int(os.environ.get('EXTREMES', 160))
dtypes = 'float64','float64','float32','float16'

def classes(r, n):
    "Labels: of a few classes, of one, or each sample a class of its own"
    kind = r.choice(['few','one','own'], p=[.7,.15,.15])
    if kind=='one': return np.zeros(n, int)
    if kind=='own': return r.permutation(n)
    return r.integers(0, r.integers(1, 6), n)

def plain_features(r, y):
    "Features of ordinary size whose means differ by class; some constant, some copied, some zero"
    n = len(y)
    d = r.integers(1, 9)
    centres = r.normal(size=(y.max()+1,d))
    x = r.normal(size=(n,d))+centres[y]*r.choice([0,1,5])
    if r.random()<.3: x = np.round(x)
    for j in range(d):
        kind = r.random()
        if kind<.1: x[:,j] = 0
        elif kind<.2: x[:,j] = 3
        elif kind<.3: x[:,j] = x[:,0]
    return x

def powers(r, d, dtype):
    "A power of two for each column, as far as the type reaches; all the same, or each its own"
    reach = {'float64': 990, 'float32': 120, 'float16': 8}[dtype]
    shape = () if r.random()<.5 else d
    return 2.**r.integers(-reach, reach, shape)

def scaled(r, x):
    "The same features with columns multiplied by powers of two, the powers, and whether the product is exact"
    dtype = r.choice(dtypes)
    scale = powers(r, x.shape[1], dtype)*np.ones(x.shape[1])
    x = x.astype('float16').astype('float64') if dtype=='float16' else x.astype('float32').astype('float64')
    big = (x*scale).astype(dtype)
    exact = (big.astype('float64')/scale==x).all()
    return x,big,scale,exact

def samples(seed):
    "Features of ordinary size, the same at another scale, and labels"
    r = np.random.default_rng(seed)
    y = classes(r, int(r.integers(1, 15)))
    return r,*scaled(r, plain_features(r, y)),y

def in_pieces(metric, x, y, **options):
    "The value of the state that sees the samples in two batches; `None` if it refuses the scale"
    half = (len(x)+1)//2
    state = state_of(metric, **options)
    try:
        for s in slice(0, half),slice(half, None):
            if len(x[s]): state.update(x[s], y[s])
        return state.value()
    except ValueError as e:
        assert 'added up batch by batch' in str(e)

def close(a, b, eps): return a==b or abs(a-b)<=eps*max(1, abs(b))

@pytest.mark.parametrize('part', range(4))
def test_h_score(part):
    for seed in range(part, cases, 4):
        r,x,big,scale,exact,y = samples(seed)
        n,d = x.shape
        most = min(n-1, d, len(set(y))-1)
        value = h_score(big, y)
        shrunk = h_score(big, y, shrinkage='ledoit_wolf')
        assert -1e-9<=value<=most+1e-6, seed
        assert -1e-9<=shrunk<=value+1e-6, seed
        if exact: assert close(value, h_score(x, y), 1e-6), seed
        if exact and (scale==scale[0]).all():
            assert close(shrunk, h_score(x, y, shrinkage='ledoit_wolf'), 1e-6), seed
        together = in_pieces(h_score, big, y)
        assert together is None or close(together, value, 1e-6), seed
        together = in_pieces(h_score, big, y, shrinkage='ledoit_wolf')
        assert together is None or close(together, shrunk, 1e-6), seed

def noise_alone(y):
    "LogME of features that say nothing"
    shares = np.bincount(y)
    shares = shares[shares>0]/len(y)
    return float(np.mean(-.5*(np.log(2*np.pi*shares)+1)))

def well_known(x):
    "Whether a Gram matrix knows all directions to half the digits, so that an exact fit is seen as one"
    s = np.linalg.svd(x.astype('float64')*power2(torch.from_numpy(x)), compute_uv=False)
    rank = s>1e-9*s[0]
    weakest = s[rank].min(initial=s[0])
    return 2*2**-26*s[0]**2<=weakest**2

@pytest.mark.parametrize('part', range(4))
def test_logme(part):
    for seed in range(part, cases, 4):
        r,x,big,scale,exact,y = samples(seed)
        value = logme(big, y)
        assert value>=noise_alone(y)-1e-9, seed
        assert not evidence(big, y).drop(columns='boundary').isna().any(axis=None), seed
        if exact and (scale==scale[0]).all(): assert close(value, logme(x, y), 1e-7), seed
        onehot = np.eye(y.max()+1)[y]
        assert close(logme(big, onehot), value, 1e-7), seed
        together = in_pieces(logme, big, y)
        assert together is None or not well_known(big) or close(together, value, 1e-6), seed

def test_gram_matrix_that_underflows():
    "LAPACK does not find the eigenvalues of this Gram matrix, whose entries reach from 1e76 down to 1e-302"
    _,x,big,_,_,y = samples(20377)
    assert noise_alone(y)-1e-9<=logme(big, y)
    assert not math.isnan(logme(big, x[:,:1], regression=True))

@pytest.mark.parametrize('part', range(4))
def test_logme_of_targets(part):
    for seed in range(part, cases, 4):
        r,x,big,scale,exact,y = samples(seed)
        n = len(x)
        t = r.normal(size=(n,r.integers(1, 4)))+x[:,:1]
        if r.random()<.1: t[:,0] = 0
        k = int(r.integers(-1000, 1000))
        value = logme(big, t, regression=True)
        assert not math.isnan(value), seed
        moved = logme(big, t*2.**k, regression=True)
        assert close(moved, value-k*math.log(2), 1e-7), seed
        assert not evidence(big, t*2.**k, regression=True).drop(columns='boundary').isna().any(axis=None), seed

def probabilities(r, n):
    "Rows of probabilities, many of them tiny, some zero, some below the normal range of `float64`"
    c_s = int(r.integers(1, 7))
    logs = -r.uniform(0, r.choice([1,30,340,740]), (n,c_s))
    logs[np.arange(n),r.integers(0, c_s, n)] = 0
    p = np.exp(logs)
    p[r.random((n,c_s))<r.choice([0,.3])] = 0
    if r.random()<.2: p[p<.5] = 0
    p[p.sum(1)==0,0] = 1
    return p/p.sum(1, keepdims=True)

@pytest.mark.parametrize('part', range(4))
def test_leep_and_nce(part):
    for seed in range(part, cases, 4):
        r = np.random.default_rng(seed)
        y = classes(r, int(r.integers(1, 15)))
        n = len(y)
        dtype = r.choice(dtypes)
        p = probabilities(r, n).astype(dtype)
        tol = {'float64': 1e-12, 'float32': 1e-5, 'float16': .02}[dtype]   # rows add up to 1 as far as the type allows
        chance = -label_entropy(y)
        soft = nce(p, y, soft=True)
        mixed = leep(p, y)
        hard = nce(p.argmax(1), y)
        assert chance-tol<=soft<=mixed+tol, seed
        assert mixed<=tol, seed
        assert chance-1e-12<=hard<=0, seed
        of_samples = eep(p, y)
        assert (of_samples>0).all(), seed
        assert close(float(np.log(of_samples).mean()), mixed, 1e-12), seed
        above = leep(p, y, chance_corrected=True)
        assert -tol<=above<=-chance+tol, seed
        for metric,options,value in (leep,{},mixed),(nce,dict(soft=True),soft):
            assert close(in_pieces(metric, p, y, **options), value, 1e-10), seed

@pytest.mark.parametrize('x', [np.full((4,2), 1e308), np.full((4,2), 5e-324), np.array([[1e308],[-1e308],[5e-324],[0.]])])
def test_edges_of_float64(x):
    y = [0,1,0,1]
    assert 0<=h_score(x, y)<=1+1e-9
    assert 0<=h_score(x, y, shrinkage='ledoit_wolf')<=1+1e-9
    assert logme(x, y)>=noise_alone(np.array(y))-1e-9
    targets = np.array([1e308,-1e308,5e-324,0.])
    assert not math.isnan(logme(x, targets, regression=True))

def test_columns_far_apart():
    "150 powers of ten up and down: the H-score is that of the columns at any scale"
    r = np.random.default_rng(0)
    y = np.arange(60)%3
    x = r.normal(size=(60,4))+r.normal(size=(3,4))[y]
    far = x*[1e150,1e-150,1e300,1e-300]
    assert close(h_score(far, y), h_score(x, y), 1e-12)
    wide = r.normal(size=(6,9))
    six = np.arange(6)%3
    assert close(h_score(wide*np.geomspace(1e-300, 1e300, 9), six), h_score(wide, six), 1e-10)
    with pytest.raises(ValueError, match='vary by more than 1e-140'): state_of(h_score).update(x*[1,1e-170,1,1], y).value()

def test_shares_too_small_for_float64():
    "One in three samples of a source class, by the smallest number there is"
    p = np.array([[5e-324,1.],[1.,0],[1.,0],[1.,0]])
    y = [0,1,1,1]
    assert nce(p, y, soft=True)==pytest.approx(leep(p, y), abs=1e-12)
    assert -label_entropy(y)<=nce(p, y, soft=True)

def test_many_singles():
    "As exact in float32 as in float64, of 16 million numbers too, where rounding does not cancel: rows that are alike"
    rows = np.array([[.9,.04,.03,.03],[.05,.8,.1,.05],[.1,.1,.7,.1]], np.float32)
    rows /= rows.sum(1, keepdims=True)
    y = np.array([0,1,1])
    often = 2**24//rows.size+1
    assert leep(np.tile(rows, (often,1)), np.tile(y, often))==pytest.approx(leep(rows.astype(float), y), abs=1e-12)

@pytest.mark.parametrize('regression', [False,True])
@pytest.mark.parametrize('n,d', [(38,41),(20,200),(38,38),(41,38),(60,20)])
def test_logme_in_pieces(n, d, regression):
    "With fewer samples than features as exact as with more: to rounding times the square of the condition number, as Gram matrices allow"
    for seed in range(12):
        r = np.random.default_rng(seed)
        y = r.integers(0, 3, n)
        x = r.normal(size=(n,d))+r.normal(size=(3,d))[y]*r.choice([0,1,3])
        x = x*np.geomspace(1, r.choice([1,1e-3]), d)+r.choice([0,1,100])
        labels = r.normal(size=(n,2)) if regression else y
        s = np.linalg.svd(x, compute_uv=False)
        off = in_pieces(logme, x, labels, regression=regression)-logme(x, labels, regression=regression)
        assert abs(off)<=2**-52*(s[0]/s[-1])**2+1e-12, seed

x,y = np.random.default_rng(0).normal(size=(40,4)),np.arange(40)%2
p = np.random.default_rng(0).dirichlet([1]*3, 40)
known = tm.Outputs(probs=p, labels=y)
with_seeds = dict(
    nleep=partial(tm.nleep, x, y), leep=partial(tm.leep, p, y, cv=5), h_score=partial(tm.h_score, x, y, cv=5), linear_probe=partial(tm.linear_probe, x, y),
    chance=partial(tm.chance, 'leep', p, y), bootstrap_score=partial(tm.bootstrap_score, 'leep', p, y), stratified_subset=partial(tm.stratified_subset, y, 5),
    random_tasks=partial(tm.random_tasks, y, 3), interior_domain=lambda seed: tm.interior_domain(np.zeros((4,1,4,4)), 2, seed=seed)[0],
    corrupted_domain=partial(tm.corrupted_domain, np.zeros((4,1,32,32))), predicted_accuracy=partial(tm.predicted_accuracy, 'a', known, {'b': known}),
    fine_tune=partial(tm.fine_tune, torch.nn.Linear(4, 2).double(), (x, y), (x, y), epochs=1, progress=False))

@pytest.mark.parametrize('name', with_seeds)
def test_seeds(name):
    "What random numbers cannot begin with is refused by the name of the argument"
    for bad in (-1, 1.5, 'a', None):
        with pytest.raises(ValueError, match='`seed` must be a whole number of at least 0'): with_seeds[name](seed=bad)
