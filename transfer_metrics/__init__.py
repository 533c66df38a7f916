"""Measure transfer learning: which pretrained model, how much data, what was saved, how accurate without labels

    import transfer_metrics as tm
    tm.leep(probs, labels)

`tm.metrics()` is the table of all metrics, `help(tm.leep)` explains one, `dir(tm)` lists all public names."""
import re
import sys
from importlib import import_module
from pkgutil import get_data
from types import FunctionType, ModuleType

__version__ = '0.1.0'

def _document(o):
    "Append the comments on arguments and results to the docstrings of a function, or of a class and its methods"
    from inspect import Parameter, cleandoc, formatannotation
    from fastcore.docments import docments
    def entry(name, d):
        kind = [] if d.anno in (None,Parameter.empty) else [formatannotation(d.anno)]
        default = [] if d.default is Parameter.empty else [f'default {d.default!r}']
        return f'{name}{" : " if name else ""}{", ".join(kind+default)}\n    {d.docment or ""}'
    methods = [getattr(m, '__func__', m) for k,m in vars(o).items() if k[0]!='_'] if isinstance(o, type) else []
    for f in (o,*methods):
        if not isinstance(f, type|FunctionType) or not f.__doc__ or '\n---' in f.__doc__: continue
        described = docments(f, full=True, args_kwargs=True)
        returned,_ = described.pop('return', None),described.pop('self', None)
        stars = {Parameter.VAR_POSITIONAL: '*', Parameter.VAR_KEYWORD: '**'}
        doc = cleandoc(f.__doc__)
        if described:
            entries = [entry(stars.get(d.kind, '')+k, d) for k,d in described.items()]
            doc = '\n'.join([doc,'','Parameters','----------',*entries])
        if returned and returned.docment: doc += '\n\nReturns\n-------\n'+entry('', returned)
        f.__doc__ = doc

class _Lazy(ModuleType):
    "A package whose names are imported when they are first used"
    def __getattr__(self, name):
        where = self._names.get(name)
        if where is None: raise AttributeError(f'module {self.__name__!r} has no attribute {name!r}', name=name, obj=self)
        value = import_module(f'{self.__name__}.{name}') if where=='.' else getattr(import_module(where, self.__name__), name)
        if isinstance(value, type|FunctionType): _document(value)
        vars(self)[name] = value
        return value

    def __setattr__(self, name, value):
        # importing a submodule must not replace a function with the same name
        if isinstance(value, ModuleType) and self._names.get(name, '.')!='.': return
        super().__setattr__(name, value)

    def __dir__(self): return sorted(self.__all__)

def lazy(
    package:str, # `__name__` of a package with an `__init__.pyi`
):
    "Import the names in the stub of `package` when they are first used"
    module = sys.modules[package]
    root,*area = package.split('.')
    stub = (get_data(root, '/'.join([*area,'__init__.pyi'])) or b'').decode()
    module._names = {name: where for where,name in re.findall(r'^from (\.\S*) import (\w+) as \w+$', stub, re.M)}
    module.__all__ = [*module._names]
    module.__class__ = _Lazy

lazy(__name__)
