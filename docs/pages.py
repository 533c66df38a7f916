"""Pages of the site from the notebooks in nbs/

An exported cell becomes the documentation of what it defines, with its source folded; directives (`#| hide`, `#| fig-cap`, ...)
become cell tags; links between notebooks become links between pages. A new notebook appears by itself on the page of its folder."""
import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from fastcore.docments import DocmentTbl
from fastcore.nbio import mk_cell, new_nb, read_nb, write_nb
from nbdev.config import get_config, nbpath2html
from nbdev.doclinks import nbglob

cfg = get_config(Path(__file__).parent)
lib = import_module(cfg.lib_path.name)
blob = f'{cfg.git_url}/blob/{cfg.branch}'
home = Path('index.ipynb')
start = ['studies/tour', 'model_selection/guide']   # listed in the sidebar before the recipes of nbs/start
# Page of a folder, or of several: caption in the sidebar, title, subtitle, text, folders
areas = {
    'which_model': ('Four questions', 'Which model should I start from?',
                    'Before training: which pretrained model suits my labelled data?',
        'Begin with [Use your own models](start/your_models.ipynb) and the guide [Which score when?](model_selection/guide.ipynb).',
        ['model_selection', 'transferability']),
    'how_much_data': ('Four questions', 'How much data do I need?',
                      'Before training: how many labels does my task need with this representation?',
        'Begin with [sample complexity](loss_data/sample_complexity.ipynb).', ['loss_data']),
    'what_was_saved': ('Four questions', 'What did transfer save?',
                       'After training: how many labels, what head start, what final level?',
        'Begin with [Learning curves from a CSV](start/curves_from_a_csv.ipynb).', ['learning_curves']),
    'accuracy_without_labels': ('Four questions', 'How accurate is it without labels?',
                                'In deployment: how accurate is the model on new data without labels?',
        'Begin with [A model in production](start/a_model_in_production.ipynb).', ['invariance']),
    'evidence': ('Evidence', 'Studies', 'Do the scores predict anything? Results on real data, with intervals', '',
                 ['studies']),
    'running_experiments': ('Evidence', 'Experiments of your own',
                            'Tasks, heads, fine-tuning and studies that resume after a kill', '', ['experiments']),
    'commands': ('Reference', 'Command line', 'The main jobs without writing Python', '', ['cli']),
    'data_that_ships': ('Reference', 'Data that ships',
                        'Digits, small networks and published tables, for offline examples', '', ['datasets']),
    'under_the_hood': ('Reference', 'Under the hood', 'The modules that all areas share, for contributors', '', ['']),
}

def page_of(path): return nbpath2html(Path(path)).with_suffix('').as_posix()

def title_of(path):
    "Title and subtitle of a notebook"
    first = '\n\n'.join(c.source for c in read_nb(cfg.nbs_path/path).cells[:2])
    return re.match(r'# (.+)\n+> (.+)', first).groups()

notebooks = sorted(p.relative_to(cfg.nbs_path) for p in nbglob(cfg.nbs_path, as_path=True))
folder_of = {p: '' if p.parent==Path('.') else p.parent.as_posix() for p in notebooks}
top = {k: f'{lib.__name__}{where}' for k,where in lib._names.items() if where!='.'}   # public names: `tm.leep`
page_for = {k: '/'.join(module.split('.')[1:]) for k,module in top.items()}   # a module is a page

# Markdown
code_re = re.compile(r'```.*?```|\$\$.*?\$\$|(?<=\[)[^][\n]*`[^][\n]*(?=\]\()|(?<!`)`([^`\n]+)`(?!`)|\]\((?![\w+.-]+:|#)([^)#\s]+)(#[^)\s]*)?\)', re.S)

def markdown(text, nb=home):
    "Relative links lead to pages or to GitHub, public names in backticks to their documentation"
    def replaced(m):
        code,path,anchor = m.groups()
        if code:
            name = code.removesuffix('()').removeprefix('tm.')
            plain = name==code and re.fullmatch('[a-z0-9]+', name)   # may be an argument or a column
            here = name not in page_for or plain or page_for[name]==page_of(nb)
            return m[0] if here else f'[{m[0]}](/{page_for[name]}.ipynb)'
        if not path: return m[0]
        if path.endswith('.ipynb'):
            return f'](/{page_of((cfg.nbs_path/nb.parent/path).resolve().relative_to(cfg.nbs_path.resolve()))}.ipynb{(anchor or "").lower()})'
        return f']({blob}/{(cfg.nbs_path/nb.parent/path).resolve().relative_to(cfg.config_path.resolve())}{anchor or ""})'
    text = re.sub(r'\[!\[Open In Colab\].*?\]\(\S*?\)\s*', '', text)
    return code_re.sub(replaced, text)

