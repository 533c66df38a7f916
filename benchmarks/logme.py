"LogME of 10,000 x 768 and 50,000 x 2,048 features, 100 classes, float32: `python benchmarks/logme.py [n d c]`"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np
from scipy.linalg import blas, eigh

from transfer_metrics.transferability.logme import logme


def straightforward(x, y, iters=1000):
    "Singular value decomposition of the features, then the fixed point of alpha and beta one class at a time (as published, with every term)"
    n,d = x.shape
    u,s,_ = np.linalg.svd(x.astype(np.float64), full_matrices=False)
    lam,total = s**2,[]
    for c in np.unique(y):
        t = (y==c).astype(float)
        z = (u.T@t)**2
        rest,a,b = t@t-z.sum(),1.,1.
        for _ in range(iters):
            r = a/b
            gamma = (lam/(r+lam)).sum()
            m2,err = (lam*z/(r+lam)**2).sum(),(z/(1+lam/r)**2).sum()+rest
            a,b = gamma/m2,(n-gamma)/err
            if abs(a/b-r)<=1e-8*r: break
        r = a/b
        m2,err = (lam*z/(r+lam)**2).sum(),(z/(1+lam/r)**2).sum()+rest
        total.append((len(lam)*np.log(a)+n*np.log(b)-np.log(a+b*lam).sum()-b*err-a*m2-n*np.log(2*np.pi))/2/n)
    return float(np.mean(total))

def floor(x, rows=2048):
    "The arithmetic floor: half a Gram matrix in float64 and its eigenvalues and eigenvectors"
    G = np.zeros((x.shape[1],)*2, order='F')
    for s in range(0, len(x), rows): G = blas.dsyrk(1., x[s:s+rows].astype(np.float64).T, 1., G, overwrite_c=1)
    return float(eigh(G, lower=False, driver='evd', overwrite_a=True, check_finite=False)[0][-1])

def main(n, d, c, cpu=None, extra=None, repeat=3):
    x,y = gaussian_features(n, d, c)
    report(f'LogME {n:,} x {d:,}, {c} classes', [measure('logme', logme, x, y, repeat=repeat), measure('Gram + eigh', floor, x, repeat=repeat),
        measure('SVD, class by class', straightforward, x, y, repeat=1)], cpu, extra)

if __name__=='__main__':
    print(machine())
    if len(sys.argv)>1: main(*map(int, sys.argv[1:]))
    else: main(10_000, 768, 100, .5, 64, 5), main(50_000, 2_048, 100, 10, 200, 2)
