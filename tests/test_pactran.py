"The three PACTrans at the edges: one class, no information, more features than samples, tiny features, and what they refuse"
import importlib
import math
import warnings
import numpy as np
import pytest
import torch
from scipy.special import digamma, gammaln, softmax
from transfer_metrics.transferability.leep import label_entropy
from transfer_metrics.transferability.pactran_dirichlet import pactran_dirichlet
from transfer_metrics.transferability.pactran_gamma import pactran_gamma
from transfer_metrics.transferability.pactran_gauss import pactran_gauss

r = np.random.default_rng(0)
X,y = r.normal(size=(12,4)),np.arange(12)%3
p = softmax(X, 1)
wide = r.normal(size=(12,50))
no_row_5 = np.where(np.arange(12)[:,None]==5, 0, X)

@pytest.mark.parametrize('f,x', [(pactran_dirichlet,p), (pactran_gamma,X), (pactran_gauss,X)])
def test_edges(f, x):
    assert f(x, np.zeros(12))<=1e-12
    assert math.isfinite(f(x, np.arange(12)))
    assert math.isfinite(f(x[:2], [0,1]))
    assert f(x[:1], ['a'])<=1e-12
    assert f(x, 100*y+7)==pytest.approx(f(x, y), rel=1e-9)
    with pytest.raises(ValueError, match='missing'): f(x, [None,*y[1:]])

def test_one_class():
    "Nothing to predict; Gamma bounds numerator and denominator apart"
    assert pactran_dirichlet(p, np.zeros(12))==pytest.approx(0, abs=1e-9)
    assert pactran_gauss(X, np.zeros(12))==pytest.approx(0, abs=1e-9)
    assert pactran_gamma(X, np.zeros(12))==pytest.approx(-.32, abs=.01)

def test_no_information():
    "The class frequencies, and the price of intercepts"
    price = 3*100/(2*10*12)*math.log1p(10*12/(3*4)*12*(2/3))
    assert pactran_gauss(np.zeros((12,4)), y)==pytest.approx(-label_entropy(y)-price, abs=1e-10)

@pytest.mark.parametrize('f', [pactran_gamma, pactran_gauss])
def test_many_features(f):
    assert math.isfinite(f(np.c_[X,X], y))
    assert math.isfinite(f(wide, y))

@pytest.mark.parametrize('f,x', [(pactran_dirichlet,p), (pactran_gamma,X)])
def test_strong_prior(f, x):
    "It leaves the class frequencies, and what the samples move is in proportion to 1/alpha"
    def moved(alpha): return alpha*(f(x, y, alpha=alpha)+label_entropy(y))
    assert moved(1e6)==pytest.approx(moved(1e5), rel=1e-4)
    assert moved(1e8)==pytest.approx(moved(1e6), rel=1e-5)
    assert moved(1e10)==pytest.approx(moved(1e8), rel=1e-4)
    assert f(x, y, alpha=1e20)==pytest.approx(-label_entropy(y), abs=1e-14)

def test_surer_than_float64():
    "A head that separates large features without doubt: what rounding takes is told, before it is seen"
    parted = (X[:,0]>0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        pactran_gauss(1e4*X, parted)
        pactran_gauss(1e8*X, y) # nothing parts these
    with pytest.warns(UserWarning, match='leaves next to no doubt.* scale the features down'):
        pactran_gauss(1e8*X, parted)

def test_tiny(): assert pactran_gamma(X*1e-200, y)==pytest.approx(pactran_gamma(X, y), abs=1e-9)

@pytest.mark.parametrize('f,x,options,text', [
    (pactran_dirichlet, X, {}, 'Apply a softmax first'),
    (pactran_gamma, no_row_5, {}, '`features` must have an entry other than 0 in each row, got none in row 5'),
    (pactran_gauss, X*1e80, {}, '`features` must be below 1e60'),
    (pactran_dirichlet, p, dict(alpha=0), '`alpha` must be a number in'),
    (pactran_gamma, X, dict(alpha=1e21), '`alpha` must be a number in'),
    (pactran_gamma, X, dict(max_iter=0), '`max_iter` must be a whole number'),
    (pactran_gauss, X, dict(lam=-1), '`lam` must be positive'),
    (pactran_gauss, X, dict(curvature='trace'), "`curvature` must be 'sum' or 'mean'")])
def test_refuses(f, x, options, text):
    with pytest.raises(ValueError, match=text): f(x, y, **options)

def many_classes():
    "Most columns of each class end with less than a digit of the prior"
    y = np.arange(600)%60
    return softmax(2*r.normal(size=(600,90))+5*np.eye(90)[y], 1),y

def test_columns_left_out():
    "Against turns that read all columns"
    p,y = many_classes()
    Y = np.eye(60)[y]
    a0 = Y.mean(0)[:,None]
    a = a0+Y.T@p
    for _ in range(3000):
        e = digamma(a)-digamma(a.sum(0))
        w = p*np.exp(e-e.max(1, keepdims=True))[y]
        a = a0+Y.T@(w/w.sum(1, keepdims=True))
    e = digamma(a)-digamma(a.sum(0))
    def beta(a): return gammaln(a).sum(0)-gammaln(a.sum(0))
    kl = ((a-a0)*e).sum(0)-beta(a)+beta(a0)
    fit = np.log((p*np.exp(e)[y]).sum(1))
    assert ((a-a0)<1e-16).mean()>.8
    assert pactran_dirichlet(p, y)==pytest.approx((fit.sum()-kl.sum())/600, rel=1e-11)

@pytest.mark.parametrize('f', [pactran_dirichlet, pactran_gamma])
def test_columns_left_out_too_soon(f, monkeypatch):
    "Turns with all columns have the last word"
    turns = importlib.import_module('transfer_metrics.transferability.turns')
    expected = f(p, y)
    first = torch.arange(2)
    def without(blocks, *_): return [o._replace(kept=o.rows[:,first], columns=first) for o in blocks]
    monkeypatch.setattr(turns, 'thinned', without)
    assert f(p, y)==pytest.approx(expected, rel=1e-9)

def test_too_few_iterations():
    with warnings.catch_warnings(record=True, action='always') as w:
        pactran_dirichlet(p, y, max_iter=2)
        pactran_gauss(X, y, max_iter=1)
    said = [str(o.message) for o in w]
    assert len(said)==2
    assert said[0].startswith('the bound has not converged') and said[1].startswith('the head has not converged')
