"""Fifty probes of a loss-data curve against a plain loop over a `DataLoader`: `python benchmarks/loss_data.py [steps]`

Ten sizes and five seeds, on the digits. Processor time of one thread, measured alternately; the loop trains one seed of each size
and counts five times. At 512-512 the matrix products alone take 45 % of the time of the loop, so that a ratio above 2.2 is not
possible in float32; at 64-64 they take 5 %."""
import sys

from _measure import machine, measure

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

from transfer_metrics.loss_data.probes import as_probe, train_probes

def digits(m=180):
    "Training images and digits, then validation"
    x,y = load_digits(return_X_y=True)
    o = np.random.default_rng(0).permutation(len(y))
    x,y = torch.tensor((x-x.mean())/x.std(), dtype=torch.float32)[o],torch.tensor(y)[o]
    return x[m:],y[m:],x[:m],y[:m]

def plain(x, y, xv, yv, jobs, hidden, steps):
    "One network after another, batches from a `DataLoader`"
    out = []
    for rows,seed in jobs:
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                            nn.Linear(hidden, 10))
        opt = torch.optim.Adam(net.parameters(), lr=1e-4)
        loader,k = DataLoader(Subset(TensorDataset(x, y), rows.tolist()), batch_size=256, shuffle=True),0
        while k<steps:
            for xb,yb in loader:
                opt.zero_grad()
                cross_entropy(net(xb), yb).backward()
                opt.step()
                k += 1
                if k==steps: break
        with torch.no_grad(): out.append(float(cross_entropy(net(xv), yv)))
    return float(np.mean(out))

def ours(x, y, xv, yv, jobs, hidden, steps, matmul):
    "All networks by `train_probes`; the mean loss of those that `plain` trains"
    probe = as_probe('mlp', hidden=(hidden,hidden))
    run = train_probes(probe, x, y, (xv,yv), jobs, n_classes=10, train_steps=steps, matmul=matmul, progress=False)
    return float(np.mean([loss for j,loss,_ in run if j%5==0]))

def main(steps=100):
    torch.set_num_threads(1)
    data = digits()
    sizes = np.unique(np.logspace(1, np.log10(len(data[0])), 10).astype(int))
    orders = [torch.randperm(len(data[0]), generator=torch.Generator().manual_seed(s)) for s in range(5)]
    jobs = [(o[:n], s) for n in sizes.tolist() for s,o in enumerate(orders)]
    print(machine(), f'{len(jobs)} networks, batches of 256', sep=', ')
    for hidden,kinds in (64,{'float32': 6.}),(512,{'float32': 1.3,'bfloat16': 2.}):
        k,theirs,mine = steps*(2 if hidden==64 else 1),[],{m: [] for m in kinds}
        for _ in range(3):
            theirs.append(measure('', plain, *data, jobs[::5], hidden, k, repeat=1))
            for m,runs in mine.items(): runs.append(measure('', ours, *data, jobs, hidden, k, m, repeat=1))
        base = 5*min(r.cpu for r in theirs)
        print(f'\nhidden {hidden}-{hidden}, {k} steps\n{"":24} CPU s   ratio  mean loss')
        print(f'{"DataLoader loop":24}{base:6.2f}          {theirs[0].value:9.4f}')
        for m,runs in mine.items():
            cpu = min(r.cpu for r in runs)
            met = 'kept' if base/cpu>=kinds[m] else 'MISSED'
            print(f'{"train_probes, "+m:24}{cpu:6.2f}  {base/cpu:5.2f}x {runs[0].value:9.4f}  at least {kinds[m]:g}x: {met}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
