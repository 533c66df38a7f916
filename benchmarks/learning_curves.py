"All metrics of 10,000 pairs of learning curves of 50 points: `python benchmarks/learning_curves.py [pairs points]`"
import sys

import numpy as np
from _measure import machine, measure, report

from transfer_metrics.core import registry
from transfer_metrics.learning_curves.curve import Curve, replicates

metrics = {k: m.f for k,m in registry().items() if m.needs=='curves'}

def noisy_curves(r, k, scale, start, seed):
    "Rising curves `[r, k]` with dips"
    n = np.arange(k)*10.
    return n,.9-(.9-start)*np.exp(-n/scale)+.02*np.random.default_rng(seed).normal(size=(r, k))

def loop(base, transfer, perf_base, perf_transfer):
    "One pair at a time"
    return {k: np.array([f(Curve(base.n, b), Curve(transfer.n, t)) for b,t in zip(perf_base, perf_transfer, strict=True)]) for k,f in metrics.items()}

def main(r=10_000, k=50):
    n,pb = noisy_curves(r, k, 200, .1, 0)
    m,pt = noisy_curves(r, k, 100, .3, 1)
    b,t,few = Curve(n, pb),Curve(m, pt),max(1, r//100)
    print(machine(), f'{len(metrics)} metrics', sep=', ')
    report(f'{r:,} pairs of {k} points', [measure('replicates', replicates, metrics, b, t, pb, pt, repeat=5)], *((1.5, 200) if (r, k)==(10_000, 50) else ()))
    report(f'{few:,} pairs of {k} points', [measure('replicates', replicates, metrics, b, t, pb[:few], pt[:few]), measure('loop', loop, b, t, pb[:few], pt[:few], repeat=1)])

if __name__=='__main__': main(*map(int, sys.argv[1:]))
