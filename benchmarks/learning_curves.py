"All metrics of learning curves: 10,000 pairs of 50 points, and their bootstrap intervals from 10,000 resamples of 10 runs: `python benchmarks/learning_curves.py [pairs points]`"
import sys

from _measure import machine, measure, report

import numpy as np

from transfer_metrics.registry import registry
from transfer_metrics.learning_curves.bootstrap import bootstrap_all
from transfer_metrics.learning_curves.curve import Curve, replicates

metrics = {k: m.f for k,m in registry().items() if m.args==('base','transfer')}

def noisy_curves(r, k, scale, start, seed):
    "Rising curves `[r, k]` with dips"
    n = np.arange(k)*10.
    return n,.9-(.9-start)*np.exp(-n/scale)+.02*np.random.default_rng(seed).normal(size=(r, k))

def loop(base, transfer, perf_base, perf_transfer):
    "One pair at a time"
    return {k: np.array([f(Curve(base.n, b), Curve(transfer.n, t)) for b,t in zip(perf_base, perf_transfer, strict=True)]) for k,f in metrics.items()}

def loop_intervals(base, transfer, n_boot):
    "One resample of the runs, one pair of curves, one metric at a time"
    rng,r = np.random.default_rng(0),len(base.runs)
    draws = [rng.integers(r, size=r) for _ in range(n_boot)]
    values = loop(base, transfer, *([c.runs[o].mean(0) for o in draws] for c in (base, transfer)))
    return {k: np.quantile(v, (.025, .975), method='inverted_cdf') for k,v in values.items()}

def main(r=10_000, k=50):
    n,pb = noisy_curves(r, k, 200, .1, 0)
    m,pt = noisy_curves(r, k, 100, .3, 1)
    b,t,few = Curve(n, pb),Curve(m, pt),max(1, r//100)
    budget = (1.5, 200) if (r, k)==(10_000, 50) else ()
    print(machine(), f'{len(metrics)} metrics', sep=', ')
    report(f'{r:,} pairs of {k} points', [measure('replicates', replicates, metrics, b, t, pb, pt, repeat=5)], *budget)
    report(f'{few:,} pairs of {k} points', [measure('replicates', replicates, metrics, b, t, pb[:few], pt[:few]), measure('loop', loop, b, t, pb[:few], pt[:few], repeat=1)])
    runs = Curve(n, pb[:10]),Curve(m, pt[:10])
    ours = measure('intervals', bootstrap_all, metrics, *runs, n_boot=r, interval='percentile', repeat=5)
    slow = measure(f'loop, {r/few:g} x {few:,} resamples', loop_intervals, *runs, few, repeat=1)
    slow = slow._replace(cpu=slow.cpu*r/few, wall=slow.wall*r/few)
    report(f'{len(metrics)} metrics with intervals, {r:,} resamples of 10 runs of {k} points', [ours, slow], *budget)
    print(f'  at least 5 times faster than the loop: {slow.cpu/ours.cpu:.0f} times')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
