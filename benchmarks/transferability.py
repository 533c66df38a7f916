"""Transferability scores against their best public form, one thread: `python benchmarks/transferability.py [NAME ...]`

Processor seconds of both in one run, the least of up to three calls, and their ratio."""
import sys
import time
import warnings
from functools import lru_cache, partial
import numpy as np
import ot
import torch
from _measure import features, probabilities
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.special import digamma, gammaln, log_softmax, logsumexp, softmax
from scipy.stats import spearmanr
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
import transfer_metrics as tm

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

def peer_knn(x, y):
    "scikit-learn's neighbours of the training samples"
    votes = y[KNeighborsClassifier(5, algorithm='brute').fit(x, y).kneighbors(return_distance=False)]
    return np.mean([np.bincount(v).argmax()==k for v,k in zip(votes, y, strict=True)])

def peer_probe(x, y, head): return cross_val_score(make_pipeline(StandardScaler(), head), x.astype(float), y, cv=5).mean()

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

def peer_ncti(x, y):
    "BUserName/NCTI metrics.py: all three terms; returns the mean probability of the true class"
    pca = PCA(64)
    z = pca.fit_transform(x.astype(float))
    s = np.exp(-pca.explained_variance_[:32].sum())
    lda = LinearDiscriminantAnalysis(solver='eigen', shrinkage=s) if s>1e-10 else LinearDiscriminantAnalysis()
    u,p = lda.fit_transform(z, y),lda.predict_proba(z)
    np.linalg.norm(u-u.mean(0), 'nuc'),sum(np.linalg.norm(p[y==k], 'nuc') for k in range(y.max()+1))
    return p[np.arange(len(y)),y].mean()

def peer_lda(x, y):
    "mgholamikn/ETran metrics.py: the eigenvectors cancel, which leaves the nearest class mean"
    x,share = x.astype(float),np.bincount(y)/len(y)
    m = np.stack([x[y==k].mean(0) for k in range(y.max()+1)])
    W = sum(share[k]*np.cov(x[y==k].T, bias=True) for k in range(len(m)))
    V = np.linalg.eigh(np.linalg.inv(W)@(np.cov(x.T, bias=True)-W))[1]
    weights = m@V@V.T
    return softmax(x@weights.T-.5*(m*weights).sum(1)+np.log(share), 1)[np.arange(len(y)),y].mean()

