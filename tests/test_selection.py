"Tables that are not as one expects them: refused in words, or the answer is right all the same"
import math
import numpy as np
import pandas as pd
import pytest
import transfer_metrics as tm

values = dict(a=.71, b=.94, c=.89, d=.65, e=.80, f=.52)
dear = dict(a=1, b=9, c=1, d=1, e=1, f=1)

def scores_of(values, metric='logme'):
    return pd.DataFrame(dict(model=list(values), metric=metric, value=list(values.values())))

def chosen(values=values, spearman=.5, **kw): return tm.select_model(scores_of(values), spearman=spearman, **kw)

def trained(found): return ''.join(found.model[found.train])

accuracy = dict(a=.5, b=.7, c=.6)
readers = dict(rank=tm.rank, select_model=lambda s: tm.select_model(s, spearman=.5), aggregate=tm.aggregate,
    agreement=lambda s: tm.agreement(s, accuracy), plot_ranking=tm.plot_ranking)

@pytest.mark.parametrize('reader', readers.values(), ids=readers)
def test_two_rows_of_one_model(reader):
    "Which of two values is meant is not known"
    scores = scores_of(values)
    twice = pd.concat([scores, scores[:1].assign(value=99.)])
    with pytest.raises(ValueError, match="one row a model and metric, got 2 of 'a' and 'logme'"): reader(twice)

@pytest.mark.parametrize('reader', readers.values(), ids=readers)
def test_texts_for_numbers(reader):
    "'9' would come after '10'"
    texts = scores_of(dict(a='high', b='low'))
    with pytest.raises(ValueError, match="`scores.value` must be numbers, got 'high'"): reader(texts)

def test_numbers_as_texts():
    assert list(tm.rank(scores_of(dict(a='9', b='10', c='11'))).index)==['c','b','a']

def test_level_scores():
    "A score that is the same for all knows nothing, whatever its correlation was elsewhere"
    found = chosen(dict.fromkeys(values, 1.), spearman=.9)
    assert found.among.to_numpy()==pytest.approx(np.arange(1, 7)/6)

def test_level_pair():
    "Two of equal score are as probable as one another; the cheaper comes first"
    found = chosen(dict(a=1, b=3, c=3, d=0), cost=dict(a=2, b=5, c=3, d=9))
    assert list(found.model)==['c','b','a','d']
    first,second,*_ = np.diff(found.among, prepend=0)
    assert first==pytest.approx(second)
    apart = chosen(dict(a=1, b=3, c=4, d=0))
    assert found.among[1]==apart.among[1]

def test_order_of_rows():
    turned = dict(reversed(values.items()))
    pd.testing.assert_frame_equal(chosen(turned), chosen())
    level = dict.fromkeys(values, 1.)
    pd.testing.assert_frame_equal(chosen(dict(reversed(level.items()))), chosen(level))

def test_too_dear():
    "What cannot be paid for is passed over, and the others are trained"
    found = chosen(budget=2, cost=dear)
    assert trained(found)=='ce'
    assert found.spent.iloc[-1]==2
    own = chosen().set_index('model').among.diff()
    assert found.among.iloc[-1]==pytest.approx(own['c']+own['e'])
    assert chosen(budget=0).among.max()==0
    tenths = chosen(budget=.3, cost=dict.fromkeys(values, .1))   # .1+.1+.1 is more than .3
    assert tenths.train.sum()==3

def test_interval_with_a_budget():
    found = chosen(spearman=tm.Estimate(.5, -.3, .9), budget=2, cost=dear)
    assert (found.lo<=found.among).all()
    assert (found.among<=found.hi).all()

def test_missing_score():
    "The probabilities are for the models that are left, and that is said"
    with pytest.warns(UserWarning, match="no logme of 'a': left out"): found = chosen(values|dict(a=math.nan))
    assert len(found)==5
    with pytest.raises(ValueError, match='at least two models with logme, got none'): chosen(dict.fromkeys(values, math.nan))

@pytest.mark.parametrize('spearman', [math.nan, 'high', 1.1, tm.Estimate(math.nan, math.nan, math.nan)])
def test_no_correlation(spearman):
    with pytest.raises(ValueError, match='`spearman` must be a number from -1 to 1'): chosen(spearman=spearman)

def test_infinite_scores():
    found = chosen(dict(a=-math.inf, b=2., c=math.inf))
    assert list(found.model)==['c','b','a']

def left_out(value, *without): return tm.Jackknife('leep', value, np.array(without), 300)

good = left_out(-1., -1.,-1.1,-.9)
fair = left_out(-1.05, -1.1,-1.,-1.05)
never = left_out(-math.inf, *[-math.inf]*3)
sometimes = left_out(-1., -1.,-1.,-math.inf)
above_all = left_out(math.inf, *[math.inf]*3)
unknown = left_out(math.nan, *[math.nan]*3)

@pytest.mark.parametrize('other', [never, sometimes, above_all, unknown])
def test_difference_without_an_interval(other):
    for found in tm.score_difference(good, other),tm.score_difference(other, good):
        assert all(map(math.isnan, (found.lo,found.hi,found.p_better,found.n_needed)))
        assert 'no interval' in repr(found)

def test_p_best_of_infinite_scores():
    "The worst score there is leaves the others as they are; with any other that has no interval nothing is known"
    two = tm.p_best(dict(good=good, fair=fair))
    with_worst = tm.p_best(dict(good=good, never=never, fair=fair))
    assert with_worst[['good','fair']].equals(two)
    assert math.isnan(with_worst['never'])
    for other in sometimes,above_all,unknown: assert tm.p_best(dict(good=good, other=other)).isna().all()
    with pytest.raises(ValueError, match='one model or more'): tm.p_best({})

def test_scores_that_have_no_interval():
    "A score of one's own that is infinite or missing: no interval, no probability, and no warning of the arithmetic"
    rng = np.random.default_rng(0)
    outs = {k: tm.Outputs(probs=rng.dirichlet([1,1,1], 40), labels=np.arange(40)%2) for k in 'ab'}
    def worst(probs, labels): return -math.inf
    def missing(probs, labels): return math.nan
    found = tm.score_models(outs, metrics=dict(worst=worst, missing=missing), interval=.95, progress=False)
    assert found[['lo','hi','p_best']].isna().all(axis=None)
    assert set(found.group)=={0}
    assert tm.chance(worst, outs['a'], n_perm=9).p_value==1

def test_accuracy_of_one_model_twice():
    twice = pd.Series([.1,.2,.3], index=['a','a','b'])
    with pytest.raises(ValueError, match="`accuracy` must name each model once, got 2 of 'a'"):
        tm.agreement(scores_of(values), twice)
