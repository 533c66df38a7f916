"The template of a metric page, filled in, becomes a metric that runs and passes the contracts, without another edit"
import re
import shutil
import subprocess
import sys
from pathlib import Path
from fastcore.nbio import read_nb, write_nb

root = Path(__file__).parent.parent
filling = dict(
    title='Mean margin', subtitle='The largest probability minus the second', area='invariance', number='99',
    name='mean_margin',
    call='probs = [[.9,.1,0],[.5,.3,.2]]\ntm.mean_margin(probs)',
    page_imports='import numpy as np\nfrom fastcore.test import test_close',
    hand='.9-.1,.5-.3',
    plain='def plain(probs):\n    ordered = np.sort(probs, axis=1)\n    return np.mean(ordered[:,-1]-ordered[:,-2])',
    exported_imports='from transfer_metrics.arrays import ArrayLike, as_probs\nfrom transfer_metrics.registry import metric',
    implementation='''@metric(unit='probability', range=(0, 1), source='[Nobody 2026](https://example.org)',
    question='Is a model confident?', cost='one pass', avoid='never')
def mean_margin(
    probs:ArrayLike, # Probabilities, shape `[n, c]`
) -> float: # In [0, 1]
    """Mean of the largest probability minus the second

    >>> mean_margin([[.6, .4]])
    0.2
    """
    first,second = as_probs(probs).double().topk(2).values.T
    return round(float((first-second).mean()), 12)''',
    right='test_close(mean_margin(probs), plain(np.array(probs)), eps=1e-12)', real='tm.mean_margin(probs)',
    checks='assert mean_margin(probs)==.5')

def test_template(tmp_path):
    env = dict(PYTHONPATH=str(tmp_path), PATH=str(Path(sys.executable).parent))
    def run(*command):
        return subprocess.run(list(map(str, command)), cwd=tmp_path, env=env, capture_output=True, text=True)
    for o in 'transfer_metrics','docs':
        shutil.copytree(root/o, tmp_path/o, ignore=shutil.ignore_patterns('__pycache__'))
    for o in 'pyproject.toml','settings.ini': shutil.copy(root/o, tmp_path)
    nb = read_nb(root/'nbs/_template.ipynb')
    for c in nb.cells:
        rest = 'Some text.' if c.cell_type=='markdown' else ''
        c.source = re.sub(r'«(\w+)(?:: [^»]*)?»', lambda m, rest=rest: filling.get(m[1], rest), c.source)
    page = tmp_path/'nbs/invariance/99_mean_margin.ipynb'
    page.parent.mkdir(parents=True)
    write_nb(nb, page)
    for command in (['nbdev-export','--path',page.parent],[sys.executable,'docs/stubs.py'],['nbdev-test',page],
                    [sys.executable,'-m','pytest','-n','0','-p','no:cacheprovider','-k','mean_margin',
                     root/'tests/test_contracts.py']):
        done = run(*command)
        assert not done.returncode, f'{command}\n{done.stdout}{done.stderr}'
    assert 'passed' in done.stdout

def test_filled_in():
    "No page has text in «angle quotes» left"
    pages = (p for p in (root/'nbs').rglob('*.ipynb') if p.name!='_template.ipynb')
    assert not [p for p in pages if '«' in p.read_text('utf-8')]
