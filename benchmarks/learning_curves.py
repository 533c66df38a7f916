"Learning curves: many pairs at once, intervals of 10 runs; `python benchmarks/learning_curves.py [pairs points]`"
import sys

from _measure import machine, measure, report

import numpy as np

from transfer_metrics.learning_curves.bootstrap import bootstrap
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.registry import registry

metrics = {k: m.f for k,m in registry('learning_curves').items()}

def noisy(r, k, scale, start, seed):
    "Rising curves with dips, shape `[r, k]`"
    n = np.arange(k)*10.
    return Curve(n, .9-(.9-start)*np.exp(-n/scale)+.02*np.random.default_rng(seed).normal(size=(r,k)))

def at_once(b, t): return {k: f(b.each(), t.each()) for k,f in metrics.items()}

def loop(b, t):
    pairs = [(Curve(b.n, p),Curve(t.n, q)) for p,q in zip(b.runs, t.runs, strict=True)]
    return {k: [f(*pair) for pair in pairs] for k,f in metrics.items()}

def loop_intervals(b, t, n_boot):
    draws = np.random.default_rng(0).integers(len(b.runs), size=(n_boot,len(b.runs)))
    values = loop(*(Curve(c.n, c.runs[draws].mean(1)) for c in (b,t)))
    return {k: np.quantile(v, (.025,.975), method='inverted_cdf') for k,v in values.items()}

def main(r=10_000, k=50):
    print(machine(), f'{len(metrics)} metrics', sep=', ')
    few = max(1, r//100)
    pair = [noisy(few, k, *o) for o in ((200,.1,0),(100,.3,1))]
    report(f'{few:,} pairs of {k} points', [measure('at once', at_once, *pair), measure('loop', loop, *pair, repeat=1)])
    runs = [noisy(10, k, *o) for o in ((200,.1,0),(100,.3,1))]
    ours = measure('bootstrap', bootstrap, 'all', *runs, n_boot=r, interval='percentile', progress=False)
    slow = measure(f'loop, {r/few:g} x {few:,} resamples', loop_intervals, *runs, few, repeat=1)
    slow = slow._replace(cpu=slow.cpu*r/few, wall=slow.wall*r/few)
    report(f'{len(metrics)} metrics with intervals, {r:,} resamples of 10 runs of {k} points', [ours,slow],
           *(1.5,200)*((r,k)==(10_000,50)))

if __name__=='__main__': main(*map(int, sys.argv[1:]))
