"Scores of many models, their order, and the estimator: values that hold on any data, interrupted runs, workers, and odd tables"
import math
import os
import signal
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import transfer_metrics as tm
from transfer_metrics.model_selection.intervals import compare_models
from transfer_metrics.model_selection.ranking import plot_ranking, rank, summary
from transfer_metrics.model_selection.scoring import all_outputs, applicable, score_models
from transfer_metrics.model_selection.selector import ModelSelector
from transfer_metrics.outputs import Outputs

g = torch.Generator().manual_seed(0)
y = torch.arange(40)%3
images = torch.rand(40, 1, 4, 4, generator=g)+y[:,None,None,None]
loader = DataLoader(TensorDataset(images, y), batch_size=10)
passes = 5 # four batches per pass, and a part of one to find the head

def noted():
    fd = os.open(os.environ['COUNTED'], os.O_WRONLY|os.O_CREAT|os.O_APPEND)
    os.write(fd, b'.')
    os.close(fd)

class Net(nn.Module):
    "Counts batches"
    def __init__(self, seed, pause=0.):
        super().__init__()
        torch.manual_seed(seed)
        self.body,self.head,self.pause = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU()),nn.Linear(8, 3),pause
    def forward(self, x):
        noted()
        time.sleep(self.pause)
        return self.head(self.body(x))

def nets(pause=0.): return {f'm{i}': Net(i, pause) for i in range(4)}|{'broken': nn.Linear(2, 2)}

@pytest.fixture
def count(tmp_path, monkeypatch):
    "Number of batches since the last call"
    log = tmp_path/'log'
    monkeypatch.setenv('COUNTED', str(log))
    def since():
        n = log.stat().st_size if log.exists() else 0
        log.unlink(missing_ok=True)
        return n
    return since

def scored(store, metrics='logme,leep', pause=0., **options):
    return score_models(nets(pause), loader, metrics, store=store, progress=False, **options)

def same(a, b): pd.testing.assert_frame_equal(a.drop(columns='seconds'), b.drop(columns='seconds'), check_exact=True)

