"Results have one form; those kept by a release are not taken for those of another; workers that die are told; errors are rows"
import os
from importlib import import_module
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from transfer_metrics import core, stats
from transfer_metrics.experiments.study import study
from transfer_metrics.experiments.tasks import random_tasks
from transfer_metrics.invariance.domains import ImageSet
from transfer_metrics.invariance.evaluation import evaluate
from transfer_metrics.loss_data import jobs
from transfer_metrics.loss_data.estimator import loss_data_curve
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.models import Outputs
from transfer_metrics.registry import frame_columns
from transfer_metrics.store import books, fingerprint
from transfer_metrics.transferability.leep import leep

leeps = import_module('transfer_metrics.transferability.leep')   # `transferability.leep` is the function

g = torch.Generator().manual_seed(0)
y = torch.arange(60)%3
x = torch.randn(60, 4, generator=g)+y[:,None]
images = torch.rand(60, 1, 8, 8, generator=g)
outs = Outputs(features=x, probs=x[:,:3].softmax(1), labels=y)

def deep_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))

class Deadly(nn.Module):
    "Ends the process that runs it, unless it is the one that made it"
    def __init__(self):
        super().__init__()
        self.home,self.head = os.getpid(),nn.Linear(64, 3)
    def forward(self, x):
        if os.getpid()!=self.home: os._exit(1)
        return self.head(x.flatten(1))

def deadly_method(model, train, test):
    if os.getpid()!=model.home: os._exit(1)
    return .5

class DeadlyProbe:
    "An estimator that ends the process, unless it is the one that made it"
    def __init__(self, home=None): self.home = os.getpid() if home is None else home
    def get_params(self, deep=True): return dict(home=self.home)
    def set_params(self, **k): return self
    def fit(self, x, y):
        if os.getpid()!=self.home: os._exit(1)
        self.classes_ = np.unique(y)
        return self
    def predict_proba(self, x): return np.full((len(x), len(self.classes_)), 1/len(self.classes_))

def scores(path, **o):
    return score_models({'a': outs}, None, leep, store=path, progress=False, **o)
def studied(path, **o):
    tasks = random_tasks(y.numpy(), 2, per_class=8)
    return study('s', {'a': outs}, None, tasks, metrics='leep', methods='retrain_head', store=path, progress=False, **o)
def evaluated(path, **o):
    sets = [ImageSet('s', images, y)]
    return evaluate({'a': deep_net()}, sets, metrics=['nuclear_norm','accuracy'], store=path, progress=False, **o)
def curve(path, **o):
    return loss_data_curve(x, y, probe='linear', points=[20,40], n_seeds=2, train_steps=5, store=path, progress=False, **o)

nuclear = import_module('transfer_metrics.invariance.nuclear_norm') # the module; the area has the function by this name
calls = dict(score_models=scores, study=studied, evaluate=evaluated, loss_data_curve=curve)
# of each function: a helper far down, and what it is replaced by
helpers = dict(score_models=(core, 'check_simplex'), study=(core, 'check_simplex'),
               evaluate=(nuclear, 'nuclear_norm'), loss_data_curve=(jobs, '_padded'))

more = dict(study=['task','kind','epoch','n_classes','entropy','chance'], score_models=['caution']) # columns after those of every result

@pytest.mark.parametrize('name', ['score_models', 'study', 'evaluate'])
def test_one_form(name, tmp_path):
    "The same columns in the same order, of the same kinds, measured or from the file"
    for _ in range(2):
        found = calls[name](tmp_path/'s.csv')
        assert list(found)==[*frame_columns, *more.get(name, [])]
        assert (found.error=='').all() and found[['value','seconds']].notna().all(axis=None)
        assert found[['lo','hi']].isna().all(axis=None)     # nobody has computed an interval
        assert {k: found[k].dtype.kind for k in ('value','lo','hi','n','seconds')}==dict(value='f', lo='f', hi='f', n='i', seconds='f')
    units = dict(leep='nats', nuclear_norm='share of the maximum', accuracy='accuracy', retrain_head='accuracy')
    assert found.unit.tolist()==[units[k] for k in found.metric]

def lines(path): return len(path.read_text().splitlines())-1

@pytest.mark.parametrize('name', calls)
def test_another_release_computes_again(name, tmp_path, monkeypatch):
    f,path = calls[name],tmp_path/'s.csv'
    first = f(path)
    n = lines(path)
    f(path)
    assert lines(path)==n
    monkeypatch.setattr(books, '__version__', '9.9')
    again = f(path)
    assert lines(path)==2*n
    pd.testing.assert_frame_equal(again.drop(columns='seconds', errors='ignore'), first.drop(columns='seconds', errors='ignore'))

