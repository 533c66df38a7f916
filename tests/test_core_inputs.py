"Input that a conversion would read as other numbers than its owner sees is refused with the name of the argument"
import warnings
import numpy as np
import pandas as pd
import pytest
import torch
from test_contracts import arrays, each_of, given, kind_of, metrics, refused, value
import transfer_metrics as tm
from transfer_metrics.core import as_features, as_labels, as_probs, as_tensor
from transfer_metrics.items import items_of
from transfer_metrics.samples import Samples

x,y = np.random.default_rng(0).normal(size=(12,3)),np.arange(12)%3
t = torch.from_numpy(x).float()

def quantised(t):
    with warnings.catch_warnings(action='ignore'): return torch.quantize_per_tensor(t, .1, 0, torch.qint8)

def nested(t, layout):
    with warnings.catch_warnings(action='ignore'): return torch.nested.nested_tensor([t[:5], t[5:]], layout=layout)

def sparse(t, how):
    with warnings.catch_warnings(action='ignore'): return getattr(t, how)()

def masked(a, i): return np.ma.masked_array(a, mask=np.arange(a.size).reshape(a.shape)==i)

float8 = [k for k in ('float8_e4m3fn','float8_e5m2','float8_e4m3fnuz','float8_e5m2fnuz','float8_e8m0fnu') if hasattr(torch, k)]
features = {'masked': lambda: masked(x, 4), 'strings': lambda: pd.DataFrame(x.astype(str)), 'string dtype': lambda: pd.DataFrame(x.astype(str)).astype('string'),
            'objects': lambda: np.array([['1','2'],[3,4]], dtype=object), 'bytes': lambda: np.array([[b'1'],[b'2']], dtype=object), 'list of strings': lambda: [['1','2'],['3','4']],
            'meta': lambda: t.to('meta'), 'quantised': lambda: quantised(t), 'nested': lambda: nested(t, torch.strided), 'jagged': lambda: nested(t, torch.jagged),
            'coo': lambda: sparse(t, 'to_sparse'), 'csr': lambda: sparse(t, 'to_sparse_csr'), 'complex': lambda: t.to(torch.complex64), 'list of meta': lambda: list(t.to('meta'))}
features |= {k: lambda k=k: t.to(getattr(torch, k)) for k in float8}

@pytest.mark.parametrize('kind', features)
@pytest.mark.parametrize('f,name', [(as_tensor,'array'), (as_features,'features'), (as_probs,'probs')])
def test_numbers_refused(kind, f, name):
    with pytest.raises(ValueError, match=f'`{name}` must'): f(features[kind]())

codes = torch.from_numpy(y)
labels = {'masked': lambda: masked(y, 4), 'meta': lambda: codes.to('meta'), 'quantised': lambda: quantised(codes.float()), 'sparse': lambda: sparse(codes, 'to_sparse'),
          'bfloat16': lambda: codes.bfloat16(), 'nested': lambda: nested(codes, torch.strided), 'float8': lambda: codes.float().to(getattr(torch, float8[0]))}

@pytest.mark.parametrize('kind', labels)
def test_labels_refused(kind):
    with pytest.raises(ValueError, match='`labels` must'): as_labels(labels[kind]())
    with pytest.raises(ValueError, match='`labels` must'): tm.logme(x, labels[kind]())

def test_accepted():
    "Of the same families, what says what it holds"
    same = {'no mask': np.ma.masked_array(x), 'objects': x.astype(object), 'nullable': pd.DataFrame(x).convert_dtypes(), 'tensors': [torch.from_numpy(o) for o in x],
            'numbers and tensors': [[torch.tensor(v, dtype=torch.float64) for v in o] for o in x[:1]]}
    for k,v in same.items(): np.testing.assert_array_equal(as_features(v).double(), x[:len(as_features(v))], err_msg=k)
    assert as_tensor([torch.tensor([1.5], dtype=torch.bfloat16)]).tolist()==[[1.5]]
    for v in np.ma.masked_array(y), codes.half(), codes.to(torch.uint8), list(codes): assert as_labels(v).codes.tolist()==y.tolist()

