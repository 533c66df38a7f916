"What holds for every registered metric. A new one is tested as soon as its notebook is exported; a new kind of data argument needs a line in `inputs`"
import math, warnings
from copy import deepcopy
from importlib import import_module
from types import FunctionType
import numpy as np
import pandas as pd
import pytest
import torch
from transfer_metrics._modidx import d
from transfer_metrics.registry import registry
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.state import RowsState, state_of

n,c_s,c_t,k = 60,5,4,6   # samples, source classes, target classes, features
rng = np.random.default_rng(0)
y = np.arange(n)%c_t
z = np.where(rng.random(n)<.7, y, rng.integers(c_s, size=n))

def simplex(classes, y): return .7*np.eye(classes)[y] + .3*rng.dirichlet(np.ones(classes), n)

# Kind and data of each argument. 'simplex' and 'real' arrays hold numbers, 'class' arrays labels: one entry or row a sample.
# Arguments of any other kind (a curve, say) are passed on as they are. Beside `source_probs`, `source_labels` are 'column' numbers
# of it, and what is of the source may have another number of samples than the rest.
inputs = dict(
    probs=('simplex', simplex(c_s, z)), labels=('class', y), predicted=('class', z), features=('real', rng.normal(size=(n, k)) + .7*np.eye(k)[y]),
    logits=('real', 2*np.eye(c_s)[z] + rng.normal(size=(n, c_s))), targets=('real', y + rng.normal(size=n)),
    probs_t=('simplex', simplex(c_s, z)), source_probs=('simplex', simplex(c_s, z)),
    source_features=('real', rng.normal(size=(n, k)) + .7*np.eye(k)[z]), source_labels=('class', z),
    base=('curve', Curve([0,10,20,40], [.2,.5,.4,.8])), transfer=('curve', Curve([0,5,20,30], [.2,.3,.7,.85])),
    curve=('curve', pd.DataFrame({'seed': [0,1]*4, 'samples': np.repeat([1,10,100,1000], 2), 'val_loss': [2.2,1.8,1.1,.9,.55,.45,.06,.04]})))
kind = {a: o[0] for a,o in inputs.items()}
data = {a: o[1] for a,o in inputs.items()}
numbers,arrays = ('simplex','real'),('simplex','real','class','column')

metrics = registry()
def kind_of(name, arg): return 'column' if arg=='source_labels' and 'source_probs' in metrics[name].args else kind.get(arg)
def pile(name, arg): return arg.startswith('source') and not {'source_probs','source_features'}.isdisjoint(metrics[name].args)
each = pytest.mark.parametrize('name', metrics)
def each_of(kinds): return pytest.mark.parametrize('name,arg', [(nm, a) for nm,m in metrics.items() for a in m.args if kind_of(nm, a) in kinds])

def given(name, **kw):
    "A copy of the data of the metric `name` by argument, some replaced"
    args = metrics[name].args
    if unknown := [a for a in args if a not in inputs]: pytest.fail(f'no data for {unknown} of `{name}`: add a line to `inputs` in {__file__}')
    return {a: deepcopy(data[a]) for a in args} | kw

def per_sample(name): return {a: x for a,x in given(name).items() if kind_of(name, a) in arrays}

def value(name, **kw):
    "The score of arguments that are small and degenerate: that it says little there is no error"
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', 'saturated: ', UserWarning)
        return metrics[name].f(**given(name, **kw))

def agree(name, rel=1e-9, **kw): assert value(name, **kw)==pytest.approx(value(name), rel=rel, abs=rel)

def refused(name, arg, x):
    with pytest.raises(ValueError, match=rf'\b{arg}\b'): value(name, **{arg: x})

def decided(name, **kw):
    "A finite number, or a `ValueError` that names an argument"
    try: assert math.isfinite(value(name, **kw))
    except ValueError as e: assert any(a in str(e) for a in metrics[name].args), e

def test_registry_complete():
    "The registry holds what carries the decorator, under its own name"
    mods = [import_module(m) for m in d['syms']]
    marked = {o.__name__: o.metric for m in mods for o in vars(m).values() if isinstance(o, FunctionType) and hasattr(o, 'metric')}
    assert marked==metrics
    assert all(m.name==nm==m.f.__name__ and m.f.metric is m for nm,m in metrics.items())

@each
def test_metadata(name):
    m = metrics[name]
    lo,hi = m.range
    assert lo<hi and isinstance(m.higher_is_better, bool) and m.unit.strip() and 'https://' in m.source
    assert set(m.args)==set(given(name))=={*m.sources,*m.streams}
    assert m.area in m.f.__module__.split('.')

@each
def test_value(name):
    "A Python float within the stated range, the same each time"
    v,(lo,hi) = value(name),metrics[name].range
    assert type(v) is float and lo-1e-9<=v<=hi+1e-9
    assert v==value(name)

