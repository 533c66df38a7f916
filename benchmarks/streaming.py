"""Outputs larger than the memory that scoring them takes: 2,000,000 samples with 256 features and 100 probabilities in float32 (2.8 GB)
are generated in a temporary folder and scored from there with every metric that has sums: `python benchmarks/streaming.py [n d k c]`.
Each score has a process of its own, whose resident memory is measured from its start; `import torch` alone may take 500 MiB of it."""
import json
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from _measure import _status, gaussian_features, machine, softmax_probs
from transfer_metrics.models import Outputs

budget = 600 # MiB
modules = dict(average_confidence='invariance.confidence', entropy='invariance.confidence', nuclear_norm='invariance.nuclear_norm') # the others have a module of their own
metrics = 'leep','nce','h_score','logme','lfc','gbc','transrate','average_confidence','entropy','nuclear_norm'

def generate(folder, n, d, k, c, rows=2**15):
    "Write outputs in the form of `Outputs.save`, block by block"
    folder.mkdir()
    shapes = dict(features=(n, d), probs=(n, k), labels=(n,))
    files = {name: np.lib.format.open_memmap(folder/f'{name}.npy', 'w+', np.int64 if name=='labels' else np.float32, shape) for name,shape in shapes.items()}
    for i,s in enumerate(range(0, n, rows)):
        part = slice(s, min(s+rows, n))
        x,y = gaussian_features(part.stop-s, d, c, seed=i)
        files['features'][part],files['labels'][part] = x+np.float32(3),y
        files['probs'][part] = softmax_probs(part.stop-s, k, c, seed=i)[0]
    np.save(folder/'name.npy', np.array('streamed'))
    return sum(f.nbytes for f in files.values())

def one(folder, metric):
    "In a process of its own: a metric in blocks"
    from transfer_metrics.streaming import streamed
    f = getattr(import_module(f'transfer_metrics.{modules.get(metric, f"transferability.{metric}")}'), metric)
    out,libraries,t = Outputs.load(folder),_status('VmHWM'),time.perf_counter()
    value = streamed(f, out, progress=False)
    print(json.dumps(dict(value=value, seconds=time.perf_counter()-t, libraries=libraries, peak=_status('VmHWM'))))

def at_once(folder, metric):
    "In a process of its own: a metric on the arrays as they are mapped"
    f = getattr(import_module(f'transfer_metrics.transferability.{metric}'), metric)
    out,libraries,t = Outputs.load(folder),_status('VmHWM'),time.perf_counter()
    value = f(*(getattr(out, a) for a in f.metric.args))
    print(json.dumps(dict(value=value, seconds=time.perf_counter()-t, libraries=libraries, peak=_status('VmHWM'))))

def table(folder):
    "In a process of its own: all metrics with `score_models`"
    from transfer_metrics.model_selection.ranking import applicable, score_models
    names = [k for k,m in applicable().items() if m.state]
    libraries,t = _status('VmHWM'),time.perf_counter()
    scores = score_models({'streamed': folder}, metrics=names, progress=False)
    print(json.dumps(dict(value=dict(zip(scores['metric'], scores['value'], strict=True)), seconds=time.perf_counter()-t, libraries=libraries, peak=_status('VmHWM'))))

def call(*args): return json.loads(subprocess.run([sys.executable, __file__, *map(str, args)], check=True, capture_output=True, text=True).stdout.splitlines()[-1])

def main(n=2_000_000, d=256, k=100, c=10):
    print(machine())
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)/'outputs'
        size = generate(folder, n, d, k, c)/2**20
        print(f'\n{n:,} samples, {d} features and {k} probabilities in float32, {c} classes: {size:,.0f} MiB on disk\n'
              f'{"each in a process":20}  seconds  resident MiB, of it libraries  values')
        def line(name, r): print(f'{name:20}{r["seconds"]:9.1f}{r["peak"]:14.0f}{r["libraries"]:18.0f}  {r["value"] if isinstance(r["value"], str) else format(r["value"], ".6g")}')
        got = {m: call('one', folder, m) for m in metrics}
        for m,r in got.items(): line(m, r)
        most,above = max(r['peak'] for r in got.values()),max(r['peak']-r['libraries'] for r in got.values())
        print(f'  budget {budget} MiB: {most:.0f} resident with all libraries, {above:.0f} above them, {"kept" if most<=budget else "kept above the libraries" if above<=budget else "EXCEEDED"}')
        whole = call('table', folder)
        differ = max(abs(v/got[m]['value']-1) for m,v in whole['value'].items())
        line('score_models, all', whole | dict(value=f'{len(whole["value"])}, differ by {differ:.0e}'))
        for m in 'h_score','leep':
            r,ours = call('at_once', folder, m),got[m]
            line(f'{m} at once', r)
            print(f'  {r["seconds"]/ours["seconds"]:.2f}x the seconds and {(r["peak"]-r["libraries"])/(ours["peak"]-ours["libraries"]):.1f}x the memory of blocks; values differ by {abs(r["value"]/ours["value"]-1):.0e}')

if __name__=='__main__':
    if sys.argv[1:2] and sys.argv[1] in ('one','at_once','table'): globals()[sys.argv[1]](*sys.argv[2:])
    else: main(*map(int, sys.argv[1:]))
