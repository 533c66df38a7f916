"What holds for every registered metric; an argument that no other metric has needs a line in `inputs`"
import doctest
import inspect
import math
from copy import deepcopy
from importlib import import_module
from pkgutil import walk_packages
import numpy as np
import pandas as pd
import pytest
import torch
from fastcore.docments import docments
import transfer_metrics as tm
from transfer_metrics.learning_curves.curve import Curve
from transfer_metrics.registry import registry
from transfer_metrics.state import State

n,c_s,c_t = 60,5,4 # samples, source classes, target classes
rng = np.random.default_rng(0)
y = np.arange(n)%c_t
z = np.where(rng.random(n)<.7, y, rng.integers(c_s, size=n))

def probabilities(z): return .7*np.eye(c_s)[z]+.3*rng.dirichlet(np.ones(c_s), n)
def means(z): return rng.normal(size=(n,6))+.7*np.eye(6)[z]

# Kind and data of each argument: 'probs' and 'real' are matrices with one row per sample, 'class' are labels
inputs = dict(
    probs=('probs',probabilities(z)), probs_t=('probs',probabilities(z)), source_probs=('probs',probabilities(z)),
    features=('real',means(y)), source_features=('real',means(z)),
    logits=('real',2*np.eye(c_s)[z]+rng.normal(size=(n,c_s))),
    labels=('class',y), predicted=('class',z), source_labels=('class',z),
    base=('curve',Curve([0,10,20,40], [.2,.5,.4,.8])), transfer=('curve',Curve([0,5,20,30], [.2,.3,.7,.85])),
    curve=('curve',pd.DataFrame(dict(seed=[0,1]*4, samples=np.repeat([1,10,100,1000], 2),
                                     val_loss=[2.2,1.8,1.1,.9,.55,.45,.06,.04]))))

pytestmark = pytest.mark.filterwarnings('ignore::transfer_metrics.registry.ScoreWarning') # few samples
metrics = registry()
each = pytest.mark.parametrize('name', metrics)
devices = ['cpu','cuda'] if torch.cuda.is_available() else ['cpu']

def data_of(name):
    "A copy of the data of a metric, by argument"
    return {a: deepcopy(inputs[a][1]) for a in metrics[name].args}

def arrays_of(name): return {a: x for a,x in data_of(name).items() if inputs[a][0]!='curve'}

def is_column(name, a): return a=='source_labels' and 'source_probs' in metrics[name].args # numbers its columns

def value(name, **replaced): return metrics[name](**data_of(name)|replaced)

def agrees(name, rel=1e-9, **replaced):
    assert value(name, **replaced)==pytest.approx(value(name), rel=rel, abs=rel), replaced.keys()

def within_range(name, v):
    lo,hi = metrics[name].range
    return lo-1e-9<=v<=hi+1e-9

def refused(name, arg, x):
    with pytest.raises(ValueError, match=rf'\b{arg}\b'): value(name, **{arg: x})

@each
def test_facts(name):
    m = metrics[name]
    assert m.range[0]<m.range[1], 'range must be (lowest, highest)'
    assert '](https://' in m.source, 'source must be a link [authors year](https://...)'
    assert m.question and m.cost and m.avoid, 'question, cost and avoid must not be empty'
    options = inspect.signature(m.f).parameters.values()
    assert all(p.kind==p.KEYWORD_ONLY for p in options if p.default is not p.empty), 'options must be keyword-only'
    assert set(m.args)<=inputs.keys(), f'add {set(m.args)-inputs.keys()} to `inputs` in {__file__}'
    assert not [k for k,text in docments(m.f).items() if not text], 'arguments and result need a comment'
    assert '\n    >>> ' in m.f.__doc__ or '\n>>> ' in m.f.__doc__, 'the docstring needs an example'
    assert getattr(tm, name, None) is m.f, 'run `python docs/stubs.py`'

@each
def test_value(name):
    "A Python float in the range, the same each time; inputs and global state stay as they are"
    data = data_of(name)
    state = repr([torch.get_rng_state().tolist(),np.random.get_state(),torch.get_default_dtype()]) # noqa: NPY002
    v = metrics[name](**data)
    assert type(v) is float and within_range(name, v) and v==value(name)
    for a,x in arrays_of(name).items(): np.testing.assert_array_equal(data[a], x)
    assert repr([torch.get_rng_state().tolist(),np.random.get_state(),torch.get_default_dtype()])==state # noqa: NPY002

def as_pandas(x): return (pd.Series if x.ndim==1 else pd.DataFrame)(x, index=range(1000, 1000-len(x), -1))
def as_tensor(x): return torch.from_numpy(x).requires_grad_(x.dtype.kind=='f')
forms = dict(tensor=as_tensor, list=np.ndarray.tolist, pandas=as_pandas, fortran=np.asfortranarray, list_of_rows=list,
             reversed=lambda x: x[::-1].copy()[::-1], **{k: lambda x,k=k: torch.from_numpy(x).to(k) for k in devices})

@each
def test_kinds_of_array(name):
    data = arrays_of(name)
    for form in forms.values():
        agrees(name, **{a: form(x) for a,x in data.items()})
        for a,x in data.items(): agrees(name, **{a: form(x)})

@each
def test_precision(name):
    for a,x in arrays_of(name).items():
        if inputs[a][0]=='class':
            for t in np.int8,np.uint64,np.float32: agrees(name, **{a: x.astype(t)})
        else:
            for t,rel in (torch.float32,1e-5),(torch.float16,1e-2): agrees(name, rel, **{a: torch.from_numpy(x).to(t)})

