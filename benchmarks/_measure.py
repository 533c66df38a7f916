"""What a call costs: processor time, wall time, extra memory; and synthetic inputs.
Other work on the machine stretches wall time far more than processor time, so budgets and ratios are in processor seconds."""
import ctypes
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax


class Run(NamedTuple):
    "Best of a few calls"
    name: str
    cpu: float # processor seconds of all threads, least
    wall: float # seconds, least
    extra: float # MiB of memory at the peak above what was held before the call, most; NaN where the system cannot tell
    value: object # what the call returned

def _status(key):
    "MiB that Linux holds for this process: `VmRSS` now, `VmHWM` at the peak"
    return next(int(s.split()[1])/1024 for s in Path('/proc/self/status').read_text().splitlines() if s.startswith(key))

def _reset_peak():
    "Give freed memory back and begin a new peak; whether this system can"
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path('/proc/self/clear_refs').write_text('5')
        return True
    except (OSError, AttributeError): return False

def measure(name, f, *args, repeat=3, **kwargs):
    "Call `f(*args, **kwargs)` `repeat` times"
    cpu,wall,extra = [],[],[]
    for _ in range(repeat):
        known = _reset_peak()
        before = _status('VmRSS') if known else np.nan
        c,w = time.process_time(),time.perf_counter()
        value = f(*args, **kwargs)
        cpu.append(time.process_time()-c)
        wall.append(time.perf_counter()-w)
        extra.append(_status('VmHWM')-before if known else np.nan)
    return Run(name, min(cpu), min(wall), max(extra), value)

def report(title, runs, cpu=None, extra=None):
    "Print `runs`, the first of them ours with its budgets; ratios are processor time relative to it"
    ours,width = runs[0],max(len(r.name) for r in runs)
    print(f'\n{title}\n{"":{width}}   CPU s  wall s  extra MiB   CPU ratio  value')
    for r in runs:
        print(f'{r.name:{width}}  {r.cpu:6.2f}  {r.wall:6.2f}  {r.extra:9.0f}  {r.cpu/ours.cpu:9.2f}x  '
              + (f'{r.value:.6g}' if isinstance(r.value, float) else ''))
    for what,got,most in ('CPU s',ours.cpu,cpu),('extra MiB',ours.extra,extra):
        if most is not None:
            print(f'  budget {most:g} {what}: {got:.3g}, {"kept" if got<=most else "EXCEEDED" if got>most else "not measured"}')

def machine():
    "One line about the machine"
    import torch
    cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
    return f'{cores} cores, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}'

def features(n, d, c, seed=0, noise=0.):
    "Features in float32 with a decaying spectrum and separate class means, and labels; `noise` spreads the classes"
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n)%c)
    scale = np.arange(1, d+1)**-.8
    means = .8*rng.normal(size=(c, d))
    return ((rng.normal(size=(n, d))*(1+noise)+means[y])*scale).astype(np.float32),y

def probabilities(n, c_s, c, seed=0):
    "Probabilities in float32 that depend on the labels, and labels"
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n)%c)
    logits = 2*rng.standard_normal((n, c_s), dtype=np.float32)
    logits[np.arange(n),y%c_s] += 4
    return softmax(logits, 1),y
