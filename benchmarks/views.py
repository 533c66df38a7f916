"All 3 rotations and 23 jigsaws of 2,000 images of 3 x 32 x 32, the whole batch at once and image by image: `python benchmarks/views.py [n size]`"
import sys

from _measure import machine, measure, report
import torch

from transfer_metrics.invariance.views import jigsaw, permutations, rotate

rotations,orders = (1,2,3),permutations()

def batched(x):
    for k in rotations: rotate(x, k)
    for p in orders: jigsaw(x, p)

def one_by_one(x):
    "What a transform of a data set does: cut and join each image"
    h,w = (s//2 for s in x.shape[2:])
    for k in rotations: torch.stack([torch.rot90(im, k, (1,2)) for im in x])
    for p in orders:
        out = []
        for im in x:
            t = [im[:,r*h:(r+1)*h,c*w:(c+1)*w] for r in (0,1) for c in (0,1)]
            out.append(torch.cat([torch.cat([t[p[0]],t[p[1]]], 2), torch.cat([t[p[2]],t[p[3]]], 2)], 1))
        torch.stack(out)

def main(n=2_000, size=32):
    x = torch.rand(n, 3, size, size)
    print(machine())
    batched(x[:10])
    slow = measure('image by image', one_by_one, x, repeat=1)
    report(f'26 views of {n:,} images of 3 x {size} x {size}', [measure('batched', batched, x), slow], *((slow.cpu/5,) if (n, size)==(2_000, 32) else ()))

if __name__=='__main__': main(*map(int, sys.argv[1:]))
