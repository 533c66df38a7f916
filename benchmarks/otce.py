"Optimal transport for OTCE and JC-NCE, 1,000 x 1,000 samples of 768 features, 100 classes: `python benchmarks/otce.py [n d c]`"
import sys
import warnings

from _measure import gaussian_features, machine, measure, report
import numpy as np
import ot
from scipy.spatial.distance import cdist

from transfer_metrics.transferability.otce import jc_nce, otce


def straightforward(a, ya, b, yb, reg, rounds):
    "POT's Sinkhorn in logarithms at `reg` times the mean cost, `rounds` of it, and the entropy by loops over classes; says how far off the margins are left"
    with warnings.catch_warnings():
        warnings.simplefilter('ignore') # that it has not converged
        C = cdist(a, b, 'sqeuclidean')
        P = ot.sinkhorn([], [], C, reg*C.mean(), method='sinkhorn_log', stopThr=1e-10, numItermax=rounds)
    J = np.array([[P[ya==k][:,yb==m].sum() for m in np.unique(yb)] for k in np.unique(ya)])
    print(f'straightforward, {rounds} rounds: margins off by {abs(P.sum(0)-1/len(b)).sum()+abs(P.sum(1)-1/len(a)).sum():.1g}')
    with np.errstate(divide='ignore', invalid='ignore'): return float(np.nansum(J*np.log(J/J.sum(1, keepdims=True))))

def exact(a, ya, b, yb):
    "POT's exact plan, and the entropy by loops over classes"
    C = cdist(a, b, 'sqeuclidean')
    P = ot.emd([], [], C, numItermax=10**7)
    J = np.array([[P[ya==k][:,yb==m].sum() for m in np.unique(yb)] for k in np.unique(ya)])
    with np.errstate(divide='ignore', invalid='ignore'): return float(np.nansum(J*np.log(J/J.sum(1, keepdims=True))))

def main(n=1_000, d=768, c=100):
    (x,y),(b,yb) = gaussian_features(2*n, d, c),gaussian_features(n, d, c, seed=1)
    a,ya = x[:n],y[:n]
    print(machine())
    budget = {(1_000,768,100): 1, (2_000,768,100): 4}.get((n, d, c))
    size = f'{n:,} x {n:,} samples, {d} features, {c} classes'
    every = dict(max_samples=None)
    report(f'{size}, exact', [measure('otce', otce, a, ya, b, yb, **every), measure('straightforward', exact, a, ya, b, yb),
        measure('jc_nce', jc_nce, a, ya, b, yb, **every), measure('jc_nce, class means', jc_nce, a, ya, b, yb, label_distance='means', **every)], budget)
    report(f'{size}, regularisation 0.01 of the mean cost', [measure('otce', otce, a, ya, b, yb, reg=.01, **every), measure('straightforward', straightforward, a, ya, b, yb, .01, 300, repeat=1)], budget)

if __name__=='__main__': main(*map(int, sys.argv[1:]))
