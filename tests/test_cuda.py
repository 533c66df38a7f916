"""What runs on a GPU gives what the CPU gives, and leaves models, data and random numbers as they were. Skipped where there is
none; with TEST_DEVICE=cpu the same runs there, which tests these tests."""
import copy
import os
from subprocess import run
from sys import executable

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from test_contracts import agree, each, in_pieces, per_sample, value
from torch import nn
from torch.testing import assert_close
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18

import transfer_metrics as tm
from transfer_metrics import datasets, experiments, invariance, loss_data, models
from transfer_metrics.registry import registry
from transfer_metrics.state import state_of

place = os.environ.get('TEST_DEVICE', 'cuda')
on_gpu = place=='cuda'
pytestmark = pytest.mark.skipif(on_gpu and not torch.cuda.is_available(), reason='no CUDA device')
gpu_alone = pytest.mark.skipif(not on_gpu, reason='no CUDA device')

def there(x):
    "As a tensor on the device"
    return torch.as_tensor(x).to(place)

def seeded_net(seed=0):
    "A small network of random weights, in double precision"
    torch.manual_seed(seed)
    return datasets.SourceNet('random', 6).double().eval()

@pytest.fixture(scope='module')
def digits():
    "Images and labels"
    x,y = load_digits(return_X_y=True)
    return torch.from_numpy(x/16).view(-1, 1, 8, 8),torch.from_numpy(y)

def loader_of(digits, n=300, batch_size=64, **kw):
    x,y = digits
    return DataLoader(TensorDataset(x[:n], y[:n]), batch_size=batch_size, **kw)

def same_frames(a, b, rel=1e-6):
    timed = [c for c in a if 'seconds' in c]
    pd.testing.assert_frame_equal(a.drop(columns=timed), b.drop(columns=timed), rtol=rel, atol=rel)

# Scores

@each
def test_all_tensors_there(name):
    "Every argument on the device; labels on the CPU, numbers there"
    xs = per_sample(name)
    numbers = {a: x for a,x in xs.items() if x.dtype.kind=='f'}
    agree(name, rel=1e-7, **{a: there(x) for a,x in xs.items()})
    agree(name, rel=1e-7, **{a: there(x) for a,x in numbers.items()})
    agree(name, rel=1e-4, **{a: there(x.astype('float32')) for a,x in numbers.items()})

@each
def test_states(name):
    "Fed with tensors there, and merged with one that was fed on the CPU"
    xs = per_sample(name)
    if not xs: pytest.skip('no samples')
    try: whole = state_of(name)
    except (TypeError,ValueError) as e: pytest.skip(str(e))
    if registry()[name].sources: pytest.skip('bound to a source')
    cut = {a: np.array_split(x, 2) for a,x in xs.items()}
    usual = value(name)
    whole.update(*map(there, xs.values()))
    assert whole.value()==pytest.approx(usual, rel=1e-7, abs=1e-7)
    first = state_of(name).update(*(there(cut[a][0]) for a in xs))
    second = state_of(name).update(*(cut[a][1] for a in xs))
    assert first.merge(second).value()==pytest.approx(in_pieces(name, xs, 0), rel=1e-7, abs=1e-7)

@pytest.fixture(scope='module')
def known_outputs(digits):
    x,y = digits
    return models.outputs(seeded_net(), [(x[:300], y[:300])], progress=False)

of_features = 'h_score','logme','transrate','lfc','knn','gbc','sfda','nleep'
asked = dict(chance=dict(n_perm=19), bootstrap_score=dict(n_boot=20), jackknife=dict(groups=5))

@pytest.mark.parametrize('ask', asked)
@pytest.mark.parametrize('name', ['leep','nce',*of_features])
def test_intervals(known_outputs, name, ask):
    "Jackknife, bootstrap and chance of tensors there"
    out = known_outputs
    x = dict(leep=out.probs, nce=out.probs.argmax(1)).get(name, out.features)
    f = getattr(tm, ask)
    usual = f(name, x, out.labels, **asked[ask])
    found = f(name, there(x), there(out.labels), **asked[ask])
    mixed = f(name, there(x), out.labels, **asked[ask])
    assert found.value==pytest.approx(usual.value, rel=1e-7) and mixed.value==found.value
    spread = {'chance': 'std'}.get(ask, 'error')
    assert getattr(found, spread)==pytest.approx(getattr(usual, spread), rel=1e-5)

@pytest.mark.parametrize('name', ['leep','nce','h_score','logme'])
def test_cross_fitted(known_outputs, name):
    out = known_outputs
    x = dict(leep=out.probs, nce=out.probs.argmax(1)).get(name, out.features)
    f = getattr(tm, name)
    assert f(there(x), there(out.labels), cv=3)==pytest.approx(f(x, out.labels, cv=3), rel=1e-7)

