"Predicted accuracy: every estimator in one unit, a judgement in words, and the two commands, at 80 columns and with bad input"
import contextlib
import io
import json
import math
import re
import sys
from types import ModuleType
import numpy as np
import pandas as pd
import pytest
import torch
from transfer_metrics.cli.main import main
from transfer_metrics.invariance.accuracy_fit import AccuracyFit
from transfer_metrics.invariance.estimates import Kept, accuracy_columns, accuracy_estimates
from transfer_metrics.invariance.judgement import estimates_frame, facts_of, judge, plot_estimates
from transfer_metrics.invariance.predicted_accuracy import predicted_accuracy
from transfer_metrics.invariance.report import label_free_report
from transfer_metrics.models import Outputs
from transfer_metrics.registry import frame_columns

k = 3
known_y = np.repeat([0,1,2], 40)
new_y = np.tile([0,1,2], 50)

def answers(y, sharp, seed, good=.8):
    "Logits of a model that is right with probability `good`"
    rng = np.random.default_rng(seed)
    aimed = np.where(rng.random(len(y))<good, y, rng.integers(k, size=len(y)))
    logits = rng.normal(size=(len(y),k))
    logits[np.arange(len(y)),aimed] += sharp
    return logits

known = Outputs(logits=answers(known_y, 4, 0), labels=known_y)
new = Outputs(logits=answers(new_y, 3, 1))

class Double(torch.nn.Module):
    def forward(self, x): return x.double()

def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), Double(), torch.nn.Linear(16, k).double()).eval()

images = torch.from_numpy(np.random.default_rng(0).random((90,1,4,4), np.float32))
labels = torch.arange(90)%k

def test_by_hand():
    "Two known samples, one of them right at confidence .8; two new ones of confidence .9 and .6"
    few = Outputs(probs=[[.9,.1],[.6,.4]])
    told = Outputs(probs=[[.8,.2],[.2,.8]], labels=[0,0])
    found = accuracy_estimates(few, told, n_boot=0)
    got = {m: found[m].accuracy.value for m in ('average_confidence','cot','doc')}
    assert got==pytest.approx(dict(average_confidence=.45, cot=.75, doc=.45))
    assert found['average_confidence'].gap==pytest.approx(-.3)
    assert found['average_confidence'].value.value==pytest.approx(.75)      # as the metric says it
    assert found['cot'].value.value==pytest.approx(.25)
    assert all(math.isnan(found[m].accuracy.value) and 'line' in found[m].note for m in ('entropy','nuclear_norm'))
    assert 'no interval' in found['doc'].note

def test_frame():
    found = predicted_accuracy('mine', known, {'a': new, 'b': new})
    assert tuple(found.columns)==(*frame_columns, *accuracy_columns)
    a,b = (found[found.data==o].drop(columns='data').reset_index(drop=True) for o in 'ab')
    pd.testing.assert_frame_equal(a, b)
    spoken = a.dropna(subset='estimated_accuracy').set_index('metric')
    assert (spoken.accuracy_lo<=spoken.estimated_accuracy).all() and (spoken.estimated_accuracy<=spoken.accuracy_hi).all()
    assert set(spoken.unit)=={'accuracy','error'}
    assert a.set_index('metric').value['known_accuracy']==(known.predicted==known.labels).mean()

def test_order_of_rows():
    "A resample depends on what samples are, not on where they stand"
    rng = np.random.default_rng(0)
    i,j = rng.permutation(len(known)),rng.permutation(len(new))
    a = estimates_frame(new, known)
    b = estimates_frame(new.subset(j), known.subset(i))
    pd.testing.assert_frame_equal(a, b)

def test_fit():
    fit = AccuracyFit(n_boot=0).fit([.1,.3,.6,.9], [.9,.8,.7,.5])
    found = predicted_accuracy('mine', known, new, metrics='entropy', fits={'entropy': fit}).iloc[0]
    lo,hi = fit.interval(found.value)
    assert (found.estimated_accuracy,found.accuracy_lo,found.accuracy_hi)==pytest.approx((fit.predict(found.value),lo,hi))

