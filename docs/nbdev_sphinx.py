"Feed nbdev notebooks to Sphinx: directives become cell tags, `show_doc` becomes autodoc, backticks become cross references"
import ast
import inspect
import re
from functools import partial
from itertools import chain, zip_longest
from os.path import normpath, relpath
from pathlib import Path
from textwrap import dedent
from docutils.nodes import reference
from fastcore.docments import docments, get_source, isdataclass
from fastcore.nbio import mk_cell, new_nb, read_nb, write_nb
from nbdev import processors
from nbdev.doclinks import nbglob
from nbdev.processors import FilterDefaults, Processor
from page_links import area_of, arguments, cfg, full, lib, obj_of, of_module, page_arguments, page_of, symbols, syms, url_of, xref

processors.get_config = lambda: cfg # or else pyproject.toml is read again for each of 15,000 cells
blob = f'{cfg.git_url}/blob/{cfg.branch}'

def only_imports(cell): return all(isinstance(o, (ast.Import, ast.ImportFrom)) for o in cell.parsed_() or [cell])

class show_source(Processor):
    "Keep an exported cell, folded, below the documentation of what it defines"
    def cell(self, cell):
        d = cell.directives_
        if cell.cell_type!='code' or 'export' not in d or only_imports(cell): return
        d['exports'] = d.pop('export')
        names = [getattr(o, 'name', None) or ast.unparse(getattr(o, 'target', None) or o.targets[0]) for o in cell.parsed_()
                 if isinstance(o, (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign))]
        summary = f"Source of {', '.join(names)}" if names else 'Show code'
        cell.source = f'#| code-fold: true\n#| code-summary: {summary}\n{cell.source}'

class Procs(FilterDefaults):
    "nbdev's processors, without those that write for Quarto or run code"
    skip = 'FrontmatterProc insert_warning clean_show_doc exec_show_docs add_links add_fold mv_exports'.split()
    def base_procs(self): return [show_source] + [p for p in super().base_procs() if p.__name__ not in self.skip]

_badge = re.compile(r'\[!\[Open In Colab\]\([^)]*\)\]\(([^)]*)\)')
own_badge = re.compile(rf'\A{_badge.pattern}\s*')   # the buttons below the title say the same
_markup = re.compile(r'```.*?```|\$\$.*?\$\$|(?<!`)`(?P<code>[^`\n]+)`(?!`)|!?\[[^\]\n]*\]\([^)\n]*\)', re.S)

def markdown(s, nb=Path(cfg.readme_nb)):
    "Quarto and nbdev idioms in MyST; relative links, from the notebook at `nb`, lead to pages or to GitHub"
    def _url(m):
        path,anchor = m[1],m[2].lower()   # Jupyter keeps capitals in anchors, pages do not
        if path.endswith('.ipynb'): return f']({page_of(path)}.ipynb{anchor}'
        return f"]({blob}/{normpath(Path(cfg.nbs_path.name)/nb.parent/path)}{anchor}" if path else f']({anchor}'
    def _f(m):
        if m['code']: return xref(m['code'], own, '{{py:obj}}`{} <{}>`', '[`{}`]({})', '`{}`', args=args, area=area)
        return re.sub(r'\]\((?![\w+.-]+:)([^)#\s]*)(#?[^)\s]*)', _url, m[0]) if m[0].startswith('[') else m[0]
    own,args,area = symbols(nb),page_arguments(nb),nb.parent.as_posix().removeprefix('.')
    s = re.sub(r'^(:{3,}) *\{\.callout-(\w+)[^}]*\}', r'\1{\2}', s, flags=re.M)
    return with_whole_intervals(_markup.sub(_f, _badge.sub(r'[Colab](\1){.button .colab}', s)))

_site = re.compile(rf"\]\({re.escape(cfg.doc_url.rstrip('/'))}/([\w/]+)\.html(#[\w-]*)?\)")

def at_home(s, nb):
    "Addresses of this site as links from the notebook at `nb`, or within its own page"
    def _f(m):
        page,anchor = m[1],m[2] or ''
        if page==page_of(nb).as_posix(): return f']({anchor})'
        return f"]({relpath(page, nb.parent)}.ipynb{anchor})"
    return _site.sub(_f, s)

