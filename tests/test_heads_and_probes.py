"Linear heads, the two baselines, PARC, PACTran and OTCE: against loops and closed forms, at the edges, and their errors"
import math
import numpy as np
import pytest
import torch
from scipy.special import digamma, entr, gammaln, softmax
from transfer_metrics.heads import ridge_held_out, softmax_regression
from transfer_metrics.transferability.jc_nce import jc_nce
from transfer_metrics.transferability.knn import knn, knn_correct
from transfer_metrics.transferability.linear_probe import linear_probe, probe_correct
from transfer_metrics.transferability.otce import correspondence, otce
from transfer_metrics.transferability.pactran import pactran_dirichlet, pactran_gamma, pactran_gauss
from transfer_metrics.transferability.parc import parc

r = np.random.default_rng(0)
x,y = r.normal(size=(12,4)),np.arange(12)%3
p = softmax(x, 1)
X,Y = r.normal(size=(60,5)),np.arange(60)%4
X += .9*r.normal(size=(4,5))[Y]
no_row_5 = np.where(np.arange(12)[:,None]==5, 0, x)
H = -math.log(3)
pactrans = pytest.mark.parametrize('f,x', [(pactran_dirichlet,p), (pactran_gamma,x), (pactran_gauss,x)])
few = pytest.mark.filterwarnings('ignore::transfer_metrics.registry.ScoreWarning')

def gradient(x, y, C=1., **options):
    "Largest derivative of the mean loss at the head, relative to that of no head"
    x,y = torch.as_tensor(x).double(),torch.as_tensor(y)
    c = int(y.max())+1
    W,b = softmax_regression(x, y, c, C=C, **options)
    E = torch.eye(c, dtype=torch.float64)[y]
    g = x.T@((x@W+b).softmax(1)-E)+W/C
    return float(g.abs().max()/(x.T@(E.mean(0)-E)).abs().max())

@pytest.mark.parametrize('scale', [1e-4, 1, 1e3])
def test_softmax_regression_converges_at_any_scale(scale):
    wide,twice = r.normal(size=(30,100)),np.c_[X,X,np.ones(60)]
    for features,labels in (X, Y),(wide, Y[:30]),(twice, Y),(X*np.geomspace(1, 1e-3, 5), Y),(X.astype(np.float32), Y):
        assert gradient(scale*features, labels)<1e-4
        assert gradient(scale*features, labels, tol=1e-10)<1e-8

def test_softmax_regression_warns():
    with pytest.warns(UserWarning, match='failed to converge'):
        softmax_regression(torch.tensor(X), torch.tensor(Y), 4, max_iter=2)

def test_ridge_of_a_class_that_the_other_folds_lack():
    scores = ridge_held_out(torch.tensor(X), torch.tensor([*Y[:59],4]), 5, torch.arange(60)%6)
    assert scores[59,4].abs()<1e-12

def naive_knn(x, y, k, distance):
    total = 0
    for i in range(len(x)):
        near = sorted((distance(x[i], x[j]), j) for j in range(len(x)) if j!=i)[:k]
        votes = [sum(y[j]==c for _,j in near) for c in range(4)]
        best = [c for c in range(4) if votes[c]==max(votes)]
        total += (y[i] in best)/len(best)
    return total/len(x)

@pytest.mark.parametrize('k', [1, 2, 5, 40, 500])
def test_knn_against_loops(k):
    def squared(a, b): return ((a-b)**2).sum()
    def angle(a, b): return 1-a@b/(np.linalg.norm(a)*np.linalg.norm(b))
    assert knn_correct(X, Y, k=k).mean()==pytest.approx(naive_knn(X, Y, k, squared), abs=1e-12)
    assert knn_correct(X+1e6, Y, k=k).mean()==pytest.approx(naive_knn(X, Y, k, squared), abs=1e-12)
    assert knn_correct(X, Y, k=k, distance='cosine').mean()==pytest.approx(naive_knn(X, Y, k, angle), abs=1e-12)

