"""Write what each notebook says below its title: what it needs, and how long it runs: `python docs/runs.py`

What it needs is read from its cells. Seconds are those of docs/times.json, which `python .ci/colab.py --times NOTEBOOK...` measures."""
import json
import re
from configparser import ConfigParser
from pathlib import Path
from fastcore.nbio import read_nb
from nbdev.config import get_config
from nbdev.doclinks import nbglob

cfg = get_config(Path(__file__).parent)
times = json.loads((Path(__file__).parent/'times.json').read_text())
home = 'index'   # it is the README as well

def badge(name):
    "The badge of the notebook `name`, a path within the notebooks' folder without suffix"
    url = f'https://colab.research.google.com/github/{cfg.user}/{cfg.repo}/blob/{cfg.branch}/{cfg.nbs_path.name}/{name}.ipynb'
    return f'[![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)]({url})'

def codes(nb): return [c for c in nb.cells if c.cell_type=='code']

def is_slow(cell): return re.search(r'^#\| *slow\s*$', cell.source, re.M) is not None

def of_pages():
    "Names of the packages that pages import and the package does not: the extra `notebook`"
    settings = ConfigParser(delimiters=['='])
    settings.read(cfg.config_path/'settings.ini', encoding='utf-8')
    return re.findall(r'^\w+', settings['DEFAULT']['notebook_requirements'], re.M)

def needs(nb):
    "What a notebook needs beside the package, as sentences"
    cells = codes(nb)
    imports = re.compile(rf'^(?:from|import) ({"|".join(of_pages())})\b', re.M)
    imported = [name for c in cells for name in imports.findall(c.source)]
    marked = [c.directives['needs'] for c in cells if 'needs' in c.directives]
    extras = dict.fromkeys(marked+imported)
    if extras: yield f'Needs {", ".join(f"`{o}`" for o in extras)} beside the package.'
    if any('TRANSFER_METRICS_DATA' in c.source for c in cells):
        yield ('Its cells marked `#| slow` need images on the disk, in the folder that the variable `TRANSFER_METRICS_DATA` names; '
               'where there is none, they show the results that are stored in the page.')
    elif not extras: yield 'Needs nothing but the package.'

def runs(nb, seconds):
    "How long a notebook runs that took `seconds`, as sentences; without a time for one that was not measured"
    slow = sum(map(is_slow, codes(nb)))
    more = f'{slow} cells marked `#| slow` take' if slow>1 else 'one cell marked `#| slow` takes'
    if seconds: yield f'Runs in under {seconds} s on one core{f"; {more} longer" if slow else ""}.'
    elif slow: yield f'{more.capitalize()} longer than the others.'

def top(name, nb):
    "The cell of the notebook `name` with its badge, and what it needs"
    if name==home: return badge(name)
    said = ' '.join([*needs(nb), *runs(nb, times.get(name))])
    return f'{badge(name)}\n\n{said}'

def notebooks():
    "Path of each notebook by name"
    paths = sorted(nbglob(cfg.nbs_path, as_path=True))
    return {p.relative_to(cfg.nbs_path).with_suffix('').as_posix(): p for p in paths}

def write(name, path):
    "Put the cell into the notebook, in place of its badge"
    raw = json.loads(path.read_text('utf-8'))
    cell = next(c for c in raw['cells'] if ''.join(c['source']).startswith(badge(name)))
    source = top(name, read_nb(path)).splitlines(True)
    if cell['source']==source: return
    cell['source'] = source
    path.write_text(json.dumps(raw, ensure_ascii=False, indent=1, sort_keys=True)+'\n', 'utf-8')

if __name__=='__main__':
    for name,path in notebooks().items(): write(name, path)