def described(obj, name):
    "Documentation of a function or class: signature, docstring, and the comments of its arguments"
    made = obj.__init__ if inspect.isclass(obj) and not hasattr(obj, '__dataclass_fields__') else obj
    try: signature = str(inspect.signature(obj).replace(return_annotation=inspect.Signature.empty,
        parameters=[p.replace(annotation=p.empty) for p in inspect.signature(obj).parameters.values()]))
    except ValueError: signature = '(...)'
    signature = re.sub(r"<(?:class|function) '?(?:\w+\.)*(\w+)'?(?: at 0x\w+)?>", r'\1', signature)
    doc = re.split(r'\n(?:Parameters|Returns|Raises|Examples)\n---', inspect.getdoc(obj) or '')[0]
    text,*example = re.split(r'\n\n(?=>>> )', doc, maxsplit=1)
    parts = [f'```python\n{name}{signature}\n```', text, str(DocmentTbl(made, verbose=False))]
    if example: parts.append(f'```python\n{example[0]}\n```')
    if inspect.isclass(obj):
        methods = [(k, f) for k,f in vars(obj).items() if not k.startswith('_') and inspect.getdoc(f)
                   and (callable(f) or isinstance(f, (property,classmethod)))]
        parts += [f'- `.{k}`: {inspect.getdoc(f).splitlines()[0]}' for k,f in methods if not isinstance(f, type)]
    return '::::{container} api\n'+'\n\n'.join(parts)+'\n::::'

def definitions(source):
    return [o.name for o in ast.parse(source).body if isinstance(o, (ast.FunctionDef,ast.ClassDef))
            and not o.name.startswith('_')]

tags = {('slow','true'): 'slow', ('echo','false'): 'remove-input', ('output','false'): 'remove-output',
        ('code-fold','true'): 'hide-input'}

def code_cell(c, directives, nb):
    c.source = re.sub(r'^#\|.*\n?', '', c.source, flags=re.M)
    for o in c.outputs:
        data = o.get('data', {})
        if 'text/markdown' in data: data['text/markdown'] = markdown(''.join(data['text/markdown']), nb)
        if 'text/html' in data:
            data['text/html'] = re.sub(r'(?s)<th\b.*?</th>', lambda m: m[0].replace('_', '_<wbr>'),
                                       ''.join(data['text/html']))
    c.outputs = [o for o in c.outputs if 'application/vnd.jupyter.widget-view+json' not in o.get('data', {})]
    caption = directives.get('fig-cap')
    widths = [o.metadata['image/png']['width'] for o in c.outputs if 'image/png' in o.get('metadata', {})]
    image = dict(alt=directives.get('fig-alt') or caption or 'Figure') | (dict(width=f'{widths[0]}px') if widths
        else {})
    c.metadata = dict(tags=[tags[o] for o in directives.items() if o in tags], mystnb=dict(image=image))
    if caption: c.metadata['mystnb']['figure'] = dict(caption=caption)
    if 'code-summary' in directives:
        c.metadata['mystnb'] |= dict.fromkeys(('code_prompt_show','code_prompt_hide'), directives['code-summary'])
    return c

def convert(path):
    "A notebook as a page"
    cells,module = [],None
    for c in read_nb(cfg.nbs_path/path).cells:
        if c.cell_type!='code':
            c.source = markdown(c.source, path)
            if c.source: cells.append(c)
            continue
        d = {k: v.strip().strip('"\'') or 'true' for k,v in re.findall(r'^#\|\s*([\w-]+):?(.*)', c.source, re.M)}
        if 'default_exp' in d: module = import_module(f"{lib.__name__}.{d['default_exp']}")
        if {'hide','default_exp','exporti'} & d.keys() or d.get('include')=='false': continue
        if 'export' in d or 'exports' in d:
            names = definitions(c.source)
            cells += [mk_cell(markdown(described(getattr(module, k), k), path), 'markdown')
                      for k in names]
            if not names and all(isinstance(o, (ast.Import,ast.ImportFrom)) for o in ast.parse(c.source).body): continue
            d |= {'code-fold': 'true', 'code-summary': f'Source of {", ".join(names)}' if names else 'Source'}
        elif all(isinstance(o, (ast.Import,ast.ImportFrom)) for o in (c.parsed_() or [c])):
            d |= {'code-fold': 'true', 'code-summary': 'Imports'}
        cells.append(code_cell(c, d, path))
    p = f'{cfg.nbs_path.name}/{path.as_posix()}'
    colab = f'https://colab.research.google.com/github/{cfg.user}/{cfg.repo}/blob/{cfg.branch}/{p}'
    buttons = f'[Open in Colab]({colab}){{.button .colab}} [Notebook]({blob}/{p}){{.button}}'
    return notebook([cells[0], mk_cell(buttons, 'markdown'), *cells[1:]])