@few
@pytest.mark.parametrize('f', [knn, linear_probe, lambda x, y: linear_probe(x, y, head='logistic')])
def test_edges_of_baselines(f):
    assert f(X, np.zeros(60))==1
    assert f(X, np.arange(60))==0 # classes of one sample
    assert f(X[:2], [0,1])==0
    assert f(np.r_[X,50+X[:1]], [*Y,9])<=60/61
    for scale in 1e-60,1e60: assert f(X*scale, Y)==f(X, Y)
    assert f(X, [f'class {k}' for k in Y])==f(X, Y)==f(torch.tensor(X), Y)
    assert f(np.ones((10,2)), [0]*7+[1]*3)==pytest.approx(.7, abs=1e-12)

def test_probe_folds():
    assert probe_correct(X, Y, cv=3, seed=1).shape==(60,)
    assert len({probe_correct(X, Y, seed=seed).mean() for seed in range(5)})>1
    rare = [0]*57+[1,1,1] # three of a class in five folds: each is judged by a head that has seen the other two
    assert probe_correct(np.r_[X[:57],9+X[57:]], rare).all()

@pactrans
@few
def test_edges_of_pactran(f, x):
    assert f(x, np.zeros(12))<=1e-12
    assert math.isfinite(f(x, np.arange(12))) and math.isfinite(f(x[:2], [0,1]))
    assert f(x[:1], ['a'])<=1e-12
    assert f(x, 100*y+7)==pytest.approx(f(x, y), rel=1e-9)
    assert f(np.r_[x,x], [*y,*y])>f(x, y) # more samples, less to pay per sample
    with pytest.raises(ValueError, match='missing'): f(x, [None,*y[1:]])

@few
def test_closed_forms_of_pactran():
    "One class: nothing to predict, but Gamma bounds numerator and denominator separately. No information: shares and intercepts"
    assert pactran_dirichlet(p, np.zeros(12))==pytest.approx(0, abs=1e-9)
    assert pactran_gauss(x, np.zeros(12))==pytest.approx(0, abs=1e-9)
    assert pactran_gamma(x, np.zeros(12))==pytest.approx(-.32, abs=.01)
    price = 3*100/(2*10*12)*math.log1p(10*12/(3*4)*12*(2/3))
    assert pactran_gauss(np.zeros((12,4)), y)==pytest.approx(H-price, abs=1e-10)

@pytest.mark.parametrize('f,x', [(pactran_dirichlet,p), (pactran_gamma,x)])
def test_strong_prior(f, x):
    "It leaves the class shares, and the samples move the score in proportion to 1/alpha"
    def moved(alpha): return alpha*(f(x, y, alpha=alpha)-H)
    assert moved(1e4)==pytest.approx(moved(1e3), rel=.05)
    assert moved(1e5)==pytest.approx(moved(1e4), rel=.005)

def test_pactran_of_many_classes():
    "Against 3,000 plain iterations"
    y = np.arange(600)%60
    p,E = softmax(2*r.normal(size=(600,90))+5*np.eye(90)[y], 1),np.eye(60)[y]
    a0 = E.mean(0)[:,None]
    a = a0+E.T@p
    for _ in range(3000):
        e = digamma(a)-digamma(a.sum(0))
        w = p*np.exp(e-e.max(1, keepdims=True))[y]
        a = a0+E.T@(w/w.sum(1, keepdims=True))
    e = digamma(a)-digamma(a.sum(0))
    def log_beta(a): return gammaln(a).sum(0)-gammaln(a.sum(0))
    kl = ((a-a0)*e).sum(0)-log_beta(a)+log_beta(a0*np.ones(90))
    assert pactran_dirichlet(p, y)==pytest.approx((np.log((p*np.exp(e)[y]).sum(1)).sum()-kl.sum())/600, rel=1e-11)

def test_pactran_warns():
    with pytest.warns(UserWarning, match='the bound has not converged in 2 iterations'):
        pactran_dirichlet(p, y, max_iter=2)
    with pytest.warns(UserWarning, match='random labels'): pactran_gauss(np.c_[x,x,x], y)

