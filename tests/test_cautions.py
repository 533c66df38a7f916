"Scores of noise: where a score is good whatever the features are, it says so"
import math
import warnings
from functools import partial
import numpy as np
import pytest
from transfer_metrics.cautions import Sizes, saturated
from transfer_metrics.model_selection.ranking import applicable, default_scores, score_models
from transfer_metrics.models import Outputs

def chance_and_best(metric, y):
    "What a score gives where nothing is known, and its best value; `None` where it has none"
    c = len(set(y.tolist()))
    p = np.bincount(y)/len(y)
    H = -(p@np.log(p))
    if metric=='h_score': return 0,c-1
    if metric=='gbc': return -c*(c-1),0
    if metric in ('lfc','parc'): return 0,1 if metric=='lfc' else 100
    if metric in ('sfda','knn','linear_probe'): return 1/c,1
    if metric in ('leep','nce','nleep','otce','jc_nce','pactran_dirichlet','pactran_gamma','pactran_gauss'): return -H,0

def noise(n, d, c, c_s, seed=0):
    "Features, answers and labels that know nothing of one another"
    r = np.random.default_rng(seed)
    y = np.arange(n)%c
    def of(n): return dict(features=r.normal(size=(n,d)), logits=3*r.normal(size=(n,c_s)))
    source = Outputs(**of(n), labels=r.integers(c_s, size=n))
    return Outputs(**of(n), labels=y, source=source)

def scored(out, metrics='all'):
    with warnings.catch_warnings(action='ignore'): found = score_models({'noise': out}, metrics=metrics, progress=False)
    assert (found.error=='').all(), found.error.tolist()
    return found.set_index('metric')

shapes = [(n, d, c, c_s) for n,c in ((40, 2), (60, 5), (120, 10)) for d,c_s in ((n, 30), (3*n, 200))]

@pytest.mark.parametrize('n,d,c,c_s', shapes)
def test_no_uncautioned_praise_of_noise(n, d, c, c_s):
    "With no more samples than features, no score comes half of the way to its best value without a word"
    out = noise(n, d, c, c_s)
    found = scored(out)
    for k,r in found.iterrows():
        assert math.isfinite(r.value) or r.caution, k
        ends = chance_and_best(k, out.labels)
        if ends is None: continue
        chance,best = ends
        reached = (r.value-chance)/(best-chance)
        assert reached<.5 or r.caution, f'{k} reaches {reached:.2f} of its best value'
        assert reached<.99 or saturated(r.caution), f'{k} is at its best value: {r.caution!r}'
    for k in ('h_score','sfda','gbc','transrate'): assert found.caution[k], k
    assert found.caution['h_score'].endswith("use shrinkage='ledoit_wolf', or trust knn and linear_probe")
    assert not found.caution['parc']
    yardsticks = found.loc[['knn','linear_probe']]
    assert yardsticks.caution.map(lambda text: not text or text.startswith('low: about what naming the largest class')).all()
    assert (yardsticks.caution!='').any(), 'of noise a yardstick is about as right as the largest class'
    nothing = max((out.labels==k).mean() for k in range(c))
    flat = np.mean([-.5*math.log(2*math.pi*math.e*(out.labels==k).mean()) for k in range(c)])
    assert abs(found.value['logme']-flat)<.1, 'LogME of noise is the evidence of a model without features'
    assert found.value['knn']<nothing+.3

@pytest.mark.parametrize('n,d,c,c_s', [(2000, 8, 2, 5), (3000, 16, 10, 10)])
def test_silent_on_enough_samples(n, d, c, c_s):
    metrics = {k: m for k,m in applicable().items() if k not in ('otce','jc_nce','parc','pactran_dirichlet','pactran_gamma')}
    found = scored(noise(n, d, c, c_s), metrics)
    low = found.caution.str.startswith('low: about what naming')
    assert low[['knn','linear_probe']].any() and not low.drop(['knn','linear_probe']).any()
    assert not found.caution[~low].any(), found.caution[found.caution!=''].to_dict()

def test_default_of_rankings():
    "Noise in more dimensions than samples: the default H-score is not at its maximum, and the baselines are there"
    found = scored(noise(300, 512, 10, 20), None)
    assert list(found.index)==['leep','nce','h_score','logme','knn','linear_probe']
    assert found.value['h_score']<.2
    plain = scored(noise(300, 512, 10, 20), 'h_score')
    assert plain.value['h_score']==pytest.approx(9, abs=1e-6) and saturated(plain.caution['h_score'])

def test_plain_h_score_warns():
    out = noise(40, 30, 4, 5)
    h_score = applicable()['h_score'].f
    with pytest.warns(UserWarning, match="use shrinkage='ledoit_wolf'") as said: h_score(out.features, out.labels)
    assert len(said)==1 and said[0].filename==__file__
    default_scores()['h_score'](out.features, out.labels)   # warnings are errors here
    h_score(out.features[:,:5], out.labels)

def test_options_change_the_caution():
    out = noise(300, 512, 10, 20)
    gbc = applicable()['gbc'].f
    few = partial(gbc, components=8)
    found = scored(out, {'all': gbc, 'few': few})
    assert saturated(found.caution['all']) and not found.caution['few']

def test_cautions_say_one_sentence():
    "For any sizes, among them the smallest"
    for k,m in applicable().items():
        for n in (1,2,3,10,1000):
            for d in (1,10,1000):
                s = Sizes(n, d, 3., 2, math.log(2))
                text = m.beware(-.1, s)
                assert isinstance(text, str) and '\n' not in text and len(text)<250, k

def test_labels_that_are_numbers_of_samples():
    "Classes of one sample each say nothing, whatever value a score has"
    x = np.random.default_rng(0).normal(size=(40,8))
    metrics = ['h_score','logme']
    every = score_models({'a': Outputs(features=x, labels=np.arange(40))}, metrics=metrics, progress=False)
    assert every.caution.str.startswith('saturated: 40 of 40 samples are alone in their classes').all()
    some = score_models({'a': Outputs(features=x, labels=np.maximum(np.arange(40), 10))}, metrics=['logme'], progress=False)
    assert some.caution.str.startswith('inflated: 29 of 40 samples').all()
    few = score_models({'a': Outputs(features=x, labels=np.arange(40)%21)}, metrics=['logme'], progress=False)
    assert (few.caution=='').all()
