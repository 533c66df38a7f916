"""Three networks on one folder of photographs, with and without images that they share: the same numbers, in which share of the time

`python benchmarks/shared_images.py [n repeat]`, one thread, processor seconds; both ways in turn, the median of their ratios counts."""
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from _measure import machine
from PIL import Image
from torchvision.transforms import v2

from transfer_metrics.adapters import open_model
from transfer_metrics.datasets.images import load_images
from transfer_metrics.model_selection.ranking import score_models

names = 'mobilenet_v3_small','shufflenet_v2_x0_5','mnasnet0_5'

def photographs(folder, n):
    "Pictures as a camera makes them, small, in two classes"
    r = np.random.default_rng(0)
    for i in range(n):
        place = Path(folder, 'ab'[i%2])
        place.mkdir(exist_ok=True)
        coarse = Image.fromarray(r.integers(0, 256, (30,40,3), dtype=np.uint8))
        coarse.resize((1024,768), Image.BICUBIC).save(place/f'{i}.jpg')

def main(n=600, repeat=3):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    models = {k: open_model(f'torchvision:{k}', pretrained=False) for k in names}
    with tempfile.TemporaryDirectory() as folder:
        photographs(folder, n)
        data = load_images(folder, transform=v2.Resize(256))
        def values(memory):
            start = time.process_time()
            scores = score_models(models, data, ['logme'], memory=memory, progress=False)
            return time.process_time()-start,scores.value.tolist()
        pairs = [(values(0),values(4)) for _ in range(repeat)]
    assert all(apart==together for (_,apart),(_,together) in pairs)
    ratio = statistics.median(together/apart for (apart,_),(together,_) in pairs)
    print(machine())
    print(f'{n} photographs of 1024 x 768, {", ".join(names)}')
    print(f'each for itself {min(a for (a,_),_ in pairs):.2f} CPU s, shared {min(t for _,(t,_) in pairs):.2f} CPU s, ratio {ratio:.2f}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