@few
@pytest.mark.parametrize('gamma', [1, .5])
def test_edges_of_otce(gamma):
    wide,y4,flat = r.normal(size=(12,30)),np.arange(12)%4,np.ones((12,3))
    def task(*sides, **options): return correspondence(*sides, gamma=gamma, **options).task
    for reg in 0,.3:
        alike = np.full((12,30), 1e6)
        for sides in (wide, np.zeros(12), wide, y4),(wide[:1], [0], wide, y4),(flat, y4, flat, y4),(alike, y4, wide,
            y4):
            assert task(*sides, reg=reg)==pytest.approx(math.log(4), abs=1e-9)
        assert task(wide, y4, wide, np.zeros(12), reg=reg)==0
        assert task(np.r_[wide,wide], [*y4,*y4], wide, y4, reg=reg)==pytest.approx(task(wide, y4, wide, y4, reg=reg),
            abs=1e-9)
    far = np.r_[wide[:6],1e3*wide[6:]] # exp(-cost/reg) of some pairs underflows
    assert 0<=task(far, y4, wide, y4, reg=.02)<=math.log(4)
    assert task(X, Y, X, Y, max_samples=20, seed=1)==pytest.approx(0, abs=1e-12)

def test_regularisation_of_otce():
    "From the exact plan to that of all pairs"
    a,b = X[:30],X[30:]
    ya,yb = Y[:30],np.arange(30)%2
    values = [correspondence(a, ya, b, yb, reg=reg) for reg in (0,.1,.5,2,1e3)]
    domain,task = [v.domain for v in values],[v.task for v in values]
    assert domain==sorted(domain) and task[0]==pytest.approx(task[1], abs=.2)
    assert task[-1]==pytest.approx(entr([.5,.5]).sum(), abs=1e-3)
    joint = values[2].joint
    assert joint.sum().to_numpy()==pytest.approx([.5,.5]) and list(joint.index)==[0,1,2,3]

def test_parc_of_any_scale():
    value = parc(X, Y)
    for features in (1e-60*X,1e60*X,X*np.geomspace(1, 1e4, 5)+7,np.c_[X,X],X.astype(np.float32)):
        assert parc(features, Y)==pytest.approx(value, abs=1e-4)
    assert parc(X, [f'class {k}' for k in Y], max_samples=60)==value
    assert math.isfinite(parc(X[:3], [0,0,1]))

@pytest.mark.parametrize('f,args,options,text', [
    (knn, (x[:1],y[:1]), {}, '`features` must have at least two samples'),
    (linear_probe, (x[:1],y[:1]), {}, '`features` must have at least two samples'),
    (knn, (x,y), dict(k=0), '`k` must be a whole number of at least 1'),
    (knn, (x,y), dict(distance='manhattan'), "`distance` must be one of 'euclidean', 'cosine'"),
    (linear_probe, (x,y), dict(cv=1), '`cv` must be a whole number of at least 2'),
    (linear_probe, (x,y[:3]), {}, '`labels` must be one label for each of the 12 samples'),
    (linear_probe, (np.where(x>1, np.nan, x),y), {}, '`features` must be finite'),
    (pactran_dirichlet, (x,y), {}, 'Are these logits'),
    (pactran_gamma, (no_row_5,y), {}, '`features` must have an entry other than 0 in each row, got none in row 5'),
    (pactran_dirichlet, (p,y), dict(alpha=0), '`alpha` must be a number in'),
    (pactran_gamma, (x,y), dict(max_iter=0), '`max_iter` must be a whole number'),
    (pactran_gauss, (x,y), dict(lam=-1), '`lam` must be a number in'),
    (otce, (x,y,x[:,:2],y), {}, '`source_features` must have the 2 columns of `features`'),
    (otce, (x,y[:5],x,y), {}, '`source_labels` must be one label for each'),
    (jc_nce, (x,y,x,y), dict(gamma=2), '`gamma` must be a number in'),
    (otce, (x,y,x,y), dict(reg=-1), '`reg` must be a number in'),
    (parc, (x,y), dict(max_samples=2), '`max_samples` must be a whole number of at least 3'),
    (parc, (x,np.arange(12)), {}, '`labels` must have two classes or more')])
def test_errors(f, args, options, text):
    with pytest.raises(ValueError, match=text): f(*args, **options)
