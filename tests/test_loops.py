"Every loop that is not over given things has a bound, and one that may reach it says so; a new one needs a line here"
import ast
import warnings
from pathlib import Path
import numpy as np
import pytest
import torch
import transfer_metrics as tm
from transfer_metrics.invariance.lines import fit_lines

lib = Path(tm.__file__).parent

# Why each `while` ends
ends = {
    'cli/tables._side_by_side': 'each turn takes at least one column away',
    'cli/plan._pace': 'each turn takes twice as many images, until all are taken',
    'containers.__iter__': 'each turn takes samples of the stream that it batches, as long as the stream itself gives some',
    'datasets/folders.class_names': 'each turn goes one data set further in',
    'untrained._in_front': 'each turn goes to an earlier call',
    'head_inputs._linear_path': 'each turn goes to an earlier call',
    'reading._all_before': 'each call is reached once',
    'invariance/prices._cheapest_path': 'the way back from a class that was reached to where the search began',
    'invariance/views._draw': 'orders of ten things or more, drawn until there are as many different ones as are asked for',
    'invariance/weather._plasma': 'the step is halved',
    'loss_data/refine.refine_bracket': 'each turn measures a size between the two ends, which is then one of them',
    'loss_data/sampling._apportion': 'each turn fills a place, and there are no more to fill than places',
    'loss_data/threads._work': 'each turn takes a task away',
    'loss_data/threads._heard': 'each thread tells when it ends',
    'model_selection/groups.score_groups': 'each turn takes at least the leader of a group away',
    'public._above': 'each turn goes one line up',
    'store/rows.append': 'each turn writes at least a byte, or is an error',
    'store/books._futures': 'each turn waits for an item, which ends or is given up by its executor',
    'transferability/correspondence._step': 'the damping grows tenfold',
    'transferability/correspondence._levels': 'the width, at most the number of pairs, is halved down to 1e-9 of the largest cost'}

# What is said where the turns of a bounded loop, which ends early where it has arrived, do not suffice
says = {
    'head_steps._search': 'the step on a line is safe wherever it stops',
    'answers._descend': '`linear_answers` returns which answers are open, and `linear_probe` warns',
    'invariance/prices._cheapest_path': 'ValueError', 'invariance/prices._clear': 'ValueError',
    'invariance/lines.fit_lines': 'warning',
    'libraries._is_reachable': 'returns that it is not',
    'learning_curves/asymptote._descend': '`AsymptoteFit.converged`, and `Curve.p_star` warns',
    'logistic._cg_step': 'a shorter Newton step', 'logistic._search': 'returns that it has failed', 'logistic._newton': 'returns how far weights are off, and heads warn',
    'model_selection/feature_selection.select_features': 'over features',
    'public._header': 'over lines',
    'transferability/k_means._rounds': 'clusters as they are, as those of scikit-learn',
    'transferability/max_evidence._newton': 'sixty halvings of a bracket leave nothing',
    'transferability/mixture._em': 'returns whether it has converged, and `nleep` warns',
    'transferability/correspondence._newton': '`_sinkhorn` warns', 'transferability/correspondence._mended': '`_sinkhorn` warns',
    'transferability/turns.settle': 'warning',
    'running.looks': 'RuntimeError, and torch says that one sample does not fit',
    'transferability/precise_head._step': 'a shorter Newton step', 'transferability/precise_head._search': 'returns that it has failed',
    'transferability/precise_head.precise_head': 'returns the decrement, and `pactran_gauss` warns'}

def loops(node, name, at=''):
    "Each `while`, and each `for` over a range that may end early, with the function it is in"
    for o in ast.iter_child_nodes(node):
        inside = f'{name}.{o.name}' if isinstance(o, ast.FunctionDef) else at
        if isinstance(o, ast.While): yield 'while',at
        if isinstance(o, ast.For) and ast.unparse(o.iter).startswith('range('):
            if any(isinstance(x, (ast.Break,ast.Return)) for x in ast.walk(o)): yield 'for',at
        yield from loops(o, name, inside)

def test_each_loop_has_a_reason_to_end():
    found = {'while': set(), 'for': set()}
    for p in sorted(lib.rglob('*.py')):
        name = p.relative_to(lib).with_suffix('').as_posix()
        for kind,at in loops(ast.parse(p.read_text(encoding='utf-8')), name): found[kind].add(at)
    assert found=={'while': set(ends), 'for': set(says)}

r = np.random.default_rng(0)
y = np.arange(60)%3
x = r.normal(size=(60,5))+r.normal(size=(3,5))[y]
probs = torch.from_numpy(x[:,:4]).softmax(1)

said = {
    'nleep': lambda: tm.nleep(x, y, max_iter=1), 'pactran_gauss': lambda: tm.pactran_gauss(x, y, max_iter=1),
    'pactran_dirichlet': lambda: tm.pactran_dirichlet(probs, y, max_iter=1), 'pactran_gamma': lambda: tm.pactran_gamma(abs(x), y, max_iter=1),
    'retrain_head': lambda: tm.retrain_head(x, y, (x,y), max_iter=1)}

@pytest.mark.parametrize('name', said)
def test_too_few_turns_are_said(name):
    with pytest.warns(UserWarning, match='not converged.*`max_iter`'): said[name]()

def test_line_that_does_not_settle():
    "Through four points, of which it takes now these and now those for the rule; others are silent"
    with pytest.warns(UserWarning, match='the robust line has not settled'): fit_lines(np.array([-.4,-1.2,9.3,.6]), np.array([30.1,-1.4,6.5,.5]), robust=True)
    u = np.linspace(0, 1, 20)
    with warnings.catch_warnings(action='error'): fit_lines(u, .7*u+.01*np.sin(50*u), robust=True)
