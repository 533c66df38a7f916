"""What `outputs` adds to a bare loop over a network: a ResNet-18 on synthetic images, one thread, processor seconds

`python benchmarks/forward.py [rounds batches size batch]`. Other work on the machine changes the time of a pass by
more than what is looked for, so the two take turns batch by batch: while `outputs` reads its loader, the loader runs
the bare loop on the same batch, before or after. Each round is a job of its own, with what `outputs` does before the
first batch, in it (which layer makes the logits) and after the last. The ratio of a round is that of the sums over its
batches; what counts is the median over rounds, and its interval by bootstrap."""
import copy
import statistics
import sys
import time

import numpy as np
import torch
from _measure import machine
from torchvision.models import resnet18

from transfer_metrics.models import outputs


class Turns:
    "A loader that runs the bare loop on each batch, before or after it is given away"
    def __init__(self, model, batches):
        self.model = model
        self.batches = batches
        self.bare = [] # seconds

    def look(self, x):
        "Logits as anybody would compute them"
        start = time.process_time()
        with torch.inference_mode(): self.logits.append(self.model(x))
        self.bare.append(time.process_time()-start)

    def __iter__(self):
        self.logits = []
        for i,(x,y) in enumerate(self.batches):
            if i%2: self.look(x)
            yield x,y
            if not i%2: self.look(x)
        torch.cat(self.logits)

def one_round(model, batches):
    "Seconds of `outputs` and of the bare loop"
    turns = Turns(copy.deepcopy(model).eval(), batches)
    start = time.process_time()
    outputs(model, turns, progress=False)
    bare = sum(turns.bare)
    return time.process_time()-start-bare, bare

def interval(ratios, n=10_000):
    "Median and its 95 % interval"
    r = np.random.default_rng(0)
    medians = np.median(r.choice(ratios, (n,len(ratios))), axis=1)
    return statistics.median(ratios),*np.quantile(medians, [.025,.975])

def main(rounds=12, n_batches=16, size=64, batch=32):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = resnet18()
    batches = [(torch.randn(batch, 3, size, size), torch.arange(batch)%10) for _ in range(n_batches)]
    one_round(model, batches[:2])
    pairs = [one_round(model, batches) for _ in range(rounds)]
    ratio,low,high = interval([ours/bare for ours,bare in pairs])
    print(machine())
    print(f'{rounds} rounds of {n_batches*batch:,} images of {size} x {size} in batches of {batch}')
    ours,bare = (statistics.median(o) for o in zip(*pairs, strict=True))
    print(f'bare loop {bare:.3f} CPU s, outputs {ours:.3f} CPU s, ratio {ratio:.3f}, 95 % interval {low:.3f} to {high:.3f}')
    print(f'budget 1.05: {"kept" if high<=1.05 else "EXCEEDED" if low>1.05 else "not decided"}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
