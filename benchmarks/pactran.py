"PACTran: probabilities and features of 2,000 x 256, 10 classes: `python benchmarks/pactran.py [n d c]`; 10000 768 100 takes minutes, as does 20000 2048 1000"
import sys

from _measure import gaussian_features, machine, measure, report, softmax_probs
import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, log_softmax, logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from transfer_metrics.transferability.pactran_dirichlet import pactran_dirichlet
from transfer_metrics.transferability.pactran_gamma import pactran_gamma
from transfer_metrics.transferability.pactran_gauss import pactran_gauss


def turns(p, y, k):
    "The published iteration for Dirichlet, weights of all samples kept, `k` turns"
    p = p.astype(np.float64)
    Y = np.eye(y.max()+1)[y]
    a0,q,log_p = Y.mean(0)[:,None],p,np.log(p+1e-10)
    for _ in range(k):
        a = a0+Y.T@q
        t = log_p+(digamma(a)-digamma(a.sum(0)))[y]
        t -= logsumexp(t, 1, keepdims=True)
        q = np.exp(t)
    def beta(a): return gammaln(a).sum(0)-gammaln(a.sum(0))
    return -float((beta(a0)-beta(a)+(q*(t-log_p)).sum(0)).sum())/len(y)

def gamma_turns(x, y, k):
    "Best responses for the Gamma prior, weights of all samples kept, `k` turns; the size of all weights is set anew in each"
    s = x/x.sum(1, keepdims=True)
    Y = np.eye(y.max()+1)[y]
    a0 = Y.mean(0)[:,None]
    a,b = a0+Y.T@s,np.ones(s.shape[1])
    for _ in range(k):
        e = digamma(a)-np.log(b)
        q = s*np.exp(e-e.max(1, keepdims=True))[y]
        q /= q.sum(1, keepdims=True)
        zeta = s@(a.sum(0)/b)
        a,b = a0+Y.T@q,1+s.T@(1/zeta)
        b *= (a.sum(0)/b).sum()/len(b)
    e = digamma(a)-np.log(b)
    fit = logsumexp(np.log(s)+e[y], axis=1).sum()-np.log(s@(a.sum(0)/b)).sum()
    kl = (a-a0)*digamma(a)-gammaln(a)+gammaln(a0)+a0*np.log(b)+a/b-a
    return float(fit-kl.sum())/len(y)

def minimised(x, y, tol=None, lam=10., sigma2=100.):
    "Gauss by SciPy's L-BFGS at its usual tolerance or another, all weights at once, and the score from where it stops"
    x = x-x.mean(0, dtype=np.float64)
    n,d = x.shape
    Y = np.eye(y.max()+1)[y]
    c = Y.shape[1]
    def f(w):
        W = w.reshape(c, d+1)
        logp = log_softmax(x@W[:,:-1].T+W[:,-1], 1)
        g = (np.exp(logp)-Y)/n
        weights = W[:,:-1]/(lam*n)
        return (weights*W[:,:-1]).sum()/2-(Y*logp).sum()/n,np.c_[g.T@x+weights,g.sum(0)].ravel()
    found = minimize(f, np.zeros(c*(d+1)), jac=True, method='L-BFGS-B', tol=tol, options=dict(maxiter=10_000, maxfun=10_000))
    W = found.x.reshape(c, d+1)
    p = softmax(x@W[:,:-1].T+W[:,-1], 1)
    trace = (1+(x**2).sum(1))@(p*(1-p)).sum(1)
    return float(-found.fun-c*sigma2/(2*lam*n)*np.log1p(lam*n/(c*d)*trace))

def regression(x, y, **kw):
    "scikit-learn's solver for the head of Gauss alone"
    m = LogisticRegression(C=10., max_iter=10_000, **kw).fit(x-x.mean(0), y)
    return float(np.abs(m.coef_).max())

def overlapping(n, d, c):
    "Classes that overlap much"
    rng = np.random.default_rng(0)
    y = np.arange(n)%c
    means = .1*rng.standard_normal((c, d), dtype=np.float32)
    return rng.standard_normal((n, d), dtype=np.float32)+means[y],y

def heads(title, x, y, budget):
    "Gauss beside general minimisers of the same objective; the large case, where they take many minutes, is ours alone"
    runs = [measure('pactran_gauss', pactran_gauss, x, y, repeat=2)]
    if x.size<=2**23:
        for tol in (None,1e-10,1e-13): runs.append(measure('SciPy, L-BFGS'+(f', tol {tol:.0e}' if tol else ''), minimised, x, y, tol, repeat=1))
        runs.append(measure('sklearn lbfgs, tol 1e-4', regression, x.astype(np.float64), y, repeat=1))
    if x.size<=2**20:
        runs.append(measure('sklearn lbfgs, tol 1e-10', regression, x.astype(np.float64), y, tol=1e-10, repeat=1))
        runs.append(measure('sklearn newton-cg, tol 1e-10', regression, x.astype(np.float64), y, tol=1e-10, solver='newton-cg', repeat=1))
    ours = runs[0].value
    if x.size<=2**23: title += '; value: of SciPy how far from ours, of scikit-learn its largest weight'
    report(title, [r._replace(value=abs(r.value-ours)) if 'SciPy' in r.name else r for r in runs], budget)

def main(n=2_000, d=256, c=10):
    print(machine())
    size = f'{n:,} x {d:,}, {c} classes'
    budgets = {(10_000,768): (1.5,3,3), (20_000,2048): (None,20,20)}
    dirichlet,gamma,gauss = budgets.get((n, d), (None,None,None))
    k = d if n*d<=2**23 else 100
    p,y = softmax_probs(n, k, c)
    report(f'Dirichlet {n:,} x {k}, {c} classes', [measure('pactran_dirichlet', pactran_dirichlet, p, y, repeat=2), measure('10 turns as published', turns, p, y, 10, repeat=1), measure('500 turns as published', turns, p, y, 500, repeat=1)], dirichlet)
    x,y = gaussian_features(n, d, c)
    r = np.maximum(x, 0)
    positive = r+1e-3
    runs = [measure('pactran_gamma', pactran_gamma, positive, y, repeat=1)]
    if x.size<=2**23: runs += [measure(f'{k} turns', gamma_turns, positive.astype(np.float64), y, k, repeat=1) for k in (10, 100)]
    report(f'Gamma {size}', runs, gamma)
    heads(f'Gauss {size}', x, y, gauss)
    heads(f'Gauss {size}, rectified features', r, y, gauss)
    if x.size<=2**23: heads(f'Gauss {size}, classes that overlap', *overlapping(n, d, c), gauss)

if __name__=='__main__': main(*map(int, sys.argv[1:]))
