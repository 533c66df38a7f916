"Nine scores against naive formulas, on data that has broken them before"
import itertools
import math
import warnings
import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.covariance import LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
import transfer_metrics as tm
from transfer_metrics.moments import Moments, moments
from transfer_metrics.registry import ScoreWarning
from transfer_metrics.transferability.gbc import class_overlap

pytestmark = [pytest.mark.filterwarnings(f'ignore::{k}')
              for k in ('transfer_metrics.registry.ScoreWarning', 'sklearn.exceptions.ConvergenceWarning')]
kinds = 'normal','relu','constant columns','repeated columns','far from 0'
sizes = (200, 30, 4),(60, 100, 5),(100, 99, 3),(40, 8, 2)
families = pytest.mark.parametrize('kind,size,dtype', [*itertools.product(kinds, sizes, (np.float32,np.float64))])
of_features = tm.h_score,tm.logme,tm.nleep,tm.gbc,tm.transrate,tm.lfc,tm.sfda

def samples(kind, size, dtype=float, seed=0):
    "Features with a decaying spectrum, labels, and two targets"
    rng,(n,d,c) = np.random.default_rng(seed),size
    y = np.r_[:c,rng.integers(c, size=n-c)]
    x = rng.normal(size=(n, d))*np.geomspace(1, .05, d)+.5*rng.normal(size=(c, d))[y]
    if kind=='relu': x = np.maximum(x, 0)
    if kind=='constant columns': x[:,::7] = .1
    if kind=='repeated columns': x[:,d//2:] = x[:,:d-d//2]
    if kind=='far from 0': x = 100*x+500
    x = x.astype(dtype)
    return x,y,x[:,:3].astype(float)@rng.normal(size=(3, 2))+rng.normal(size=(n, 2))

def means_of(x, y): return np.stack([x[y==k].mean(0) for k in np.unique(y)])

def naive_h_score(x, y, shrinkage=None):
    x = x.astype(float)
    x,g = x-x.mean(0),(means_of(x, y)-x.mean(0))[y]
    if shrinkage is None: return np.trace(np.linalg.pinv(x.T@x, rcond=1e-12, hermitian=True)@(g.T@g))
    fit = LedoitWolf().fit(x)
    return (1-fit.shrinkage_)*np.trace(np.linalg.solve(fit.covariance_, g.T@g/len(x)))

def naive_evidence(x, Y):
    "The log density of each column, maximised over a grid and then between its neighbours"
    n,(u,s,_) = len(x),np.linalg.svd(x.astype(float), full_matrices=False)
    u,lam = u[:,s>1e-12*s[0]],s[s>1e-12*s[0]]**2
    def loss(logt, z, rest):
        w = 1/(1+lam/np.exp(logt))
        return .5*(math.log(2*math.pi*((z*w).sum()+rest)/n)+1)+np.log1p(lam/np.exp(logt)).sum()/2/n
    def best(y):
        z = (u.T@y)**2
        data = z,0. if len(lam)==n else max(y@y-z.sum(), 0)
        t = min(np.linspace(-50, 50, 1001), key=lambda t: loss(t, *data))
        return -minimize_scalar(loss, args=data, bounds=(max(t-.1, -50),min(t+.1, 50)), options=dict(xatol=1e-9)).fun
    return np.mean([best(y) for y in Y.T])

def naive_transrate(x, y):
    def rate(z): return np.log1p(np.linalg.svd(z, compute_uv=False)**2/len(z)/1e-4).sum()/2
    z = x-x.astype(float).mean(0)
    return rate(z)-np.mean([rate(z[y==k]) for k in np.unique(y)])

def naive_lfc(x, y, centering='entries'):
    K,L = x.astype(float)@x.T.astype(float),2.*(y[:,None]==y)-1
    H = np.eye(len(x))-1/len(x)
    K,L = (K-K.mean(),L-L.mean()) if centering=='entries' else (H@K@H,H@L@H)
    return (K*L).sum()/np.linalg.norm(K)/np.linalg.norm(L)

def naive_sfda(x, y, s):
    x,own = x.astype(float),(np.arange(len(y)),y)
    def fit(x): return LinearDiscriminantAnalysis(solver='lsqr', shrinkage=s).fit(x, y).predict_proba(x)
    q,m = softmax(fit(x), 1)[own][:,None],means_of(x, y)
    return fit(q*x+(1-q)*((m.sum(0)-m)/(len(m)-1))[y])[own].mean()

def naive_gbc(x, y, spherical):
    x,total = x.astype(float),0.
    for a,b in itertools.permutations([x[y==k] for k in np.unique(y)], 2):
        v,w = a.var(0),b.var(0)
        if spherical: v,w = np.full_like(v, v.mean()),np.full_like(w, w.mean())
        gap = (a.mean(0)-b.mean(0))**2
        used = ~((v<1e-25)&(w<1e-25)&(gap<1e-25)) # constant in both classes
        with np.errstate(all='ignore'):
            total += np.exp(-(gap/(v+w)/4+np.log((v+w)/2/np.sqrt(v*w))/2)[used].sum())
    return -total

def close(value, expected, rel=1e-8): assert value==pytest.approx(expected, rel=rel, abs=1e-10)

@families
def test_values(kind, size, dtype):
    x,y,t = samples(kind, size, dtype)
    for shrinkage in None,'ledoit_wolf': close(tm.h_score(x, y, shrinkage=shrinkage), naive_h_score(x, y, shrinkage))
    rel = 1e-6 if kind=='far from 0' else 1e-8 # the Gram matrix about the origin
    close(tm.logme(x, y), naive_evidence(x, np.eye(size[2])[y]), rel)
    close(tm.logme(x, t, regression=True), naive_evidence(x, t), rel)
    some = 1.*(t>np.median(t, 0))
    close(tm.logme(x, some), naive_evidence(x, some), rel)
    close(tm.transrate(x, y), naive_transrate(x, y))
    for centering in 'entries','kernel': close(tm.lfc(x, y, centering=centering), naive_lfc(x, y, centering))
    close(tm.sfda(x, y, shrinkage=.2), naive_sfda(x, y, .2))
    for kind in 'diagonal','spherical': close(tm.gbc(x, y, covariance=kind), naive_gbc(x, y, kind=='spherical'))

@families
def test_merged_moments(kind, size, dtype):
    x,y,t = samples(kind, size, dtype)
    if len(x)<x.shape[1]: return
    cases = (tm.h_score, {}),(tm.h_score, {'shrinkage': 'ledoit_wolf'}),(tm.logme, {}),(tm.lfc, {})
    cases += (tm.lfc, {'centering': 'kernel'}),
    for a,b in itertools.permutations([moments(x[:30], y[:30]),moments(x[30:], y[30:])]):
        for f,options in cases:
            close(f.metric.from_moments(a+b, **options), f(x, y, **options), 1e-7)
    T = torch.from_numpy(t)
    both = Moments.of(torch.from_numpy(x[:30]), T[:30], 2)+Moments.of(torch.from_numpy(x[30:]), T[30:], 2)
    close(tm.logme.metric.from_moments(both, regression=True), tm.logme(x, t, regression=True), 1e-6)

@pytest.mark.parametrize('softness', [.02,.3,3])
def test_tables(softness):
    "Source classes without mass, probabilities of each type, names of any kind, and the bounds"
    rng = np.random.default_rng(0)
    p,y = rng.dirichlet([softness]*9, 200),rng.integers(4, size=200)
    p[:,-1] = 0
    p /= p.sum(1, keepdims=True)
    joint = np.stack([p[y==k].sum(0) for k in range(4)])
    table = joint/np.where(joint.sum(0)>0, joint.sum(0), 1)
    leep,soft = np.log((table[y]*p).sum(1)).mean(),(joint*np.log(np.where(joint>0, table, 1))).sum()/200
    close(tm.leep(p, y), leep)
    close(tm.nce(p, y, soft=True), soft)
    H = entropy(np.bincount(y))
    assert -H<=soft<=leep<=0
    close(tm.leep(p, y, chance_corrected=True), leep+H)
    close(tm.nce(p.argmax(1), y), tm.leep(np.eye(9)[p.argmax(1)], y))
    for form,rel in ((p.astype(np.float32), 1e-6), (torch.from_numpy(p), 1e-12), (pd.DataFrame(p), 1e-12),
                     (p.tolist(), 1e-12), (p.astype(np.float16), 1e-2), (torch.from_numpy(p).bfloat16(), 5e-2)):
        close(tm.leep(form, [('class', int(k)) for k in y]), leep, rel)
        close(tm.nce(form, y, soft=True), soft, rel)
    assert tm.transferability.eep(pd.DataFrame(p, index=range(7, 207)), y).index[0]==7
    for bad in np.log(p+.1),2*p,-p:
        with pytest.raises(ValueError, match='must be probabilities'): tm.leep(bad, y)
        with pytest.raises(ValueError, match='must be probabilities'): tm.nce(bad, y, soft=True)
    with pytest.raises(ValueError, match='`predicted` must have one label per sample'): tm.nce(p, y)

@pytest.mark.parametrize('f', of_features)
def test_what_does_not_matter(f):
    "Names and order of classes, order of samples, kind of array, constant columns; the input stays as it is"
    x,y,_ = samples('normal', (120, 6, 3))
    before,value = x.copy(),f(x, y)
    for features,labels in ((x, np.array(['b','c','a'])[y]), (x, 7*y+3), (torch.from_numpy(x), torch.from_numpy(y)),
                            (x.tolist(), y.tolist()), (pd.DataFrame(x), pd.Series(y)),
                            (np.asfortranarray(x), pd.Categorical.from_codes(y, list('xyz')))):
        close(f(features, labels), value)
    if f is not tm.nleep: # its first clusters depend on the order
        order = np.random.default_rng(1).permutation(120)
        close(f(x[order], y[order]), value)
    if f not in (tm.logme,tm.sfda): close(f(np.c_[x,np.full(120, .1)], y), value) # an intercept; the mean variance
    assert (x==before).all()
    with pytest.raises(ValueError, match='index'): f(pd.DataFrame(x), pd.Series(y)[::-1])
    for labels in y[:,None],np.eye(3)[y] if f is not tm.logme else y[:,None]:
        with pytest.raises(ValueError, match='labels.squeeze|labels.argmax'): f(x, labels)
    x[5] = np.nan
    with pytest.raises(ValueError, match='`features` must be finite'): f(x, y)

@pytest.mark.parametrize('f', of_features)
def test_degenerate(f):
    "A number that is not NaN, or an error that names the argument"
    x,y,_ = samples('normal', (30, 5, 3))
    few = [np.full((30, 4), .1), np.zeros((30, 4)), np.full((30, 40), .1), np.eye(3)[y], (np.eye(3, 50)+.1)[y]]
    few += [np.array([[0,0],[1,2],[1,2.]])[y], np.c_[x,-x], x*1e-30, x*1e30]
    for features,labels in [*((o, y) for o in few), (x, 0*y), (x, np.arange(30)), (x[:2], [0,1]), (x[:1], ['a'])]:
        try: assert not math.isnan(f(features, labels))
        except ValueError as e: assert any(k in str(e) for k in ('`labels`','`features`','scale the input data'))

def test_known_limits():
    x,y,_ = samples('normal', (30, 5, 3))
    constant,share = np.full((30, 40), .1),np.bincount(y)/30
    assert tm.h_score(constant, y)==tm.lfc(constant, y)==tm.transrate(constant, y)==0 and tm.gbc(constant, y)==-6
    close(tm.sfda(constant, y), (share**2).sum())
    close(tm.nleep(constant, y), -entropy(share))
    close(tm.logme(0*x, y), np.mean(-.5*(np.log(2*np.pi*share)+1)))
    for f in tm.gbc,tm.transrate,tm.nleep: close(f(x, 0*y), 0)
    assert math.isfinite(tm.logme(x, 0*y)) and tm.h_score(x, 0*y)==pytest.approx(0, abs=1e-12)
    # fewer samples than features and repeated columns: 3.949, not 4 (a direction of rounding errors was scaled up)
    wide,codes,_ = samples('repeated columns', (60, 100, 5))
    close(tm.h_score(wide, codes), naive_h_score(wide, codes))
    # features that are huge against the root of eps, and repeat each other
    quarters = np.round(4*x[:,:3])/4
    close(tm.transrate(1e3*np.c_[quarters,quarters], y), tm.transrate(1e3*2**.5*quarters, y), 1e-9)
    # opposite features, for which the published iteration starts at 0
    assert math.isfinite(tm.sfda(np.c_[x,-x], y))

def test_logme_of_targets():
    "Exact fits, targets of 0, scale, and labels in columns"
    x,y,t = samples('normal', (40, 6, 3))
    with pytest.warns(ScoreWarning, match='evidence is infinite'):
        assert tm.logme(x, x@np.ones(6), regression=True)==math.inf
    weak = x*np.geomspace(1, 1e-4, 6)
    assert tm.logme(weak, weak@np.ones(6), regression=True)==tm.logme(x, 0*t, regression=True)==math.inf
    close(tm.logme(x, 1e3*t, regression=True), tm.logme(x, t, regression=True)-math.log(1e3))
    close(tm.logme(x, t[:,0], regression=True), tm.logme(x, t[:,:1], regression=True))
    close(tm.logme(np.c_[x,np.zeros((40, 70))], y), tm.logme(x, y))
    columns = np.eye(4)[y]
    for form in columns,columns.astype(bool),columns.tolist(),pd.DataFrame(columns),torch.from_numpy(columns):
        close(tm.logme(x, form), tm.logme(x, y))
    for labels,regression,error in ((0*columns, False, 'only zeros'), (t, False, 'regression=True'),
                                    (t[:5], True, '40 samples'), (t+np.nan, True, 'finite')):
        with pytest.raises(ValueError, match=error): tm.logme(x, labels, regression=regression)

def test_overlap_without_variance():
    "A feature that is constant in two classes has no part in their overlap"
    x,y,_ = samples('normal', (120, 3, 3))
    dead = np.c_[x,np.where(y==2, x[:,0]**2, 5)]
    for kind,eps in (('diagonal', 1e-12), ('full', 1e-3)):
        a,b = class_overlap(dead, y, covariance=kind),class_overlap(x, y, covariance=kind)
        close(a.loc[0,1], b.loc[0,1], 1e-4 if kind=='full' else 1e-12)
        assert max(a.loc[0,2], a.loc[1,2])<eps
    for same in x@[[1,2,0],[0,1,3],[1,1,1]],np.c_[x,x,np.ones(120)]:
        close(tm.gbc(same, y, covariance='full'), tm.gbc(x, y, covariance='full'))
    thrice = np.concatenate([x[:40]]*3)
    for kind in 'diagonal','spherical','full': close(tm.gbc(thrice, np.repeat([0,1,2], 40), covariance=kind), -6)
    assert tm.gbc(x[:9], y[:9], covariance='full')>-.1 # three samples do not fill three dimensions
    close(tm.gbc(x*1e-3, y, floor=1e-4), tm.gbc(x, y, floor=100))

def test_warnings():
    "Random labels that would reach half of the maximum, once; not where there are enough samples"
    rng = np.random.default_rng(0)
    few,many = (rng.normal(size=(n, 30)) for n in (50,2000))
    for f in tm.h_score,tm.sfda,tm.nleep,tm.gbc,tm.transrate:
        with pytest.warns(ScoreWarning, match='random labels can bring') as caught: f(few, np.arange(50)%5)
        assert len(caught)==1
    p = softmax(20*rng.normal(size=(50, 200)), 1)
    for f,data,options in ((tm.leep,p,{}), (tm.nce,p,dict(soft=True)), (tm.nce,p.argmax(1),{})):
        with pytest.warns(ScoreWarning, match='source classes'): f(data, np.arange(50)%5, **options)
    with warnings.catch_warnings(action='error'):
        for f in of_features: f(many[:,:8], np.arange(2000)%4)
        tm.leep(softmax(many[:,:9], 1), np.arange(2000)%4)
        tm.h_score(few, np.arange(50)%5, shrinkage='ledoit_wolf')
