"Extrapolation beyond a curve: known laws, the same curve in other forms, inputs that have no answer"
import numpy as np
import pandas as pd
import pytest
import transfer_metrics as tm
from transfer_metrics.learning_curves.effective_data import effective_data, effective_data_table
from transfer_metrics.learning_curves.extrapolate import farthest, plot_extrapolation, power_law, probe_widening

n = np.array([20,40,80,160,320,640])
rng = np.random.default_rng(0)
losses = (.1+3*n**-.6)*np.exp(.03*rng.normal(size=(4,6)))
curve = tm.Curve(n, losses, direction='min', start='first')
numbers = ['value','lo','hi']

def close(a, b, sign=1, **kw): np.testing.assert_allclose(a[numbers], sign*b[numbers]+(sign<0), **kw)

@pytest.mark.parametrize(('floor','scale','rate'), [(.2,3,.7),(0,2,.3),(.05,4,.5)])
def test_known_laws(floor, scale, rate):
    "The power law finds itself, the line keeps a weight while its held-out error is small; the size inverts the value"
    loss = floor+scale*n.astype(float)**-rate
    c,a,b = power_law(n, loss[None])
    far = floor+scale*5000.**-rate
    assert (c+a*(5000/n[-1])**-b).item()==pytest.approx(far, rel=1e-3)
    law = tm.Curve(n, loss, direction='min', start='first')
    value = tm.extrapolate(law, 5000).value[0]
    assert value==pytest.approx(far, rel=.03)
    assert tm.samples_needed(law, value).value[0]==pytest.approx(5000, rel=2e-3)

def test_forms_of_a_curve():
    "A frame in any order, an accuracy instead of an error, several by name, one of many: the same numbers"
    frame = pd.DataFrame([(s,m,losses[s,i]) for s in range(4) for i,m in enumerate(n)], columns=['seed','samples','val_loss'])
    for f,goal in (tm.extrapolate,3000),(tm.samples_needed,.14):
        one = f(curve, goal)
        np.testing.assert_allclose(f(frame.sample(frac=1, random_state=0), goal).value, one.value)
        close(f({'a': curve, 'b': curve}, goal).query('name=="b"'), one)
        single = f(tm.Curve(n, losses[2], direction='min', start='first'), goal)
        close(f(curve.each(), goal).iloc[[2]], single, rtol=1e-9)
    half = [np.log(tm.extrapolate(o, 3000)[['lo','hi']].to_numpy()/tm.extrapolate(o, 3000).value[0]) for o in (frame,curve)]
    np.testing.assert_allclose(half[0], probe_widening*half[1])
    accuracy = tm.Curve(n, 1-losses, start='first')
    found = tm.extrapolate(accuracy, 3000)
    np.testing.assert_allclose(1-found[['value','hi','lo']], tm.extrapolate(curve, 3000)[numbers], rtol=1e-9)
    close(tm.samples_needed(accuracy, .86), tm.samples_needed(curve, .14), rtol=1e-9)

def test_intervals():
    "Wider with the coverage and the distance; none beyond the checked range or with four sizes"
    width = {q: float(np.diff(np.log(tm.extrapolate(curve, 3000, coverage=q)[['lo','hi']].iloc[0]))[0]) for q in (.5,.8,.9,.95)}
    assert list(width.values())==sorted(width.values())
    found = tm.extrapolate(curve, [700,3000,10_000,farthest*640+1])
    assert (found.hi/found.lo)[:3].is_monotonic_increasing and np.isnan(found.lo[3]) and 'beyond 32 times' in found.note[3]
    few = tm.extrapolate(tm.Curve(n[:4], losses[:,:4], direction='min', start='first'), 400)
    assert np.isfinite(few.value[0]) and np.isnan(few.lo[0]) and 'five sizes' in few.note[0]

def test_results_that_are_sentences():
    def note(target, c=curve): return tm.samples_needed(c, target).note[0]
    assert note(.05).startswith('never according to the fitted laws, which level off at ') and note(.5)=='reached within the measured sizes'
    rising = tm.Curve(n, np.linspace(.4, .6, 6), direction='min', start='first')
    assert 'no improvement over the last three sizes' in note(.3, rising) and note(.3, rising).startswith('never')
    straight = tm.Curve(n, n.astype(float)**-.1, direction='min', start='first')
    assert note(.05, straight).startswith('more than 640,000')

@pytest.mark.parametrize(('text','f'), [
    ('`curve` must have at least three sizes above 0, got 2', lambda: tm.extrapolate(tm.Curve([0,1,2], [.1,.2,.3]), 9)),
    ('`n` must be at least 640', lambda: tm.extrapolate(curve, 100)),
    ('`best` must be better .* best=100', lambda: tm.extrapolate(tm.Curve(n, 100-30*losses.mean(0), start='first'), 900)),
    ('`coverage` must be a number in .0.5, 0.95.', lambda: tm.extrapolate(curve, 900, coverage=.99)),
    ('`performance` must be worse than `best`, 0, got -1', lambda: tm.samples_needed(curve, -1)),
    ('`curve` must have the columns .*seed', lambda: tm.extrapolate(pd.DataFrame({'samples': [1]}), 9))])
def test_refuses(text, f):
    with pytest.raises(ValueError, match=text): f()

def test_effective_data_of_many_curves():
    "One value per row, as of each row alone; a value beyond the base is the size that the laws need, minus n"
    lower = tm.Curve(n, .8*losses, direction='min', start='first')
    rows = effective_data(curve.each(), lower.each(), n=80)
    for i,v in enumerate(rows):
        assert v==effective_data(*(tm.Curve(n, c.runs[i], direction='min', start='first') for c in (curve,lower)), n=80)
    table = effective_data_table(tm.Curve(n, losses.mean(0), direction='min', start='first'),
                                 tm.Curve(n, .8*losses.mean(0), direction='min', start='first'))
    assert table.beyond.tolist()==[False]*5+[True] or table.beyond.tolist()==[False]*4+[True]*2
    last = table.iloc[-1]
    assert last.value==tm.samples_needed(tm.Curve(n, losses.mean(0), direction='min', start='first'), last.level).value[0]-640

def test_plot(tmp_path):
    ax = plot_extrapolation({'a': curve, 'b': curve}, 4000)
    assert [t.get_text() for t in ax.get_legend().get_texts()]==['a','b'] and ax.get_xscale()=='log'
    needed = tm.samples_needed(curve, .14).value[0]
    marked = plot_extrapolation(curve, level=.14).lines[-2:] # the size and the level
    assert marked[0].get_xdata()[0]==needed and marked[1].get_ydata()[0]==.14
    with pytest.raises(ValueError, match='`n` or `level`'): plot_extrapolation(curve)

def test_reach_of_the_command(tmp_path, monkeypatch):
    from typer.testing import CliRunner
    from transfer_metrics.cli import main as cli
    monkeypatch.chdir(tmp_path)
    if not cli.app.registered_commands: cli.load()
    done = CliRunner().invoke(cli.app, 'curves --reach .75 --n-boot 50 --json o.json --plot p.png --no-progress'.split())
    text = ' '.join(done.output.split())
    assert not done.exit_code and 'To reach 0.75, without transfer: n = 1,3' in text and 'with transfer: n = ' in text
