"Agreement on the line: kinds of input, orders and names do not matter, and what is refused"
import numpy as np
import pandas as pd
import pytest
import torch
from transfer_metrics.datasets.published import cifar101_predictions
from transfer_metrics.invariance.agreement_on_the_line import agreement_on_the_line

rng = np.random.default_rng(0)
m,k = 7,5
y,z = rng.integers(0, k, 300),rng.integers(0, k, 200)

def answers(truth, rates):
    "What models say that know the truth at these rates, and else guess"
    return np.array([np.where(rng.random(len(truth))<rate, truth, rng.integers(0, k, len(truth))) for rate in rates])

S,T = answers(y, np.linspace(.4, .9, m)),answers(z, np.linspace(.3, .7, m))

@pytest.mark.parametrize('method', ['aline-s', 'aline-d'])
def test_same(method):
    "Orders of models and samples, names of classes, tensors and frames"
    def estimate(*given): return agreement_on_the_line(*given, method=method)
    e = estimate(S, y, T)
    o,p,q = (rng.permutation(n) for n in (m,300,200))
    named = np.array(['owl','elk','ant','bee','cod'])
    np.testing.assert_allclose(estimate(named[S[o][:,p]], named[y[p]], named[T[o][:,q]]), e[o], atol=1e-9)
    np.testing.assert_allclose(estimate(*map(torch.tensor, (S,y,T))).numpy(), e, atol=1e-12)
    frame = pd.DataFrame(T).add_prefix('m', axis=0)
    source = pd.DataFrame(S, index=frame.index)
    np.testing.assert_allclose(estimate(source, y, frame.iloc[o]).to_numpy(), e, atol=1e-12)

def refused(text): return pytest.raises(ValueError, match=text)

def test_refuses():
    with refused('at least three models'): agreement_on_the_line(S[:2], y, T[:2])
    with refused("'aline-d', 'aline-s', got 'gde'"): agreement_on_the_line(S, y, T, method='gde')
    with refused('for each of the 300 samples, got 299'): agreement_on_the_line(S, y[1:], T)
    with refused('a row for each of the 7 models'): agreement_on_the_line(S, y, T[1:])
    with refused('neither all correct nor all wrong'): agreement_on_the_line(np.vstack([S, y]), y, np.vstack([T, T[0]]))
    with refused('got 0 pairs'): agreement_on_the_line(S, y, T[[0]*7])
    with refused("'v4', 'v6'"): cifar101_predictions('v5')

def test_refuses_one_apart():
    "A model that says 9 nearly always, and no other does: it has no pair"
    odd = np.full(300, 9)
    odd[:10] = y[:10]
    with refused('model 7 has 0'):
        agreement_on_the_line(np.vstack([S, odd]), y, np.vstack([T, np.full(200, 9)]))
