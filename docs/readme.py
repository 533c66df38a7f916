"Write README.md, and its figures in docs/readme/, from the home page: `python docs/readme.py`. All links are absolute, for PyPI"
import re
from base64 import b64decode
from html import escape
from shutil import rmtree
from pages import blob, cfg, convert, home

figures = cfg.config_path/'docs/readme'
raw = f'https://raw.githubusercontent.com/{cfg.user}/{cfg.repo}/{cfg.branch}/docs/readme'
colab = f'https://colab.research.google.com/github/{cfg.user}/{cfg.repo}/blob/{cfg.branch}/{cfg.nbs_path.name}/{home}'
tests = f'{cfg.git_url}/actions/workflows/test.yml'
shield = 'https://img.shields.io/badge'
badges = f'''[![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})
[![Tests]({tests}/badge.svg)]({tests})
[![Documentation]({shield}/docs-online-4f46e5)]({cfg.doc_url})
[![Python {cfg.min_python} or newer]({shield}/python-{cfg.min_python}+-3776ab)]({blob}/pyproject.toml)
[![Licence Apache 2.0]({shield}/licence-Apache_2.0-blue)]({blob}/LICENSE)'''

def parts():
    title,_,*cells = convert(home).cells
    yield from (title.source, badges)
    for c in cells:
        if c.cell_type=='markdown': yield re.sub(r'\]\(/(.+?)\.ipynb', rf']({cfg.doc_url}\1.html', c.source)
        elif 'remove-input' not in c.metadata.tags: yield f'```python\n{c.source.strip()}\n```'
        for o in c.get('outputs', []):
            path,image = figures/f'{len([*figures.iterdir()])+1}.png',c.metadata.mystnb.image
            path.write_bytes(b64decode(o.data['image/png']))
            width = image['width'].removesuffix('px')
            yield f'<img src="{raw}/{path.name}" alt="{escape(image["alt"])}" width="{width}">'
            yield f'*{c.metadata.mystnb.figure["caption"]}*'

rmtree(figures, ignore_errors=True)
figures.mkdir()
(cfg.config_path/'README.md').write_text('\n\n'.join(parts())+'\n', encoding='utf-8')
