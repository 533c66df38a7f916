"The tests of a benchmark against loops over pairs and sub-hubs, and tables from files"
import json
from itertools import combinations
import numpy as np
import pandas as pd
import pytest
from transfer_metrics.model_selection.benchmarks import against_static, benchmark, judge, per_data_set

def table(m=9, t=6, seed=0, slope=.02, missing=False):
    "Accuracies and scores of models of different size"
    rng = np.random.default_rng(seed)
    size = rng.choice([5e6,6e6,25e6,27e6,80e6], m)
    quality = np.log(size)[:,None]*slope+.05*rng.normal(size=(m,t))
    score = quality+.05*rng.normal(size=(m,t))
    frame = pd.DataFrame([dict(model=f'm{i}', target=f't{j}', accuracy=.5+quality[i,j], parameters=size[i], good=score[i,j],
                               noise=rng.normal()) for i in range(m) for j in range(t)])
    if missing: frame.loc[frame.index[::7],'good'] = np.nan
    return frame

def value(found, hub='all', score='good'): return found.set_index(['hub','score']).value[hub,score]

@pytest.mark.parametrize('missing', [False,True])
def test_fidelity(missing):
    "Differences of all pairs of models, predicted with the slope over the pairs of the other data sets"
    frame,expected = table(missing=missing),{}
    pairs = {k: np.array([(d.good[i]-d.good[j],d.accuracy[i]-d.accuracy[j]) for i,j in combinations(d.index, 2)])
             /np.sqrt(len(d)) for k,d in frame.dropna().groupby('target')} # centred sums: pairs over their models
    for k,(x,y) in ((k, p.T) for k,p in pairs.items()):
        rest = np.concatenate([p for o,p in pairs.items() if o!=k])
        expected[k] = 1-((y-rest[:,0]@rest[:,1]/(rest[:,0]@rest[:,0])*x)**2).sum()/(y@y)
    found = per_data_set(frame, 'fidelity').loc['good']
    assert found.to_dict()==pytest.approx(expected)
    assert value(judge(frame, statistics=['fidelity'], n_boot=0))==pytest.approx(found.mean())

@pytest.mark.parametrize('missing', [False,True])
def test_equal_size(missing):
    "Share of pairs of one size in the right order minus share in the wrong one; sizes of 25 and 27 are equal, 6 and 25 not"
    frame,rows = table(missing=missing),[]
    for _,d in frame.dropna().groupby('target'):
        rows.append([np.sign((d.good[i]-d.good[j])*(d.accuracy[i]-d.accuracy[j])) for i,j in combinations(d.index, 2)
                     if max(d.parameters[[i,j]])<=1.5*min(d.parameters[[i,j]])])
    found = judge(frame, statistics=['weighted_kendall','regret'], equal_size=True, n_boot=200)
    of_pairs = found[(found.hub=='equal size')&(found.score=='good')].set_index('statistic')
    assert of_pairs.value['weighted_kendall']==pytest.approx(np.mean([np.mean(o) for o in rows]))
    assert (of_pairs.lo_models<=of_pairs.value).all() and (of_pairs.value<=of_pairs.hi_models).all()
    for no_size in frame.drop(columns='parameters'),frame.assign(parameters=2.**frame.model.str[1:].astype(int)):
        with pytest.raises(ValueError, match='`equal_size` needs two models'): judge(no_size, equal_size=True)

def test_sub_hubs():
    "All choices of one model to leave out, and the table without the largest models"
    frame = table()
    found = judge(frame, statistics=['weighted_kendall'], leave_out=1, n_boot=0)
    each = [value(judge(frame[frame.model!=k], statistics=['weighted_kendall'], n_boot=0)) for k in frame.model.unique()]
    assert value(found, '1 left out')==pytest.approx(np.mean(each), abs=.01) # 1,000 random choices
    row = found.set_index(['hub','score']).loc[('1 left out','good')]
    assert row.lo_models>=min(each)-1e-9 and row.hi_models<=max(each)+1e-9
    largest = frame.drop_duplicates('model').sort_values('parameters', kind='stable').model.iloc[-1]
    sizes = frame.drop_duplicates('model').set_index('model').parameters
    if (sizes==sizes.max()).sum()==1: # which of several is left out is not defined
        assert value(found, 'without the 1 largest')==pytest.approx(
            value(judge(frame[frame.model!=largest], statistics=['weighted_kendall'], n_boot=0)))
    with pytest.raises(ValueError, match='`leave_out`'): judge(frame, leave_out=8)

def test_verdict():
    "A score that knows the accuracies is better, its opposite worse, and noise is hardly ever called better"
    frame = table(14, 8, slope=0).drop(columns=['noise','good'])
    known = frame.assign(oracle=frame.accuracy+.001*np.random.default_rng(1).normal(size=len(frame)))
    assert set(against_static(known, n_boot=300).verdict)=={'oracle is better'}
    sized = table(14, 8, slope=.2).drop(columns='good')
    assert against_static(sized.assign(noise=-sized.accuracy), n_boot=300).verdict.tolist()==[
        'n_parameters is better','elsewhere is better']
    noise = [against_static(table(12, 8, seed, 0).drop(columns='good'), n_boot=200) for seed in range(20)]
    assert pd.concat(noise).verdict.eq('noise is better').mean()<=.1
    with pytest.raises(ValueError, match='must have scores'): against_static('sfda_supervised')

def test_files(tmp_path):
    "A table, and records of TE-Bench as CSV and as one JSON file each, are the same benchmark"
    frame = table()
    frame.to_csv(tmp_path/'mine.csv')
    records = [dict(target_data=r.target, model_name=r.model, score_name=name, score_elements_list=elements, status='ok')
               for r in frame.itertuples() for name,elements in (('good', {'g': r.good}),('two', {'a': r.noise,'b': None}))]
    (tmp_path/'records').mkdir()
    for i,o in enumerate(records): (tmp_path/'records'/f'{i}.json').write_text(json.dumps(o))
    pd.DataFrame(records).to_csv(tmp_path/'te.csv', index=False)
    mine = benchmark(tmp_path/'mine.csv')
    assert [*mine.scores]==['good','noise'] and set(mine.baselines)=={'n_parameters','elsewhere','chance'}
    for source in tmp_path/'te.csv',tmp_path/'records':
        bench = benchmark(source, frame[['model','target','accuracy']])
        pd.testing.assert_frame_equal(bench.scores['good'], mine.scores['good'])
        pd.testing.assert_frame_equal(bench.scores['two.a'], mine.scores['noise'])
        assert bench.scores['two.b'].isna().all(axis=None)
    for bad,match in ((frame.drop(columns='accuracy'), '`accuracy` must'), (frame.drop(columns='model'), 'model is missing'),
                      (pd.concat([frame,frame[:1]]), "got several for \\('m0', 't0'\\)")):
        with pytest.raises(ValueError, match=match): judge(bad)
    turned = benchmark(frame.rename(columns=dict(good='ncti_vc')))
    pd.testing.assert_frame_equal(turned.scores['ncti_vc'], -mine.scores['good'])
