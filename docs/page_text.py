"Each page as text, `PAGE.html.md` beside `PAGE.html`: docstrings lead there, and `llms.txt` lists them"
import re
from itertools import chain
from pathlib import Path
from nbdev_sphinx import Procs, by_area, cfg, marked, n_slow, own_badge, page_of, read_nb, title_of
from readme import absolute, directives, fenced, table

def address(path):
    "Where the text of the notebook at `path` stands"
    return f'{cfg.doc_url}{page_of(path).as_posix()}.html.md'

def shown(output, figure, path):
    "Markdown of an output of a cell; a figure is what `figure` says it shows"
    data = output.get('data', {})
    html = ''.join(data.get('text/html', ''))
    plain = ''.join(data.get('text/plain') or output.get('text', '')).rstrip()
    if 'image/png' in data: return f'Figure: {figure}'
    if 'text/markdown' in data: return absolute(''.join(data['text/markdown']), path, address)
    if '<table' in html and 'colspan' not in html and 'rowspan' not in html: return table(html)
    if plain.startswith('<IPython.'): return ''   # a picture to move; its figure follows
    return fenced(plain, 'text') if output.get('name')!='stderr' else ''

def cell_texts(cell, path):
    "Markdown of a processed cell and of its outputs"
    if cell.cell_type=='markdown':
        yield absolute(own_badge.sub('', cell.source.strip()), path, address)
        return
    source,said = directives(cell.source)
    if 'slow' in said: source = f'#| slow\n{source}'
    if said.get('include')=='false' or source.startswith('show_doc('): return
    if source and said.get('echo')!='false': yield fenced(source, 'python')
    if said.get('output')=='false': return
    about = [said[k] for k in ('fig-cap','fig-alt') if k in said]
    for o in cell.outputs: yield shown(o, ' '.join(about) or 'without a description.', path)

def page_text(path):
    "The notebook at `path` within the notebooks' folder as one text: prose, code, and what it shows"
    nb = read_nb(cfg.nbs_path/path)
    Procs()(nb)
    slow = n_slow(nb)
    for c in nb.cells: c.source = marked(c.source, slow) if c.cell_type=='markdown' else c.source
    texts = chain(*(cell_texts(c, Path(path)) for c in nb.cells))
    return '\n\n'.join(filter(None, texts))+'\n'

def contents(groups, titles):
    "`llms.txt`: the addresses of all texts by area, with their titles and subtitles"
    title,subtitle = title_of(Path(cfg.readme_nb))
    lines = [f'# {title}', '', f'> {subtitle}', '', f'- [{title}]({address(cfg.readme_nb)}): set-up and a first result']
    for page,paths in groups.items():
        lines += ['', f'## {titles[page]}', '']
        for p in paths:
            name,about = title_of(p)
            lines.append(f'- [{name}]({address(p)}): {absolute(about, p, address)}')
    return '\n'.join(lines)+'\n'

def write_texts(outdir, areas, start, inner):
    "Write the text of each page beside it, and the list of them"
    groups = by_area(areas, start, inner)
    for p in [Path(cfg.readme_nb), *chain(*groups.values())]:
        to = Path(outdir, f'{page_of(p)}.html.md')
        to.write_text(page_text(p), encoding='utf-8')
    titles = {'start': 'Start'} | {page: area.title for page,area in areas.items()}
    Path(outdir, 'llms.txt').write_text(contents(groups, titles), encoding='utf-8')