def strange(a, is_label):
    "An array of `a` in forms that hold other numbers than its owner sees, or none"
    t = torch.from_numpy(a)
    yield masked(a, a.size//2)
    yield t.to('meta')
    yield quantised(t.float())
    yield sparse(t, 'to_sparse')
    for layout in torch.strided,torch.jagged: yield nested(t, layout)
    for k in float8: yield t.float().to(getattr(torch, k))
    if is_label: yield t.bfloat16()
    if a.ndim==2: yield sparse(t, 'to_sparse_csr')
    if not is_label:
        strings = a.astype(str)
        kind = pd.Series if a.ndim==1 else pd.DataFrame
        yield t.to(torch.complex64)
        for form in strings,strings.astype(object),strings.astype(bytes),strings.tolist(),kind(strings),kind(strings).astype('string'): yield form

@each_of(arrays)
def test_every_metric_refuses(name, arg):
    "With a `ValueError` that names the argument"
    a = given(name)[arg]
    is_label = kind_of(name, arg) in ('class','column')
    for x in strange(a, is_label): refused(name, arg, x)

scores = [k for k,m in metrics.items() if 'labels' in m.args and m.area=='transferability']

def framed(a): return pd.Series(a) if a.ndim==1 else pd.DataFrame(a)

@pytest.mark.parametrize('name', scores)
def test_another_order_is_refused(name):
    "Labels with the index of the samples in another order, and told how to mend it; another index goes by position"
    args = given(name)
    samples, = [a for a in metrics[name].streams if a!='labels']
    x = framed(args[samples])
    y = pd.Series(args['labels'])
    with pytest.raises(ValueError, match=r'pass labels.loc\[samples.index\]'): value(name, **args|{samples: x, 'labels': y[::-1]})
    expected = pytest.approx(value(name, **args), rel=1e-9)
    assert value(name, **args|{samples: x, 'labels': y[::-1].loc[x.index]})==expected
    assert value(name, **args|{samples: x, 'labels': y.set_axis(y.index+7)})==expected

def test_another_order_is_refused_at_each_door():
    from sklearn.linear_model import LogisticRegression
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(40,3)))
    y = pd.Series(np.arange(40)%2)
    turned = y[::-1]
    model = LogisticRegression().fit(x, y)
    net = torch.nn.Linear(3, 2).double()
    quiet = dict(progress=False)
    doors = [lambda y: tm.Outputs(features=x, labels=y), lambda y: tm.Outputs(probs=x.abs(), labels=y),
             lambda y: tm.outputs(net, (x, y), **quiet), lambda y: tm.outputs(model, (x, y)),
             lambda y: tm.predicted_accuracy(model, (x, y), x, n_boot=0, **quiet),
             lambda y: tm.loss_data_curve(x, y, probe=model, points=[20], n_seeds=1, **quiet)]
    for door in doors:
        door(y)
        with pytest.raises(ValueError, match='got their index in another order'): door(turned)
    error, = tm.score_models({'x': x}, turned, 'h_score', **quiet).error
    assert 'got their index in another order' in error

@pytest.mark.parametrize('missing', [None, float('nan'), np.float32('nan'), pd.NA], ids=str)
def test_missing_text_labels_are_no_class(missing, tmp_path):
    "In a list NumPy makes the text 'nan' of them, and a score would count it as a class"
    labels = ['a','b',missing,'a']
    with pytest.raises(ValueError, match='must not be missing, got 1 missing, first at position 2'):
        said = tm.Outputs(probs=[[.5,.5]]*4, labels=labels)
        tm.leep(said.probs, said.labels)
    with pytest.raises(ValueError, match='`labels` must not be missing, got 1 missing, first at position 2'):
        items_of((['one','two','three','four'], labels))
    table = pd.DataFrame(dict(text=['one','two',missing,'four'], label=['a','b','b','a']))
    with pytest.raises(ValueError, match='`text` must not be missing, got 1 missing, first at position 2'): items_of(table)
    texts = 'one','two',missing,'four'
    with pytest.raises(ValueError, match='`inputs` must not be missing, got 1 missing, first at position 2'): items_of((texts, [0,1,1,0]))
    latin = tmp_path/'latin.csv'
    latin.write_bytes('text,label\ncafé,a\nbar,b\n'.encode('latin-1'))
    with pytest.raises(ValueError, match='must be a table of UTF-8 text'): items_of(latin)
    said = tm.Outputs(probs=[[.5,.5]]*2, labels=['nan','b']) # a text like others, where somebody wrote it
    assert said.labels.tolist()==['nan','b']

class Rows(torch.utils.data.Dataset):
    "Samples alone"
    def __len__(self): return len(t)
    def __getitem__(self, i): return t[i]

def test_a_column_of_a_table_goes_by_position():
    "Labels of a table that was sorted: its index says where a row stood, and nothing of the samples"
    order = np.random.default_rng(1).permutation(12)
    column = pd.Series(np.array(list('abc'))[y])[order]
    expected = column.tolist()
    net = torch.nn.Linear(3, 2)
    for data in (t,column),(Rows(),column),[(t[:5],column[:5]),(t[5:],column[5:])]:
        assert tm.outputs(net, data, progress=False).labels.tolist()==expected
    for samples in Samples.of((Rows(),column)),Samples.of((t,column)): assert list(samples.take(range(12))[1])==expected