def recompiled(f):
    "The code of `f` with one constant more"
    return f.__code__.replace(co_consts=(*f.__code__.co_consts, 'corrected'))

@pytest.mark.parametrize('name', calls)
def test_a_corrected_helper_computes_again(name, tmp_path, monkeypatch):
    f,path = calls[name],tmp_path/'s.csv'
    module,helper = helpers[name]
    f(path)
    n = lines(path)
    with monkeypatch.context() as m:
        m.setattr(getattr(module, helper), '__code__', recompiled(getattr(module, helper)))
        f(path)
    assert n<lines(path)<=2*n
    computed = lines(path)
    f(path)
    assert lines(path)==computed            # what it was is known

@pytest.mark.parametrize('name', ['score_models', 'study'])
def test_a_replaced_helper_changes_the_value(name, tmp_path, monkeypatch):
    "A helper of LEEP is corrected: the number of the old release is not served"
    f,path = calls[name],tmp_path/'s.csv'
    def value(df): return df[df.metric=='leep'].value.iloc[0]
    old = value(f(path))
    logs = leeps._logs
    monkeypatch.setattr(leeps, '_logs', lambda *a, **k: logs(*a, **k)*.5)
    assert value(f(path))!=old and value(f(path))==value(f(None))

def test_helpers_in_other_modules_count(monkeypatch):
    was = fingerprint(leep)
    monkeypatch.setattr(core.check_simplex, '__code__', recompiled(core.check_simplex))
    assert fingerprint(leep)!=was
    assert fingerprint(partial(leep, chance_corrected=True))!=fingerprint(leep)

@pytest.mark.parametrize('name', calls)
def test_resume_false_computes_again(name, tmp_path):
    path = tmp_path/'s.csv'
    calls[name](path)
    n = lines(path)
    calls[name](path, resume=False)
    assert lines(path)==2*n

def deaths(path, pool):
    "A call of each function whose worker dies"
    net = Deadly()
    loader = [(images[:32],y[:32]),(images[32:],y[32:])]
    o = dict(store=path, executor=pool, progress=False)
    tasks = random_tasks(y.numpy(), 2, per_class=8)
    return dict(
        score_models=partial(score_models, {'deadly': net}, loader, leep, **o),
        study=partial(study, 's', {'deadly': net}, (images,y), tasks, metrics='leep', methods=deadly_method, **o),
        evaluate=partial(evaluate, {'deadly': net}, [ImageSet('s', images, y)], metrics='cot', **o),
        loss_data_curve=partial(loss_data_curve, x, y, probe=DeadlyProbe(), points=[20,40], n_seeds=1, **o))

@pytest.mark.parametrize('name', calls)
@pytest.mark.parametrize('stored', [True, False])
def test_dead_worker(name, stored, tmp_path):
    path = tmp_path/'s.csv' if stored else None
    with ProcessPoolExecutor(1, mp_context=get_context('fork')) as pool:
        match = 's.csv: the same call goes on from there' if stored else 'Pass store= to keep'
        with pytest.raises(BrokenExecutor, match='a worker died before .* were done: .*'+match): deaths(path, pool)[name]()

def test_errors_are_rows(tmp_path):
    path = tmp_path/'s.csv'
    sets = [ImageSet('good', images, y), ImageSet('flat', images[:,0,:4], y)]
    for _ in range(2):
        e = evaluate({'a': deep_net()}, sets, metrics=['cot','accuracy'], store=path, progress=False)
        assert (e.error!='').tolist()==[False,False,True,True] and e.value.isna().tolist()==[False,False,True,True]
        assert lines(path)==2
    f = loss_data_curve(x, y, probe=Odd(), points=[20,40], n_seeds=1, progress=False)
    assert (f.error!='').tolist()==[True,False] and 'too few' in f.error[0]

class Odd(DeadlyProbe):
    def fit(self, x, y):
        if len(y)<30: raise RuntimeError('too few')
        return super().fit(x, y)

def by_stats(x, y): return stats.kendall(x, y)

def test_code_of_a_metric_is_read_once(tmp_path, monkeypatch):
    "Not for each model and layer again"
    asked = []
    key = books.Book.key
    def counted(self, *what):
        asked.append(what)
        return key(self, *what)
    monkeypatch.setattr(books.Book, 'key', counted)
    outs = {name: Outputs(probs=[[.9,.1],[.2,.8],[.6,.4]], labels=[0,1,0]) for name in 'abc'}
    found = score_models(outs, metrics=['leep','nce'], store=tmp_path/'scores.csv', progress=False)
    assert len(found)==6 and len(asked)==2

