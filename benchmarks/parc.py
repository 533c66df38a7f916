"PARC of 5,000 x 768 features in float32, 10 classes, all 12.5 million pairs: `python benchmarks/parc.py [n d c]`"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np
from scipy.stats import spearmanr

from transfer_metrics.transferability.parc import parc


def straightforward(x, y):
    "Two n x n matrices of distances, their upper triangles, and SciPy's Spearman"
    i,j = np.triu_indices(len(x), 1)
    return 100*float(spearmanr((1-np.corrcoef(x))[i,j].round(10), y[i]!=y[j])[0])

def floor(x):
    "What cannot be avoided: half of a float64 matrix product, and one sort of all pairs"
    x = x.astype(np.float64)
    v = np.concatenate([(x[i:i+256]@x[i:].T).ravel() for i in range(0, len(x), 256)])[:len(x)*(len(x)-1)//2]
    v.sort()
    return float(v[0])

def main(n=5_000, d=768, c=10):
    x,y = gaussian_features(n, d, c)
    print(machine())
    report(f'PARC {n:,} x {d}, {c} classes', [measure('parc', parc, x, y, max_samples=n, standardize=False), measure('straightforward', straightforward, x, y, repeat=1), measure('product and sort', floor, x, repeat=2)],
           *((None, 600) if (n, d, c)==(5_000, 768, 10) else ()))
    x,y = np.tile(x[:n//2], (2,1)),np.tile(y[:n//2], 2)
    report('every sample twice', [measure('parc', parc, x, y, max_samples=n, standardize=False, repeat=2), measure('straightforward', straightforward, x, y, repeat=1)], *((None, 600) if (n, d, c)==(5_000, 768, 10) else ()))

if __name__=='__main__': main(*map(int, sys.argv[1:]))
