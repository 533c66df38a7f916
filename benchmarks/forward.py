"""What `outputs` adds to a bare loop over a network: a small ResNet on synthetic images, one thread

`python benchmarks/forward.py [n batch size]`. The two are timed in turn, in processor seconds; the median of
their ratios counts, which other work on the machine moves less than the least of each."""
import statistics
import sys
import time

import torch
from _measure import machine
from torch.utils.data import DataLoader, TensorDataset

from transfer_metrics.datasets.networks import CifarResNet
from transfer_metrics.models import outputs


def bare(model, loader):
    "Logits as anybody would compute them"
    model.eval()
    with torch.inference_mode(): return torch.cat([model(x) for x,_ in loader])

def seconds(f, *args):
    start = time.process_time()
    f(*args)
    return time.process_time()-start

def main(n=1024, batch=128, size=32, repeat=15):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(n, 3, size, size), torch.arange(n)%10), batch_size=batch)
    model = CifarResNet()
    ours,loop = [],[]
    def full(): return outputs(model, loader, progress=False)
    for f in full,lambda: bare(model, loader): f()
    for _ in range(repeat):
        loop.append(seconds(bare, model, loader))
        ours.append(seconds(full))
    ratio = statistics.median(o/l for o,l in zip(ours, loop, strict=True))
    print(machine())
    print(f'{n:,} images of {size} x {size} in batches of {batch}')
    print(f'bare loop {min(loop):.3f} CPU s, outputs {min(ours):.3f} CPU s, ratio {ratio:.3f}')
    print(f'budget 1.05: {"kept" if ratio<=1.05 else "EXCEEDED"}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
