"The two columns of each recipe: Python runs as printed after the cells that make the example, shell lines are what the parser takes"
import json, re, shlex
from contextlib import chdir
from pathlib import Path
import pytest
import transfer_metrics as tm

root = Path(__file__).parent.parent/'nbs/start'
columns = '```python','```sh'
def has_both(page): return all(k in page.read_text(encoding='utf-8') for k in columns)
recipes = sorted(p.stem for p in root.glob('*.ipynb') if has_both(p)) # not pages on one library

def cells(name): return [(c['cell_type'], ''.join(c['source'])) for c in json.loads((root/f'{name}.ipynb').read_text())['cells']]

def fenced(name, kind):
    "The first block of code of a kind in the text"
    text = '\n'.join(s for k,s in cells(name) if k=='markdown')
    return re.search(rf'```{kind}\n(.*?)```', text, re.S)[1]

@pytest.mark.filterwarnings('default')
@pytest.mark.parametrize('name', recipes)
def test_python(name, monkeypatch, tmp_path):
    "Up to what `#| code-fold` cells make; pretrained weights are not downloaded"
    load = tm.load_models
    monkeypatch.setattr(tm, 'load_models', lambda names: load(names, weights=None), raising=False)
    code = [s for k,s in cells(name) if k=='code' and '#| hide' not in s and not s.startswith('!')]
    last = max(i for i,s in enumerate(code) if '#| code-fold' in s)
    here = {}
    with chdir(tmp_path):
        for s in code[:last+1]: exec(s, here)
        exec(fenced(name, 'python'), here)

@pytest.mark.parametrize('name', recipes)
def test_shell(name):
    from transfer_metrics.cli.main import _parse
    line = fenced(name, 'sh').replace('\\\n', ' ')
    program,command,*options = shlex.split(line)
    assert program=='transfer-metrics'
    given = _parse(command, options)
    assert given['report'].endswith('.html')
