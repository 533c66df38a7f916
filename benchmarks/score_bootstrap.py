"""A thousand resamples of the H-score of one model, by weights in the sums of groups: `python benchmarks/score_bootstrap.py [n d n_boot]`.
10000 768 1000 takes half a minute. Beside it a few resamples from their rows, as many as would be drawn, and what no way can avoid:
for each resample a Cholesky factor, and its share of one product of weights with the groups' Gram matrices."""
import sys
import warnings

from _measure import gaussian_features, machine, measure, report
import numpy as np
import torch

from transfer_metrics.model_selection.score_bootstrap import bootstrap_score
from transfer_metrics.transferability.h_score import h_score


def from_rows(x, y, n_boot):
    "The ordinary bootstrap: rows drawn with replacement, the score from the start"
    rng = np.random.default_rng(0)
    draws = (rng.integers(len(x), size=len(x)) for _ in range(n_boot))
    return float(np.std([h_score(x[rows], y[rows], shrinkage='ledoit_wolf') for rows in draws]))

def floor(d, n_boot, groups=30):
    "The arithmetic alone"
    G = torch.eye(d, dtype=torch.float64)+.001
    stack = torch.rand(groups, d*d, dtype=torch.float64)
    for _ in range(n_boot//25): torch.rand(25, groups, dtype=torch.float64)@stack
    for _ in range(n_boot): torch.linalg.cholesky_ex(G)

def main(n=10_000, d=768, n_boot=1_000):
    print(machine())
    warnings.simplefilter('ignore')
    x,y = gaussian_features(n, d, 10)
    few = 5
    budget = (20, 1000) if (n, d, n_boot)==(10_000, 768, 1_000) else ()
    ours = measure('bootstrap_score', bootstrap_score, 'h_score', x, y, shrinkage='ledoit_wolf', n_boot=n_boot, repeat=1)
    rows = measure(f'{few} from rows', from_rows, x, y, few, repeat=1)
    least = measure('floor', floor, d, n_boot, repeat=1)
    report(f'{n_boot:,} resamples of the shrunk H-score, {n:,} x {d}', [ours,rows,least], *budget)
    ratio = rows.cpu/few*n_boot/ours.cpu
    print(f'  a resample from rows costs {ratio:.1f} times as much')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