def test_each_pass_is_made_once(tmp_path, count):
    store = tmp_path/'sweep'
    first = scored(store)
    assert count()==4*passes and set(first.model[first.error!=''])=={'broken'}
    same(scored(store), first)
    scored(store, 'h_score,nce,knn,linear_probe')
    outs = all_outputs(nets(), loader, store=store, progress=False)
    assert isinstance(outs.pop('broken'), Exception) and all(len(o)==40 for o in outs.values()) and count()==0
    scored(store, 'logme', layer=['body.1','head'])
    assert count()==4*passes # of two layers together
    scored(store, 'logme', layer=['body.1','body.2'])
    assert count()==4*passes # of the new layer
    assert scored(store, resume=False).value.equals(first.value) and count()==4*passes
    score_models({'renamed': Net(0)}, loader, 'logme', store=store, progress=False)
    assert count()==0
    other = DataLoader(TensorDataset(images+1, y), batch_size=10)
    for models,data in ({'m0': Net(0)}, other),({'m0': Net(7)}, loader):
        score_models(models, data, 'logme', store=store, progress=False)
        assert count()==passes
    with pytest.raises(ValueError, match='readable twice'):
        tm.model_selection.scoring._key(Net(0), iter([(images,y)]), {})

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('after', [1, 7])
def test_killed_and_resumed(after, tmp_path, count):
    "The result is that of an undisturbed run, and finished models are not run again"
    expected = scored(tmp_path/'whole', 'logme,leep,linear_probe', pause=.02)
    count()
    store,log = tmp_path/'sweep',tmp_path/'log'
    pid = os.fork()
    if not pid:
        try: scored(store, 'logme,leep,linear_probe', pause=.02)
        finally: os._exit(0)
    until = time.monotonic()+60
    while (not log.exists() or log.stat().st_size<after) and time.monotonic()<until: time.sleep(.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    begun,there = count(),len([*store.glob('outputs/[!.]*')])
    same(scored(store, 'logme,leep,linear_probe', pause=.02), expected)
    assert there<4 and begun<(there+1)*passes+1 and count()==(4-there)*passes # at most one model is lost

r = np.random.default_rng(0)
codes = np.arange(120)%4
out = Outputs(features=r.normal(size=(120,6))+r.normal(size=(4,6))[codes], logits=r.normal(size=(120,9)), labels=codes)

def test_workers():
    "A process or a thread per model gives the numbers of one process"
    outs = {k: Outputs(features=out.features+.1*i, probs=out.probs, labels=codes) for i,k in enumerate('abc')}
    here = score_models(outs, progress=False)
    with ProcessPoolExecutor(2) as pool: same(score_models(outs, executor=pool, progress=False), here)
    with ThreadPoolExecutor(2) as pool: same(score_models(outs, executor=pool, progress=False), here)

def test_alone_and_together():
    "A score does not depend on which others are computed"
    with warnings.catch_warnings(action='ignore'):
        every = score_models({'m': out}, metrics='all', progress=False).set_index('metric').value
        for k in every.index[every.notna()]:
            np.testing.assert_array_equal(score_models({'m': out}, metrics=[k], progress=False).value, every[[k]])
    assert every.notna().sum()>10 and set(every.index)=={k for k,m in applicable().items() if 'source_features' not in m.args}

def chance_and_best(metric, y):
    "Value of a score without information, and its best value"
    c,H = len(set(y.tolist())),-sum(p*math.log(p) for p in np.bincount(y)/len(y))
    return dict(h_score=(0,c-1), gbc=(-c*(c-1),0), lfc=(0,1), parc=(0,100), sfda=(1/c,1), knn=(1/c,1),
                linear_probe=(1/c,1),
                **dict.fromkeys(['leep','nce','nleep','pactran_dirichlet','pactran_gauss'], (-H,0))).get(metric)

@pytest.mark.parametrize('n,d,c,c_s', [(40,40,2,30),(60,180,5,200),(120,120,10,30)])
def test_noise_is_not_praised_without_a_warning(n, d, c, c_s):
    noise = np.random.default_rng(1)
    o = Outputs(features=noise.normal(size=(n,d)), logits=3*noise.normal(size=(n,c_s)), labels=np.arange(n)%c)
    names = [k for k,m in applicable().items() if 'source_features' not in m.args and k!='pactran_gamma']
    found = score_models({'noise': o}, metrics=names, progress=False).set_index('metric')
    assert (found.error=='').all(), found.error[found.error!=''].tolist()
    for k,row in found.iterrows():
        ends = chance_and_best(k, o.labels)
        assert math.isfinite(row.value) or row.warning, k
        if ends: assert (row.value-ends[0])/(ends[1]-ends[0])<.6 or row.warning, f'{k} {row.value}'
    assert found.warning['h_score']
    usual = score_models({'noise': o}, progress=False).set_index('metric')
    assert usual.value['h_score']<.5*(c-1) and not usual.warning['h_score']

def test_order_of_many_samples_and_models():
    "7 models x 1,000 samples in under 2 s of processor time, apart from the features; a score that warns does not vote"
    s = np.random.default_rng(0)
    labels = np.arange(1000)%10
    def features(i): return s.normal(size=(1000,32))+(.2+.04*i)*s.normal(size=(10,32))[labels]
    outs = {f'm{i}': Outputs(features=features(i), labels=labels) for i in range(7)}
    scores = score_models(outs, metrics='linear_probe,logme,h_score', progress=False)
    start = time.process_time()
    correct = {k: r.random(1000)<.7+.02*i for i,k in enumerate(outs)}
    compare_models(correct)
    rank(scores)
    assert time.process_time()-start<2
    table = rank(scores)
    assert table.index[0]=='m6' and table.p_best.sum()==pytest.approx(1) and table.accuracy.is_monotonic_decreasing
    turned = rank(scores.iloc[::-1])
    pd.testing.assert_frame_equal(turned[['accuracy','p_best','group']], table[['accuracy','p_best','group']])
    warned = scores.assign(warning=np.where(scores.metric=='logme', 'not reliable', scores.warning))
    assert 'logme has a warning and is ignored: not reliable.' in summary(warned)
    np.testing.assert_array_equal(rank(warned).mean_rank, rank(scores[scores.metric!='logme']).mean_rank)

@pytest.mark.parametrize('spread', [.01, .03, .1])
def test_p_best_is_calibrated(spread):
    "Stated probability of the first against how often it is the best: 400 simulations of seven models on 300 samples"
    s = np.random.default_rng(int(1000*spread))
    found = []
    for _ in range(400):
        truth = .8+spread*s.normal(size=7)
        correct = (s.normal(size=(300,1))+s.normal(size=(300,7)))/2**.5<ndtri(truth.clip(.02, .98))
        table = compare_models(dict(enumerate(correct.T)), n_boot=300)
        first = table.accuracy.idxmax()
        found.append((table.p_best[first], first==truth.argmax(), table.group[truth.argmax()]==1))
    stated,best,among = np.mean(found, axis=0)
    assert abs(stated-best)<.1 and among>.93

values = dict(a=.71, b=.94, c=.89, d=.65, e=.80, f=.52)
dear = dict(a=1, b=9, c=1, d=1, e=1, f=1)
def frame(values, metric='logme'):
    return pd.DataFrame(dict(model=list(values), metric=metric, value=list(values.values())))
def chosen(values=values, spearman=.5, **options): return tm.select_model(frame(values), spearman=spearman, **options)

@pytest.mark.parametrize('reader', [rank, summary, plot_ranking, partial(tm.agreement, accuracy=dict(a=.5, b=.7)),
                                    partial(tm.select_model, spearman=.5)])
def test_tables_that_are_refused(reader):
    twice = pd.concat([frame(values), frame(values)[:1].assign(value=99.)])
    with pytest.raises(ValueError, match="several for 'a' and 'logme'"): reader(twice)
    with pytest.raises(ValueError, match='must be numbers'): reader(frame(dict(a='high', b='low')))
    with pytest.raises(ValueError, match='in the column data, got 2'): reader(frame(values).assign(data=list('xxxyyy')))

def test_selection_of_models():
    level = chosen(dict.fromkeys(values, 1.), spearman=.9)
    assert level.among.to_numpy()==pytest.approx(np.arange(1, 7)/6) # a score that is the same for all knows nothing
    tied = chosen(dict(a=1, b=3, c=3, d=0), cost=dict(a=2, b=5, c=3, d=9))
    assert list(tied.model)==['c','b','a','d'] and np.diff(tied.among,
                                                           prepend=0)[0]==pytest.approx(np.diff(tied.among)[0])
    pd.testing.assert_frame_equal(chosen(dict(reversed(values.items()))), chosen())
    paid = chosen(budget=2, cost=dear)
    assert ''.join(paid.model[paid.train])=='ce' and paid.spent.iloc[-1]==2 # what is too expensive is skipped
    own = chosen().set_index('model').among.diff()
    assert paid.among.iloc[-1]==pytest.approx(own['c']+own['e']) and chosen(budget=0).among.max()==0
    assert chosen(budget=.3, cost=dict.fromkeys(values, .1)).train.sum()==3 # .1+.1+.1 is more than .3
    wide = chosen(spearman=tm.Estimate(.5, -.3, .9), budget=2, cost=dear)
    assert (wide.lo<=wide.among).all() and (wide.among<=wide.hi).all()
    assert list(chosen(dict(a=-math.inf, b=2., c=math.inf)).model)==['c','b','a']
    with pytest.warns(UserWarning, match='no logme for a'): assert len(chosen(values|dict(a=math.nan)))==5
    with pytest.raises(ValueError, match='at least two models with logme, got 0'):
        chosen(dict.fromkeys(values, math.nan))
    with pytest.raises(ValueError, match="'a' is missing"): chosen(cost=dict(b=1))
    both = pd.concat([frame(values), frame(values, 'linear_probe')])
    assert list(tm.select_model(both, spearman=.5).model)==list(chosen().model)
    unclear = pd.concat([frame(values), frame(values, 'leep')])
    with pytest.raises(ValueError, match='metric'): tm.select_model(unclear, spearman=.5)

@pytest.mark.parametrize('spearman', [math.nan, 'high', 1.1, tm.Estimate(math.nan, math.nan, math.nan)])
def test_correlations_that_are_refused(spearman):
    with pytest.raises(ValueError, match='`spearman` must be a number'): chosen(spearman=spearman)

def test_infinite_scores_have_no_interval():
    never = Outputs(probs=[[1.,0.]]*4+[[0.,1.]]*4, labels=list('aaabbbba'))
    worst = lambda probs, labels: -math.inf
    e = tm.model_selection.score_interval(never, worst)
    assert e.value==-math.inf and math.isnan(e.lo)
    assert math.isnan(tm.score_difference(never, never, worst).lo)
    with pytest.raises(ValueError, match='those of a, b are not'): tm.p_best(dict(a=never, b=never), worst)
    assert tm.chance(worst, never, n_perm=9).p_value==1

def test_scores_that_cannot_be_ranked():
    failed = score_models({'a': 'module_of_nobody:net'}, np.zeros((4,3,8,8)), progress=False)
    with pytest.raises(ValueError, match='no model has a score; a failed: .*module_of_nobody'): tm.rank(failed)
    net,x = nn.Sequential(nn.Flatten(), nn.Linear(192, 5)),torch.rand(30, 3, 8, 8)
    for data,why in ((x, 'have no labels'), ((x, np.zeros(30)), 'at least two classes')):
        with pytest.raises(ValueError, match=f'no model has a score; net failed: .*{why}'):
            tm.rank(score_models({'net': net}, data, progress=False))
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match='budget'):
        score_models({}, None, executor=pool, budget=1)

