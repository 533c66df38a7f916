"Invariance: forms of data, models left as they were, new metrics in the report, names of classes, agreement on the line, errors"
import sys
from copy import deepcopy
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.transforms import v2
import transfer_metrics as tm
import transfer_metrics.invariance.mano
from transfer_metrics.datasets.published import cifar101_predictions
from transfer_metrics.invariance.agreement_on_the_line import agreement_on_the_line
from transfer_metrics.invariance.confidence import graded
from transfer_metrics.invariance.evaluation import evaluate
from transfer_metrics.invariance.image_sets import ImageSet, image_set
from transfer_metrics.invariance.predicted_accuracy import label_free_report, predicted_accuracy
from transfer_metrics.invariance.prediction import fit_head
from transfer_metrics.invariance.views import permutations
from transfer_metrics.models import image_transform
from transfer_metrics.outputs import Outputs
from transfer_metrics.registry import metric

n,k = 60,4
g = torch.Generator().manual_seed(0)
x,y = torch.rand(n, 1, 6, 6, generator=g, dtype=torch.float64),torch.arange(n)%k

def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(36, k)).double().eval()

def ri(images, model=None, **options): return tm.rotation_invariance(model or make(), images, progress=False, **options)

def test_forms_and_order():
    whole = ri(x)
    for images in x.numpy(),TensorDataset(x, y),DataLoader(TensorDataset(x, y),
                                                           16),[(o,) for o in x.split(25)],x.flip(0):
        assert ri(images, batch_size=13)==pytest.approx(whole, rel=1e-12)
    p = make()(x).softmax(1).detach()
    views = torch.stack([make()(tm.rotate(x, i)).softmax(1).detach() for i in (1,2,3)])
    assert whole==pytest.approx(tm.mean_effective_invariance(p, views), rel=1e-12)
    assert tm.mean_effective_invariance(p.half(), views.half())==pytest.approx(whole, abs=1e-3)

def test_models_are_left_as_they_were():
    busy = make().train()
    before,state = deepcopy(busy.state_dict()),torch.get_rng_state()
    head = fit_head(busy, x, progress=False)
    label_free_report(busy, x, heads=[head], progress=False)
    assert ri(x, busy)==pytest.approx(ri(x), rel=1e-12)
    assert all(m.training for m in busy.modules()) and torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(v, before[name]) for name,v in busy.state_dict().items())

def test_report_is_the_metrics():
    z = make()(x).detach()
    p,source = z.softmax(1),((z*2).softmax(1),y)
    options = dict(rotation={}, jigsaw=dict(permutations=3))
    turned,shuffled = heads = [fit_head(make(), x, task=t, progress=False, **o) for t,o in options.items()]
    found = label_free_report(make(), (x,y), source=source, heads=heads, permutations=4, batch_size=17, progress=False)
    found = found.set_index('metric').value
    expected = {f.__name__: f(p) for f in (tm.cot,tm.nuclear_norm,tm.entropy,tm.average_confidence)}
    expected |= {f.__name__: f(*source, p) for f in (tm.atc,tm.doc)}|dict(mano=tm.mano(z), rotation_invariance=ri(x))
    expected |= dict(atc_entropy=tm.atc(*source, p, score='entropy'), accuracy=float((p.argmax(1)==y).double().mean()))
    expected['jigsaw_invariance'] = tm.jigsaw_invariance(make(), x, permutations=4, progress=False)
    expected['rotation_prediction'] = tm.rotation_prediction(make(), x, turned, progress=False)
    expected['jigsaw_prediction'] = tm.jigsaw_prediction(make(), x, shuffled, progress=False)
    assert set(found.index)==set(expected)
    for name,v in expected.items(): assert found[name]==pytest.approx(v, rel=1e-9), name
    for name in 'atc','jigsaw_prediction':
        with pytest.raises(ValueError, match=f'{name} cannot be computed: atc and doc need `source`'):
            label_free_report(make(), x, name, progress=False)

def test_a_new_metric_has_its_row(monkeypatch):
    "A metric that is registered, as by a new notebook"
    module = sys.modules['transfer_metrics.invariance.mano']
    def toy(probs): return float((probs**2).mean())
    toy.__module__ = module.__name__
    monkeypatch.setattr(module, 'toy', metric(unit='toys')(toy), raising=False)
    report = label_free_report(make(), x, progress=False).set_index('metric')
    assert report.unit['toy']=='toys'
    found = evaluate({'net': make()}, [ImageSet('a', x, y)], metrics='toy', progress=False)
    assert found.value[0]==pytest.approx(report.value['toy'])

