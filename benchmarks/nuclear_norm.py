"Nuclear norm of 50,000 predictions of 1,000 classes, float32, at once and from a stream: `python benchmarks/nuclear_norm.py [n k]`"
import sys

from _measure import machine, measure, report, softmax_probs
import torch

from transfer_metrics.invariance.nuclear_norm import NuclearNorm, nuclear_norm


def singular_values(p): return float(torch.linalg.svdvals(p).double().sum())/(min(p.shape)*len(p))**.5

def streamed(p, batch=256):
    state = NuclearNorm()
    for b in p.split(batch): state.update(b)
    return state.value()

def main(n=50_000, k=1_000):
    p = torch.from_numpy(softmax_probs(n, k, k)[0])
    print(machine())
    ours,svd = measure('nuclear_norm', nuclear_norm, p),measure('torch svdvals, float32', singular_values, p)
    report(f'nuclear norm {n:,} x {k:,}', [ours,svd,measure('torch svdvals, float64', lambda: singular_values(p.double()), repeat=1), measure('batches of 256', streamed, p, repeat=1)],
           *((1.5*svd.cpu, 64) if (n, k)==(50_000, 1_000) else ()))

if __name__=='__main__': main(*map(int, sys.argv[1:]))
