"Which symbol a name in backticks stands for, and where it is documented"
import inspect
import re
from functools import cache
from importlib import import_module
from nbdev.config import get_config, nbpath2html
from nbdev.doclinks import NbdevLookup
from transfer_metrics.public import listed

cfg = get_config()
lib = cfg.lib_path.name
index = import_module(f'{lib}._modidx').d['syms']
syms = {k: m for m,ks in index.items() for k in ks}
lookup = NbdevLookup()
lookup.aliases = dict(np='numpy', pd='pandas', nn='torch.nn', F='torch.nn.functional')

def spellings(name, module):
    "All that the symbol `name` of `module` may be called on a page"
    short,inside = name.removeprefix(f'{module}.'),name.removeprefix(f'{lib}.')
    return short, f'tm.{short}', f'tm.{inside.split(".")[0]}.{short}', f'tm.{inside}', inside, name

top = {name: f'{where}.{name}' for name,where in listed(lib).items() if where!=lib}   # what is called `tm.name`
full = {o: k for k,m in syms.items() for o in spellings(k, m)} | top | {f'tm.{name}': k for name,k in top.items()}
of_tables = 'chance','entropy','metric'   # in texts of other areas these are columns of tables

def obj_of(name):
    "The object that the full name of a symbol of this package stands for"
    obj = import_module(syms[name])
    for o in name.removeprefix(f'{syms[name]}.').split('.'): obj = getattr(obj, o)
    return obj

def page_of(path):
    "Page of the notebook at `path`, without suffix"
    return nbpath2html(path).with_suffix('')

def url_of(name):
    "Documentation of `name` in another library, from nbdev's indexes (nbdev-numpy, nbdev-pytorch, ...)"
    url = lookup.doc(name)
    if not url or url.startswith(cfg.doc_url): return None   # nbdev's own anchors are not those of this site
    return url.replace('/reference/reference/', '/reference/')   # nbdev-scipy doubles the folder

@cache
def symbols(path):
    "Short names of the symbols that the notebook at `path` defines, and their full ones"
    return {k.removeprefix(f'{m}.'): k for m,ks in index.items() for k,(url,_) in ks.items() if url.startswith(f'{page_of(path)}.html#')}

def of_module(module):
    "Short names of the symbols of `module`, and their full ones"
    return {k.removeprefix(f'{module}.'): k for k in index.get(module, {})}

def arguments(obj):
    "Names of the arguments of `obj`, none if it takes none"
    try: return set(inspect.signature(obj).parameters)
    except (TypeError, ValueError): return set()

@cache
def page_arguments(path):
    "Names of the arguments of all that the notebook at `path` defines"
    return set().union(*(arguments(obj_of(k)) for k in symbols(path).values()))

def area_of(module):
    "The area that `module` belongs to, '' for the ground floor"
    return ''.join(module.split('.')[1:-1])

def symbol(code, own, args=(), area=''):
    """Full name of the symbol that `code` stands for in a text of `area`, `None` if it is none

    A bare word is often an argument, a column or an option: it is a symbol only if `own` has it, the symbols beside the text,
    or if people call it `tm.name`; and not where it is one of `args`, the arguments beside the text."""
    name = code.removesuffix('()')
    if any(o.startswith('_') for o in name.split('.')): return None   # private names have no documentation
    if name in own: return own[name]
    if name!=code or not re.fullmatch('[a-z0-9]+', name): return full.get(name)
    k = top.get(name)
    column = name in of_tables and area!=area_of(syms[k])
    return None if name in args or column else k

def xref(code, own, ours, theirs, literal, **where):
    "What stands in backticks, in the format `ours` (a symbol of this package), `theirs` (of another library) or `literal` (no known name)"
    if k := symbol(code, own, **where): return ours.format(code, k)
    url = url_of(code.removesuffix('()'))
    return theirs.format(code, url) if url else literal.format(code)
