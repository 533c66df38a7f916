"""Write the stubs, from which the package reads its public names and editors their types: `python docs/stubs.py`

`__init__.pyi` of the package and of each area hand names on. A module that adds methods by `@patch` has a stub in which they stand in their class.
Nothing is imported: the sources are read as syntax trees."""
import ast
import re
from collections import defaultdict
from pathlib import Path

root = Path(__file__).parent.parent
lib = root/'transfer_metrics'

# What users meet at top level; a function under `@metric` is there without standing here. The rest is reached by area.
contract = (
    'Metric', 'metric', 'metrics', 'registry', 'card', 'Card', 'Estimate',
    'Outputs', 'outputs', 'stratified_subset',
    'score_models', 'rank', 'agreement', 'plot_ranking', 'plot_agreement', 'aggregate', 'select_features', 'best_layer', 'plot_layers',
    'chance', 'Chance', 'jackknife', 'Jackknife', 'bootstrap_score', 'ScoreBootstrap', 'score_difference', 'ScoreDifference',
    'p_best', 'score_groups', 'select_model', 'accuracy_per_unit', 'Scale',
    'Curve', 'lexp', 'speedup', 'relative_reduction', 'bootstrap', 'compare_curves', 'plot_transfer',
    'loss_data_curve', 'LossDataEstimator', 'compute_metrics', 'metrics_table', 'render_curve', 'render_latex', 'represent',
    'rotate', 'jigsaw', 'effective_invariance', 'rotation_invariance', 'jigsaw_invariance', 'rotation_prediction', 'jigsaw_prediction',
    'agreement_on_the_line', 'label_free_report', 'predicted_accuracy', 'interior_domain', 'exterior_domain', 'corrupted_domain', 'AccuracyFit', 'evaluate',
    'as_metric', 'streamed', 'state_of',
    'random_tasks', 'retrain_head', 'retrain_heads', 'fine_tune', 'from_scratch', 'study',
    'digits_zoo', 'digits_loaders', 'load_images', 'load_dataset', 'load_models',
)
note = '# Written by docs/stubs.py: do not edit\n'

def module_of(path): return '.'.join(path.relative_to(lib).with_suffix('').parts)

def literal(node):
    "The value of a literal, else the node itself"
    try: return ast.literal_eval(node)
    except (ValueError, TypeError): return node

def public_names(tree):
    "What `__all__` of a module lists"
    return next((literal(o.value) for o in tree.body if isinstance(o, ast.Assign) and ast.unparse(o.targets[0])=='__all__'), [])

def decorators(node): return {ast.unparse(o.func if isinstance(o, ast.Call) else o): o for o in node.decorator_list}

def is_function(node): return isinstance(node, ast.FunctionDef|ast.AsyncFunctionDef)

def is_private(name): return name.startswith('_') and not name.endswith('__')

def is_patch(node): return is_function(node) and 'patch' in decorators(node)

def patched(node): return ast.unparse(node.args.args[0].annotation)

def needs_stub(tree): return any(is_patch(o) and not is_private(o.name) and not is_private(patched(o)) for o in tree.body)

def metric_names(tree): return [o.name for o in tree.body if is_function(o) and 'metric' in decorators(o)]

ellipsis = ast.Constant(...)
kept = {'property', 'classmethod', 'staticmethod', 'overload', 'contextmanager', 'dataclass', 'abstractmethod'}

def default(node):
    "A default as the stub shows it: a literal, else an ellipsis"
    return node if node is None or not isinstance(literal(node), ast.AST) else ellipsis

def function(node):
    "A function without its body"
    for o in node.args.defaults, node.args.kw_defaults: o[:] = [default(d) for d in o]
    node.decorator_list = [o for o in node.decorator_list if ast.unparse(o).split('(')[0] in kept or ast.unparse(o).endswith('.setter')]
    node.body = [ast.Expr(ellipsis)]
    return node

def method(node):
    "A function under `@patch` as the method that it becomes"
    how = {k.arg for k in getattr(decorators(node)['patch'], 'keywords', []) if literal(k.value) is True}
    node = function(node)
    if 'as_prop' in how: node.decorator_list.append(ast.Name('property'))
    if 'cls_method' in how: node.decorator_list.append(ast.Name('classmethod'))
    node.args.args[0] = ast.arg('cls' if 'cls_method' in how else 'self')
    return node

def annotated(name, kind): return ast.AnnAssign(ast.Name(name), kind, None, 1)

def kind_of(value, args):
    "Annotation of an attribute that is set to `value` by a function with the annotated arguments `args`"
    if isinstance(value, ast.Name) and args.get(value.id): return args[value.id]
    kind = type(literal(value)).__name__
    return ast.Name(kind if kind in ('str', 'int', 'float', 'bool') else 'Any')

def pairs(node):
    "Each target of an assignment with its value; the value of a tuple that is not written out is the whole"
    for target in node.targets:
        if not isinstance(target, ast.Tuple): yield target,node.value
        elif isinstance(node.value, ast.Tuple): yield from zip(target.elts, node.value.elts)
        else: yield from ((o, node.value) for o in target.elts)

