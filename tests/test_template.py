"The template of a metric page, filled in, is a page that runs and a metric that is known, as CONTRIBUTING says"
import re, subprocess, sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from fastcore.nbio import read_nb, write_nb
from nbdev.config import get_config

cfg = get_config(Path(__file__).parent)
root = cfg.config_path
blank_re = re.compile(r'«(\w+)(?:: [^»]*)?»')

toy = dict(
    title='Mean margin', subtitle='How far the first answer is ahead of the second (nobody, 2026)',
    area='invariance', number='99', name='mean_margin',
    call="probs = [[.9,.1,0], [.5,.3,.2]]\ntm.mean_margin(probs)",
    exported_imports='from transfer_metrics.core import ArrayLike, as_probs\nfrom transfer_metrics.registry import metric',
    page_imports='import numpy as np\nfrom fastcore.test import expect_fail, test_close\n'
                 'from transfer_metrics.datasets.digits import digits_loaders, digits_zoo\nfrom transfer_metrics.models import outputs',
    question='Is a model sure of its answers?',
    definition=r'$$ M = \frac1n \sum_i p_{i(1)} - p_{i(2)} $$',
    hand_text='Two samples.', hand='margins = [.9-.1, .5-.3]\nnp.mean(margins)',
    plain='def plain(probs):\n    ordered = np.sort(probs, axis=1)\n    return np.mean(ordered[:,-1]-ordered[:,-2])\n\n'
          'test_close(plain(probs), .5, eps=1e-12)',
    implementation_text='The two largest of a row need no sorting.',
    implementation="@metric(unit='probability', range=(0, 1), source='nobody',\n    question='Is a model sure?', cost='one read', avoid='it is not calibrated')\n"
                   'def mean_margin(\n    probs:ArrayLike, # Probabilities, shape `[n, k]`\n) -> float: # In $[0, 1]$\n'
                   '    "Mean of the largest probability less the second"\n'
                   '    first,second = as_probs(probs).topk(2).values.T\n    return float((first-second).mean())',
    implementation_test='test_close(mean_margin(probs), .5, eps=1e-12)',
    right='random = np.random.default_rng(0).dirichlet(np.ones(4), 50)\ntest_close(mean_margin(random), plain(random), eps=1e-12)',
    mistake_text='logits.', mistake="with expect_fail(ValueError, 'Apply a softmax first'): mean_margin([[2.,-1.]])",
    real_text='A network for digits.',
    real="train,_ = digits_loaders()\nfound = mean_margin(outputs(digits_zoo(progress=False)['digits'], train, progress=False).probs)\nround(found, 2)",
    seen='It is sure.', seen_test='assert found>.5', misleads_text='Sure is not right.', misleads='mean_margin([[0.,1.]])', reading='Never use it.',
    exercise_1='One sample, (.6, .4)?', answer_1='.2', exercise_2='Two classes?', answer_2='$2p-1$', exercise_3='Noise?', answer_3='Nothing.',
    answers_test='test_close(mean_margin([[.6,.4]]), .2, eps=1e-12)', references='Nobody (2026).')

run_page = """
import sys, warnings
from execnb.shell import CaptureShell
from nbdev.test import nb_test_cells
warnings.simplefilter('error')
warnings.filterwarnings('ignore', category=DeprecationWarning, module='(?!__main__|transfer_metrics)')
shell = CaptureShell(sys.argv[1])
for c in nb_test_cells(sys.argv[1], ['slow']):
    shell.cell(c)
    if shell.exc: raise shell.exc
import transfer_metrics as tm
print(round(tm.mean_margin([[.6,.4]]), 3), tm.card('mean_margin').question)
"""

def shell(*cmd, cwd):
    r = subprocess.run(list(map(str, cmd)), cwd=cwd, env=dict(PYTHONPATH=str(cwd), PATH=str(Path(sys.executable).parent)), capture_output=True, text=True)
    assert r.returncode==0, f'{cmd}\n{r.stdout}{r.stderr}'
    return r.stdout

def filled(template, given):
    "The notebook at `template` with its blanks filled in, and the names of these"
    nb,names = read_nb(template),set()
    def _fill(m):
        names.add(m[1])
        return given[m[1]]
    for c in nb.cells: c.source = blank_re.sub(_fill, c.source)
    return nb,names

def test_template(tmp_path):
    for o in cfg.lib_path.name,'docs': copytree(root/o, tmp_path/o, ignore=ignore_patterns('__pycache__', 'nbs', '_*.ipynb'))
    for o in 'pyproject.toml','settings.ini': (tmp_path/o).write_bytes((root/o).read_bytes())
    nb,names = filled(cfg.nbs_path/'_template.ipynb', toy)
    assert names==toy.keys()
    page = tmp_path/f'nbs/{toy["area"]}/{toy["number"]}_{toy["name"]}.ipynb'
    page.parent.mkdir(parents=True)
    write_nb(nb, page)
    shell(Path(sys.executable).with_name('nbdev-export'), '--path', page.parent, cwd=tmp_path)
    shell(sys.executable, 'docs/stubs.py', cwd=tmp_path)
    said = shell(sys.executable, '-c', run_page, page, cwd=tmp_path)
    assert said.splitlines()[-1]=='0.2 Is a model sure?'
