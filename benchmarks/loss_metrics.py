"All metrics of loss-data curves with their intervals, 100,000 rows: 2,000 curves of 10 sizes and one curve of 20,000 sizes, 5 seeds each; and a loop over rows by reprieve's rules: `python benchmarks/loss_metrics.py [rows]`"
import sys

from _measure import machine, measure, report

import numpy as np
import pandas as pd

from transfer_metrics.loss_data.curve import loss_curves
from transfer_metrics.loss_data.comparison import compare_representations
from transfer_metrics.loss_data.metrics import compute_metrics, metrics_table

def frame(curves, sizes, seeds=5, top=1_000_000):
    "Noisy power laws, `curves * sizes * seeds` rows"
    rng = np.random.default_rng(0)
    n = np.unique(np.geomspace(1, top, sizes).round()) if sizes<100 else np.arange(1., sizes+1)
    name,samples,seed = (o.ravel() for o in np.meshgrid(np.arange(curves), n, np.arange(seeds), indexing='ij'))
    loss = 3*samples**-.3*np.exp(.1*rng.normal(size=len(name)))
    return pd.DataFrame({'seed': seed, 'samples': samples.astype(int), 'val_loss': loss, 'name': np.array([f'curve {i}' for i in range(curves)], object)[name]})

def loop(df, epsilons=(1., .1, .01)):
    "MDL, SDL and eSC at the largest size, one row at a time; no brackets, no intervals"
    res = []
    for name in df['name'].unique():
        mean = df[df['name']==name].groupby('samples').val_loss.mean().reset_index()
        sums,first,last = dict.fromkeys([0, *epsilons], 0.),dict.fromkeys(epsilons, np.inf),0
        for _,row in mean.iterrows():
            for e in sums: sums[e] += (row.samples-last)*max(row.val_loss-e, 0)
            for e in first: first[e] = min(first[e], row.samples) if row.val_loss<=e else first[e]
            last = row.samples
        res.append((name, *sums.values(), *first.values()))
    return res

def main(rows=100_000):
    print(machine())
    for k,m in (rows//50, 10),(1, rows//5):
        df = frame(k, m)
        runs = [measure('compute_metrics', compute_metrics, df, n_classes=10, repeat=5), measure('  of it, loss_curves', loss_curves, df, repeat=5),
                measure("loop by reprieve's rules", loop, df, repeat=1)]
        report(f'{len(df):,} rows: {k:,} curves of {m:,} sizes, 5 seeds', runs, *((.2, 200) if rows==100_000 else ()))
    df = frame(40, 10)
    out = compute_metrics(frame(200, 10), n_classes=10)
    report('200 curves', [measure('metrics_table', metrics_table, out)])
    report('40 curves in 780 pairs', [measure('compare_representations', compare_representations, df)])

if __name__=='__main__': main(*map(int, sys.argv[1:]))
