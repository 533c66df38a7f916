"Light code: one idea a line, short lines, no private names across modules"
import ast, builtins, re, symtable
from difflib import SequenceMatcher
from functools import cache
from itertools import combinations
from pathlib import Path
import pytest
import transfer_metrics as tm
from fastcore.nbio import read_nb
from nbdev.config import get_config
from nbdev.doclinks import nbglob

cfg = get_config(Path(__file__).parent)
lib,nbs = cfg.lib_path,cfg.nbs_path
compound = ast.FunctionDef,ast.AsyncFunctionDef,ast.ClassDef,ast.If,ast.For,ast.AsyncFor,ast.With,ast.AsyncWith,ast.Try,ast.While

@cache
def modules():
    "Source of each exported module by path"
    return {p.relative_to(lib).as_posix(): p.read_text(encoding='utf-8') for p in sorted(lib.rglob('*.py')) if p.name!='_modidx.py'}

@cache
def cells():
    "Source of each code cell by notebook and number, without cells of shell commands"
    res = {}
    for path in sorted(nbglob(nbs, as_path=True)):
        for i,c in enumerate(read_nb(path).cells):
            if c.cell_type=='code' and not re.search(r'^\s*[!%]', c.source, re.M): res[f'{path.relative_to(nbs).as_posix()}[{i}]'] = c.source
    return res

@cache
def figures():
    "Directives of each cell that shows a figure, by notebook and number"
    res = {}
    for path in sorted(nbglob(nbs, as_path=True)):
        page = path.relative_to(nbs).as_posix()
        for i,c in enumerate(read_nb(path).cells):
            images = [o for o in c.get('outputs', []) if 'image/png' in o.get('data', {})]
            found = dict(re.findall(r'^#\|\s*([\w-]+):?[ \t]*(.*)', c.source, re.M))
            if images and 'hide' not in found: res[f'{page}[{i}]'] = found
    return res

def exported(source): return re.match(r'#\|\s*export', source.lstrip()) is not None

def shown(): return {k: v for k,v in cells().items() if not exported(v)}

def long_lines(sources, limit=120):
    "Lines with more characters than `limit`, but for captions and the list of names that nbdev writes"
    res = []
    for k,v in sources.items():
        text = re.sub(r'^__all__ = \[.*?\]$', lambda m: '\n'*m[0].count('\n'), v, flags=re.M|re.S)
        res += [f'{k}:{i} {len(o)}' for i,o in enumerate(text.split('\n'), 1) if len(o)>limit and not o.startswith('#|')]
    return res

def sizes(sources):
    "Number of syntax nodes of each simple statement, sorted"
    statements = (o for v in sources.values() for o in ast.walk(ast.parse(v)) if isinstance(o, ast.stmt) and not isinstance(o, compound))
    return sorted(sum(1 for _ in ast.walk(o)) for o in statements)

def quantile(xs, level): return xs[int(level*(len(xs)-1))]

def private_imports():
    "Private names that a module imports from another module of the package"
    for path,source in modules().items():
        for o in ast.walk(ast.parse(source)):
            if not isinstance(o, ast.ImportFrom) or not (o.level or (o.module or '').startswith(lib.name)): continue
            yield from (f'{path}: {a.name}' for a in o.names if re.match('_[^_]', a.name))

@pytest.mark.parametrize('sources', [modules, cells], ids=['modules', 'cells'])
def test_line_length(sources):
    over = long_lines(sources())
    assert not over, f'{len(over)} lines have more than 120 characters: {over[:20]}'

@pytest.mark.parametrize('sources,most', [(modules, (16, 25)), (shown, (16, 25))], ids=['modules', 'cells'])
def test_one_idea_a_line(sources, most):
    "Syntax nodes a statement, three quarters and nine tenths of them"
    found = sizes(sources())
    reached = quantile(found, .75),quantile(found, .9)
    assert all(a<=b for a,b in zip(reached, most, strict=True)), f'{reached}, at most {most}'

