"GBC of 10,000 x 64 features in float32, 100 classes, each kind of covariance: `python benchmarks/gbc.py [n d c]`; the large case is 20000 2048 1000"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np

from transfer_metrics.transferability.gbc import gbc


def straightforward(x, y, covariance):
    "Mean and covariance of each class, then the formula for each ordered pair, as it is published"
    stats = []
    for k in range(y.max()+1):
        z = x[y==k].astype(np.float64)
        stats.append((z.mean(0), np.cov(z.T, ddof=0) if covariance=='full' else z.var(0)))
    if covariance=='spherical': stats = [(m, np.full_like(v, v.mean())) for m,v in stats]
    def logdet(C): return np.linalg.slogdet(C)[1] if C.ndim==2 else np.log(C).sum()
    total = 0.
    for i,(a,A) in enumerate(stats):
        for j,(b,B) in enumerate(stats):
            if i==j: continue
            M,g = (A+B)/2,a-b
            total += np.exp(-(g@(np.linalg.solve(M, g) if M.ndim==2 else g/M))/8 - (logdet(M)-(logdet(A)+logdet(B))/2)/2)
    return float(-total)

def moments(x, y):
    "What cannot be avoided: reading the data in float64, its sums and sums of squares by class"
    v = x.astype(np.float64)
    o = np.eye(y.max()+1)[y]
    return float((o.T@v).sum()+(o.T@np.square(v)).sum())

def main(n=10_000, d=64, c=100):
    x,y = gaussian_features(n, d, c)
    print(machine())
    kinds = ['diagonal','spherical']
    if c*d*d<=2**26: kinds.append('full') # a covariance matrix for each class
    for kind in kinds:
        budgets = {(10_000,64,100): .1, (20_000,2048,1000): 5}
        budget = budgets.get((n, d, c)) if kind!='full' else None
        report(f'GBC {n:,} x {d}, {c} classes, {kind}', [measure('gbc', gbc, x, y, covariance=kind), measure('straightforward', straightforward, x, y, kind, repeat=1), measure('class sums', moments, x, y)], budget)

if __name__=='__main__': main(*map(int, sys.argv[1:]))