def test_registered_metric_speaks(monkeypatch):
    "A new notebook's metric is estimated, moved, and judged by itself"
    registries = sys.modules['transfer_metrics.registry']
    monkeypatch.setattr(registries, '_registry', dict(registries.registry()))
    module = ModuleType('transfer_metrics.invariance.toys')
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec('''
from transfer_metrics.registry import metric
@metric(unit='error', range=(0, 1), source='')
def toy_error(probs) -> float:
    return float(1-probs.amax(1).mean())
''', module.__dict__)
    found = accuracy_estimates(new, known, ['toy_error','average_confidence'])
    a,b = found['toy_error'].accuracy,found['average_confidence'].accuracy
    assert (a.value,a.lo,a.hi)==pytest.approx((b.value,b.lo,b.hi))
    assert found['toy_error'].value.value==pytest.approx(1-found['average_confidence'].value.value)
    assert 'toy_error' in set(label_free_report(make(), images, progress=False).metric)

def test_report():
    told = Outputs(logits=make()(images).detach(), labels=labels)
    report = label_free_report(make(), images, source=told, progress=False)
    alone = accuracy_estimates(Outputs(logits=told.logits), told, prior='uniform')
    values = report.set_index('metric')
    for m,e in alone.items():
        assert values.value[m]==pytest.approx(e.value.value)
        same = [values[c][m] for c in accuracy_columns[:3]]
        assert same==pytest.approx([e.accuracy.value,e.accuracy.lo,e.accuracy.hi], nan_ok=True)
    assert 'estimated accuracy' in report.attrs['judgement']
    assert label_free_report(make(), images, estimate=False, progress=False).estimated_accuracy.isna().all()

def test_scikit_learn():
    "A pipeline with classes of any names is asked for probabilities; labels of the new samples are not looked at"
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC
    rng = np.random.default_rng(0)
    y = np.arange(240)%3
    x = pd.DataFrame(rng.normal(size=(240,4))+y[:,None]).add_prefix('x')
    names = np.array(['cat','dog','owl'])[y]
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[:80], names[:80])
    known,new = x[80:160],x[160:]
    run = dict(metrics=['atc','doc'], n_boot=20, progress=False)
    found = predicted_accuracy(pipe, (known, names[80:160]), (new, ['emu']*80), **run)
    probs = pipe.predict_proba
    outs = Outputs(probs=probs(known), labels=y[80:160]),Outputs(probs=probs(new))
    pd.testing.assert_frame_equal(found, predicted_accuracy('Pipeline', *outs, **run))
    told = found.set_index('metric').value['known_accuracy']
    assert told==pytest.approx(pipe.score(known, names[80:160]))
    report = label_free_report(pipe, (new, names[160:]), n_boot=0).set_index('metric').value
    assert report['accuracy']==pytest.approx(pipe.score(new, names[160:]))
    assert not {'mano','rotation_invariance'}&set(report.index)
    with pytest.raises(ValueError, match='mano needs a network, of a Pipeline there are entropy'):
        label_free_report(pipe, new, 'entropy,mano')
    with pytest.raises(ValueError, match='must have `predict_proba`'):
        predicted_accuracy(LinearSVC().fit(known, names[80:160]), (known, names[80:160]), new)

def test_kept():
    "Of a stream no more than `most` answers stay, rows together, as many batches as there may be"
    kept = Kept(50)
    for i in range(40):
        z = torch.full((10,k), float(i)).double()
        kept.add(type('Look', (), dict(logits=z, labels=np.full(10, i))))
        assert sum(map(len, kept.parts['logits']))<2*50+10
    out = kept.outputs()
    assert len(out)==50 and kept.seen==400 and (out.logits[:,0]==out.labels).all()