@each
def test_order_of_samples(name):
    if 'seed' in metrics[name].options: pytest.skip('the order belongs to the seed')
    order = np.random.default_rng(1).permutation(n)
    agrees(name, **{a: x[order] for a,x in arrays_of(name).items()})

@each
def test_class_names(name):
    "Any hashable values, in any order"
    for a,x in arrays_of(name).items():
        if inputs[a][0]!='class' or is_column(name, a): continue
        for names in 'fghab',[11,100,3,42,9],[-1,1<<40,0,-7,5],[(1,'b'),(0,'b'),(1,'a'),(2,),(3,)]:
            agrees(name, **{a: [names[i] for i in x]})
        agrees(name, **{a: np.array(list('fghab'))[x]})
        agrees(name, **{a: pd.Series(pd.Categorical.from_codes(x, list('fghab')))})

@each
def test_another_order_of_the_index(name):
    data = arrays_of(name)
    if 'labels' not in data or len(data)<2 or len(data)<len(metrics[name].args): pytest.skip('no samples with labels')
    a = [k for k in data if k!='labels' and not k.startswith('source')][0]
    with pytest.raises(ValueError, match='labels'): value(name, **{a: as_pandas(data[a]), 'labels': as_pandas(y)[::-1]})

@each
def test_refuses(name):
    "What cannot be meant, with an error that names the argument"
    data = arrays_of(name)
    for a,x in data.items():
        kind = inputs[a][0]
        for bad in x[:0],x[None,None],None,x[0]: refused(name, a, bad)
        missing = x.astype(float)
        missing[n//2] = math.nan
        refused(name, a, missing)
        refused(name, a, x[:,None] if kind=='class' else x[:,0])
        if kind!='class':
            refused(name, a, np.full(x.shape, 'a'))
            refused(name, a, np.where(np.arange(n)[:,None]==7, math.inf, x))
        if kind=='probs':
            for bad in np.log(x),2*x,x-.5*np.eye(c_s)[0]+.1: refused(name, a, bad)
        if is_column(name, a):
            for bad in x-1,x+1,x+.5,np.array(list('fghab'))[x]: refused(name, a, bad)
        together = [k for k in data if k.startswith('source')==a.startswith('source')]
        if len(together)>1:
            with pytest.raises(ValueError, match='|'.join(together)): value(name, **{a: x[:-1]})

def degenerate(name):
    "Constant and repeated columns, one class, few samples, a class per sample, tiny, huge and tied numbers"
    data = arrays_of(name)
    for a,x in data.items():
        if inputs[a][0]=='class': yield {a: np.zeros_like(x)}
        elif inputs[a][0]=='probs':
            yield from ({a: o} for o in (np.full((n,c_s), 1/c_s),np.eye(c_s)[z],np.eye(c_s)[0*z]))
        else: yield from ({a: o} for o in (np.zeros_like(x),np.ones_like(x),np.c_[x,x],x*1e-50,x*1e50,x+1e6))
    for k in 1,2: yield {a: x[:k] for a,x in data.items()}
    yield {a: np.arange(n) if inputs[a][0]=='class' and not is_column(name, a) else x for a,x in data.items()}
    for seed in range(8):
        r = np.random.default_rng(seed)
        rows = r.integers(n, size=r.integers(2, 9))
        yield {a: np.round(x[rows]) if inputs[a][0]=='real' else x[rows] for a,x in data.items()}

@each
def test_degenerate(name):
    "A number in the range, not NaN, or an error that names an argument"
    for replaced in degenerate(name):
        try: assert within_range(name, value(name, **replaced)), replaced
        except ValueError as e: assert any(a in str(e) for a in metrics[name].args), e

@each
def test_in_parts(name):
    "A state of parts, merged in any order, has the value of all samples; with the source given once too"
    m,data = metrics[name],arrays_of(name)
    if len(data)<len(m.args):
        with pytest.raises(ValueError, match='learning curves'): State(name)
        return
    source = {a: data.pop(a) for a in list(data) if a.startswith('source')}
    for bound in source,{}:
        if not bound: data = source|data
        parts = [State(name, **bound) for _ in range(3)]
        with pytest.raises(ValueError, match='same metric and options'): parts[0]+State('h_score', shrinkage='ledoit_wolf')
        for i,rows in enumerate(np.array_split(np.arange(n), 6)):
            parts[i//2].update(*(data[a][rows] for a in parts[0].args))
        for i,j,k in ((0,1,2),) if 'seed' in m.options else ((0,1,2),(2,0,1)):
            merged = State(name, **bound)+parts[i]+(parts[j]+parts[k])
            assert merged.value()==pytest.approx(value(name), rel=1e-9, abs=1e-9)

def test_public_names():
    "Every public name is found, and functions and classes have help"
    for name in tm.__all__:
        o = getattr(tm, name)
        assert isinstance(o, type(tm)) or o.__doc__, name
    for name in 'leep','score_models','Curve': assert 'Parameters\n---' in getattr(tm, name).__doc__

modules = [m.name for m in walk_packages(tm.__path__, 'transfer_metrics.') if '._' not in m.name]

@pytest.mark.parametrize('name', modules)
def test_examples(name):
    "The examples in docstrings run"
    assert not doctest.testmod(import_module(name), extraglobs={'tm': tm}).failed
