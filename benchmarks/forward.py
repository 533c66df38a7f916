"""What `outputs` adds to a bare loop over a ResNet-18, one thread: `python benchmarks/forward.py [rounds batches size batch]`

Both run in turn on each batch, so that other work on the machine slows both. Processor seconds; the ratio of a round includes
what `outputs` does before the first batch and after the last. Prints the median of the rounds and its bootstrap interval."""
import copy
import sys
import time
import numpy as np
import torch
from _measure import machine
from scipy.stats import bootstrap
from torchvision.models import resnet18
import transfer_metrics as tm

def one_round(model, batches):
    "Seconds of `outputs` and of the bare loop"
    model,bare,logits = copy.deepcopy(model).eval(),[],[]
    def run_bare(x):
        start = time.process_time()
        with torch.inference_mode(): logits.append(model(x))
        bare.append(time.process_time()-start)
    def loader():
        for i,(x,y) in enumerate(batches):
            if i%2: run_bare(x)
            yield x,y
            if not i%2: run_bare(x)
    start = time.process_time()
    tm.outputs(model, loader(), progress=False)
    return time.process_time()-start-sum(bare),sum(bare)

def main(rounds=12, n_batches=16, size=64, batch=32):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = resnet18()
    batches = [(torch.randn(batch, 3, size, size), torch.arange(batch)%10) for _ in range(n_batches)]
    one_round(model, batches[:2])
    ours,bare = np.array([one_round(model, batches) for _ in range(rounds)]).T
    low,high = bootstrap([ours/bare], np.median, random_state=np.random.default_rng(0)).confidence_interval
    print(machine())
    print(f'{rounds} rounds of {n_batches*batch:,} images of {size} x {size} in batches of {batch}')
    print(f'bare loop {np.median(bare):.3f} CPU s, outputs {np.median(ours):.3f} CPU s, ratio {np.median(ours/bare):.3f}, '
          f'95 % interval {low:.3f} to {high:.3f}')
    print(f'budget 1.05: {"kept" if high<=1.05 else "EXCEEDED" if low>1.05 else "not decided"}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