def test_key_through_a_package():
    "What a function finds in a package counts, whether or not it was imported before"
    vars(stats).pop('kendall', None)
    before = fingerprint(by_stats)
    assert stats.kendall and fingerprint(by_stats)==before
    vars(stats)['kendall'] = stats.spearman
    changed = fingerprint(by_stats)
    del vars(stats)['kendall']
    assert changed!=before

def test_what_is_known_takes_no_time(monkeypatch, tmp_path):
    "A study that goes on counts the effort of what it lacks, and of nothing else, to foretell how long it takes"
    counted = []
    class Counted:
        def __init__(self, total, what): counted.append(dict(total=total, done=0))
        def done(self, k): counted[-1]['done'] += k
    monkeypatch.setattr(import_module('transfer_metrics.experiments.study'), 'Pace', Counted)
    tasks = random_tasks(y.numpy(), 5, per_class=8)
    for some in tasks[:2],tasks:
        study('s', {'a': outs}, None, some, metrics='leep', store=tmp_path/'s.csv', progress=False)
    first,second = counted
    assert first['done']==first['total'] and second['done']==second['total']>0

def test_files_that_change_under_a_data_set(tmp_path):
    "The same names, other pixels: in torchvision's folders, in data sets of one's own, and in loaders of them"
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset
    from torchvision.datasets import ImageFolder
    from torchvision.transforms.functional import to_tensor
    class Files(Dataset):
        def __init__(self, samples): self.samples = samples
        def __len__(self): return len(self.samples)
        def __getitem__(self, i):
            path,label = self.samples[i]
            return to_tensor(Image.open(path)),label
    def paint(seed):
        rng = np.random.default_rng(seed)
        for i in range(12):
            folder = tmp_path/'images'/'ab'[i%2]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (8,8,3), np.uint8)).save(folder/f'{i}.png')
    def scores(data):
        found = score_models({'n': net}, data, ['logme'], store=tmp_path/'kept', progress=False)
        return found.value[0]
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 3))
    paint(0)
    folder = ImageFolder(tmp_path/'images', transform=to_tensor)
    own = Files(folder.samples)
    every = folder,own,DataLoader(own, batch_size=4)
    before = [scores(o) for o in every]
    assert before==[scores(o) for o in every]
    assert len([*(tmp_path/'kept'/'outputs').iterdir()])==3
    paint(1)
    after = [scores(o) for o in every]
    assert len([*(tmp_path/'kept'/'outputs').iterdir()])==6
    assert max(after)-min(after)<1e-6 and abs(after[0]-before[0])>1e-3

def test_fingerprint_of_files_that_data_name(tmp_path):
    from torch.utils.data import Dataset, Subset
    from transfer_metrics.store import file_states
    class Files(Dataset):
        def __init__(self, paths): self.paths = paths
        def __len__(self): return len(self.paths)
        def __getitem__(self, i): return self.paths[i],0
    paths = [str(tmp_path/f'{i}.txt') for i in range(3)]
    for p in paths: (tmp_path/p).write_text('one')
    forms = Files(paths),Files(np.array(paths)),Files([(p, 0) for p in paths]),Files(paths[1]),Subset(Files(paths), [1])
    was = [fingerprint(o) for o in forms]
    assert was==[fingerprint(o) for o in forms]
    (tmp_path/paths[1]).write_text('two or three')
    assert not {*was}&{fingerprint(o) for o in forms}
    assert file_states(paths)[:,0].tolist()==[3,12,3]
    assert file_states([paths[0],'gone'])[1].tolist()==[-1,-1]
    for none in ['a text'],[],3,'x'*5000,np.array(3),[[paths]]: assert file_states(none) is None
    was = fingerprint(Files([]))
    Files.__getitem__ = lambda self, i: (self.paths[i],1)
    assert fingerprint(Files([]))!=was

def test_fingerprint_of_slots_tables_and_pictures():
    "What neither a dictionary of attributes nor `repr` shows"
    from PIL import Image
    class Slotted:
        __slots__ = '__power','unset'
        def __init__(self, power): self.__power = power
    class Holding(nn.Module):
        def __init__(self, power):
            super().__init__()
            self.setting = Slotted(power)
    for make in Slotted,Holding:
        assert fingerprint(make(1))==fingerprint(make(1))!=fingerprint(make(2))
    table = pd.DataFrame(dict(text=[f't{i}' for i in range(500)], label=0))   # `repr` has the ends
    later = table.copy()
    later.loc[250, 'text'] = 'another'
    for a,b in (table, later),(table.text, later.text),(pd.Index(table.text), pd.Index(later.text)):
        assert fingerprint(a)==fingerprint(a.copy())!=fingerprint(b)
    red,blue = (Image.new('RGB', (4,4), k) for k in ('red','blue'))
    assert fingerprint(red)==fingerprint(red.copy())!=fingerprint(blue)
