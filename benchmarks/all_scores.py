"""All default scores of one model beside the dearest of them, 10 classes.
`python benchmarks/all_scores.py [n d c]`; 10000 768 10 takes a minute. What they share, one Gram matrix, is timed alone with its eigenvectors, and so is what the parts of the linear probe cannot share:
each standardises features in its own way, and so has eigenvectors of its own."""
import sys
import warnings

from _measure import gaussian_features, machine, measure, report, ridge_floor, softmax_probs
import torch

from transfer_metrics.linalg import principal
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.models import Outputs


def together(out, metrics=None):
    "Seconds of each score by its name, computed in one call"
    frame = score_models({'model': out}, metrics=metrics, progress=False)
    return frame.set_index('metric').seconds

def main(n=2_000, d=256, c=10):
    print(machine())
    warnings.simplefilter('ignore')
    x,y = gaussian_features(n, d, c)
    p,_ = softmax_probs(n, 1_000, c)
    out = Outputs(features=torch.tensor(x), logits=torch.tensor(p).log(), labels=torch.tensor(y))
    together(out) # imports
    every = measure('all default scores', together, out, repeat=2)
    names = every.value.sort_values(ascending=False).index
    alone = [measure(k, together, out, [k], repeat=2) for k in names]
    dearest = max(alone, key=lambda run: run.cpu)
    shared = measure('Gram and its eigenvectors', principal, torch.tensor(x), repeat=2)
    parts = measure('Gram, five eigendecompositions', ridge_floor, x, c, repeat=2)
    report(f'{n:,} x {d}, {c} classes', [every,*alone,shared,parts])
    total = sum(run.cpu for run in alone)
    print(f'  all over the dearest, {dearest.name}: {every.cpu/dearest.cpu:.2f}; over the sum of all alone: {every.cpu/total:.2f}')
    others = {'knn','linear_probe','h_score','logme'}
    least = shared.cpu+parts.cpu+sum(run.cpu for run in alone if run.name=='knn' or run.name not in others)
    print(f'  floor (neighbours, eigenvectors, one Gram matrix a kind) over the dearest: {least/dearest.cpu:.2f}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