def test_judgement():
    j, = judge(estimates_frame(new, known))
    assert j.agree and str(j).startswith('estimated accuracy .') and j.lo<=j.value<=j.hi
    one_class = Outputs(logits=answers(np.zeros(150, int), 4, 2, good=1.))
    facts = facts_of(one_class, known)
    assert facts.distance>.5>facts.by_chance
    j, = judge(estimates_frame(one_class, known))
    assert not j.agree and 'if the classes are as frequent as there, believe cot' in str(j)
    few, = judge(estimates_frame(new.subset(slice(0, 20)), known))
    assert '20 new samples are few' in few.reasons
    alone, = judge(estimates_frame(new))
    assert any('without labelled samples' in o for o in alone.reasons)

def test_judgement_of_a_file(tmp_path):
    frame = estimates_frame(new, known, model='mine', data='october')
    frame.to_csv(tmp_path/'estimates.csv', index=False)
    again = pd.read_csv(tmp_path/'estimates.csv', keep_default_na=False, na_values={c: '' for c in frame.select_dtypes('number')})
    assert list(map(str, judge(again)))==list(map(str, judge(frame)))

@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    mine = ModuleType('my_models')
    mine.make = make
    monkeypatch.setitem(sys.modules, 'my_models', mine)
    np.savez(tmp_path/'known.npz', images=images.numpy(), labels=labels.numpy())
    np.save(tmp_path/'new.npy', images.numpy()[:60])
    known.save(tmp_path/'saved.npz')
    new.save(tmp_path/'told.npz')
    return tmp_path

def run(*args):
    "Exit status, stdout and stderr"
    out,err = io.StringIO(),io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err): status = main([*map(str, args), '--no-progress'])
    return status,out.getvalue(),err.getvalue()

def test_command(files):
    own = '--model', 'my_models:make', '--known', files/'known.npz', '--new', files/'new.npy'
    status,out,err = run('accuracy', *own, '--json', files/'a.json', '--report', files/'a.html')
    assert (status,err)==(0,'')
    assert out.startswith('labelled: 90 images, 3 classes') and 'new: 60 images without labels in new' in out
    printed = [line for line in out.splitlines() if not line.startswith('wrote ')]
    assert max(map(len, printed))<=80 and 'nan' not in out
    answer = json.loads((files/'a.json').read_text())
    assert answer['answer'].startswith('Estimated accuracy') and len(answer['tables']['estimates'])>8
    assert '<html' in (files/'a.html').read_text()

def test_limit_is_drawn_before_the_pass(files):
    "Only the samples that are used are looked at, and it is said which; of saved outputs as well"
    own = '--model', 'my_models:make', '--known', files/'known.npz', '--new', files/'new.npy', '--metrics', 'doc'
    status,out,_ = run('accuracy', *own, '--limit', 30, '--csv', files/'few.csv')
    said = ' '.join(out.split())
    assert status==0 and 'one forward pass over 60 images' in said
    assert re.search(r'labelled: 30 images, 3 classes: (\d: 10,? ?){3}; --limit draws them from 90', said)
    assert 'in new; --limit draws them from 60' in said
    assert set(pd.read_csv(files/'few.csv').n)=={30}
    saved = '--known-outputs', files/'saved.npz', '--new-outputs', files/'told.npz', '--metrics', 'doc'
    status,out,_ = run('accuracy', *saved, '--limit', 30)
    assert status==0 and '30 new ones; --limit draws them from 150' in ' '.join(out.split())

def test_each_new_set_is_counted(files):
    np.save(files/'six.npy', images.numpy()[:6])
    own = '--model', 'my_models:make', '--known', files/'known.npz', '--new', f'{files}/new.npy,{files}/six.npy'
    status,out,_ = run('accuracy', *own, '--metrics', 'doc', '--plot', files/'both.png')
    assert status==0 and 'and 60 new ones in new and 6 new ones in six.' in ' '.join(out.split())

def test_without_intervals(files):
    "What is printed does not speak of intervals that are not there"
    saved = '--known-outputs', files/'saved.npz', '--new-outputs', files/'told.npz'
    status,out,_ = run('accuracy', *saved, '--n-boot', 0)
    assert status==0 and 'saved on new, no intervals' in out and '% intervals' not in out
    assert 'take the whole interval' not in ' '.join(out.split())