def test_private_imports():
    found = list(private_imports())
    assert len(found)<20, f'{len(found)}: {found}'

def named(source):
    "Names that some code gives something to, and those of others that it uses"
    def used_in(table):
        outer = {o.get_name() for o in table.get_symbols() if o.is_referenced() and (table is top or o.is_global())}
        return outer.union(*map(used_in, table.get_children()))
    top = symtable.symtable(source, 'cell', 'exec')
    given = {o.get_name() for o in top.get_symbols() if o.is_assigned() or o.is_imported()}
    return given,used_in(top)

def unseen(sources):
    "Names that a cell uses and only a hidden cell before it defines, by cell"
    page,res = '',{}
    for cell,source in sources.items():
        if page!=cell.partition('[')[0]:
            page = cell.partition('[')[0]
            seen,hidden = set(vars(builtins)),set()
        given,used = named(source)
        if re.search(r'^#\| *hide', source, re.M): hidden |= given
        else:
            missed = (used-given-seen)&hidden
            if missed: res[cell] = missed
            seen |= given
    return res

def test_what_is_seen_runs():
    "Someone who copies the cells that the site shows has all that they use"
    bad = {'p[0]': '#| hide\ndef f(x): return x', 'p[1]': 'f(1)', 'q[0]': 'f = abs', 'q[1]': 'f(len([]))'}
    assert unseen(bad)=={'p[1]': {'f'}}
    assert not unseen(cells())

def test_type_ignore():
    found = [k for k,v in modules().items() for _ in re.findall(r'#\s*type:\s*ignore', v)]
    assert len(found)<10, f'{len(found)}: {found}'

def test_module_length():
    found = {k: n for k,v in modules().items() if (n := len(v.splitlines()))>300}
    assert len(found)<=8, found

def literal(o):
    "What stands in the expression `o` of an error's text, `_` for each value"
    if isinstance(o, ast.Constant) and isinstance(o.value, str): return o.value
    if isinstance(o, ast.JoinedStr): return ''.join(map(literal, o.values))
    if isinstance(o, ast.BinOp): return literal(o.left)+literal(o.right)
    return '_'

def condition(text):
    "A text without what differs from place to place: names of arguments and options, values, numbers"
    text = re.sub(r"`[^`]*`|--[a-z][\w-]*|'[^']*'|\d+", '_', text)
    return re.sub(r'_(?:[ ,:=]*_)*', '_', text).strip()

def error_texts(sources):
    "Conditions that are refused by hand, and the modules where; one or two words in common are no text"
    for path,source in sources.items():
        for o in ast.walk(ast.parse(source)):
            if not isinstance(o, ast.Raise) or not isinstance(o.exc, ast.Call): continue
            yield from ((text, path) for text in map(condition, map(literal, o.exc.args)) if len(re.findall(r'[a-z]', text))>=12)

def repeated(texts, limit=.85):
    "Pairs of texts in different modules that say nearly the same"
    for (a,here),(b,there) in combinations(texts, 2):
        s = SequenceMatcher(None, a, b, autojunk=False)
        if here!=there and min(s.real_quick_ratio(), s.quick_ratio())>limit and s.ratio()>limit: yield f'{here}: {a}\n{there}: {b}'

def test_error_texts_stand_once():
    "What is refused in several modules is refused by a function that they share, mostly of `checks` and `paths`"
    found = list(repeated(error_texts(modules())))
    assert not found, f'{len(found)} pairs of texts:\n'+'\n\n'.join(found[:10])

