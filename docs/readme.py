"Write README.md, and its figures in docs/readme/, from the home page: `python docs/readme.py`. All links are absolute, for PyPI"
import re
from base64 import b64decode
from html import escape, unescape
from os.path import normpath
from pathlib import Path
from shutil import rmtree
from fastcore.nbio import read_nb
from nbdev.config import get_config, nbpath2html

cfg = get_config(Path(__file__).parent)
figures = cfg.config_path/'docs/readme'
raw = f'https://raw.githubusercontent.com/{cfg.user}/{cfg.repo}/{cfg.branch}'
blob = f'{cfg.git_url}/blob/{cfg.branch}'

def badges():
    shield = 'https://img.shields.io/badge'
    yield f'[![Tests]({cfg.git_url}/actions/workflows/test.yml/badge.svg)]({cfg.git_url}/actions/workflows/test.yml)'
    yield f'[![Documentation]({shield}/docs-online-4f46e5)]({cfg.doc_url})'
    yield f'[![Python {cfg.min_python} or newer]({shield}/python-{cfg.min_python}+-3776ab)]({blob}/pyproject.toml)'
    yield f'[![Licence Apache 2.0]({shield}/licence-Apache_2.0-blue)]({blob}/LICENSE)'

def absolute(text):
    "Markdown with absolute links: notebooks lead to their pages, other files to GitHub"
    def url(m):
        path,anchor = m[1],m[2] or ''
        if path.endswith('.ipynb'): return f']({cfg.doc_url}{nbpath2html(Path(normpath(path))).as_posix()}{anchor})'
        return f']({blob}/{normpath(Path(cfg.nbs_path.name)/path)}{anchor})'
    return re.sub(r'\]\((?![\w+.-]+:|#)([^)#\s]+)(#[^)\s]*)?\)', url, text)

def table(html):
    "A data frame as a Markdown table, with numbers to the right"
    parts = [[[unescape(o.strip()).replace('|', r'\|') for o in re.findall(r'<t[hd].*?>(.*?)</t[hd]>', r, re.S)]
              for r in re.findall(r'<tr.*?>(.*?)</tr>', part, re.S)] for part in html.split('<tbody>')]
    names = [next(filter(None, reversed(col)), '') for col in zip(*parts[0])]
    right = [all(re.fullmatch(r'[-+−]?[\d.,]+ ?%?|nan', o) for o in col) for col in zip(*parts[1])]
    return '\n'.join(f'| {" | ".join(r)} |' for r in [names, ['---:' if o else '---' for o in right], *parts[1]])

def output(o, alt):
    data = o.get('data', {})
    if 'image/png' in data:
        figures.mkdir(parents=True, exist_ok=True)
        path = figures/f'{len(list(figures.iterdir()))+1}.png'
        path.write_bytes(b64decode(data['image/png']))
        width = o.get('metadata', {}).get('image/png', {}).get('width')
        return f'<img src="{raw}/docs/readme/{path.name}" alt="{escape(alt)}"' + (f' width="{width}">' if width
            else '>')
    if 'text/markdown' in data: return absolute(''.join(data['text/markdown']))
    html = ''.join(data.get('text/html', ''))
    if '<table' in html: return table(html)
    if o.get('name')!='stderr': return f'```text\n{"".join(data.get("text/plain") or o.get("text", "")).rstrip()}\n```'

def parts():
    for c in read_nb(cfg.nbs_path/cfg.readme_nb).cells:
        if c.cell_type=='markdown':
            yield ' '.join([absolute(c.source.strip()), *(badges() if 'Open In Colab' in c.source else ())])
            continue
        said = {k: v.strip(' "\'') for k,v in re.findall(r'^#\| *([\w-]+):?(.*)', c.source, re.M)}
        source = re.sub(r'^#\|.*\n?', '', c.source, flags=re.M).strip()
        if {'hide','default_exp'} & said.keys(): continue
        if source and said.get('echo')!='false': yield f'```python\n{source}\n```'
        yield from (output(o, said.get('fig-alt') or said.get('fig-cap', 'Figure')) for o in c.outputs)
        if 'fig-cap' in said: yield f'*{said["fig-cap"]}*'

if __name__=='__main__':
    rmtree(figures, ignore_errors=True)
    (cfg.config_path/'README.md').write_text('\n\n'.join(filter(None, parts()))+'\n', encoding='utf-8')