def test_joint_interval_holds_all_parts():
    "Also those of estimates that are equal to others, and only the widest of which reaches so far"
    frame = estimates_frame(new, known, ['atc','doc'])
    frame.loc[frame.metric.isin(['atc','doc']), ['estimated_accuracy','accuracy_hi']] = [.9,.95]
    frame.loc[frame.metric=='atc', 'accuracy_lo'] = .5
    frame.loc[frame.metric=='doc', 'accuracy_lo'] = .8
    j, = judge(frame)
    assert (j.value,j.lo,j.hi)==(.9,.5,.95)
    assert len(plot_estimates(frame).get_yticks())==2

def test_bars_say_what_they_count(monkeypatch):
    module = sys.modules['transfer_metrics.invariance.predicted_accuracy']
    forward,said = module.forward,[]
    def told(*args, desc, **options):
        said.append(desc)
        return forward(*args, **options)
    monkeypatch.setattr(module, 'forward', told)
    predicted_accuracy({'mine': make()}, (images, labels), {'october': images}, metrics='doc', n_boot=0, progress=False)
    assert said==['mine on known','mine on october']

def test_what_lies_outside_the_range_of_a_line():
    "A prediction that is cut off at 0 is marked where it is read"
    from transfer_metrics.cli.invariance import _shown
    ends = dict(accuracy_lo=[.4,0,math.nan], accuracy_hi=[.6,.2,math.nan])
    some = pd.DataFrame(dict(data=list('abc'), estimated_accuracy=[.5,0,1], accuracy=.5, **ends))
    shown = _shown(some)
    assert list(shown.note)==['',*['outside the range of the line']*2]
    assert list(shown['predicted accuracy'])==['0.50 [0.40, 0.60]','0.00 [0.00, 0.20]','1.00']

def test_line_of_one_model():
    with pytest.raises(ValueError, match='`model` must have at least three models, for agreement_on_the_line, got 1'):
        predicted_accuracy('mine', known, new, metrics='agreement_on_the_line')

def test_command_of_outputs(files):
    status,out,_ = run('accuracy', '--known-outputs', files/'saved.npz', '--new-outputs', files/'told.npz', '--metrics', 'doc')
    assert status==0 and 'doc' in out and 'cot' not in out and 'only one metric' in out

@pytest.mark.parametrize('args,why', [
    (['--model','my_models:make'], '--known and --new are missing'), (['--metrics','dok'], "unknown metric 'dok', did you mean 'doc'?"),
    (['--known-outputs','nowhere/a.npz','--new-outputs','nowhere/b.npz'], 'no such file or folder: nowhere/a.npz'),
    (['--n-boot','2'], '--n-boot must be a whole number of at least 100, got 2; 0 is for no intervals'),
    (['--metrics','agreement_on_the_line'], 'agreement_on_the_line needs at least three models, got 1'),
    (['--coverage','1.5'], '--coverage must be a number in (0, 1)'), (['--plot','a.txt'], '--plot must name a file')])
def test_command_refuses(args, why):
    status,out,err = run('accuracy', *args)
    assert status==2 and out=='' and len(err.splitlines())==1 and why in err

def test_invariance(files):
    "Its default output fits 80 columns, says what it takes before it begins, and ends with a predicted accuracy"
    ask = '--models', 'my_models:make', '--images', files/'known.npz', '--metrics', 'entropy,rotation_invariance'
    status,out,err = run('invariance', *ask, '--exterior', files/'known.npz', '--interior', 5, '--n-boot', 100)
    assert (status,err)==(0,'') and max(map(len, out.splitlines()))<=80
    passes = (5+1)*90*4
    assert out.index(f'{passes:,} forward passes')<out.index('How well each metric')
    said = ' '.join(out.split())
    assert 'it predicts an accuracy of' in said and 'fewer than 5 sets prove nothing' in said and 'as good as' not in said
    status,hurried,_ = run('invariance', *ask, '--minutes', 1e-6, '--n-boot', 0)
    assert status==0 and '10 interior sets of 20 images' in ' '.join(hurried.split())