def test_repeated():
    a = "def f(x):\n    if x<0: raise ValueError(f'`n_boot` must be 0 or more, got {x!r}')"
    b = "def g(o):\n    if o.n<1: raise ValueError('--limit must be '+f'1 or more, got {o.n}')"
    c = "def h(x):\n    raise ValueError(f'`labels` must be hashable, got {x}')"
    assert list(error_texts(dict(a=a, b=b, c=c)))==[('_ must be _ or more, got _', 'a'), ('_ must be _ or more, got _', 'b'), ('_ must be hashable, got _', 'c')]
    assert len(list(repeated(error_texts(dict(a=a, b=b, c=c)))))==1
    assert not list(repeated(error_texts(dict(a=a+a.replace('def f', '\ndef e'))))) # within a module they may

@pytest.mark.parametrize('text', ['fig-cap', 'fig-alt'])
def test_figures_are_described(text):
    "Each figure has a caption, and a description for those who do not see it"
    missing = [k for k,v in figures().items() if not v.get(text, '').strip('"\' ')]
    assert not missing, f'{len(missing)} figures without `#| {text}:`: {missing[:20]}'

def test_captions_are_sentences():
    open_ended = [k for k,v in figures().items() if not v.get('fig-cap', '.').strip('"\' ').endswith(('.','?','!'))]
    assert not open_ended, f'captions without a full stop: {open_ended}'

def test_description_is_no_caption():
    same = [k for k,v in figures().items() if v.get('fig-cap') and v['fig-cap']==v.get('fig-alt')]
    assert not same, f'a caption read twice to those who do not see the figure: {same[:20]}'

def heads():
    "Title and subtitle of each page"
    res = {}
    for path in sorted(nbglob(nbs, as_path=True)):
        found = re.match(r'# (.+)\n\n> (.+)', read_nb(path).cells[0].source)
        if found: res[path.relative_to(nbs).as_posix()] = found.groups()
    return res

def twice(texts): return {o for o in texts if texts.count(o)>1}

def test_titles_tell_pages_apart():
    "Two pages of one name, or of one description, cannot be told apart in a list; a subtitle adds to its title"
    titles,subtitles = zip(*heads().values(), strict=True)
    assert not twice(['Command line',*titles]) # the area of this name has a page too
    assert not twice(subtitles)
    repeats = [k for k,(title,subtitle) in heads().items() if subtitle.startswith(title)]
    assert not repeats

def prose_cells():
    "Markdown of each cell that is no code, by notebook and number, without blocks of code"
    for path in sorted(nbglob(nbs, as_path=True)):
        for i,c in enumerate(read_nb(path).cells):
            text = re.sub(r'```.*?```', '', c.source, flags=re.S)
            if c.cell_type=='markdown': yield f'{path.relative_to(nbs).as_posix()}[{i}]',text

def glued(text):
    "Formulas on lines of their own, `$$`, without a blank line before them: the site takes them for words"
    for m in re.finditer(r'\$\$.*?\$\$', text, re.S):
        before = text[:m.start()]
        if before.strip() and not re.search(r'\n[ \t]*\n[ \t]*\Z', before): yield m[0]

def test_formulas_stand_alone():
    good = 'It is\n\n$$ a $$\n\nor\n\n1. one,\n\n   $$ b $$'
    assert not list(glued(good))
    assert list(glued(good.replace('\n\n$$', '\n$$').replace('\n\n   $$', '\n$$')))==['$$ a $$','$$ b $$']
    found = {k: formulas for k,text in prose_cells() if (formulas := list(glued(text)))}
    assert not found, f'no blank line before `$$`: {found}'

metric_re = re.compile(r'^@metric\((?:.|\n)*?^def (\w+)', re.M)

@cache
def metric_pages():
    "Cells of the pages that define a metric and begin with its card, by notebook; the pages without a card are still to come"
    res = {}
    for path in sorted(nbglob(nbs, as_path=True)):
        page,all_cells = path.relative_to(nbs).as_posix(),read_nb(path).cells
        defines = any(c.cell_type=='code' and exported(c.source) and metric_re.search(c.source) for c in all_cells)
        if defines and any(c.source.startswith('import transfer_metrics as tm\ntm.card(') for c in all_cells): res[page] = all_cells
    return res

