"Heads of random tasks on 512 features, ours and scikit-learn's: `python benchmarks/experiments.py [tasks]`"
import sys
import numpy as np

from _measure import features, machine, measure, report

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from transfer_metrics.experiments.retrain_head import retrain_heads
from transfer_metrics.experiments.tasks import random_tasks

def ours(x, y, tasks): return float(retrain_heads(x, y, tasks, progress=False).accuracy.mean())

def sklearn(x, y, tasks, tol):
    heads = [make_pipeline(StandardScaler(), LogisticRegression(tol=tol, max_iter=10_000)) for _ in tasks]
    scores = [h.fit(x[t.train], y[t.train]).score(x[t.test], y[t.test]) for h,t in zip(heads, tasks, strict=True)]
    return float(np.mean(scores))

def main(n=40):
    print(machine())
    x,y = features(242*20, 512, 242)
    x = x+6*features(len(x), 512, 1, seed=1)[0]
    for title,options in {'2 to 60 classes': dict(classes=(2,60)), '5 classes': dict(classes=5),
                          '5 classes, 2 samples each': dict(classes=5, per_class=2)}.items():
        tasks = random_tasks(y, n, **options)
        report(f'{n} tasks of {title}', [measure('retrain_heads', ours, x, y, tasks, repeat=1),
                                        *(measure(f'scikit-learn, tol={tol:g}', sklearn, x, y, tasks, tol,
                                                  repeat=1) for tol in (1e-4,1e-6))])

if __name__=='__main__': main(*map(int, sys.argv[1:]))
