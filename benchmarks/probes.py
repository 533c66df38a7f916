"""Baselines, PARC, PACTran and OTCE against their best public form, one thread: `python benchmarks/probes.py [NAME ...]`

Processor seconds of both in one run, and their ratio."""
import sys
import time
import warnings
from functools import partial
import numpy as np
import ot
import torch
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import digamma, gammaln, log_softmax, softmax
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
import transfer_metrics as tm

def features(n, d, c, seed=0, noise=0.):
    "Features in float32 with a decaying spectrum and separate class means, and labels"
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n)%c)
    scale = np.arange(1, d+1)**-.8
    means = .8*rng.normal(size=(c, d))
    return ((rng.normal(size=(n, d))*(1+noise)+means[y])*scale).astype(np.float32),y

def peer_knn(x, y):
    "scikit-learn's neighbours of the training samples"
    votes = y[KNeighborsClassifier(5, algorithm='brute').fit(x, y).kneighbors(return_distance=False)]
    return np.mean([np.bincount(v).argmax()==k for v,k in zip(votes, y, strict=True)])

def peer_probe(x, y, head): return cross_val_score(make_pipeline(StandardScaler(), head), x, y, cv=5).mean()

def peer_parc(x, y):
    "dbolya/parc methods.py"
    onehot = np.eye(y.max()+1)[y]
    x = StandardScaler().fit_transform(x.astype(float))
    lower = np.tril_indices(len(x), -1)
    return 100*spearmanr((1-np.corrcoef(x))[lower], (1-np.corrcoef(onehot))[lower]).statistic

def peer_dirichlet(p, y, iterations):
    "google-research/pactran_metrics compute_metrics.py, with as many iterations as ours needs"
    E = np.eye(y.max()+1)[y]
    a0,log_p,q = E.mean(0)[:,None]*np.ones(p.shape[1]),np.log(p+1e-10),p
    for _ in range(iterations):
        a = a0+E.T@q
        q = softmax(log_p+(digamma(a)-digamma(a.sum(0)))[y], 1)
    def log_beta(a): return gammaln(a).sum(0)-gammaln(a.sum(0))
    return (log_beta(a)-log_beta(a0)-(q*(np.log(q)-log_p)).sum(0)).sum()/len(y)

def peer_gauss(x, y, lam=10., sigma2=100.):
    "google-research/pactran_metrics compute_metrics.py, L-BFGS from 0 to the end"
    x = x-x.mean(0, dtype=float)
    (n,d),E = x.shape,np.eye(y.max()+1)[y]
    c = E.shape[1]
    def loss(w):
        W = w.reshape(c, d+1)
        logp = log_softmax(x@W[:,:-1].T+W[:,-1], 1)
        g = (np.exp(logp)-E)/n
        return (W[:,:-1]**2).sum()/(2*lam*n)-(E*logp).sum()/n,np.c_[g.T@x+W[:,:-1]/(lam*n),g.sum(0)].ravel()
    best = minimize(loss, np.zeros(c*(d+1)), jac=True, method='L-BFGS-B', tol=1e-13,
                    options=dict(maxiter=10_000, maxfun=10_000))
    W = best.x.reshape(c, d+1)
    p = softmax(x@W[:,:-1].T+W[:,-1], 1)
    return -best.fun-c*sigma2/(2*lam*n)*np.log1p(lam*n/(c*d)*(1+(x**2).sum(1))@(p*(1-p)).sum(1))

def peer_otce(a, ya, b, yb, reg=0.):
    "tanyang1231/OTCE_Transferability_CVPR21: POT's plan, and loops over the classes"
    C = cdist(a, b, 'sqeuclidean')
    P = ot.sinkhorn([], [], C, reg*C.mean(), stopThr=1e-8, numItermax=10_000) if reg else ot.emd([], [], C)
    J = np.array([[P[ya==k][:,yb==m].sum() for m in np.unique(yb)] for k in np.unique(ya)])
    return (J*np.log(np.where(J>0, J/J.sum(1, keepdims=True), 1))).sum()

def cases():
    "Name, size, our score and its peer"
    for n,d,c in (1_000,2_048,10),(10_000,768,100):
        x,y = features(n, d, c, noise=1.)
        size = f'{n:,} x {d:,}, {c} classes'
        yield 'knn',size,partial(tm.knn, x, y),partial(peer_knn, x, y)
        if n>1_000: continue
        ridge,logistic = RidgeClassifierCV(n*10.**np.arange(-6, 3.1, .5)),LogisticRegression(tol=1e-8, max_iter=10_000)
        z = x.astype(float)
        yield 'linear_probe',size,partial(tm.linear_probe, x, y),partial(peer_probe, z, y, ridge)
        yield 'logistic probe',size,partial(tm.linear_probe, x, y, head='logistic'),partial(peer_probe, z, y, logistic)
    x,y = features(5_000, 768, 10)
    yield 'parc','5,000 x 768, 10 classes',partial(tm.parc, x, y),partial(peer_parc, x, y)
    y = np.arange(2_000)%10
    p = softmax(np.random.default_rng(0).normal(size=(2_000,256))+2*(y[:,None]==np.arange(256)%10), 1)
    size = '2,000 x 256, 10 classes'
    yield 'pactran_dirichlet',size,partial(tm.pactran_dirichlet, p, y),partial(peer_dirichlet, p, y, 1_000)
    x,y = features(2_000, 256, 10)
    yield 'pactran_gauss',size,partial(tm.pactran_gauss, x, y),partial(peer_gauss, x, y)
    sides = *features(1_000, 768, 100),*features(1_000, 768, 100, seed=1)
    size = '1,000 and 1,000 x 768, 100 classes'
    for reg in 0.,.05:
        yield f'otce reg={reg:g}',size,partial(tm.otce, *sides, reg=reg),partial(peer_otce, *sides, reg=reg)

def seconds(f):
    start = time.process_time()
    value = float(f())
    return time.process_time()-start,value

def main(names):
    torch.set_num_threads(1)
    warnings.simplefilter('ignore')
    tm.knn(*features(100, 10, 3)), tm.linear_probe(*features(100, 10, 3)) # imports
    print(f'{"score":17} {"size":34} {"ours, s":>8} {"peer, s":>8} {"ratio":>6}  values')
    for name,size,ours,peer in cases():
        if names and not any(name.startswith(k) for k in names): continue
        (a,value),(b,other) = min(seconds(ours), seconds(ours)),seconds(peer)
        print(f'{name:17} {size:34} {a:8.2f} {b:8.2f} {b/a:6.1f}  {value:.6g} {other:.6g}', flush=True)

if __name__=='__main__': main(sys.argv[1:])
