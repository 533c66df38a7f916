"COT of 4,000 and 50,000 samples with 10 classes, against the N x N problem: `python benchmarks/cot.py [n k]`"
import sys

from _measure import machine, measure, report
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import softmax

from transfer_metrics.invariance.cot import cot


def predictions(n, k, sharpness, seed=0):
    "Probabilities `[n, k]` that prefer some classes"
    rng = np.random.default_rng(seed)
    return softmax(sharpness*(rng.standard_normal((n, k))+rng.standard_normal(k)), 1)

def assignment(p):
    "The published N x N problem: each sample gets one of N labels"
    n,k = p.shape
    cost = cdist(p, np.eye(k)[np.arange(n)%k], 'cityblock')/2
    return float(cost[linear_sum_assignment(cost)].mean())

def main(n=None, k=10):
    print(machine())
    kinds = dict(unsure=1, sure=4, certain=15)
    if n is not None: kinds = dict(sure=4)
    for name,s in kinds.items():
        p = predictions(n or 4000, k, s)
        runs = [measure('cot', cot, p)]
        if len(p)<=4000 and name=='sure': runs.append(measure('N x N', assignment, p, repeat=1))
        report(f'COT {len(p):,} x {k}, {name}', runs, *((.2, 16) if n is None else ()))
    for name,s in kinds.items() if n is None else ():
        report(f'COT 50,000 x {k}, {name}', [measure('cot', cot, predictions(50_000, k, s))], 10, 64)

if __name__=='__main__': main(*map(int, sys.argv[1:]))
