"""Transferability scores against their best public form, one thread: `python benchmarks/transferability.py [NAME ...]`

Processor seconds of both in one run, and their ratio."""
import sys
import time
import warnings
from functools import partial
import numpy as np
import torch
from scipy.linalg import eigh
from scipy.special import softmax
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
import transfer_metrics as tm

def features(n, d, c, seed=0):
    "Features in float32 with a decaying spectrum and separate class means, and labels"
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n)%c)
    scale = np.arange(1, d+1)**-.8
    means = .8*rng.normal(size=(c, d))
    return ((rng.normal(size=(n, d))+means[y])*scale).astype(np.float32),y

def probabilities(n, c_s, c, seed=0):
    "Probabilities in float32 that depend on the labels, and labels"
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n)%c)
    logits = 2*rng.standard_normal((n, c_s), dtype=np.float32)
    logits[np.arange(n),y%c_s] += 4
    return softmax(logits, 1),y

def peer_leep(p, y):
    "thuml/LogME LEEP.py"
    normalised = p/float(len(p))
    joint = np.zeros((y.max()+1, p.shape[1]))
    for k in range(len(joint)): joint[k] = normalised[y==k].sum(0)
    predictor = p@(joint/joint.sum(0, keepdims=True)).T
    return np.mean(np.log(np.array([row[k] for row,k in zip(predictor, y, strict=True)])))

def peer_nce(z, y):
    "thuml/Transfer-Learning-Library nce.py"
    joint = np.zeros((y.max()+1, z.max()+1))
    for s,t in zip(z, y, strict=True): joint[t,s] += 1/len(y)
    given = (joint/joint.sum(0, keepdims=True)).T
    share = joint.sum(0)
    entropy = [np.sum(np.where(row>0, row*np.log(row+1e-20), 0)) for row in given]
    return sum(s*e for s,e in zip(share, entropy, strict=True) if s)

def class_means(x, y):
    g = np.zeros_like(x)
    for k in range(y.max()+1): g[y==k] = x[y==k].mean(0)
    return g

def peer_h_score(x, y):
    "thuml/Transfer-Learning-Library hscore.py"
    inverse = np.linalg.pinv(np.cov(x, rowvar=False), rcond=1e-15)
    return np.trace(inverse@np.cov(class_means(x, y), rowvar=False))

def peer_shrunk(x, y):
    w = LedoitWolf().fit(x)
    between = np.cov(class_means(x, y), rowvar=False)
    return np.trace(np.linalg.pinv(w.covariance_, rcond=1e-15)@((1-w.shrinkage_)*between))

def peer_logme(x, y):
    "thuml/LogME LogME.py: singular vectors, then a fixed point for each class"
    n = len(x)
    u,s,_ = np.linalg.svd(x.astype(float), full_matrices=False)
    lam,total = s**2,[]
    for c in np.unique(y):
        t = (y==c).astype(float)
        z = (u.T@t)**2
        rest,a,b = t@t-z.sum(),1.,1.
        for _ in range(1000):
            r = a/b
            gamma,m2 = (lam/(r+lam)).sum(),(lam*z/(r+lam)**2).sum()
            a,b = gamma/m2,(n-gamma)/((z/(1+lam/r)**2).sum()+rest)
            if abs(a/b-r)<=1e-8*r: break
        r = a/b
        m2,error = (lam*z/(r+lam)**2).sum(),(z/(1+lam/r)**2).sum()+rest
        total.append((len(lam)*np.log(a)+n*np.log(b)-np.log(a+b*lam).sum()-b*error-a*m2-n*np.log(2*np.pi))/2/n)
    return np.mean(total)

def peer_nleep(x, y):
    "TencentARC/SFDA metrics.py, with the logarithm"
    z = PCA(.8).fit_transform(x.astype(float))
    return peer_leep(GaussianMixture(5*(y.max()+1), random_state=0).fit(z).predict_proba(z), y)

def peer_gbc(x, y, covariance):
    "google-research/stable_transfer gbc.py, with the logarithm of each variance"
    classes = []
    for k in range(y.max()+1):
        z = x[y==k].astype(float)
        classes.append((z.mean(0), np.cov(z.T, ddof=0) if covariance=='full' else z.var(0)))
    if covariance=='spherical': classes = [(m, np.full_like(v, v.mean())) for m,v in classes]
    def logdet(C): return np.linalg.slogdet(C)[1] if C.ndim==2 else np.log(C).sum()
    total = 0.
    for i,(a,A) in enumerate(classes):
        for j,(b,B) in enumerate(classes):
            if i==j: continue
            M,g = (A+B)/2,a-b
            quadratic = g@np.linalg.solve(M, g) if M.ndim==2 else g@(g/M)
            total += np.exp(-quadratic/8-(logdet(M)-(logdet(A)+logdet(B))/2)/2)
    return -total

