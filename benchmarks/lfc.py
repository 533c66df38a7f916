"LFC of 10,000 x 768 features in float32, 100 classes, and of fewer samples than features: `python benchmarks/lfc.py [n d c]`"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np
from scipy.linalg import blas

from transfer_metrics.transferability.lfc import lfc


def straightforward(x, y):
    "The definition: two tables with an entry for each pair of samples, centred in place"
    def centred(A):
        rows = A.mean(0)
        A -= rows
        A -= rows[:,None]-rows.mean()
        return A
    x = x.astype(np.float64)
    K,L = centred(x@x.T),centred(2.*(y[:,None]==y)-1)
    return float(np.vdot(K, L)/np.linalg.norm(K)/np.linalg.norm(L))

def floor(x, rows=1024):
    "The arithmetic floor: half a Gram matrix in float64, the smaller one"
    if len(x)<x.shape[1]: x = np.ascontiguousarray(x.T)
    G = np.zeros((x.shape[1],)*2, order='F')
    for s in range(0, len(x), rows): G = blas.dsyrk(1., x[s:s+rows].astype(np.float64).T, 1., G, overwrite_c=1, lower=1)
    return float(G[0,0])

def main(n, d, c, cpu=None, extra=None):
    x,y = gaussian_features(n, d, c)
    report(f'LFC {n:,} x {d:,}, {c} classes', [measure('lfc', lfc, x, y, centering='kernel', repeat=5), measure('half a Gram matrix', floor, x, repeat=5), measure('tables of pairs', straightforward, x, y, repeat=1)], cpu, extra)

if __name__=='__main__':
    print(machine())
    if len(sys.argv)>1: main(*map(int, sys.argv[1:]))
    else: main(10_000, 768, 100, .3, 100), main(1_000, 4_096, 10)