def classified():
    "A classifier of scikit-learn whose classes have names, with 80 known and 80 new samples"
    from sklearn.linear_model import LogisticRegression
    rng = np.random.default_rng(0)
    labels = np.arange(240)%3
    features = pd.DataFrame(rng.normal(size=(240,4))+labels[:,None]).add_prefix('x')
    names = np.array(['cat','dog','owl'])[labels]
    return LogisticRegression().fit(features[:80], names[:80]),features,names,labels

@pytest.mark.filterwarnings('ignore:the intervals were tested')
def test_scikit_learn():
    model,features,names,labels = classified()
    known,new = (features[80:160],names[80:160]),features[160:]
    found = predicted_accuracy(model, known, (new, ['emu']*80), progress=False)
    p = model.predict_proba(features)
    outs = Outputs(probs=p[80:160], labels=labels[80:160]),Outputs(probs=p[160:])
    same = predicted_accuracy('LogisticRegression', *outs, progress=False)
    pd.testing.assert_frame_equal(found.table, same.table)
    assert found.known.accuracy[0]==pytest.approx(model.score(*known))
    report = label_free_report(model, (new, names[160:]), progress=False).set_index('metric').value
    assert report['accuracy']==pytest.approx(model.score(new, names[160:])) and 'mano' not in report
    with pytest.raises(ValueError, match='mano cannot be computed'):
        label_free_report(model, new, 'mano', progress=False)

@pytest.mark.filterwarnings('ignore:the intervals were tested')
def test_names_of_classes():
    model,features,names,labels = classified()
    p = model.predict_proba(features[80:])
    def run(labels, **options):
        known = Outputs(probs=p[:80], labels=labels)
        return predicted_accuracy('m', known, Outputs(probs=p[80:]), progress=False, **options)
    plain = run(labels[80:160]).table
    pd.testing.assert_frame_equal(run(names[80:160], classes=['cat','dog','owl']).table, plain)
    pd.testing.assert_frame_equal(run(labels[80:160]+1, classes=['1','2','3']).table, plain)
    with pytest.raises(ValueError, match='pass classes='): run(names[80:160])
    with pytest.raises(ValueError, match="must be outputs of the model .*'owl'"):
        run(names[80:160], classes=['cat','dog','cow'])
    with pytest.raises(ValueError, match='count from 1'): run(labels[80:160]+1)
    four = np.c_[p,np.zeros(len(p))]
    with pytest.raises(ValueError, match='are never 0'): graded(four[:80], labels[80:160]+1)
    assert graded(np.eye(2)[[0,0,1]], [1,1,1])[2].tolist()==[False,False,True]

@pytest.mark.filterwarnings('ignore:the intervals were tested')
def test_images_and_several_models():
    models = {'a': make(), 'b': make(), 'c': make()}
    with torch.no_grad():
        for i,m in enumerate(models.values()):
            m[3].weight.add_(torch.randn(k, 36, generator=g, dtype=torch.float64)*.1*i)
    labels = models['a'](x).argmax(1).where(torch.rand(n, generator=g)<.8, y)
    pixels = (255*x).round().to(torch.uint8)
    found = predicted_accuracy(models, ImageSet('known', pixels, labels), {'same': x, 'dark': x*.2}, n_sets=20,
                               progress=False)
    assert found.made_of=='the labelled images' and found.n_sets==20 and len(found.table)==6
    assert ((found.table.lo<=found.table.accuracy)&(found.table.accuracy<=found.table.hi)).all()
    assert len(found.summary().splitlines())<=25
    normalized = predicted_accuracy(models['a'], (x-.5,labels), x-.5, n_sets=20, progress=False)
    assert normalized.made_of=='the table of predictions'
    test = image_set((pixels,labels), limit=20)
    assert len(image_set(DataLoader(TensorDataset(pixels, torch.as_tensor(labels))), limit=20).images)==20
    assert len(test.images)==20 and test.images.dtype==torch.uint8 and set(test.labels.tolist())==set(labels.tolist())
    with pytest.raises(ValueError, match='must have labels'): predicted_accuracy(models['a'], x, x, progress=False)
    models['a'].classes = [f'kind {i}' for i in range(k)]
    found = predicted_accuracy(models['a'], (x,labels), x, n_sets=20, progress=False).estimates.metric
    assert {*found[found.str.startswith('f1[')]}<={f'f1[{o}]' for o in models['a'].classes}

