__version__ = "0.1.0"

def _index():
    "Public names of the package, each with the module that defines it, read from the index that nbdev writes"
    from transfer_metrics._modidx import d
    syms = {n.removeprefix(m+'.'): m for m,ns in d['syms'].items() if '.cli' not in m for n in ns}
    return {n: m for n,m in syms.items() if '.' not in n and not n.startswith('_')}

def __getattr__(name):
    from importlib import import_module
    if name.startswith('__'): raise AttributeError(name)
    if mod := _index().get(name):
        globals()[name] = obj = getattr(import_module(mod), name)
        return obj
    raise AttributeError(f"module 'transfer_metrics' has no attribute {name!r}; dir(transfer_metrics) lists what it has")

def __dir__(): return sorted({'__version__', *_index()})
