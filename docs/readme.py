"Write README.md, and its figures in docs/readme/, from the index notebook: `python docs/readme.py`. All links are absolute, for PyPI"
import re
from base64 import b64decode
from html import escape, unescape
from os.path import normpath
from pathlib import Path
from shutil import rmtree
from fastcore.nbio import read_nb
from nbdev_sphinx import Procs, cfg, page_of

root = cfg.config_path
figures = root/'docs/readme'
badge = '[![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)]'
raw = f'https://raw.githubusercontent.com/{cfg.user}/{cfg.repo}/{cfg.branch}'

def badges():
    "Tests, documentation, Python and licence, to go beside the one of Colab; the site shows no pictures from elsewhere"
    shield = 'https://img.shields.io/badge'
    python = cfg.min_python
    yield f'[![Tests]({cfg.git_url}/actions/workflows/test.yml/badge.svg)]({cfg.git_url}/actions/workflows/test.yml)'
    yield f'[![Documentation]({shield}/docs-online-4f46e5)]({cfg.doc_url})'
    yield f'[![Python {python} or newer]({shield}/python-{python}+-3776ab)]({cfg.git_url}/blob/{cfg.branch}/pyproject.toml)'
    yield f'[![Licence Apache 2.0]({shield}/licence-Apache_2.0-blue)]({cfg.git_url}/blob/{cfg.branch}/LICENSE)'

def page_address(path):
    "Where the page of the notebook at `path` stands"
    return f'{cfg.doc_url}{page_of(path).as_posix()}.html'

def absolute(s, nb=Path(cfg.readme_nb), address=page_address):
    "Markdown `s` of the notebook at `nb` with its relative links made absolute: notebooks to what `address` gives, images and other files to GitHub"
    def _f(m):
        image,path,anchor = m.groups(default='')
        if path.endswith('.ipynb'): url = address(Path(normpath(nb.parent/path)))
        else: url = f'{raw if image else f"{cfg.git_url}/blob/{cfg.branch}"}/{normpath(Path(cfg.nbs_path.name)/nb.parent/path)}'
        return f'{image}]({url}{anchor})'
    return ''.join(o if i%2 else re.sub(r'((?:!\[[^\]\n]*)?)\]\((?![\w+.-]+:|#)([^)#\s]+)(#[^)\s]*)?\)', _f, o) for i,o in enumerate(re.split(r'(?s)(```.*?```)', s)))

def table(html):
    "The HTML of a data frame as a Markdown table, columns of numbers to the right"
    head,body = ([[unescape(o.strip()).replace('|', r'\|') for o in re.findall(r'<t[hd].*?>(.*?)</t[hd]>', r, re.S)] for r in re.findall(r'<tr.*?>(.*?)</tr>', part, re.S)]
                 for part in html.split('<tbody>'))
    names = [next(filter(None, reversed(col)), '') for col in zip(*head, strict=True)]   # the name of the index stands in a row of its own
    right = [all(re.fullmatch(r'[-+−]?[\d.,]+(e[-+]?\d+)?( ?%)?|nan|NaN|[-−]?inf', o) for o in col) for col in zip(*body, strict=True)]
    return '\n'.join(f'| {" | ".join(r)} |' for r in [names, ['---:' if o else '---' for o in right], *body])

def fenced(text, kind):
    "A block of code or of output"
    return f'```{kind}\n{text}\n```'

def directives(source):
    "The source of a cell without its directives, and these by name"
    said = {k: v.strip(' "\'') for k,v in re.findall(r'^#\| *([\w-]+):?(.*)', source, re.M)}
    return re.sub(r'^#\|.*\n?', '', source, flags=re.M).strip(),said

def output(o, alt):
    "Markdown of one output; a figure is written to its file"
    data = o.get('data', {})
    if 'image/png' in data:
        figures.mkdir(parents=True, exist_ok=True)
        path = figures/f'{len(list(figures.iterdir()))+1}.png'
        path.write_bytes(b64decode(data['image/png']))
        attrs = dict(src=f'{raw}/{path.relative_to(root).as_posix()}', alt=alt, width=o.get('metadata', {}).get('image/png', {}).get('width'))
        return '<img ' + ' '.join(f'{k}="{escape(str(v))}"' for k,v in attrs.items() if v) + '>'
    if 'text/markdown' in data: return absolute(data['text/markdown'])
    if '<table' in data.get('text/html', ''): return table(data['text/html'])
    if o.get('name')!='stderr': return fenced((data.get('text/plain') or o.get('text', '')).rstrip(), 'text')

def parts(nb):
    "Markdown of each cell and output of the processed notebook `nb`"
    for c in nb.cells:
        if c.cell_type=='markdown': yield ' '.join([absolute(c.source.strip()), *(badges() if c.source.startswith(badge) else ())])
        if c.cell_type!='code': continue
        src,ds = directives(c.source)
        if ds.get('include')=='false': continue
        if src and ds.get('echo')!='false':
            src = fenced(src, 'python')
            yield f'<details><summary>Code</summary>\n\n{src}\n\n</details>' if ds.get('code-fold')=='true' else src
        if ds.get('output')=='false': continue
        yield from (output(o, ds.get('fig-alt') or ds.get('fig-cap', 'Figure')) for o in c.outputs)
        if 'fig-cap' in ds: yield f'*{ds["fig-cap"]}*'

if __name__=='__main__':
    rmtree(figures, ignore_errors=True)
    nb = read_nb(cfg.nbs_path/cfg.readme_nb)
    Procs()(nb)
    (root/'README.md').write_text('\n\n'.join(filter(None, parts(nb)))+'\n', encoding='utf-8')
