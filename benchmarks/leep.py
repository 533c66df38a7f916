"LEEP of 50,000 samples, 1,000 source and 100 target classes, float32: `python benchmarks/leep.py [n c_s c_t]`"
import sys

from _measure import machine, measure, report, softmax_probs
import numpy as np

from transfer_metrics.transferability.leep import leep


def straightforward(p, y):
    "The definition as the walkthrough of the seed writes it, with the whole n x c_t predictor"
    normalised = p/float(len(p))
    joint = np.zeros((y.max()+1, p.shape[1]))
    for k in range(len(joint)): joint[k] = normalised[y==k].sum(0)
    predictor = p@(joint/joint.sum(0, keepdims=True)).T
    return float(np.mean(np.log(np.array([row[k] for row,k in zip(predictor, y, strict=True)]))))

def two_reads(p):
    "The floor: reading the matrix twice"
    return float(p.sum()+p.sum())

def main(n=50_000, c_s=1_000, c_t=100):
    p,y = softmax_probs(n, c_s, c_t)
    print(machine())
    full = (n, c_s, c_t)==(50_000, 1_000, 100)
    report(f'LEEP {n:,} x {c_s:,}, {c_t} classes', [measure('leep', leep, p, y, repeat=7), measure('straightforward', straightforward, p, y),
        measure('two reads', two_reads, p)], *((.15, 32) if full else ()))

if __name__=='__main__': main(*map(int, sys.argv[1:]))