_inline = re.compile(r'`(?P<code>[^`]+)`|\$(?P<math>[^$]+)\$|\[(?P<text>[^\]]+)\]\((?P<url>(?:[^()\s]|\([^()]*\))+)\)'
                     r'|(?P<option>(?<![\w-])--\w[\w-]*)|(?P<em>(?<![\w*])(?P<stars>\*\*?)[^\s*](?:[^*]*[^\s*])?(?P=stars)(?![\w*]))|[*_|\\]')

def rst(s, own=None, **where):
    "Inline markdown of a docstring or docment in reST, beside which the symbols `own` stand"
    def _f(m):
        if m['code']: res = xref(m['code'], own or {}, ':py:obj:`{} <{}>`', '`{} <{}>`__', '``{}``', **where)
        elif m['math']: res = f":math:`{m['math']}`"
        elif m['option']: res = f"``{m['option']}``"
        elif m['text']: res = f"`{m['text']} <{m['url']}>`__"
        else: return m['em'] or f'\\{m[0]}'
        return rf'\ {res}\ '   # an escaped space: nothing on the page, but markup may touch a letter
    return _inline.sub(_f, s)

def autodoc(name, own, shown):
    "Directive for `name`, which a notebook that defines `own` shows; a class brings its public methods but those that have a place of their own in `shown`"
    k = own.get(name) or full[name]
    obj = obj_of(k)
    if not inspect.isclass(obj): return f".. auto{'property' if isinstance(obj, property) else 'method' if '.' in name else 'function'}:: {k}"
    members = [o.removeprefix(f'{name}.') for o in own if o.startswith(f'{name}.') and o not in shown and not o.startswith(f'{name}._')]
    return f'.. autoclass:: {k}' + (f"\n   :members: {', '.join(members)}" if members else '')

def buttons(path):
    "Links to the notebook at `path`, below the title of its page"
    p = f'{cfg.nbs_path.name}/{path.as_posix()}'
    colab = f'https://colab.research.google.com/github/{cfg.user}/{cfg.repo}/blob/{cfg.branch}/{p}'
    return mk_cell(f'[Open in Colab]({colab}){{.button .colab}} [Notebook]({blob}/{p}){{.button}}', 'markdown')

_tags = {('slow','true'): 'slow', ('echo','false'): 'remove-input', ('output','false'): 'remove-output', ('include','false'): 'remove-cell', ('code-fold','true'): 'hide-input'}
_widget = 'application/vnd.jupyter.widget-view+json'

def breakable(html):
    "Data frames of `html` whose headings may be broken after an underscore, so that wide tables fit the page"
    return re.sub(r'(?s)<th\b.*?</th>', lambda m: m[0].replace('_', '_<wbr>'), html)

_interval = re.compile(r'\[([-−]?(?:[\d.]+|inf|nan)), ([-−]?(?:[\d.]+|inf|nan))\]')

def unbroken(table):
    "The intervals of a table, each in one piece: a line does not end within it"
    return _interval.sub('[\\1,\N{NO-BREAK SPACE}\\2]', table)

def with_whole_intervals(s):
    "Markdown whose tables hold intervals in one piece"
    return re.sub(r'^\|.*$', lambda m: unbroken(m[0]), s, flags=re.M)

_slow = re.compile(r'(one cell|\d+ cells) marked `#\| slow` takes?')

def n_slow(nb):
    "Number of slow cells of a processed notebook"
    return sum(c.cell_type=='code' and re.search(r'^#\| *slow\b', c.source, re.M) is not None for c in nb.cells)

def marked(s, n):
    "What the page says of its slow cells, of which it shows `n`; others are hidden here"
    if not n: return s
    return _slow.sub(f'{n} cells marked `#| slow` take' if n>1 else 'one cell marked `#| slow` takes', s)