def peer_transrate(x, y):
    "The listing of Huang et al. (2022), in float64"
    def rate(z): return np.linalg.slogdet(np.eye(z.shape[1])+z.T@z/(len(z)*1e-4))[1]/2
    z = x.astype(float)
    z -= z.mean(0)
    return rate(z)-np.mean([rate(z[y==k]) for k in range(y.max()+1)])

def peer_lfc(x, y):
    "dbolya/parc methods.py: two tables with an entry for each pair of samples"
    x = x.astype(float)
    K,L = x@x.T,2.*(y[:,None]==y)-1
    K -= K.mean()
    L -= L.mean()
    return np.vdot(K, L)/np.linalg.norm(K)/np.linalg.norm(L)

def peer_sfda(x, y):
    "TencentARC/SFDA metrics.py, on a copy"
    def largest(A):
        v = A.sum(1)
        for _ in range(3):
            w = A@v
            w /= np.linalg.norm(w)
            v = A@w
            v /= np.linalg.norm(v)
        return v@A@w
    def shrunk(S, s): return (1-s)*S+s*np.trace(S)/len(S)*np.eye(len(S))
    def fit(X, s=None):
        share,m = np.bincount(y)/len(y),np.stack([X[y==k].mean(0) for k in range(y.max()+1)])
        W = sum(share[k]*np.cov(X[y==k].T, bias=True) for k in range(len(m)))
        if s is None: s = max(np.exp(-5*largest(W)), 1e-10)
        V = eigh(shrunk(np.cov(X.T, bias=True), s)-shrunk(W, s), shrunk(W, s))[1]
        weights = m@V@V.T
        return softmax(X@weights.T-.5*(m*weights).sum(1)+np.log(share), 1),s,m
    X,own = x.astype(float),(np.arange(len(y)),y)
    p,s,m = fit(X)
    q = softmax(p, 1)[own][:,None]
    return fit(q*X+(1-q)*((m.sum(0)-m)/(len(m)-1))[y], s)[0][own].mean()

def cases():
    "Name, size, our score, its peer, and the data of both"
    p,y = probabilities(50_000, 1_000, 100)
    yield 'leep','50,000 x 1,000, 100 classes',tm.leep,peer_leep,(p,y)
    yield 'nce','50,000, 1,000 and 100 classes',tm.nce,peer_nce,(p.argmax(1),y)
    del p
    for n,d,c in (10_000, 768, 100),(50_000, 2_048, 100):
        data = x,_ = features(n, d, c)
        size = f'{n:,} x {d:,}, {c} classes'
        yield 'h_score',size,tm.h_score,peer_h_score,data
        yield 'h_score shrunk',size,partial(tm.h_score, shrinkage='ledoit_wolf'),peer_shrunk,data
        yield 'logme',size,tm.logme,peer_logme,data
        if n>10_000: continue
        yield 'transrate',size,tm.transrate,peer_transrate,data
        yield 'lfc',size,tm.lfc,peer_lfc,data
        x *= .4 # so that the classes overlap
        yield 'sfda',size,tm.sfda,peer_sfda,data
    data = features(10_000, 64, 100)
    for kind in 'diagonal','spherical','full':
        ours,peer = (partial(f, covariance=kind) for f in (tm.gbc,peer_gbc))
        yield f'gbc {kind}','10,000 x 64, 100 classes',ours,peer,data
    yield 'nleep','10,000 x 768, 10 classes',tm.nleep,peer_nleep,features(10_000, 768, 10)

def seconds(f, data):
    start = time.process_time()
    value = float(f(*data))
    return time.process_time()-start,value

def main(names):
    torch.set_num_threads(1)
    warnings.simplefilter('ignore')
    tm.leep(*probabilities(100, 10, 3)), tm.h_score(*features(100, 10, 3)) # imports
    print(f'{"score":15} {"size":31} {"ours, s":>8} {"peer, s":>8} {"ratio":>6}  values')
    for name,size,ours,peer,data in cases():
        if names and not any(name.startswith(k) for k in names): continue
        (a,value),(b,other) = min(seconds(ours, data), seconds(ours, data)),seconds(peer, data)
        print(f'{name:15} {size:31} {a:8.2f} {b:8.2f} {b/a:6.1f}  {value:.6g} {other:.6g}', flush=True)

if __name__=='__main__': main(sys.argv[1:])
