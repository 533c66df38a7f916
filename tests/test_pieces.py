"States of metrics with options, put together from pieces, and what they refuse; without options see test_contracts.py"
from copy import deepcopy
from itertools import product
import numpy as np
import pytest
import transfer_metrics as tm
from transfer_metrics.state import state_of

rng = np.random.default_rng(1)
logits = 3*rng.normal(size=(90,15))
probs = rng.dirichlet(np.full(15, .05), 90)

each_norm = pytest.mark.parametrize('how', ['sqrt', 'size', 'n', None])
options_of_mano = product((1.5,4), (False,True), (0,5,float('inf')))
each_mano = pytest.mark.parametrize('options', [dict(p=p, floor=floor, eta=eta) for p,floor,eta in options_of_mano])

def joined(name, rows, **options):
    "The value of pieces, one of them empty, merged in an order of their own"
    empty = state_of(name, **options)
    a,b,c,d = (state_of(name, **options).update(o) for o in np.split(rows, (1,30,50)))
    d.merge(b)
    return empty.merge(c).merge(a).merge(d)

@each_norm
def test_nuclear_norm(how):
    whole = tm.nuclear_norm(probs, normalize=how)
    state = joined('nuclear_norm', probs, normalize=how)
    assert state.value()==pytest.approx(whole, rel=1e-10)
    assert state.value(normalize='sqrt')==pytest.approx(tm.nuclear_norm(probs), rel=1e-10)

@each_norm
def test_nuclear_norm_of_processes(how):
    "One of four has no samples"
    nothing = state_of('nuclear_norm', normalize=how).data()
    states = [state_of('nuclear_norm', normalize=how).update(o) for o in np.split(probs, (1,30))]
    messages = [deepcopy(s.data()) for s in states]
    def gathered(own): return deepcopy([own, *messages[1:], nothing])
    synced = states[0].sync(gathered)
    assert synced.value()==pytest.approx(tm.nuclear_norm(probs, normalize=how), rel=1e-10)
    restored = state_of('nuclear_norm', normalize=how).restore(messages[2])
    assert restored.value()==pytest.approx(tm.nuclear_norm(probs[30:], normalize=how), rel=1e-10)

@each_mano
def test_mano(options):
    whole = tm.mano(logits, **options)
    assert joined('mano', logits, **options).value()==pytest.approx(whole, rel=1e-10)

@pytest.mark.parametrize('name,rows', [('nuclear_norm', probs), ('mano', logits)])
def test_other_classes(name, rows):
    "Batches and states of another number of classes are refused, and no samples have no value"
    fewer = abs(rows[:,:9])
    fewer = fewer/fewer.sum(1, keepdims=True)
    with pytest.raises(ValueError, match='must have 15 columns as before, got 9'): state_of(name).update(rows).update(fewer)
    with pytest.raises(ValueError, match='equally many classes, got 15 and 9|15 columns as before, got 9'):
        state_of(name).update(rows).merge(state_of(name).update(fewer))
    with pytest.raises(ValueError, match='have been added'): state_of(name).value()

def refused(text): return pytest.raises(ValueError, match=text)

def test_options():
    labels,six = np.zeros(90, int),np.full((3,6), 1/6)
    with refused("`normalize` must be 'sqrt', 'size', 'n' or None, got 'max'"): state_of('nuclear_norm', normalize='max')
    with refused('a number above 1, got 1'): state_of('mano', p=1)
    with refused("must be 'max' or 'entropy', got 'margin'"): tm.atc(probs, labels, probs, score='margin')
    for f in tm.atc,tm.doc:
        with refused('same classes, got 15 and 6 columns'): f(probs, labels, six)
