"""Heads of 200 random tasks on 512 features: all at once, one at a time, by L-BFGS and by scikit-learn: `python benchmarks/retrain_head.py [tasks]`.
Others than `retrain_heads` run on every k-th task, and their processor time is scaled up. What tells them apart is also how far their weights are from
the minimum, and how many test samples they classify differently for that."""
import sys
from types import SimpleNamespace

from _measure import gaussian_features, machine, measure
import numpy as np
from sklearn.linear_model import LogisticRegression
import torch
from torch.nn.functional import cross_entropy

from transfer_metrics.experiments.retrain_head import retrain_head, retrain_heads
from transfer_metrics.logistic import head, solve_heads, standardised
from transfer_metrics.experiments.tasks import random_tasks


def lbfgs(x, y, c, tol=1e-6):
    "L-BFGS in float64 until no derivative of the mean loss is above `tol`"
    W = x.new_zeros((x.shape[1]+1, c), requires_grad=True)
    opt = torch.optim.LBFGS([W], max_iter=2000, max_eval=4000, tolerance_grad=tol, tolerance_change=1e-14, history_size=20, line_search_fn='strong_wolfe')
    def loss():
        opt.zero_grad()
        f = cross_entropy(x@W[:-1] + W[-1], y) + W[:-1].square().sum()/(2*len(x))
        f.backward()
        return f
    opt.step(loss)
    return W.detach()

def sklearn(x, y, c, tol):
    m = LogisticRegression(tol=tol, max_iter=10_000).fit(x.numpy(), y.numpy())
    w = torch.tensor(np.vstack([m.coef_.T, m.intercept_]))
    return w if c>2 else torch.cat([-w/2, w/2], 1)

def ours(x, y, c): return solve_heads([head(x, y, c)]).weights[0]

def standard(x, y, task):
    "Standardised training features, class codes, number of classes, test features"
    return SimpleNamespace(x=(o := standardised(x[task.train], x[task.test]))[0], t=o[1], y=torch.from_numpy(task.codes(y)[0]), c=task.n_classes)

def compare(title, x, y, tasks, every, budget=None):
    print(f'\n{title}\n{"":34}  CPU s    CPU ratio  largest error of a weight  test samples told otherwise')
    run = measure('all at once', retrain_heads, x, y, tasks, progress=False, repeat=1)
    row('retrain_heads', run.cpu, run.cpu)
    some = list(tasks)[::every]
    scale = tasks.frame().pipe(lambda f: (f.n*f.n_classes).sum()/(f.n*f.n_classes)[::every].sum()) # the work of all tasks by that of the chosen ones
    pairs = [t.select((x, y)) for t in some]
    row('retrain_head, one by one', measure('', lambda: [retrain_head(*a, b) for a,b in pairs], repeat=1).cpu*scale, run.cpu)
    data = [standard(x, y, t) for t in some]
    best = [ours(o.x, o.y, o.c) for o in data]
    for name,f in {'L-BFGS, torch': lbfgs, 'scikit-learn, tol=1e-8': lambda *o: sklearn(*o, 1e-8), 'scikit-learn, tol=1e-6': lambda *o: sklearn(*o, 1e-6),
                   'scikit-learn, tol=1e-4 (default)': lambda *o: sklearn(*o, 1e-4)}.items():
        r = measure(name, lambda f=f: [f(o.x, o.y, o.c) for o in data], repeat=1)
        off = max(float((u-v).sub_((u-v).mean(1, keepdim=True))[:-1].abs().max()) for u,v in zip(r.value, best, strict=True))
        wrong = np.mean(np.concatenate([((o.t@u[:-1]+u[-1]).argmax(1)!=(o.t@v[:-1]+v[-1]).argmax(1)).numpy() for o,u,v in zip(data, r.value, best, strict=True)]))
        row(name, r.cpu*scale, run.cpu, off, wrong)
    if budget: print(f'  budget {budget:g} s on two cores: {run.cpu/2:.3g}, {"kept" if run.cpu/2<=budget else "EXCEEDED"}')

def row(name, cpu, ours, off=None, wrong=None):
    print(f'{name:34} {cpu:6.1f} {cpu/ours:11.2f}x' + (f'  {off:24.1e}  {wrong:26.2%}' if off is not None else ''), flush=True)

def features(n, c):
    "Classes that overlap: the usual features with twice as much noise"
    x,y = gaussian_features(n, 512, c)
    return torch.from_numpy(x+1.7*gaussian_features(n, 512, 1, seed=1)[0]),y

def main(n=200):
    print(machine())
    x,y = features(242*20, 242)
    compare(f'{n} tasks of 2 to 100 of 242 classes, 15 training samples each, 512 features', x, y, random_tasks(y, n, classes=(2,100)), 10, 60 if n==200 else None)
    compare(f'{n} tasks of 5 classes, 15 training samples each, 512 features', x, y, random_tasks(y, n, classes=5), 4)
    compare(f'{n} tasks of 5 classes, 2 training samples each, 512 features', x, y, random_tasks(y, n, classes=5, per_class=2), 2)
    x,y = features(10*70, 10)
    compare(f'{n} tasks of 5 of 10 classes, 50 training samples each, 512 features', x, y, random_tasks(y, n, classes=5, per_class=50), 10)

if __name__=='__main__': main(*map(int, sys.argv[1:]))
