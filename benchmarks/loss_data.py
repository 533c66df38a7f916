"""Fifty probes of a loss-data curve (10 sizes, 5 seeds, digits) against a plain loop over a `DataLoader`: `python benchmarks/loss_data.py [steps]`
Processor time, measured alternately, of one thread each: with more, the loop spends most of its time waiting for them. The loop trains one seed of each size and
counts five times. The last column is the wall time of `train_probes` with all threads."""
import sys

from _measure import machine, measure

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

from transfer_metrics.loss_data.probes import as_probe
from transfer_metrics.loss_data.training import Job, train_probes

def digits(m=180):
    "Training images and digits, then validation"
    x,y = load_digits(return_X_y=True)
    o = np.random.default_rng(0).permutation(len(y))
    x,y = torch.tensor((x-x.mean())/x.std(), dtype=torch.float32)[o],torch.tensor(y)[o]
    return x[m:],y[m:],x[:m],y[:m]

def plain(x, y, xv, yv, jobs, hidden, steps):
    "One network after another, batches from a `DataLoader`"
    out = []
    for job in jobs:
        torch.manual_seed(job.seed)
        net = nn.Sequential(nn.Linear(x.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 10))
        opt = torch.optim.Adam(net.parameters(), lr=1e-4)
        loader,k = DataLoader(Subset(TensorDataset(x, y), job.rows.tolist()), batch_size=256, shuffle=True),0
        while k<steps:
            for xb,yb in loader:
                opt.zero_grad()
                cross_entropy(net(xb), yb).backward()
                opt.step()
                k += 1
                if k==steps: break
        with torch.no_grad(): out.append(float(cross_entropy(net(xv), yv)))
    return float(np.mean(out))

def ours(x, y, xv, yv, jobs, hidden, steps, matmul='float32'):
    "All networks by `train_probes`; the mean loss of those that `plain` trains"
    run = train_probes(as_probe('mlp', hidden=(hidden, hidden)), [x], y, ([xv], yv), jobs, n_classes=10, train_steps=steps, matmul=matmul, progress=False)
    return float(np.mean([loss for j,loss in run if j%5==0]))

def once(f, *args, threads=1):
    "Measure one call with so many threads"
    was = torch.get_num_threads()
    torch.set_num_threads(threads)
    try: return measure('', f, *args, repeat=1)
    finally: torch.set_num_threads(was)

def main(steps=40):
    data = digits()
    sizes = np.unique(np.logspace(1, np.log10(len(data[0])), 10).astype(int))
    orders = [torch.randperm(len(data[0]), generator=torch.Generator().manual_seed(s)) for s in range(5)]
    jobs = [Job(o[:n], s) for n in sizes.tolist() for s,o in enumerate(orders)]
    print(machine(), f'{len(jobs)} networks, {steps} steps of 256', sep=', ')
    for hidden,least in (64, dict(float32=5.)),(512, dict(float32=1., bfloat16=1.8)):
        k = steps*(2 if hidden==64 else 1)
        theirs,mine = [],{m: [] for m in least}
        for _ in range(3):
            theirs.append(once(plain, *data, jobs[::5], hidden, k))
            for m,runs in mine.items(): runs.append(once(ours, *data, jobs, hidden, k, m))
        base = 5*min(r.cpu for r in theirs)
        print(f'\nhidden {hidden}-{hidden}, {k} steps\n{"":20}   CPU s  wall s   CPU ratio  mean loss  all threads, wall s\n{"plain loop":20}  {base:6.2f}  {5*min(r.wall for r in theirs):6.2f}              {theirs[0].value:.4f}')
        for m,runs in mine.items():
            cpu,got = min(r.cpu for r in runs),base/min(r.cpu for r in runs)
            wall = once(ours, *data, jobs, hidden, k, m, threads=torch.get_num_threads()).wall
            print(f'{"train_probes "+m:20}  {cpu:6.2f}  {min(r.wall for r in runs):6.2f}  {got:9.2f}x  {runs[0].value:.4f}  {wall:8.2f}  '
                  f'at least {least[m]:g} times faster: {"kept" if got>=least[m] else "MISSED"}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