def code(c, nb):
    "Turn the directives of the code cell `c` into metadata for myst-nb and Markdown outputs into MyST, fold imports, drop progress bars"
    if only_imports(c): c.source = f'#| code-fold: true\n#| code-summary: Imports\n{c.source}'
    ds = {k: v.strip().strip('"\'') for k,v in re.findall(r'^#\|\s*([\w-]+):?(.*)', c.source, re.M)}
    c.source = re.sub(r'^#\|.*\n?', '', c.source, flags=re.M)
    c.outputs = [o for o in c.get('outputs', []) if _widget not in o.get('data', {})]
    for d in (o.data for o in c.outputs if 'text/markdown' in o.get('data', {})): d['text/markdown'] = markdown(at_home(d['text/markdown'], nb), nb)
    for d in (o.data for o in c.outputs if 'text/html' in o.get('data', {})): d['text/html'] = unbroken(breakable(''.join(d['text/html'])))
    widths = [o.metadata['image/png']['width'] for o in c.outputs if 'image/png' in o.get('metadata', {})]
    caption = ds.get('fig-cap')
    image = dict(alt=ds.get('fig-alt') or caption or 'Figure')
    if widths: image |= dict(width=f'{widths[0]}px', classes='wide' if widths[0]>=600 else 'narrow')
    c.metadata = dict(tags=[_tags[o] for o in ds.items() if o in _tags], mystnb=dict(image=image))
    if caption: c.metadata['mystnb']['figure'] = dict(caption=caption)
    if 'code-summary' in ds: c.metadata['mystnb'] |= dict(code_prompt_show=ds['code-summary'], code_prompt_hide=ds['code-summary'])

def convert(path):
    "The notebook at `path` within the notebooks' folder, ready for myst-nb"
    nb = read_nb(cfg.nbs_path/path)
    Procs()(nb)
    shown = {c.id: m[1] for c in nb.cells if c.cell_type=='code' and (m:=re.search(r'^show_doc\(([\w.]+)', c.source, re.M))}
    own,cells,at = symbols(path),[],0
    slow = n_slow(nb)
    for c in nb.cells:
        if c.id in shown:   # nbdev adds these after an exported cell; here they go above it
            cells.insert(at if c.get('has_sd') else len(cells), mk_cell(f'```{{eval-rst}}\n{autodoc(shown[c.id], own, shown.values())}\n```', 'markdown'))
            continue
        if c.cell_type=='code': code(c, path)
        else: c.source = markdown(marked(own_badge.sub('', c.source), slow), path)
        at = len(cells)
        cells.append(c)
    nb.cells = cells[:1] + [buttons(path)] + cells[1:]
    for i,c in enumerate(nb.cells): c.id = f'{i}'
    lines = [100*i for i in range(1, len(nb.cells)+2)]   # where warnings place each cell; reST is parsed behind as many empty lines, 10,000 a cell by default
    nb.metadata = dict(language_info=dict(name='python', pygments_lexer='ipython3'), source_map=lines)
    return nb

def title_of(path):
    "Title and subtitle of the notebook at `path`"
    first = read_nb(cfg.nbs_path/path).cells[0].source
    title,subtitle = re.match(r'# (.+)\n\n> (.+)', first).groups()
    return title,subtitle

def place(order, path):
    "Where the notebook at `path` comes among those of its area: by its own name, or by its folder"
    folder = path.parent.as_posix().removeprefix('.')
    return order.get(path.with_suffix('').as_posix(), order.get(folder, len(order)))

def by_area(areas, start, inner):
    """Paths of the notebooks by area: those of `start` first, which leave their folders; those of `inner` go where the folder '' goes

    An area may name single notebooks of other folders. A folder that no area names is an area of its own, so that a new
    folder is not lost."""
    named = [Path(o) for o in start]
    area_of: dict = {}
    for page,area in areas.items():   # the first that names a folder has it
        for folder in area.folders: area_of.setdefault(folder, page)
    res = {'start': named} | {page: [] for page in areas}
    for p in sorted(p.relative_to(cfg.nbs_path) for p in nbglob(as_path=True)):
        if p.name==cfg.readme_nb or p in named: continue
        name = p.with_suffix('').as_posix()
        folder = '' if name in inner else p.parent.as_posix().removeprefix('.')
        page = area_of.get(name) or ('start' if folder=='start' else area_of.get(folder, folder))
        res.setdefault(page, []).append(p)
    order = {page: {folder: i for i,folder in enumerate(area.folders)} for page,area in areas.items()}
    for page,paths in res.items():
        if page in order: paths.sort(key=lambda p: place(order[page], p))
    return {k: ps for k,ps in res.items() if ps}

def toctree(pages, caption=''):
    "Hidden directive that puts `pages` into the sidebar"
    head = ['```{toctree}', ':hidden:']
    if caption: head.append(f':caption: {caption}')
    return '\n'.join([*head, '', *map(str, pages), '```'])

def notebook(*cells):
    "A notebook of Markdown cells"
    return new_nb([mk_cell(o, 'markdown', id=f'{i}') for i,o in enumerate(cells)])

