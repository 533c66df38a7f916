"A metric that is registered has its row in the label-free report, in `evaluate` and on the command line, by itself"
import sys
from time import process_time
from types import ModuleType
import numpy as np
import pytest
import torch
import transfer_metrics as tm
from transfer_metrics.invariance.domains import ImageSet
from transfer_metrics.invariance.evaluation import evaluate
from transfer_metrics.invariance.label_free import label_free_metrics
from transfer_metrics.invariance.report import label_free_report

registries = sys.modules['transfer_metrics.registry']

notebook = '''
from transfer_metrics.core import ArrayLike, as_tensor
from transfer_metrics.registry import metric

@metric(unit='toy units', range=(0, 1), source='', higher_is_better=False)
def toy_of_probs(probs:ArrayLike, *, power:float=2) -> float:
    return float((probs**power).mean())

@metric(unit='1', range=(0, 9), source='')
def toy_of_logits(logits:ArrayLike) -> float:
    return float(logits.abs().mean())

@metric(unit='accuracy', range=(0, 1), source='')
def toy_with_source(source_probs:ArrayLike, source_labels:ArrayLike, probs:ArrayLike) -> float:
    right = as_tensor(source_probs).argmax(1)==as_tensor(source_labels)
    return float(right.double().mean())*float(probs.max())

@metric(unit='1', range=(0, 1), source='')
def toy_with_labels(probs:ArrayLike, labels:ArrayLike) -> float:
    return 1.
'''
names = 'toy_of_logits','toy_of_probs','toy_with_source'
k = 3
images = torch.from_numpy(np.random.default_rng(0).random((40,1,6,6), np.float32))
labels = torch.arange(40)%k

class Double(torch.nn.Module):
    def forward(self, x): return x.double()

def make():
    "A small classifier, in float64: how float32 products round depends on the size of the batch"
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), Double(), torch.nn.Linear(36, k).double()).eval()

@pytest.fixture
def toys(monkeypatch):
    "Another module of the area, as a new notebook would make it"
    monkeypatch.setattr(registries, '_registry', dict(registries.registry()))  # of modules that are not imported yet, too
    module = ModuleType('transfer_metrics.invariance.toys')
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(notebook, module.__dict__)
    return module

@pytest.fixture
def said():
    "Logits and probabilities that the model gives the images"
    with torch.no_grad(): z = make()(images)
    return z,z.softmax(1)

def test_needs_nothing_but_the_registry(toys):
    known = label_free_metrics()
    assert set(names)<=set(known) and 'toy_with_labels' not in known
    assert [known[m].need for m in names]==['','','source']

def test_report(toys, said):
    z,p = said
    source = p.numpy(),labels.numpy()
    report = label_free_report(make(), images, source=source, batch_size=16, progress=False).set_index('metric')
    expected = dict(toy_of_logits=toys.toy_of_logits(z), toy_of_probs=toys.toy_of_probs(p),
                    toy_with_source=toys.toy_with_source(*source, p))
    for m,v in expected.items(): assert report.value[m]==pytest.approx(v, rel=1e-12)
    assert report.unit['toy_of_probs']=='toy units' and not report.higher_is_better['toy_of_probs']
    without = label_free_report(make(), images, progress=False)
    assert 'toy_of_probs' in set(without.metric) and 'toy_with_source' not in set(without.metric)
    with pytest.raises(ValueError, match='toy_with_source needs `source`'):
        label_free_report(make(), images, 'toy_with_source', progress=False)

def test_evaluate(toys, said, tmp_path):
    z,_ = said
    sets = [ImageSet('a', images, labels), ImageSet('b', images.flip(0), None)]
    options = dict(source=ImageSet('source', images, labels), store=tmp_path/'results.csv', progress=False)
    found = evaluate({'net': make()}, sets, **options)
    assert not found.error.any()
    for m in names: assert (found.metric==m).sum()==2
    values = found[found.metric=='toy_of_logits'].value
    assert values.to_list()==pytest.approx([toys.toy_of_logits(z)]*2, rel=1e-9)

def test_another_metric_is_measured_alone(toys, tmp_path):
    "What is known stays known when one more metric is asked for"
    path = tmp_path/'results.csv'
    def rows(*metrics):
        sets = [ImageSet('a', images, labels)]
        evaluate({'net': make()}, sets, metrics=metrics, store=path, progress=False)
        return len(path.read_text().splitlines())-1
    assert [rows('entropy'), rows('entropy','toy_of_probs'), rows('toy_of_probs','entropy')]==[1,2,2]

def test_command_line(toys, tmp_path, monkeypatch, capsys):
    from transfer_metrics.cli.invariance import invariance
    mine = ModuleType('my_models')
    mine.make = make
    monkeypatch.setitem(sys.modules, 'my_models', mine)
    np.savez(tmp_path/'mine.npz', images=images.numpy(), labels=labels.numpy())
    file = str(tmp_path/'mine.npz')
    invariance(models='my_models:make', images=file, source=file, interior=4, n_boot=0, progress=False)
    shown = capsys.readouterr().out
    assert all(m in shown for m in names)

def test_transport_of_few_samples_and_many_classes():
    "Sixty pictures that a network of a thousand classes takes for much the same: minutes where classes are the market"
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(1,1000))
    logits = 4*(shared+rng.normal(size=(60,1000))/10)
    probs = np.exp(logits)/np.exp(logits).sum(1, keepdims=True)
    start = process_time()
    found = tm.cot(probs)
    assert process_time()-start<5
    assert abs(found-(1-linear_program(probs, 1/1000)))<1e-6

def linear_program(probs, share):
    "What classes of one `share` keep at most of the probabilities"
    from scipy.optimize import linprog
    from scipy.sparse import identity, kron, vstack
    n,k = probs.shape
    of_samples = kron(identity(n), np.ones((1,k)))
    of_classes = kron(np.ones((1,n)), identity(k))
    A = vstack([of_samples,of_classes.tocsr()[1:]])
    b = np.r_[np.full(n, 1/n), np.full(k-1, share)]
    return -linprog(-probs.ravel(), A_eq=A, b_eq=b, method='highs').fun