def test_features_selected(known_outputs):
    out = known_outputs
    usual = tm.select_features(out.features, out.labels, k=4)
    same_frames(tm.select_features(there(out.features), there(out.labels), k=4), usual)

def test_few_shots(digits):
    "A learner that lives there, and one of the CPU"
    x,y = digits
    support,test = (x[:60], y[:60]),(x[60:160], y[60:160])
    usual = experiments.meta_transfer(seeded_net(), support, test)
    assert experiments.meta_transfer(seeded_net().to(place), support, test)==usual
    assert experiments.meta_transfer(seeded_net().to(place), tuple(map(there, support)), tuple(map(there, test)))==usual

# Models

@pytest.mark.parametrize('options', [{}, dict(layer='body.0'), dict(features='head'), dict(features_dtype='float32')], ids=str)
def test_outputs(digits, options):
    "As on the CPU; the network is given back where it was"
    net = seeded_net()
    before = copy.deepcopy(net.state_dict())
    usual = models.outputs(net, loader_of(digits), progress=False, **options)
    found = models.outputs(net, loader_of(digits, pin_memory=on_gpu), device=place, progress=False, **options)
    rel = 1e-5 if 'features_dtype' in options else 1e-9
    for name in 'features','logits','probs','labels':
        a,b = getattr(usual, name),getattr(found, name)
        assert (a is None)==(b is None), name
        if a is not None: np.testing.assert_allclose(b, a, rtol=rel, atol=rel)
    assert all(p.device.type=='cpu' for p in net.parameters())
    assert_close(net.state_dict(), before, rtol=0, atol=0)

def test_network_that_lives_there(digits):
    "Batches follow the network; batches that are there already stay"
    net = seeded_net().to(place)
    usual = models.outputs(seeded_net(), loader_of(digits), progress=False)
    x,y = digits
    for data in loader_of(digits),[(there(x[:300]), there(y[:300]))]:
        np.testing.assert_allclose(models.outputs(net, data, progress=False).features, usual.features, rtol=1e-9, atol=1e-9)
    assert all(p.device.type==place for p in net.parameters())

@pytest.mark.parametrize('dtype', ['auto', 'bfloat16', 'float16', 'float32'])
def test_precision(dtype):
    "A ResNet with batch norms, its images with channels last: as near as the type allows"
    torch.manual_seed(0)
    net = resnet18(num_classes=7).eval()
    x,y = torch.rand(32, 3, 64, 64),torch.arange(32)%7
    usual = models.outputs(net, [(x, y)], progress=False)
    found = models.outputs(net, [(x, y)], device=place, dtype=dtype, progress=False)
    apart = np.abs(found.features-usual.features).max()/np.abs(usual.features).max()
    assert apart<(2e-3 if dtype=='float32' else .03), apart
    if dtype=='auto' and on_gpu: assert 1e-6<apart # it is narrower, or it says nothing
    assert next(net.parameters()).dtype is torch.float32

@pytest.mark.parametrize('name', ['mobilenetv3_small_050','vit_tiny_patch16_224','mixer_s32_224'])
def test_timm(name):
    timm = pytest.importorskip('timm')
    torch.manual_seed(0)
    net = timm.create_model(name, num_classes=5).eval()
    x,y = torch.rand(4, 3, 224, 224),torch.arange(4)
    usual = models.outputs(net, [(x, y)], progress=False)
    found = models.outputs(net, [(x, y)], device=place, progress=False)
    assert found.taken==usual.taken
    np.testing.assert_allclose(found.features, usual.features, atol=5e-3*np.abs(usual.features).max())

@gpu_alone
def test_memory_full():
    "A batch that does not fit is cut, which is said once, and the answers are those of small batches"
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 8, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).eval()
    x,y = torch.rand(512, 3, 64, 64),torch.arange(512)%4
    usual = models.outputs(net, [(a, b) for a,b in zip(x.split(32), y.split(32), strict=True)], device='cuda', progress=False)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1.5*2**30/total) # one layer's maps of all would take 2 GiB
    try:
        with pytest.warns(UserWarning, match='do not fit') as told:
            found = models.outputs(net, [(x, y)], device='cuda', progress=False)
    finally: torch.cuda.set_per_process_memory_fraction(1.)
    assert sum('do not fit' in str(w.message) for w in told)==1
    np.testing.assert_allclose(found.features, usual.features, rtol=1e-3, atol=1e-4)

def test_sweep(digits, tmp_path):
    "`score_models` there, stored and resumed"
    nets = {f'net{i}': seeded_net(i) for i in range(3)}
    run = dict(metrics=['leep','h_score','logme','knn'], progress=False)
    usual = tm.score_models(nets, loader_of(digits), **run)
    found = tm.score_models(nets, loader_of(digits), device=place, store=tmp_path, **run)
    same_frames(found, usual)
    same_frames(tm.score_models(nets, loader_of(digits), device=place, store=tmp_path, **run), found, 0)

