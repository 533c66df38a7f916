"One thread for each pytest-xdist worker and its notebooks; set here because NumPy and torch read it when they are imported"
import os

os.environ.setdefault('OMP_NUM_THREADS', '1')
