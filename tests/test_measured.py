"Labels that are measured numbers: no classes, but whatever a function of one's own takes, and targets of a regression"
from functools import partial
import numpy as np
import pytest
import torch
from transfer_metrics.experiments.retrain_head import retrain_head
from transfer_metrics.model_selection.chance import chance
from transfer_metrics.model_selection.intervals import jackknife
from transfer_metrics.model_selection.score_bootstrap import bootstrap_score
from transfer_metrics.registry import resolve
from transfer_metrics.state import state_of
from transfer_metrics.torchmetrics import as_metric
from transfer_metrics.transferability.logme import logme

def half_stars(n=200):
    "Twenty classes with decimals, of which a batch of 25 has most"
    return np.arange(n)*7%20/2

def batches(*arrays, size=25):
    for i in range(0, len(arrays[0]), size): yield [o[i:i+size] for o in arrays]

@pytest.mark.parametrize('name', ['leep','nce','h_score','logme','lfc','gbc','knn'])
def test_classes_with_decimals_in_batches(name):
    "What is a class is said of all samples, not of a batch; measured numbers are refused there as well"
    m,_ = resolve(name)
    x = np.random.default_rng(0).random((200,6))
    given = dict(features=x, probs=x/x.sum(1, keepdims=True), predicted=x.argmax(1))[m.args[0]]
    for y in half_stars(),np.linspace(.1, .9, 200):
        state = state_of(m.f)
        for part in batches(given, y): state.update(*part)
        if y[0]: continue
        assert state.value()==pytest.approx(m(given, y), rel=1e-9)
    with pytest.raises(ValueError, match='must be classes, got 200 different numbers'): state.value()

def slope(features, labels):
    "A function of one's own, of measured labels"
    return float(np.corrcoef(np.asarray(features)[:,0], np.asarray(labels))[0,1])

def test_measured_labels_of_a_function_of_ones_own():
    "It has them as they are, whatever looks at it"
    x = np.random.default_rng(0).normal(size=(40,3))
    y = x[:,0]+.5*x[:,1]
    value = slope(x, y)
    whole = as_metric(slope)
    for part in batches(x, y): whole.update(*map(torch.as_tensor, part))
    found = [chance(slope, x, y, n_perm=9), jackknife(slope, x, y), bootstrap_score(slope, x, y, n_boot=20)]
    assert [float(whole.compute()), *(o.value for o in found)]==pytest.approx([value]*4, abs=1e-12)
    parts = [np.flatnonzero(np.arange(40)!=i) for i in range(40)]
    alone = jackknife(slope, x, y, groups=40)
    assert sorted(alone.without)==pytest.approx(sorted(slope(x[o], y[o]) for o in parts), abs=1e-12)

def test_logme_as_regression_of_more_features_than_samples():
    "Its samples are held in groups, whose targets are measured as well"
    r = np.random.default_rng(0)
    x = r.normal(size=(30,40))
    of_targets = partial(logme, regression=True)
    found = jackknife(of_targets, x, x[:,0], groups=5)
    assert found.value==pytest.approx(of_targets(x, x[:,0])) and np.isfinite(found.without).all()

def test_few_test_samples_of_classes_with_decimals():
    "What is a class is said of the training samples"
    y = half_stars()
    x = np.eye(20)[(2*y).astype(int)]
    assert retrain_head(x, y, (x[:24],y[:24]))==1