def notebook(cells):
    nb = new_nb([mk_cell(o, 'markdown') if isinstance(o, str) else o for o in cells])
    for i,c in enumerate(nb.cells): c.id = f'{i}'
    nb.metadata = dict(language_info=dict(name='python', pygments_lexer='ipython3'))
    return nb

def toctree(pages, caption=''):
    return '\n'.join(['```{toctree}', ':hidden:', *([f':caption: {caption}'] if caption else []), '', *pages, '```'])

def listing(paths):
    rows = [f'| [{title}](/{page_of(p)}.ipynb) | {subtitle} |' for p in paths for title,subtitle in [title_of(p)]]
    return '\n'.join(['| page | subject |', '| --- | --- |', *rows])

def in_area(page):
    "Notebooks of an area, in the order of its folders and of their numbers"
    return [p for folder in areas[page][-1] for p in notebooks if folder_of[p]==folder and p!=home
            and page_of(p) not in start]

def api():
    "All public names"
    rows = []
    for k,module in sorted(top.items(), key=lambda o: (o[1].count('.'),o[1],o[0])):
        first = (inspect.getdoc(getattr(import_module(module), k)) or '').split('\n')[0].replace('|', r'\|')
        rows.append(f'| [`tm.{k}`](/{page_for[k]}.ipynb) | {first} |')
    return ['# API\n\n> All public names: `import transfer_metrics as tm`\n\nMore names are reached by module, such as `tm.stats.kendall`.',
            '\n'.join(['| name | what it does |', '| --- | --- |', *rows])]

def write_pages(dest):
    "Write all pages as notebooks for myst-nb"
    pages = {page_of(p): convert(p) for p in notebooks}
    for page,(_,title,subtitle,text,_) in areas.items():
        paths = in_area(page)
        # the modules below all areas have one page of links, and no entries in the sidebar
        tree = toctree(map(page_of, paths)) if page!='under_the_hood' else ''
        pages[page] = notebook([f'# {title}\n\n> {subtitle}', *([markdown(text)] if text else []), listing(paths),
                                *([tree] if tree else [])])
        if page=='under_the_hood':
            for p in paths: pages[page_of(p)].metadata['orphan'] = True
    pages['api'] = notebook(api())
    trees = {'Start': ['What it is <self>', *start, *(page_of(p) for p in notebooks if folder_of[p]=='start')]}
    for page,(caption,*_) in areas.items(): trees.setdefault(caption, []).append(page)
    trees['Reference'].append('api')
    trees['Project'] = [f'Repository <{cfg.git_url}>', f'Version {lib.__version__}, changes <{blob}/CHANGELOG.md>',
                        f'Report an issue <{cfg.git_url}/issues/new>']
    pages[page_of(home)].cells.append(mk_cell('\n\n'.join(toctree(o, caption) for caption,o in trees.items()),
                                              'markdown', id='toc'))
    for old in dest.rglob('*.ipynb'):
        if old.relative_to(dest).with_suffix('').as_posix() not in pages: old.unlink()
    for page,nb in pages.items():
        (dest/page).parent.mkdir(parents=True, exist_ok=True)
        write_nb(nb, dest/f'{page}.ipynb')

def write_texts(outdir):
    "Each page as plain Markdown beside it: docstrings of modules lead there"
    for p in notebooks:
        cells = [c for c in read_nb(cfg.nbs_path/p).cells if not c.source.startswith(('#| hide','#| default_exp'))]
        text = '\n\n'.join(c.source if c.cell_type=='markdown' else f'```python\n{c.source}\n```' for c in cells)
        Path(outdir, f'{page_of(p)}.html.md').write_text(text+'\n', encoding='utf-8')