def peer_energy(x):
    "mgholamikn/ETran metrics.py: the lowest 0.5 %"
    return np.sort(logsumexp(x.astype(float), axis=1))[:len(x)//200].mean()

def peer_tmi(x, y):
    "snudatalab/TMI trf_measurement.py, summed over the classes"
    total = 0.
    for k in range(y.max()+1):
        z = x[y==k].astype(float)
        r = np.maximum(cKDTree(z).query(z, 4, p=np.inf)[0][:,-1], 1)
        total += len(z)/len(x)*(digamma(len(z))-digamma(3)+x.shape[1]*np.log(2*r).mean())
    return total

def peer_rankme(x):
    "Garrido et al. (2023), from the singular values"
    p = np.linalg.svd(x.astype(float), compute_uv=False)
    p = p/p.sum()+1e-7
    return np.exp(-(p*np.log(p)).sum())

def cases():
    "Name, size, our score, its peer, and a function that makes the data of both"
    table,samples = lru_cache(1)(probabilities),lru_cache(2)(features)
    def given(n, d, c, **options): return partial(samples, n, d, c, **options)
    size = '50,000 x 1,000, 100 classes'
    yield 'leep',size,tm.leep,peer_leep,lambda: table(50_000, 1_000, 100)
    yield 'nce',size,tm.nce,peer_nce,lambda: [o.argmax(1) if o.ndim==2 else o for o in table(50_000, 1_000, 100)]
    for n,d,c in (10_000, 768, 100),(50_000, 2_048, 100):
        data,size = given(n, d, c),f'{n:,} x {d:,}, {c} classes'
        yield 'h_score',size,tm.h_score,peer_h_score,data
        yield 'h_score shrunk',size,partial(tm.h_score, shrinkage='ledoit_wolf'),peer_shrunk,data
        yield 'logme',size,tm.logme,peer_logme,data
    data,size = given(10_000, 768, 100),'10,000 x 768, 100 classes'
    yield 'transrate',size,tm.transrate,peer_transrate,data
    yield 'lfc',size,tm.lfc,peer_lfc,data
    yield 'sfda',size,tm.sfda,peer_sfda,lambda: [.4*o if o.ndim==2 else o for o in data()] # classes that overlap
    yield 'ncti_ncc',size,tm.ncti_ncc,peer_ncti,lambda: [.4*o if o.ndim==2 else o for o in data()]
    yield 'lda identity',size,partial(tm.lda, covariance='identity'),peer_lda,data
    yield 'energy',size,tm.energy,peer_energy,lambda: data()[:1]
    yield 'rankme',size,tm.rankme,peer_rankme,lambda: data()[:1]
    mixed = np.random.default_rng(0).permutation(768) # elsewhere the variances of the features fall
    yield 'tmi',size,tm.tmi,peer_tmi,lambda: [10*o[:,mixed] if o.ndim==2 else o for o in data()] # distances above the floor
    for kind in 'diagonal','spherical','full':
        ours,peer = (partial(f, covariance=kind) for f in (tm.gbc,peer_gbc))
        yield f'gbc {kind}','10,000 x 64, 100 classes',ours,peer,given(10_000, 64, 100)
    for n,d in (10_000,768),(5_000,2_048):
        yield 'nleep',f'{n:,} x {d:,}, 10 classes',tm.nleep,peer_nleep,given(n, d, 10)
    yield 'parc','5,000 x 768, 10 classes',tm.parc,peer_parc,given(5_000, 768, 10)
    def even():
        y = np.arange(2_000)%10
        return softmax(np.random.default_rng(0).normal(size=(2_000,256))+2*(y[:,None]==np.arange(256)%10), 1),y
    size = '2,000 x 256, 10 classes'
    yield 'pactran_dirichlet',size,tm.pactran_dirichlet,partial(peer_dirichlet, iterations=1_000),even
    yield 'pactran_gauss',size,tm.pactran_gauss,peer_gauss,given(2_000, 256, 10)
    for reg in 0.,.05:
        ours,peer = (partial(f, reg=reg) for f in (tm.otce,peer_otce))
        yield (f'otce reg={reg:g}','1,000 and 1,000 x 768, 100 classes',ours,peer,
               lambda: samples(1_000, 768, 100)+samples(1_000, 768, 100, seed=1))
    for n,d,c in (1_000,2_048,10),(1_000,768,100),(10_000,768,100):
        data,size = given(n, d, c, noise=1.),f'{n:,} x {d:,}, {c} classes'
        yield 'knn',size,tm.knn,peer_knn,data
        if n>1_000: continue
        heads = {'ridge': RidgeClassifierCV(n*10.**np.arange(-6, 3.1, .5)),
                 'logistic': LogisticRegression(tol=1e-6, max_iter=10_000)}
        for name,head in heads.items():
            yield f'{name} probe',size,partial(tm.linear_probe, head=name),partial(peer_probe, head=head),data

def seconds(f, data):
    "Least processor time of three calls, of fewer if they take long, and the value"
    times = []
    while len(times)<3 and sum(times)<10:
        start = time.process_time()
        value = float(f(*data))
        times.append(time.process_time()-start)
    return min(times),value

def main(names):
    torch.set_num_threads(1)
    warnings.simplefilter('ignore')
    tm.leep(*probabilities(100, 10, 3)), tm.h_score(*features(100, 10, 3)), tm.linear_probe(*features(100, 10, 3)) # imports
    print(f'{"score":17} {"size":34} {"ours, s":>8} {"peer, s":>8} {"ratio":>6}  values')
    for name,size,ours,peer,make in cases():
        if names and not any(name.startswith(k) for k in names): continue
        data = make()
        (a,value),(b,other) = seconds(ours, data),seconds(peer, data)
        print(f'{name:17} {size:34} {a:8.3f} {b:8.3f} {b/a:6.2f}  {value:.6g} {other:.6g}', flush=True)

if __name__=='__main__': main(sys.argv[1:])