@each
def test_sample_order(name):
    if name in ('nleep',): pytest.skip('starts from samples drawn by position: their order is part of the seed')
    o = np.random.default_rng(1).permutation(n)
    agree(name, **{a: x[o] for a,x in per_sample(name).items()})

@each_of(['class'])
def test_class_names(name, arg):
    "What the classes are called, and how their names sort, does not matter"
    x = given(name)[arg]
    for names in ['fghabcde', [11, 100, 3, 42, 9, 5, 7, 2], [-1, 1<<40, 0, -7, 5, 2, 3, 4], [(1, 'b'), (0, 'b'), (1, 'a'), (2,), (3,), (4,), (5,), (6,)]]:
        agree(name, **{arg: [names[i] for i in x]})
    agree(name, **{arg: np.array(list('fghabcde'))[x]})
    agree(name, **{arg: pd.Categorical.from_codes(x, list('fghabcde'))})

def readonly(x):
    x = x.copy()
    x.flags.writeable = False
    return x

forms = dict(
    torch=torch.from_numpy, list=np.ndarray.tolist, tuple=lambda x: tuple(x.tolist()), list_of_arrays=list, readonly=readonly,
    pandas=lambda x: (pd.Series if x.ndim==1 else pd.DataFrame)(x, index=range(1000, 1000-len(x), -1)),
    strided=lambda x: np.repeat(x, 2, axis=-1)[..., ::2], fortran=np.asfortranarray, reversed=lambda x: x[::-1].copy()[::-1],
    big_endian=lambda x: x.astype(x.dtype.newbyteorder('>')), torch_strided=lambda x: torch.from_numpy(np.repeat(x, 2, axis=-1))[..., ::2],
    cuda=lambda x: torch.from_numpy(x).cuda())

@pytest.mark.parametrize('form', forms)
@each_of(arrays)
def test_kinds_of_array(name, arg, form):
    "NumPy, torch, lists and pandas give one answer, whatever their memory layout"
    if form=='cuda' and not torch.cuda.is_available(): pytest.skip('no CUDA device')
    agree(name, **{arg: forms[form](given(name)[arg])})

@each
def test_all_tensors(name):
    agree(name, **{a: torch.from_numpy(x) for a,x in per_sample(name).items()})
    agree(name, **{a: torch.from_numpy(x).requires_grad_() if kind[a] in numbers else torch.from_numpy(x) for a,x in per_sample(name).items()})

@each_of(arrays)
def test_precision(name, arg):
    "float32 keeps five digits, float16 two; classes may be of any integer type"
    x = given(name)[arg]
    if kind_of(name, arg) in ('class','column'):
        for t in np.int8,np.uint8,np.int16,np.int32,np.uint64,np.float32: agree(name, **{arg: x.astype(t)})
        for t in torch.uint8,torch.int16,torch.int32: agree(name, **{arg: torch.from_numpy(x).to(t)})
    else:
        for t,rel in ('float32',1e-5),('float16',1e-2):
            agree(name, rel, **{arg: x.astype(t)})
            agree(name, rel, **{arg: torch.from_numpy(x).to(getattr(torch, t))})

@pytest.mark.parametrize('dtype', ['float64', 'float32'])
@each
def test_inputs_unchanged(name, dtype):
    xs = {a: x.astype(dtype) if kind[a] in numbers else x.copy() for a,x in per_sample(name).items()}
    before = {a: x.copy() for a,x in xs.items()}
    value(name, **xs)
    value(name, **{a: torch.from_numpy(x) for a,x in xs.items()})
    for a in xs: np.testing.assert_array_equal(xs[a], before[a])

