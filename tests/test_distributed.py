"`as_metric` over real processes that talk by gloo: uneven shares, classes that only one has met, a process without samples"
import json
import warnings
from datetime import timedelta
from pathlib import Path
import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from transfer_metrics import distributed
from transfer_metrics.registry import registry

pytest.importorskip('torchmetrics')
pytestmark = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason='no gloo')

n,c,d = 90,4,5
r = np.random.default_rng(0)
y = np.sort(np.arange(n)%c)                                      # process 1 has classes that process 0 never meets
p,q = (.7*np.eye(c+1)[np.where(r.random(n)<.7, y, r.integers(0, c+1, n))]+.3*r.dirichlet(np.ones(c+1), n) for _ in range(2))
data = dict(features=r.normal(size=(n, d))+y[:,None]+1e3, labels=np.array(['wren','crow','tit','owl'])[y], probs=p, probs_t=q, logits=np.log(p), predicted=p.argmax(1))
shares = {'uneven': (np.arange(30), np.arange(30, n)), 'one without': (np.arange(0), np.arange(n)), 'other without': (np.arange(n), np.arange(0))}
names = [k for k,m in registry().items() if set(m.args)<=set(data) and (m.state or k in ('sfda','pactran_dirichlet'))]

def given(name, i): return [data[a][i] for a in registry()[name].args]

def process(rank, folder):
    "What one of two processes computes: for each way to share, each metric over all, alone again after more batches, and as a collection"
    from torchmetrics import MetricCollection
    from transfer_metrics.torchmetrics import as_metric
    warnings.simplefilter('ignore')                              # torchmetrics warns a process without samples
    torch.set_num_threads(1)
    dist.init_process_group('gloo', init_method=f'file://{folder}/meeting', rank=rank, world_size=2, timeout=timedelta(seconds=90))
    found = {}
    for how,parts in shares.items():
        mine = parts[rank]
        scores = {k: as_metric(k) for k in names}
        for k,m in scores.items():
            for i in np.array_split(mine, 3) if len(mine) else []: m.update(*given(k, i))
            found[how,k] = float(m.compute())
            m.update(*given(k, mine if len(mine) else np.arange(5)))   # its own sums are back, and grow
            found[how,k,'more'] = float(m.compute())
    together = MetricCollection([as_metric(k) for k in ('leep','h_score','logme','lfc','sfda')])
    for i in np.array_split(shares['uneven'][rank], 4): together.update(**{a: x[i] for a,x in data.items()})
    found |= {('collection',k): float(v) for k,v in together.compute().items()}
    dist.destroy_process_group()
    Path(folder, f'{rank}.json').write_text(json.dumps({' '.join(k): v for k,v in found.items()}))

def test_equals_one_process(tmp_path):
    "One test, so that the processes start once"
    mp.spawn(process, (str(tmp_path),), nprocs=2)
    whole,expected = np.arange(n),{}
    for how,parts in shares.items():
        twice = np.concatenate([i for s in parts for i in (s, s if len(s) else np.arange(5))])
        for k in names: expected |= {f'{how} {k}': registry()[k].f(*given(k, whole)), f'{how} {k} more': registry()[k].f(*given(k, twice))}
    expected |= {f'collection {k}': registry()[k].f(*given(k, whole)) for k in ('leep','h_score','logme','lfc','sfda')}
    assert len(names)>10
    for rank in range(2): assert json.loads((tmp_path/f'{rank}.json').read_text())==pytest.approx(expected, rel=1e-8)

@pytest.mark.parametrize('theirs,said', [('no file','no file'), ('no space','process 0: ValueError: no file; process 1: ValueError: no space'),
    (None,'process 0: ValueError: no file')])
def test_what_fails_alike_is_said_once(theirs, said, monkeypatch):
    "A model that fails in one process has failed in all; the numbers of the processes are told where they differ"
    def gather(ours):
        named = str(ours['error']).startswith('ValueError') # as `agree` says it
        return [ours, dict(error=f'ValueError: {theirs}' if theirs and named else theirs)]
    monkeypatch.setattr(distributed, 'gather', gather)
    found = distributed.agreed({'net': ValueError('no file')})
    assert str(found['net'])==said
