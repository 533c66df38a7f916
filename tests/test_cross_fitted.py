"What holds for every score that takes `cv`: the samples decide, not their order, their names or the pieces they come in"
from functools import partial
import numpy as np
import pytest
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.models import Outputs
from transfer_metrics.registry import registry
from transfer_metrics.state import state_of

n = 60
rng = np.random.default_rng(0)
y = np.arange(n)%4
probs = .6*np.eye(4)[y]+.4*rng.dirichlet(np.ones(4), n)
data = dict(probs=probs, predicted=np.where(rng.random(n)<.7, y, 3-y), features=rng.normal(size=(n, 6))+np.eye(6)[y])
metrics = {k: m for k,m in registry().items() if 'cv' in m.options}
each = pytest.mark.parametrize('name', metrics)

def arrays(name): return data[metrics[name].args[0]],y

def test_which(): assert set(metrics)=={'leep','nce','h_score','logme'}

@each
def test_order(name):
    f,(x,labels) = metrics[name].f,arrays(name)
    o = rng.permutation(n)
    assert f(x[o], labels[o], cv=5)==pytest.approx(f(x, labels, cv=5), rel=1e-9)
    assert f(x, labels, cv=5, seed=1)!=f(x, labels, cv=5)

@each
def test_pieces(name):
    f,(x,labels) = metrics[name].f,arrays(name)
    states = [state_of(name, cv=3).update(x[i::2], labels[i::2]) for i in (0,1)]
    assert states[0].merge(states[1]).value()==pytest.approx(f(x, labels, cv=3), rel=1e-9)

@each
def test_refused(name):
    f,(x,labels) = metrics[name].f,arrays(name)
    for cv in 1,2.5,'5',True:
        with pytest.raises(ValueError, match='`cv`'): f(x, labels, cv=cv)
    with pytest.raises(ValueError, match='two samples'): f(x[:1], labels[:1], cv=2)

@each
def test_few(name):
    "A class with a single sample, and fewer samples than parts, have a finite value"
    f,(x,labels) = metrics[name].f,arrays(name)
    assert np.isfinite(f(x[:5], labels[:5], cv=5))
    assert np.isfinite(f(x[:3], labels[:3], cv=9))

@pytest.mark.filterwarnings('ignore:inflated')
def test_no_caution():
    "What is judged by other samples is not lifted by chance, and is not said to be"
    few = Outputs(features=data['features'][:8], probs=probs[:8], labels=y[:8])
    fs = {'plain': registry()['h_score'].f, 'judged': partial(registry()['h_score'].f, cv=4)}
    said = score_models({'a': few}, metrics=fs, progress=False).set_index('metric').caution
    assert 'random labels' in said['plain'] and said['judged']==''
