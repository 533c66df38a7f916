"""All default scores of one model beside the dearest of them, and the comparison of seven models on 1,000 samples

`python benchmarks/model_selection.py`"""
import warnings
import numpy as np
from _measure import machine, measure, report
from transfer_metrics.model_selection.intervals import compare_models
from transfer_metrics.model_selection.scoring import applicable, default_metrics, score_models
from transfer_metrics.outputs import Outputs
from transfer_metrics.registry import resolve_all

print(machine())
rng = np.random.default_rng(0)
for n,d in (1000,2048),(2000,768),(10_000,512):
    y = np.arange(n)%10
    x = rng.normal(size=(n,d))+.3*rng.normal(size=(10,d))[y]
    out = Outputs(features=x.astype('float32'), logits=rng.normal(size=(n,1000)).astype('float32'), labels=y)
    with warnings.catch_warnings(action='ignore'):
        runs = [measure('all default scores', score_models, {'model': out}, progress=False)]
        for k,(m,options) in resolve_all(None, applicable(), default_metrics()).items():
            runs.append(measure(k, m, *(getattr(out, a) for a in m.args), **options))
    report(f'{n:,} samples, {d:,} features', runs)

correct = {f'model {i}': rng.random(1000)<.7+.02*i for i in range(7)}
report('seven models, 1,000 samples', [measure('intervals, p_best, groups', compare_models, correct)], cpu=2)
