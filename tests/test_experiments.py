"Experiments: values against scikit-learn, what must not matter, and a study that is killed"
import os
import signal
import subprocess
import sys
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from transfer_metrics.experiments.fine_tuning import fine_tune, from_scratch
from transfer_metrics.experiments.meta_transfer import CNAPs, meta_transfer
from transfer_metrics.experiments.retrain_head import retrain_head, retrain_heads
from transfer_metrics.experiments.tasks import episodes, random_tasks

@pytest.mark.parametrize('n,d,C', [(60,8,1.), (30,90,1.), (12,5,1e3), (40,20,1e-3)])
def test_retrained_head_against_sklearn(n, d, C):
    rng = np.random.default_rng(n)
    centres = rng.normal(size=(3,d))
    def sample(n):
        y = np.arange(n)%3
        return np.c_[centres[y]+2*rng.normal(size=(n,d)),np.ones(n)],np.array(['a','b','c'])[y]
    train,test = sample(n),sample(300)
    reference = make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-9, max_iter=100_000)).fit(*train)
    reference = reference.score(*test)
    assert abs(retrain_head(*train, test, C=C)-reference)<=1/300

def test_a_task_depends_on_its_number_only():
    labels = np.repeat(list('abcdefgh'), 12)
    for draw in (lambda y, n: random_tasks(y, n, per_class=4, seed=7),
                 lambda y, n: episodes(y, n, classes=(2,6), per_class=(1,3), queries=5)):
        few,many = draw(labels, 10),draw(labels, 100)
        for a,b in zip(few, many, strict=False):
            assert (a.classes,a.train.tolist(),a.test.tolist())==(b.classes,b.train.tolist(),b.test.tolist())
        shuffled = np.random.default_rng(0).permutation(labels)
        assert [t.classes for t in draw(shuffled, 10)]==[t.classes for t in few]

def test_heads_of_a_separate_test_set():
    rng = np.random.default_rng(0)
    y = np.arange(120)%6
    x = rng.normal(size=(6,10))[y]+rng.normal(size=(120,10))
    odd,even = slice(1, None, 2),slice(0, None, 2)
    y = np.array(list('uvwxyz'))[np.arange(120)//2%6]
    tasks = random_tasks(y[even], 5, test=y[odd])
    found = retrain_heads(x[even], y[even], tasks, test=(x[odd],y[odd]), progress=False)
    for t,v in zip(tasks, found.accuracy, strict=True):
        assert v==float(retrain_head(x[even][t.train], y[even][t.train], (x[odd][t.test],y[odd][t.test])))
    with pytest.raises(ValueError, match='`test` must be given'): retrain_heads(x[even], y[even], tasks, progress=False)

def digits():
    from transfer_metrics.datasets.digits import digits_task
    t = digits_task()
    return (t.x[::7].double(),t.y[::7]),(t.x_test[::7].double(),t.y_test[::7])

def test_models_and_random_numbers_are_left_alone():
    train,test = digits()
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(.3),
                        nn.Linear(144, 5)).double()
    state,rng = {k: v.clone() for k,v in net.state_dict().items()},torch.get_rng_state()
    runs = [fine_tune(net, train, test, epochs=2, seed=3, progress=False).curve for _ in range(2)]
    assert runs[0].equals(runs[1]) # dropout is seeded as well
    from_scratch(net, train, test, epochs=1, progress=False)
    learner = CNAPs(net, train[0][:1])
    learner.meta_train(train, n_episodes=2, classes=3, per_class=1, queries=2, progress=False)
    meta_transfer(learner, train, test)
    assert torch.equal(torch.get_rng_state(), rng) and net.training
    for k,v in net.state_dict().items(): assert torch.equal(v, state[k])

def test_few_shot_learner_without_batch_norm_and_with_bytes():
    train,test = digits()
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).double()
    assert CNAPs(net, train[0][:1]).layers==['0']
    as_bytes = ((train[0]*255).round().to(torch.uint8),train[1])
    found = meta_transfer(net, as_bytes, test)
    close = meta_transfer(net, (as_bytes[0].double()/255,train[1]), test)
    assert found==close
    x = test[0][:5]
    assert_allclose(found.model(x), close.model(x), atol=1e-9)

script = """
import sys, time, torch
from transfer_metrics.experiments.study import study
from transfer_metrics.experiments.tasks import random_tasks
calls = []
def method(model, train, test):
    time.sleep(.05)
    calls.append(1)
    return float((model(test[0]).argmax(1)==test[1]).double().mean())
def run(store):
    torch.manual_seed(0)
    x,y = torch.randn(60, 4),torch.arange(60)%3
    return study('killed', {'linear': torch.nn.Linear(4, 3)}, (x,y), random_tasks(y, 30, per_class=5), methods=method,
                 metrics='leep',
                 store=store, progress=False)
if __name__=='__main__': run(sys.argv[1])
"""

def test_a_killed_study_continues(tmp_path):
    import time
    (tmp_path/'killed.py').write_text(script)
    store = tmp_path/'study.jsonl'
    p = subprocess.Popen([sys.executable, tmp_path/'killed.py', store])
    while p.poll() is None and (not store.exists() or store.read_text().count('accuracy')<8): time.sleep(.02)
    os.kill(p.pid, signal.SIGKILL)
    p.wait()
    known = store.read_text().count('accuracy')
    scope = dict(__name__='killed')
    exec(script, scope)
    scope['method'].__module__ = '__main__' # as in the process that was killed
    resumed,before = scope['run'](store),len(scope['calls'])
    assert 8<=known<30 and before<=30-known
    assert resumed.drop(columns='seconds').equals(scope['run'](None).drop(columns='seconds'))