def test_text_model():
    "A network that is asked by names, whose batches are dicts"
    transformers = pytest.importorskip('transformers')
    torch.manual_seed(0)
    small = dict(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    config = transformers.BertConfig(**small)
    net = transformers.BertForSequenceClassification(config).eval()
    ids = torch.randint(5, 50, (24, 12))
    batch = dict(input_ids=ids, attention_mask=(torch.arange(12)<torch.arange(3, 27)[:,None]).long(), labels=torch.arange(24)%2)
    usual = models.outputs(net, [batch], progress=False)
    found = models.outputs(net, [batch], device=place, progress=False)
    np.testing.assert_allclose(found.features, usual.features, atol=1e-3)
    np.testing.assert_allclose(found.logits, usual.logits, atol=1e-3)

# Transfer

def test_retrained_head(digits):
    x,y = digits
    z = torch.as_tensor(models.outputs(seeded_net(), [(x, y)], progress=False).features)
    usual = tm.retrain_head(z[:300], y[:300], (z[300:600], y[300:600]))
    found = tm.retrain_head(there(z[:300]), there(y[:300]), (there(z[300:600]), there(y[300:600])))
    assert found==usual
    same_frames(found.curve, usual.curve)

def test_fine_tuned(digits, tmp_path):
    "As on the CPU, and resumed from a checkpoint that was written there"
    x,y = digits
    train,test = TensorDataset(x[:200], y[:200]),TensorDataset(x[200:300], y[200:300])
    run = dict(epochs=2, progress=False)
    usual = tm.fine_tune(seeded_net(), train, test, **run)
    found = tm.fine_tune(seeded_net(), train, test, device=place, checkpoint=tmp_path/'net.pt', **run)
    assert found==usual
    same_frames(found.curve, usual.curve)
    again = tm.fine_tune(seeded_net(), train, test, device=place, checkpoint=tmp_path/'net.pt', **run)
    assert again==found
    same_frames(again.curve, found.curve, 0)

def test_studied(digits):
    x,y = digits
    data = x[:400],y[:400]
    tasks = experiments.random_tasks(y[:400], 2)
    run = dict(methods=('retrain_head','fine_tune'), metrics=['leep'], options=dict(fine_tune=dict(epochs=1)), progress=False)
    nets = dict(a=seeded_net())
    usual = tm.study('digits', nets, data, tasks, **run)
    same_frames(tm.study('digits', nets, data, tasks, device=place, **run), usual)

# Curves of loss and data

curve = dict(hidden=(32,), points=[100,200,400], n_seeds=2, train_steps=60, batch_size=32, lr=1e-3, progress=False)

@pytest.mark.parametrize('probe', ['mlp', 'linear', 'module'])
def test_curve(digits, probe):
    "Probes in a stack, which train as a graph there, and modules one by one: as on the CPU, generators untouched"
    x,y = digits
    x = x.flatten(1).numpy().astype('float32')[:500]
    if probe=='module': probe = lambda d, c: nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, c)) # noqa: E731
    torch.manual_seed(3)
    if on_gpu: torch.cuda.manual_seed(3)
    before = torch.get_rng_state(),(torch.cuda.get_rng_state() if on_gpu else torch.get_rng_state())
    usual = loss_data.loss_data_curve(x, y[:500], probe=probe, device='cpu', **curve)
    found = loss_data.loss_data_curve(x, y[:500], probe=probe, device=place, **curve)
    same_frames(found, usual, 2e-3)
    after = torch.get_rng_state(),(torch.cuda.get_rng_state() if on_gpu else torch.get_rng_state())
    assert_close(after, before, rtol=0, atol=0)

def test_curve_of_tensors_there(digits):
    "Data that are there are trained on there, without a device"
    x,y = digits
    x = x.flatten(1).float()[:500]
    usual = loss_data.loss_data_curve(x, y[:500], device='cpu', **curve)
    same_frames(loss_data.loss_data_curve(there(x), there(y[:500]), **curve), usual, 2e-3)

def test_learned_representation(digits):
    x,y = digits
    x = x.flatten(1).float()[:300]
    usual = loss_data.supervised_repr(x, y[:300], 8, epochs=1, device='cpu', progress=False)
    found = loss_data.supervised_repr(x, y[:300], 8, epochs=1, device=place, progress=False)
    a,b = usual(x),found(x)
    np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=1e-3)

# Without labels

@pytest.fixture(scope='module')
def known(digits):
    net = seeded_net()
    x,y = digits
    return net,x[:200],y[:200]%6