def test_estimator():
    check_estimator(ModelSelector(), on_skip=None)

class Bright(nn.Module):
    "Mean colour of an image, with a preprocessing of its own"
    def __init__(self, channels):
        super().__init__()
        self.channels,self.head = channels,nn.Linear(len(channels), 2)
        self.transform = lambda image: torch.from_numpy(np.asarray(image.resize((4,4)), np.float32)).permute(2, 0,
            1)/255
    def forward(self, x): return self.head(x.mean((2,3))[:,self.channels])

class Letters(nn.Module):
    "Counts of some letters"
    def __init__(self, letters):
        super().__init__()
        self.head = nn.Linear(len(letters), 2)
        self.text_transform = lambda texts: torch.tensor([[float(t.count(k)) for k in letters] for t in texts])
    def forward(self, x): return self.head(x)

def test_estimator_of_images_and_texts(tmp_path):
    "Images, paths, arrays and texts; lists can be split by cross-validation, and the estimator can end a pipeline"
    s = np.random.default_rng(0)
    labels = np.array(['red','blue'])[np.arange(30)%2]
    pixels = s.integers(0, 120, (30,8,8,3)).astype(np.uint8)
    pixels[labels=='red',...,0] += 60
    pictures = [Image.fromarray(o) for o in pixels]
    paths = [str(tmp_path/f'{i}.png') for i in range(30)]
    for p,o in zip(paths, pictures, strict=True): o.save(p)
    models = {'red': Bright([0]), 'green': Bright([1])}
    for X in pictures,paths,pixels:
        selector = ModelSelector(models, progress=False, store=tmp_path/'store').fit(X, labels)
        assert selector.best_=='red' and selector.score(X, labels)==1 and selector.transform(X).shape==(30,1)
        assert list(selector.table_.columns[:4])==['accuracy','lo','hi',
                                                   'p_best'] and selector.table_.parameters['red']==4
    assert cross_val_score(clone(selector), paths, labels, cv=2).mean()==1
    texts = [u[0]*int(k) for k,u in zip(s.integers(1, 5, 30), labels, strict=True)]
    selector = ModelSelector({'rb': Letters('rb'), 'z': Letters('z')}, progress=False).fit(texts, labels)
    assert selector.best_=='rb' and selector.predict(['rrr','b']).tolist()==['red','blue']
    X = pixels.reshape(30, -1)
    assert make_pipeline(StandardScaler(), ModelSelector()).fit(X, labels).score(X, labels)==1

def test_summary_has_at_most_25_lines():
    rows = [dict(model=k, metric='linear_probe', value=.8, lo=.7, hi=.9, p_best=.5, group=1) for k in 'ab']
    rows += [dict(model='a', metric=f'score {i}', value=0., warning=f'warning {i}') for i in range(40)]
    assert len(summary(pd.DataFrame(rows)).splitlines())==25
