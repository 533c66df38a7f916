"""The seed's six numbers from one pass: `python benchmarks/invariance.py [n images] [depth]`.
Rotation and jigsaw invariance, nuclear norm, rotation and jigsaw prediction, and accuracy with confidence, of a network as large as ResNet-20,
by `label_free_report`, by each metric's own function, and the bare forward passes that the report needs. Jigsaws are the seed's three."""
import sys

from _measure import keep_freed, machine, measure, report
import numpy as np
import torch
from torch import nn
from torch.nn.functional import pad, relu

from transfer_metrics.invariance.confidence import average_confidence
from transfer_metrics.invariance.effective_invariance import jigsaw_invariance, rotation_invariance
from transfer_metrics.invariance.nuclear_norm import nuclear_norm
from transfer_metrics.invariance.prediction import TransformHead, jigsaw_prediction, rotation_prediction
from transfer_metrics.invariance.report import label_free_report
from transfer_metrics.invariance.views import jigsaw, permutations, rotate
from transfer_metrics.models import outputs


class Block(nn.Module):
    "Two convolutions and a shortcut"
    def __init__(self, a, b, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
        self.grow = (b-a)//2
    def forward(self, x): return relu(self.body(x)+(pad(x[:,:,::2,::2], (0,0,0,0,self.grow,self.grow)) if self.grow else x))

def resnet(depth):
    "He et al. 2015 for images 3 x 32 x 32, with random weights"
    def stage(a, b, stride): return [Block(a, b, stride), *[Block(b, b, 1) for _ in range((depth-2)//6-1)]]
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *stage(16,16,1), *stage(16,32,2), *stage(32,64,2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).eval().to(memory_format=torch.channels_last)

def main(n=2_000, depth=20):
    g = np.random.default_rng(0)
    net,x,y = resnet(depth),torch.from_numpy(g.random((n, 3, 32, 32), np.float32)),torch.from_numpy(g.integers(0, 10, n))
    batches,ps = [(x[i:i+200], y[i:i+200]) for i in range(0, n, 200)],permutations(which='three_swaps')
    heads = [TransformHead(g.standard_normal((64, 4)), np.zeros(4), o, permutations=ps if o=='jigsaw' else ()) for o in ('rotation','jigsaw')]
    names = ['accuracy','average_confidence','nuclear_norm','rotation_invariance','jigsaw_invariance','rotation_prediction','jigsaw_prediction']
    quiet = dict(progress=False)
    def one(): return label_free_report(net, batches, names, heads=heads, permutations='three_swaps', **quiet).set_index('metric').value
    def said(): return outputs(net, batches, **quiet)
    def each():
        o = said()
        return {'accuracy': float((o.probs.argmax(1)==o.labels).mean()), 'average_confidence': average_confidence(o.probs), 'nuclear_norm': nuclear_norm(said().probs),
                'rotation_invariance': rotation_invariance(net, batches, **quiet), 'jigsaw_invariance': jigsaw_invariance(net, batches, permutations='three_swaps', **quiet),
                'rotation_prediction': rotation_prediction(net, batches, heads[0], **quiet), 'jigsaw_prediction': jigsaw_prediction(net, batches, heads[1], **quiet)}
    views = [lambda x: x, *[lambda x,k=k: rotate(x, k) for k in (1,2,3)], *[lambda x,p=p: jigsaw(x, p) for p in ps]]
    seen = [[v(b).contiguous(memory_format=torch.channels_last) for v in views] for b,_ in batches]
    @torch.no_grad()
    def bare():
        for b in seen:
            for v in b: net(v)
    print(machine())
    keep_freed()
    one()
    runs = [measure('one pass', one, repeat=2), measure('each metric by itself', each, repeat=2), measure('bare forward passes', bare, repeat=2)]
    report(f'Six metrics of a ResNet-{depth} on {n:,} images, 7 views', runs)
    (a,b,c),apart = (r.cpu for r in runs),max(abs(v-runs[0].value[k]) for k,v in runs[1].value.items())
    print(f'  budget: 2.5x faster than each by itself: {b/a:.2f}x\n  budget: at most 1.25x the bare passes: {a/c:.2f}x\n  largest difference of a value: {apart:.1e}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