def set_by(node):
    "The attributes of `self` that the method `node` sets, with their annotations"
    every = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    args = {o.arg: o.annotation for o in every}
    for o in ast.walk(node):
        if isinstance(o, ast.AnnAssign): yield o.target,o.annotation
        if not isinstance(o, ast.Assign): continue
        for target,value in pairs(o): yield target,kind_of(value, args)

def attributes(nodes):
    "The public attributes that methods set, by name; an annotation goes before `Any`"
    res: dict[str,ast.expr] = {}
    for target,kind in (o for node in nodes for o in set_by(node)):
        if not (isinstance(target, ast.Attribute) and ast.unparse(target.value)=='self'): continue
        if target.attr.startswith('_'): continue
        if target.attr not in res or ast.unparse(res[target.attr])=='Any': res[target.attr] = kind
    return res

def field(node):
    "An assignment in a class or a module, with an ellipsis or an annotation in place of a value that is computed"
    if isinstance(node, ast.AnnAssign):
        node.value = node.value and default(node.value)
        return [node]
    if any(not isinstance(o, ast.Name) for o in node.targets): return []
    if isinstance(node.value, ast.Name|ast.Attribute|ast.Subscript|ast.BinOp|ast.Constant): return [node]
    if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ('TypeVar', 'ParamSpec', 'namedtuple'): return [node]
    return [annotated(o.id, ast.Name('Any')) for o in node.targets]

def name_of(node): return ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])

def class_(node, patches):
    "A class without the bodies of its methods, and with those that `@patch` adds"
    added = {o.name for o in patches}
    methods = [o for o in node.body if is_function(o) and o.name not in added] + patches
    names = {o.name for o in methods} | {ast.unparse(o.target) for o in node.body if isinstance(o, ast.AnnAssign)}
    own = [annotated(k, v) for k,v in attributes(methods).items() if k not in names]
    fields = [f for o in node.body if isinstance(o, ast.Assign|ast.AnnAssign) for f in field(o) if name_of(f) not in added]
    node.decorator_list = [o for o in node.decorator_list if ast.unparse(o).split('(')[0] in kept]
    node.body = [*fields, *own, *(method(o) if is_patch(o) else function(o) for o in methods if not is_private(o.name))] or [ast.Expr(ellipsis)]
    return node

def bound(alias): return (alias.asname or alias.name).split('.')[0]

def imports(tree, body):
    "The imports of a module that `body` makes use of, and `Any`"
    used = {o.id for node in body for o in ast.walk(node) if isinstance(o, ast.Name)}
    for o in tree.body:
        if not isinstance(o, ast.Import|ast.ImportFrom): continue
        o.names = [a for a in o.names if bound(a) in used and bound(a)!='Any']
        if o.names: yield o
    if 'Any' in used: yield from ast.parse('from typing import Any').body

def stub(tree):
    "The stub of a module, without its private functions"
    patches = defaultdict(list)
    for o in filter(is_patch, tree.body): patches[patched(o)].append(o)
    here = {o.name for o in tree.body if isinstance(o, ast.ClassDef)}
    if elsewhere := patches.keys()-here: raise SystemExit(f'{sorted(elsewhere)} must be patched in the module that defines them')
    body = []
    for o in [o for o in tree.body if not is_patch(o)]:
        if isinstance(o, ast.ClassDef): body.append(class_(o, patches[o.name]))
        elif is_function(o) and not is_private(o.name): body.append(function(o))
        elif isinstance(o, ast.Assign|ast.AnnAssign) and '__all__' not in ast.unparse(o).split(' ')[0]: body += field(o)
    module = ast.Module([*imports(tree, body), *body], [])
    return re.sub(r':\n +\.\.\.$', ': ...', ast.unparse(ast.fix_missing_locations(module)), flags=re.M) + '\n'

def handed_on(names):
    "Imports that make names public: `names` has the module of each, '' for a module of the package itself"
    order = sorted(names.items(), key=lambda o: (o[1], o[0].casefold(), o[0]))
    return note + ''.join(f'from .{where} import {name} as {name}\n' for name,where in order)

def write(path, text):
    if not path.exists() or path.read_text(encoding='utf-8')!=text: path.write_text(text, encoding='utf-8')

def main():
    paths = [o for o in sorted(lib.rglob('*.py')) if not o.name.startswith('_') and 'cli' not in o.relative_to(lib).parts]
    trees = {module_of(o): ast.parse(o.read_text(encoding='utf-8')) for o in paths}
    where = {name: module for module,tree in trees.items() for name in public_names(tree)}
    metrics = {name for tree in trees.values() for name in metric_names(tree)}
    if unknown := set(contract)-where.keys(): raise SystemExit(f'no module exports {sorted(unknown)} of `contract` in {__file__}')
    top = {name: '' for name in {module.split('.')[0] for module in trees}}
    write(lib/'__init__.pyi', handed_on(top | {name: where[name] for name in metrics|set(contract)}) + '__version__: str\n')
    areas = defaultdict(dict)
    for name,module in where.items():
        area,_,rest = module.partition('.')
        if rest: areas[area][name] = rest
    for area,names in areas.items(): write(lib/area/'__init__.pyi', handed_on(names))
    for path,tree in zip(paths, trees.values(), strict=True):
        target = path.with_suffix('.pyi')
        if needs_stub(tree): write(target, note + stub(tree))
        else: target.unlink(missing_ok=True)

if __name__=='__main__': main()