def test_report(known):
    net,x,y = known
    source = models.outputs(net, [(x, y)], progress=False)
    run = dict(source=source, n_boot=20, progress=False)
    same_frames(tm.label_free_report(net, x, device=place, **run), tm.label_free_report(net, x, **run))

def test_predicted(known):
    net,x,y = known
    run = dict(n_boot=20, progress=False)
    usual = invariance.predicted_accuracy({'net': net}, [(x, y)], x.flip(-1), **run)
    same_frames(invariance.predicted_accuracy({'net': net}, [(x, y)], x.flip(-1), device=place, **run), usual)

def test_transform_heads(known):
    net,x,y = known
    run = dict(seed=0, progress=False)
    usual = invariance.fit_heads({'net': net}, x, **run)['net']
    found = invariance.fit_heads({'net': net}, x, device=place, **run)['net']
    for f,h,g in zip((invariance.rotation_prediction, invariance.jigsaw_prediction), found, usual, strict=True):
        assert f(net, x, h, device=place, progress=False)==pytest.approx(f(net, x, g, progress=False), abs=1e-6)

def test_invariances(known):
    net,x,y = known
    for f in (invariance.rotation_invariance, invariance.jigsaw_invariance):
        assert f(net, x, device=place, progress=False)==pytest.approx(f(net, x, progress=False), rel=1e-7)

def test_evaluated(known):
    net,x,y = known
    sets = [invariance.ImageSet(f'set{i}', x.roll(i, -1), y) for i in range(2)]
    run = dict(metrics=['entropy','accuracy','rotation_invariance','nuclear_norm'], progress=False)
    same_frames(tm.evaluate({'net': net}, sets, device=place, **run), tm.evaluate({'net': net}, sets, **run))

@pytest.mark.parametrize('name', invariance.corruption_names)
def test_corruptions(name):
    "Images there are corrupted there, as on the CPU"
    x = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    usual = invariance.corruptions(x, name, 3)
    found = invariance.corruptions(there(x), name, 3)
    assert found.device.type==place
    assert (found.cpu()-usual).abs().mean()<1e-3

# Other libraries

@pytest.mark.parametrize('name', ['leep', 'h_score', 'logme', 'nuclear_norm'])
def test_as_metric(name):
    "A torchmetrics metric that is moved there"
    pytest.importorskip('torchmetrics')
    from transfer_metrics.torchmetrics import as_metric
    xs = per_sample(name)
    m = as_metric(name).to(place)
    for i in range(2): m.update(*(there(x[i::2]) for x in xs.values()))
    assert m.compute().item()==pytest.approx(value(name), rel=1e-6)
    m.reset()
    m.update(*map(there, xs.values()))
    assert m.compute().item()==pytest.approx(value(name), rel=1e-6)

def test_processes(tmp_path):
    "One process with NCCL: what is gathered is what it has"
    if not on_gpu: pytest.skip('no CUDA device')
    code = '''
import torch, torch.distributed as dist, transfer_metrics as tm
from transfer_metrics.models import outputs
from transfer_metrics.distributed import *
import transfer_metrics.distributed as d
torch.manual_seed(0)
from transfer_metrics.datasets import SourceNet
net = SourceNet('random', 6).double().eval()
x,y = torch.rand(60, 1, 8, 8, dtype=torch.float64),torch.arange(60)%3
alone = outputs(net, [(x, y)], progress=False).features
dist.init_process_group('cpu:gloo,cuda:nccl')
torch.cuda.set_device(0)
found = outputs(net, [(x, y)], device='cuda', progress=False).features
assert abs(found-alone).max()<1e-9
dist.destroy_process_group()
print('one process')
'''
    script = tmp_path/'one.py'
    script.write_text(code)
    torchrun = '-m','torch.distributed.run','--standalone','--nproc-per-node=1'
    done = run([executable, *torchrun, str(script)], capture_output=True, text=True)
    assert 'one process' in done.stdout, done.stderr

def test_command(tmp_path, digits):
    "`rank --device` and `loss-data --device` as on the CPU"
    x,y = digits
    np.save(tmp_path/'data.npy', x[:200].float().numpy())
    np.save(tmp_path/'labels.npy', y[:200].numpy())
    (tmp_path/'nets.py').write_text('''
import torch
from transfer_metrics.datasets import SourceNet
def a():
    torch.manual_seed(0)
    return SourceNet('random', 6)
def b():
    torch.manual_seed(1)
    return SourceNet('random', 6)
''')
    def said(device):
        ask = ['rank','--models','nets:a,nets:b','--npy','.','--device',device,'--csv',f'{device}.csv']
        command = executable,'-c','import sys; from transfer_metrics.cli import run; sys.exit(run())'
        done = run([*command, *ask], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode==0, done.stderr
        return pd.read_csv(tmp_path/f'{device}.csv')
    same_frames(said(place), said('cpu'), 1e-3)
