"One thread for each pytest-xdist worker and its notebooks; set here because NumPy and torch read it when they are imported"
import os
import sys
from pathlib import Path

os.environ.setdefault('OMP_NUM_THREADS', '1')
os.environ['PATH'] = f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}' # the commands that pages run

def pytest_runtest_setup(item):
    "The same draws of torch's own generator whichever worker runs a test, and after which other ones"
    import torch
    torch.manual_seed(0)
