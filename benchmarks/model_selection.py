"""All default scores of one model next to the dearest of them, and the comparison of seven models on 1,000 samples

`python benchmarks/model_selection.py`"""
import warnings
import numpy as np
import torch
from _measure import machine, measure, report
from transfer_metrics.model_selection.intervals import compare_models
from transfer_metrics.model_selection.scoring import applicable, default_metrics, score_models
from transfer_metrics.outputs import Outputs
from transfer_metrics.registry import resolve_all

torch.set_num_threads(1)
print(machine())
rng = np.random.default_rng(0)
for n,d,c in (1000,768,10),(1000,768,100),(1000,2048,10),(2000,768,10),(10_000,512,10):
    y = np.arange(n)%c
    x = rng.normal(size=(n,d))+.3*rng.normal(size=(c,d))[y]
    out = Outputs(features=x.astype('float32'), logits=rng.normal(size=(n,1000)).astype('float32'), labels=y)
    with warnings.catch_warnings(action='ignore'):
        every = measure('all default scores', score_models, {'model': out}, progress=False)
        single = [measure(k, m, *(getattr(out, a) for a in m.args), **options)
                  for k,(m,options) in resolve_all(None, applicable(), default_metrics()).items()]
    report(f'{n:,} samples, {d:,} features, {c} classes', [every,*single])
    dearest = max(single, key=lambda r: r.cpu)
    print(f'  all cost {every.cpu/dearest.cpu:.2f} times the dearest, {dearest.name}')

correct = {f'model {i}': rng.random(1000)<.7+.02*i for i in range(7)}
report('seven models, 1,000 samples', [measure('intervals, p_best, groups', compare_models, correct)], cpu=2)