def subject(areas, path):
    "The area to whose subject the notebook at `path` belongs, wherever it is listed"
    folder = path.parent.as_posix().removeprefix('.')
    return next((page for page,area in areas.items() if folder in area.folders), '')

def hood(areas):
    "The area that lists the ground floor and the machinery of the others"
    return next(page for page,area in areas.items() if '' in area.folders)

def machinery(areas, groups, page):
    "Notebooks of the subject of an area that are listed under the hood"
    below = hood(areas)
    return [p for p in groups[below] if page!=below and subject(areas, p)==page]

def hood_sections(areas, paths):
    "The notebooks under the hood by heading: the ground floor, its folders, and each area"
    res: dict = {}
    for p in paths:
        folder = p.parent.as_posix().removeprefix('.')
        page = subject(areas, p)
        if not folder: heading = 'The ground floor'
        elif page==hood(areas): heading = f'The ground floor: {folder}'
        else: heading = areas[page].title
        res.setdefault(heading, []).append(p)
    return res

def listing(paths):
    "A table of notebooks, with their subtitles"
    rows = [f'| [{title}]({page_of(p)}.ipynb) | {markdown(subtitle)} |' for p in paths for title,subtitle in [title_of(p)]]
    return '\n'.join(['| page | what it answers |', '| --- | --- |', *rows])

def area_page(areas, groups, page):
    "The page of an area, which lists its notebooks and holds them in the sidebar; those of its machinery come last, and are in the sidebar under the hood"
    area,paths = areas[page],groups[page]
    top = [f'# {area.title}\n\n> {area.subtitle}', markdown(area.text)]
    if page==hood(areas): tables = [f'## {k}\n\n{listing(ps)}' for k,ps in hood_sections(areas, paths).items()]
    else: tables = [listing(paths)]
    inside = machinery(areas, groups, page)
    if inside: tables.append(f'## Under the hood\n\n{listing(inside)}')
    return notebook(*top, *tables, toctree(map(page_of, paths)))

def api_rows(paths):
    "Public names that the notebooks at `paths` define, with module, page and the first line of their docstring"
    for p,name,k in ((p, *o) for p in paths for o in symbols(p).items()):
        if '.' in name or name.startswith('_'): continue
        doc = markdown((inspect.getdoc(obj_of(k)) or '').split('\n')[0], p).replace('|', r'\|')
        yield name,k,page_of(p),doc

def table(head, rows):
    "Markdown table"
    lines = [head, ['---']*len(head), *rows]
    return '\n'.join(f'| {" | ".join(r)} |' for r in lines)

def folded(summary, body):
    "Markdown that is shown at a click"
    return f'```{{raw}} html\n<details><summary>{summary}</summary>\n```\n\n{body}\n\n```{{raw}} html\n</details>\n```'

def api_index(groups, titles, called):
    "Markdown that lists the public names of each area: first what is called as `tm.name`, in the order of `called`, then the rest by module"
    res = [f'# API\n\n> Every public name: first what people call, then the rest by module\n\n'
           f'After `import {lib} as tm`, what stands first in each area is called `tm.name`; `dir(tm)` lists it. '
           'The rest is reached by area or module: `tm.transferability.eep`, `tm.stats.kendall`. '
           'A name leads to its documentation; methods are in the {ref}`genindex`.']
    place = {name: i for i,name in enumerate(called)}
    for page,paths in groups.items():
        rows = list(api_rows(paths))
        if not rows: continue
        top = sorted((o for o in rows if o[0] in place), key=lambda o: place[o[0]])
        rest = [o for o in rows if o[0] not in place]
        res.append(f'## {titles[page]}')
        if top: res.append(table(['name', 'what it gives'], [(f'{{py:obj}}`tm.{name} <{k}>`', doc) for name,k,_,doc in top]))
        if rest:
            inner,shown = [],None
            for name,k,path,doc in rest:
                module,shown = '' if syms[k]==shown else f"[{syms[k].removeprefix(f'{lib}.')}]({path}.ipynb)",syms[k]
                inner.append((module, f'{{py:obj}}`{name} <{k}>`', doc))
            body = table(['module', 'name', 'what it gives'], inner)
            res.append(folded(f'The rest by module, {len(rest)} names', body))
    return '\n\n'.join(res)

