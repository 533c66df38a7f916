"""Making image sets, batched against one image after the other: `python benchmarks/domains.py [n images] [sets]`.
The loops use the same strengths: torchvision's functions for the interior domain, our own on one image for the corruptions."""
import sys

from _measure import machine, measure, report
import numpy as np
from PIL import Image, ImageOps
import torch
from torchvision.transforms.v2 import functional as F

from transfer_metrics.invariance.corruptions import corruption_names, corruptions
from transfer_metrics.invariance.domains import interior_domain


def one(name, x, u):
    "One transform of one image `[c, h, w]`, as torchvision and PIL have it, from the same random numbers as ours"
    if name=='autocontrast': return F.pil_to_tensor(ImageOps.autocontrast(F.to_pil_image(x), int(u[0]*21)))/255
    if name=='brightness': return F.adjust_brightness(x, .1+1.8*u[1])
    if name=='colour': return F.adjust_saturation(x, 3*u[0])
    if name=='solarize': return F.solarize(x, (32+96*u[1])/255) if u[0]<.5 else x
    if name=='contrast': return F.adjust_contrast(x, .5+1.5*u[1])
    if name=='sharpness': return F.adjust_sharpness(x, 1+13*(.1+.9*u[0]))
    h,w = x.shape[1:]
    return F.affine(x, -30+60*u[5], [w*(-.2+.4*u[3]), h*(-.2+.4*u[4])], .8+.4*u[1], [0.,0.], interpolation=F.InterpolationMode.BILINEAR) if u[0]<.5 else x

def loop(images, chosen, seed, i):
    "A set of the interior domain, image by image"
    tables = [np.random.default_rng([seed,i,k]).random((len(images), 6), np.float32) for k in range(3)]
    res = torch.empty_like(images)
    for j,x in enumerate(images):
        x = F.to_dtype(x, torch.float32, scale=True)
        for nm,u in zip(chosen, tables, strict=True): x = one(nm, x, u[j].tolist())
        res[j] = F.to_dtype(x, torch.uint8, scale=True)
    return res

def main(n=2_000, sets=20):
    g = np.random.default_rng(0)
    small = torch.from_numpy(g.integers(0, 256, (n, 3, 8, 8), dtype=np.uint8)).float()/255
    images = (F.resize(small, [32,32])*255).to(torch.uint8)
    print(machine())
    dom = interior_domain(images, sets)
    names = [nm.split('-')[2:] for nm in dom.names]
    def every():
        for _ in dom: pass
    def looped():
        for i,c in enumerate(names): loop(images, c, 0, i)
    runs = [measure('interior_domain', every), measure('image by image', looped, repeat=1)]
    mib = images.numel()/2**20
    report(f'{sets} interior sets of {n:,} images 3 x 32 x 32 ({mib:.0f} MiB a set)', runs, extra=3*mib+32)
    print(f'  budget 5x below the loop: {runs[1].cpu/runs[0].cpu:.1f}x')
    total = np.zeros(2)
    print(f'\nCorruptions of {n:,} images, severity 3\n{"":18} batched us/image   one by one us/image   ratio')
    for nm in corruption_names:
        m = min(n, 200)
        a = measure(nm, corruptions, images, nm, 3).cpu/n
        b = measure(nm, lambda nm=nm, m=m: [corruptions(images[j:j+1], nm, 3) for j in range(m)], repeat=1).cpu/m
        total += a,b
        print(f'{nm:18} {a*1e6:16.0f}   {b*1e6:19.0f}   {b/a:5.1f}x')
    print(f'{"all":18} {total[0]*1e6:16.0f}   {total[1]*1e6:19.0f}   {total[1]/total[0]:5.1f}x')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