@pytest.mark.parametrize('side', [32,128])
@pytest.mark.parametrize('transform', [image_transform(32, mean=[.5]*3, std=[.2]*3),
                                       v2.Compose([v2.Resize(40), v2.CenterCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]).forward])
def test_known_images_go_through_the_transform_once(side, transform):
    "The known accuracy is that of the outputs of the model"
    model = nn.Sequential(nn.Conv2d(3, 4, 5), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(16, 4)).eval()
    model.transform = transform
    pixels = torch.randint(0, 256, (200,3,side,side), generator=g, dtype=torch.uint8)
    labels = tm.outputs(model, pixels, progress=False).probs.argmax(1)
    found = predicted_accuracy(model, (pixels,labels), pixels, n_sets=20, progress=False)
    assert found.made_of=='the labelled images' and found.known.accuracy[0]>(.99 if side==32 else .9)

def test_outputs_in_another_order():
    p = np.eye(10)[np.arange(200)%10]*.8+.02
    known = Outputs(probs=p, labels=(np.arange(200)+1)%10)
    with pytest.warns(UserWarning, match='^m is correct on 0 % .*less than by chance'): predicted_accuracy('m', known, Outputs(probs=p), progress=False)

def test_permutations_and_sets_from_a_file(tmp_path):
    assert permutations(which=np.array([[1,0,2,3]]))==[(1,0,2,3)]
    with pytest.raises(ValueError, match='whole number from 1 to 23'): permutations(which=True)
    Image.new('RGB', (4,4)).save(tmp_path/'a.png')
    with pytest.raises(ValueError): tm.exterior_domain(tmp_path/'a.png')

rng = np.random.default_rng(0)
source_y,target_y = rng.integers(0, 5, 300),rng.integers(0, 5, 200)

def predictions(truth, rates):
    "Predictions of models that know the truth at these rates, and guess otherwise"
    return np.array([np.where(rng.random(len(truth))<rate, truth, rng.integers(0, 5, len(truth))) for rate in rates])

S,T = predictions(source_y, np.linspace(.4, .9, 7)),predictions(target_y, np.linspace(.3, .7, 7))

@pytest.mark.parametrize('method', ['aline-s', 'aline-d'])
def test_agreement_of_other_orders_names_and_types(method):
    def estimate(*given): return agreement_on_the_line(*given, method=method)
    e = estimate(S, source_y, T)
    o,p,q = (rng.permutation(n) for n in (7,300,200))
    named = np.array(['owl','elk','ant','bee','cod'])
    np.testing.assert_allclose(estimate(named[S[o][:,p]], named[source_y[p]], named[T[o][:,q]]), e[o], atol=1e-9)
    np.testing.assert_allclose(estimate(*map(torch.tensor, (S,source_y,T))).numpy(), e, atol=1e-12)
    frame = pd.DataFrame(T).add_prefix('m', axis=0)
    source = pd.DataFrame(S, index=frame.index)
    np.testing.assert_allclose(estimate(source, source_y, frame.iloc[o]).to_numpy(), e, atol=1e-12)

def test_agreement_errors():
    y,odd = source_y,np.full(300, 9)
    odd[:10] = y[:10] # a model that predicts 9 nearly always, as no other does: it has no pair
    for text,given,options in (
            ('at least three models', (S[:2],y,T[:2]), {}), ("'aline-d', 'aline-s', got 'gde'", (S,y,T), dict(method='gde')),
            ('for each of the 300 samples, got 299', (S,y[1:],T), {}), ('a row for each of the 7 models', (S,y,T[1:]), {}),
            ('neither all correct nor all wrong', (np.vstack([S, y]),y,np.vstack([T, T[0]])), {}),
            ('got 0 pairs', (S,y,T[[0]*7]), {}), ('model 7 has 0', (np.vstack([S, odd]),y,np.vstack([T, np.full(200, 9)])), {})):
        with pytest.raises(ValueError, match=text): agreement_on_the_line(*given, **options)
    with pytest.raises(ValueError, match="'v4', 'v6'"): cifar101_predictions('v5')
