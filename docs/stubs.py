"Write `__init__.pyi` of the package and of each area: the public names, for `import transfer_metrics as tm` and for editors"
import sys
from importlib import import_module
from pathlib import Path

lib = Path(__file__).resolve().parent.parent/'transfer_metrics'
# At top level, beside all metrics. The rest is reached by area or module: `tm.stats.kendall`.
contract = set('''
metric metrics registry card Estimate Outputs outputs score_models rank agreement plot_ranking plot_agreement
chance score_difference p_best select_model select_features ModelSelector
Curve lexp speedup relative_reduction bootstrap read_curves compare_curves plot_transfer extrapolate samples_needed
loss_data_curve LossDataEstimator compute_metrics metrics_table render_curve render_latex
rotate jigsaw effective_invariance rotation_invariance jigsaw_invariance agreement_on_the_line
rotation_prediction jigsaw_prediction label_free_report predicted_accuracy interior_domain exterior_domain
AccuracyFit evaluate as_metric streamed random_tasks retrain_head retrain_heads fine_tune from_scratch study
'''.split())

def write(folder, names):
    found = sorted((where, k.lower(), k) for k,where in names.items() if where)
    lines = [f'from {where} import {k} as {k}\n' for where,_,k in found]
    (folder/'__init__.pyi').write_text('# Written by docs/stubs.py\n'+''.join(lines), encoding='utf-8')

sys.path.insert(0, str(lib.parent))
top,areas = {},{}
for path in sorted(lib.rglob('*.py')):
    *area,name = path.relative_to(lib).with_suffix('').parts
    if area: top[area[0]] = '.'
    if name.startswith('_') or area==['cli']: continue
    if not area: top[name] = '.'
    module = import_module('.'.join([lib.name,*area,name]))
    names = areas.setdefault(area[0], {}) if area else {}
    for k in module.__all__:
        names[k] = '' if k in names else f'.{name}' # not a name that two modules have
        if k in contract or hasattr(getattr(module, k), 'metric'): top[k] = '.'.join(['',*area,name])
write(lib, top)
for area,names in areas.items(): write(lib/area, names)
missing = contract-top.keys()
if missing: raise SystemExit(f'no module exports {", ".join(sorted(missing))}, which docs/stubs.py lists')