each_metric_page = pytest.mark.parametrize('page', metric_pages())

def without(text, *patterns):
    for o in patterns: text = re.sub(o, ' ', text, flags=re.M|re.S)
    return text

def prose(page):
    "What a page says in sentences: no title, headings, formulas, code, addresses of links, or links to other sites"
    text = '\n\n'.join(c.source for c in metric_pages()[page][1:] if c.cell_type=='markdown')
    text = re.sub(r'\]\([^)\s]*\.ipynb[^)\s]*\)', ']()', text)
    return without(text, r'\[[^\]]*\]\([^)\s]+\)', r'^#+ [^\n]*', r'^```.*?^```', r'\$\$.*?\$\$', r'\$[^$\n]+\$', r'`[^`\n]*`', r'<[^>]*>')

def glossary():
    "The terms of the glossary: each is a heading, and 'a and b' are two"
    text = '\n'.join(c.source for c in read_nb(nbs/'start/04_glossary.ipynb').cells if c.cell_type=='markdown')
    return [term.lower() for heading in re.findall(r'^### (.+)$', text, re.M) for term in heading.split(' and ')]

def unlinked(text, terms):
    "Terms whose first use in `text` is not in a link to a page"
    for term in terms:
        first = re.search(rf'(?<![\w-]){term}s?(?![\w-])', text, re.I)
        if first and not any(m.start()<first.start()<m.end() for m in re.finditer(r'\[[^\]]*\]\(\)', text)): yield term

def test_unlinked():
    text = 'A [head]() of logits, the head; nats'
    assert list(unlinked(text, ['head','logit','nat','probe']))==['logit','nat']

def test_glossary():
    terms = glossary()
    assert len(terms)>25 and len(terms)==len(set(terms))
    assert {'nat','source','target','gram matrix'}<=set(terms)

@each_metric_page
def test_first_use_is_a_link(page):
    "Each term of the glossary leads to it, or to a page of its own, where a metric page uses it first"
    missing = list(unlinked(prose(page), glossary()))
    assert not missing, f'first use of {missing} is not linked: [{missing[0]}](../start/04_glossary.ipynb#...)'

@each_metric_page
def test_card(page):
    "The card and a call stand on the first screen, for each metric that the page defines; the card has all its words"
    all_cells = metric_pages()[page]
    codes = [c for c in all_cells if c.cell_type=='code']
    first = [c.source for c in all_cells[:10] if c.cell_type=='code']
    for name in (nm for c in codes if exported(c.source) for nm in metric_re.findall(c.source)):
        assert any(f"tm.card('{name}')" in o for o in first), f'no card of {name}'
        assert any(f'tm.{name}(' in o for o in first), f'no call of tm.{name} below the card'
        words = tm.registry()[name]
        assert words.question.endswith('?') and words.cost and words.avoid, f'{name} has no words for its card'
    headings = [h for c in all_cells if c.cell_type=='markdown' for h in re.findall(r'^## (.+)$', c.source, re.M)]
    assert 'When it misleads' in headings # where the card's link leads

@each_metric_page
def test_exercises(page):
    "Three exercises in one cell, their answers folded, and asserted in a hidden cell behind them"
    all_cells = metric_pages()[page]
    at, = (i for i,c in enumerate(all_cells) if c.cell_type=='markdown' and re.search(r'^### Exercises$', c.source, re.M))
    asked = all_cells[at].source
    assert len(re.findall(r'^\d\. ', asked, re.M))==3
    assert len(re.findall(r'^<details><summary>Answer</summary>\n\n.+?\n\n</details>$', asked, re.M|re.S))==3
    answers = all_cells[at+1].source
    assert answers.startswith('#| hide\n') and len(re.findall(r'^\s*(?:test_\w+\(|assert |with expect_fail)', answers, re.M))>=3
