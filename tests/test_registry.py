"What the registry costs, and that it imports no more than it has to"
import json
import subprocess
import sys

script = """
import json, sys, time
start = time.process_time()
import torch
torch_seconds = time.process_time()-start
from transfer_metrics.registry import registry
start = time.process_time()
n = len(registry())
heavy = [m for m in ('torchvision','matplotlib','sklearn','scipy','ot','torchmetrics') if m in sys.modules]
ours = [m for m in sys.modules if m.startswith('transfer_metrics.')]
print(json.dumps(dict(n=n, seconds=time.process_time()-start, torch=torch_seconds, heavy=heavy, ours=ours)))
"""

def test_cheap():
    "Half a second of processor time beside `import torch` (on a slow machine, a third of what that takes), and nothing that draws or loads images"
    def measured(): return subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, check=True).stdout
    def quick(o): return o['seconds']<max(.5, o['torch']/3)
    for _ in range(3):   # one of three that other work on the machine did not disturb
        found = json.loads(measured())
        if quick(found): break
    assert found['n']>30 and not found['heavy']
    assert quick(found)
    assert not [m for m in found['ours'] if m.split('.')[1] in ('cli','experiments','model_selection','datasets')]