@each_of(arrays)
def test_refuses(name, arg):
    "Empty, of a wrong rank, of another length, not a number, not probabilities: an error that names the argument"
    x = given(name)[arg]
    refused(name, arg, x[:0])
    for bad in x[0],x[None,None],None: refused(name, arg, bad)
    if kind_of(name, arg) in ('class','column'): refused(name, arg, x[:,None])
    elif x.ndim==2: refused(name, arg, x[:,0])
    for bad in (np.nan, np.inf, -np.inf) if kind[arg] in numbers else (np.nan,):
        b = x.astype(float)
        b[n//2] = bad
        refused(name, arg, b)
    if kind[arg] in numbers: refused(name, arg, np.full(x.shape, 'a'))
    if kind[arg]=='simplex':
        for bad in np.log(x),2*x,x-x.mean(1, keepdims=True)+1/x.shape[1]-.5*np.eye(x.shape[1])[0]: refused(name, arg, bad)
    if kind_of(name, arg)=='column':
        for bad in x-1,x+1,x+.5,np.array(list('fghabcde'))[x]: refused(name, arg, bad)

@each_of(arrays)
def test_refuses_other_length(name, arg):
    args = {a: x for a,x in per_sample(name).items() if pile(name, a)==pile(name, arg)}
    if len(args)==1: pytest.skip('one argument')
    with pytest.raises(ValueError, match='|'.join(rf'\b{a}\b' for a in args)): value(name, **{arg: args[arg][:-1]})

def degenerate(name):
    "One class, one sample, constant or repeated columns"
    xs = per_sample(name)
    for a,x in xs.items():
        if kind_of(name, a) in ('class','column'): yield {a: np.zeros_like(x)}
        elif kind[a]=='simplex': yield {a: np.ones((n, 1))}; yield {a: np.eye(x.shape[1])[z]}
        else: yield {a: np.zeros_like(x)}; yield {a: np.ones_like(x)}; yield {a: np.concatenate([x, x], -1) if x.ndim==2 else x}
    yield {a: x[:1] for a,x in xs.items()}
    yield {a: x[:2] for a,x in xs.items()}
    yield {a: np.arange(n) if kind_of(name, a) in ('class','column') else x for a,x in xs.items()}

@each
def test_degenerate(name):
    "A finite number or an error, never NaN"
    for xs in degenerate(name): decided(name, **xs)

def in_pieces(name, xs, seed, **source):
    "The value if the samples are cut into pieces; if the state holds sums, also shuffled and merged in any order"
    r,k = np.random.default_rng(seed),min(4, *map(len, xs.values())) if xs else 1
    sums = not isinstance(state_of(name, **source), RowsState)
    order = r.permutation(len(next(iter(xs.values())))) if sums else slice(None)
    cut = {a: np.array_split(x[order], k) for a,x in xs.items()}
    pieces = [state_of(name, **source).update(*(cut[a][i] for a in xs)) for i in range(k)]
    states = [state_of(name, **source), *pieces]
    while len(states)>1:
        i = int(r.integers(len(states)-1))
        a,b = states[i],states.pop(i+1)
        states[i] = b.merge(a) if sums and r.random()<.5 else a.merge(b)
    return states[0].value()

@each
def test_in_pieces(name):
    "A state that was put together from pieces has the value of all samples, of degenerate ones too; what is refused at once is refused in pieces"
    if metrics[name].of_curves:
        with pytest.raises(ValueError, match='computed from learning curves'): state_of(name)
        return
    for more in [{}, *degenerate(name)]:
        xs = per_sample(name)|more
        try: v = value(name, **xs)
        except ValueError:
            with pytest.raises(ValueError): in_pieces(name, xs, 0)
            continue
        for seed in range(3): assert in_pieces(name, xs, seed)==pytest.approx(v, rel=1e-8, abs=1e-8)

def size(state): return sum(len(o) if isinstance(o, torch.Tensor) and o.ndim else 1 for v in state.data().values() for o in (v if isinstance(v, list) else [v]))

@pytest.mark.parametrize('name', [k for k,m in metrics.items() if m.sources])
def test_source_bound(name):
    "With the source given once the target alone comes in pieces, for the same value; a state of sums does not grow"
    m,xs = metrics[name],per_sample(name)
    source = {a: xs.pop(a) for a in m.sources}
    for seed in range(3): assert in_pieces(name, xs, seed, **source)==pytest.approx(value(name), rel=1e-9, abs=1e-9)
    with pytest.raises(ValueError, match='together'): state_of(name, **{m.sources[0]: source[m.sources[0]]})
    if not m.state: return
    state = state_of(name, **source).update(*xs.values())
    before = size(state)
    for _ in range(3): state.update(*xs.values())
    assert size(state)==before<10

def test_report_from_states():
    "Every row of the label-free report about the images as they are is the value of a state, batch by batch"
    from transfer_metrics.invariance.report import label_free_report
    images = torch.from_numpy(np.random.default_rng(2).normal(size=(40,1,4,4))).float()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, c_s)).eval()
    with torch.no_grad(): logits = model(images).double()
    seen = dict(logits=logits, probs=logits.softmax(1))
    source = dict(source_probs=data['source_probs'], source_labels=z)
    plain = {k: (m,{}) for k,m in registry('invariance').items() if set(m.streams)<=set(seen)} | {'atc_entropy': (metrics['atc'],{'score': 'entropy'})}
    report = label_free_report(model, images, source=tuple(source.values()), batch_size=16, progress=False).set_index('metric')
    assert len(plain)==8
    for k,(m,options) in plain.items():
        state = state_of(m, **options, **{a: source[a] for a in m.sources})
        for i in torch.arange(40).split(16): state.update(*(seen[a][i] for a in m.streams))
        assert state.value()==pytest.approx(report.value[k], rel=1e-9, abs=1e-9)
        assert (m.unit,m.higher_is_better)==tuple(report.loc[k, ['unit','higher_is_better']])
