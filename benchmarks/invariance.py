"""Label-free metrics, corruptions and interior sets beside plain code and public functions, one thread

    python benchmarks/invariance.py"""
from _measure import machine, measure, probabilities, report

import numpy as np
import torch
from torchvision.transforms.v2 import functional as F
from transfer_metrics.invariance.corruptions import corruption_names, corruptions
from transfer_metrics.invariance.cot import cot
from transfer_metrics.invariance.image_sets import interior_domain
from transfer_metrics.invariance.nuclear_norm import nuclear_norm

def svd_norm(p):
    "As the authors' code: all singular values"
    return float(torch.linalg.svdvals(torch.from_numpy(p).double()).sum()/np.sqrt(min(p.shape)*len(p)))

def sinkhorn_cot(p):
    "Entropic transport, an approximation"
    from ot import sinkhorn2
    n,k = p.shape
    return float(sinkhorn2(np.full(n, 1/n), np.full(k, 1/k), 1-p.astype(float), .01, numItermax=200, warn=False))

def interior_loop(x, n_sets):
    "The transforms of torchvision, image by image; the strengths are drawn from the same ranges"
    rng = np.random.default_rng(0)
    steps = [lambda o: F.autocontrast(o), lambda o: F.adjust_brightness(o, rng.uniform(.1, 1.9)),
             lambda o: F.adjust_saturation(o, rng.uniform(0, 3)), lambda o: F.solarize(o, rng.uniform(.1, .5)),
             lambda o: F.adjust_contrast(o, rng.uniform(.5, 2)), lambda o: F.adjust_sharpness(o, rng.uniform(1, 10)),
             lambda o: F.affine(o, rng.uniform(-30, 30), [rng.uniform(-6, 6), rng.uniform(-6, 6)], rng.uniform(.8, 1.2),
                                [0.,0.], interpolation=F.InterpolationMode.BILINEAR)]
    for _ in range(n_sets):
        for i in range(len(x)):
            o = x[i]
            for k in rng.permutation(len(steps))[:3]: o = steps[k](o)

def one_by_one(x, name):
    "The same corruption, image by image"
    return torch.cat([corruptions(o[None], name, 3, seed=i) for i,o in enumerate(x)])

def main():
    torch.set_num_threads(1)
    print(machine())
    p,_ = probabilities(50_000, 1000, 1000)
    report('nuclear norm, 50,000 x 1,000', [measure('nuclear_norm', nuclear_norm, p, repeat=1),
                                            measure('svdvals', svd_norm, p, repeat=1)])
    p = p[:10_000]
    report('COT, 10,000 x 1,000', [measure('cot, exact', cot, p, repeat=1),
                                   measure('Sinkhorn, 200 iterations', sinkhorn_cot, p, repeat=1)], cpu=10)
    x = torch.randint(0, 256, (500,3,32,32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    domain = interior_domain(x, 10)
    report('10 interior sets of 500 images, 32 x 32', [measure('interior_domain', lambda: [o.images for o in domain] and None),
                                                       measure('torchvision, image by image', interior_loop, x, 10, repeat=1)])
    for side,n in ((32,500),(96,100)):
        x = torch.randint(0, 256, (n,3,side,side), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
        for name in corruption_names:
            batch,single = measure('', corruptions, x, name, 3, repeat=2),measure('', one_by_one, x, name, repeat=1)
            print(f'{name:18} {side} x {side}: {1000*batch.cpu/n:6.2f} ms per image; image by image {single.cpu/batch.cpu:5.1f}x')

if __name__=='__main__': main()
