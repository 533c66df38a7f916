"H-score, plain and with Ledoit-Wolf shrinkage, of 50,000 x 2,048 features in float32, 100 classes: `python benchmarks/h_score.py [n d c]`"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np
from scipy.linalg import blas, eigh
from sklearn.covariance import LedoitWolf

from transfer_metrics.transferability.h_score import h_score


def class_means(x, y):
    g = np.zeros_like(x)
    for k in range(y.max()+1): g[y==k] = x[y==k].mean(0)
    return g

def straightforward(x, y):
    "The definition as it is published: two covariances and a pseudo-inverse"
    return float(np.trace(np.linalg.pinv(np.cov(x, rowvar=False), rcond=1e-15)@np.cov(class_means(x, y), rowvar=False)))

def straightforward_shrunk(x, y):
    "The same with scikit-learn's Ledoit-Wolf covariance"
    lw = LedoitWolf().fit(x)
    return float(np.trace(np.linalg.pinv(lw.covariance_, rcond=1e-15)@((1-lw.shrinkage_)*np.cov(class_means(x, y), rowvar=False))))

def gram_and_eigh(x):
    "What the textbook cannot avoid: half of a float64 matrix product, and an eigendecomposition"
    G = np.zeros((x.shape[1],)*2, order='F')
    for s in range(0, len(x), 1024): G = blas.dsyrk(1., x[s:s+1024].astype(np.float64).T, 1., G, overwrite_c=1, lower=1)
    return float(eigh(G, lower=True, driver='evd', overwrite_a=True, check_finite=False)[0][-1])

def main(n=50_000, d=2_048, c=100):
    x,y = gaussian_features(n, d, c)
    print(machine())
    budget = (7, 200) if (n, d, c)==(50_000, 2_048, 100) else ()
    floor = measure('gram and eigh', gram_and_eigh, x, repeat=2)
    report(f'H-score {n:,} x {d:,}, {c} classes', [measure('h_score', h_score, x, y), measure('straightforward', straightforward, x, y, repeat=1), floor], *budget)
    report('with shrinkage', [measure('h_score', h_score, x, y, shrinkage='ledoit_wolf'), measure('straightforward', straightforward_shrunk, x, y, repeat=1), floor], *budget)
    x[:,-1] = x[:,0]
    report('of deficient rank', [measure('h_score', h_score, x, y, repeat=2), floor], *budget)

if __name__=='__main__': main(*map(int, sys.argv[1:]))
