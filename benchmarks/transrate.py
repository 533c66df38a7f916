"TransRate of 10,000 x 768 features in float32, 100 classes: `python benchmarks/transrate.py [n d c]`"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np

from transfer_metrics.state import state_of
from transfer_metrics.transferability.transrate import transrate


def straightforward(x, y, weights=None):
    "The listing of the paper, in float64: a d x d determinant for all samples and for each class"
    def rate(z): return np.linalg.slogdet(np.eye(z.shape[1])+z.T@z/(len(z)*1e-4))[1]/2
    z = x.astype(np.float64)
    z -= z.mean(0)
    return float(rate(z)-np.average([rate(z[y==k]) for k in range(y.max()+1)], weights=np.bincount(y) if weights else None))

def gram_and_cholesky(x):
    "What cannot be avoided: the Gram matrix in float64 and its factor"
    z = x.astype(np.float64)
    G = z.T@z
    G[np.diag_indices_from(G)] += 1
    return float(np.log(np.linalg.cholesky(G).diagonal()).sum())

def in_batches(x, y, size=1000):
    "The same score from a stream"
    s = state_of(transrate)
    for i in range(0, len(x), size): s.update(x[i:i+size], y[i:i+size])
    return s.value()

def main(n=10_000, d=768, c=100):
    x,y = gaussian_features(n, d, c)
    print(machine())
    runs = [measure('transrate', transrate, x, y), measure('straightforward', straightforward, x, y, repeat=1), measure('in batches of 1,000', in_batches, x, y, repeat=1), measure('gram and cholesky', gram_and_cholesky, x)]
    report(f'TransRate {n:,} x {d}, {c} classes', runs, *((2,) if (n, d, c)==(10_000, 768, 100) else ()))
    x[:,-1] = 1e7*x[:,0]
    report('features that need the longer way', [measure('transrate', transrate, x, y, repeat=1)])

if __name__=='__main__': main(*map(int, sys.argv[1:]))