def convert_all(dest, areas, start, inner, captions, called):
    "Write the notebooks to `dest` under the names of their pages, a page for each area, and the API; the home page has the sidebar. What has no notebook goes"
    groups = by_area(areas, start, inner)
    nbs = {page_of(p): convert(p) for p in [Path(cfg.readme_nb), *chain(*groups.values())]}
    for page in areas: nbs[Path(page)] = area_page(areas, groups, page)
    titles = {page: area.title for page,area in areas.items()}
    nbs[Path('api')] = notebook(api_index({k: groups[k] for k in areas}, titles, called))
    trees = [toctree(['What it is <self>', *map(page_of, groups['start'])], 'Start')]
    trees += [toctree(pages, caption) for caption,pages in captions.items()]
    nbs[page_of(cfg.readme_nb)].cells.append(mk_cell('\n\n'.join(trees), 'markdown', id='toc'))
    for o in dest.rglob('*.ipynb'):
        if o.relative_to(dest).with_suffix('') not in nbs: o.unlink()
    for page,nb in nbs.items():
        (dest/page).parent.mkdir(parents=True, exist_ok=True)
        write_nb(nb, dest/f'{page}.ipynb')

def annotations(obj):
    "Annotations of a function, a dataclass or what `obj` is made by, as they are written in its source"
    src = get_source(obj if isdataclass(obj) else obj.__init__ if inspect.isclass(obj) else obj)
    d = ast.parse(dedent(src or '')).body
    if not d: return {}
    if isinstance(d[0], ast.ClassDef): return {o.target.id: ast.unparse(o.annotation) for o in d[0].body if isinstance(o, ast.AnnAssign)}
    args = d[0].args
    res = {o.arg: ast.unparse(o.annotation) for o in args.posonlyargs+args.args+args.kwonlyargs if o.annotation}
    return res | ({'return': ast.unparse(d[0].returns)} if d[0].returns else {})

def sections(lines):
    "The lines of each section of a docstring by title, '' for those above the first; as `transfer_metrics.public` writes them"
    res: dict[str,list[str]] = {'': []}
    title = ''
    for o,below in zip_longest(lines, lines[1:], fillvalue=''):
        if o in ('Parameters','Returns','Raises','Examples') and below=='-'*len(o): title,res[o] = o,[]
        elif o!='-'*len(title) or not title: res[title].append(o)
    return res

def raised(lines, said_of=rst):
    "The entries of the section `Raises` as fields"
    text = '\n'.join(lines).strip()
    for error,said in re.findall(r'^(\w+)\n((?: +.*\n?)+)', text, re.M): yield f':raises {error}: {said_of(" ".join(said.split()))}'

def docstring(app, what, name, obj, options, lines):
    "Docstring in reST, followed by the docments as lists of parameters and returns, and by the example"
    parts = sections(lines)
    args,module = arguments(obj),syms.get(name, '')
    own = {k: v for k,v in of_module(module).items() if k not in args}
    text = partial(rst, own=own, args=args, area=area_of(module))
    lines[:] = text('\n'.join(parts[''])).split('\n')   # at once: code may go on in the next line
    if what not in ('function','method','class'): return
    if hasattr(obj, '_fields'): obj.__dataclass_fields__ = {}   # docments then reads a NamedTuple as a dataclass
    types = annotations(obj)
    for k,v in docments(obj, full=True).items():
        if k=='self' or not v.docment: continue
        lines += ['', f'{":returns:" if k=="return" else f":param {k}:"} {text(" ".join(v.docment.split()))}']
        if k in types: lines.append(f'{":rtype:" if k=="return" else f":type {k}:"} {types[k]}')
    lines += ['', *raised(parts.get('Raises', []), text)]
    if 'Examples' in parts: lines += ['', '.. rubric:: Example', '', *parts['Examples']]

def external(app, env, node, cont):
    "Resolve a reference to another library"
    name = node.get('reftarget', '')
    url = next(filter(None, (url_of(pre+name) for pre in ('', 'builtins.', 'torch.', 'torch.utils.data.', 'collections.abc.', 'pathlib.'))), None)
    if url: return reference('', '', cont, refuri=url, internal=False)

def source_url(domain, info):
    "GitHub link to the lines of a documented object"
    obj = obj_of(f"{info['module']}.{info['fullname']}")
    lines,start = inspect.getsourcelines(inspect.unwrap(obj.fget if isinstance(obj, property) else obj))
    return f"{blob}/{info['module'].replace('.', '/')}.py#L{start}-L{start+len(lines)-1}"
