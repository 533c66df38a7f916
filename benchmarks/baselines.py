"Neighbours and linear probe of 10,000 x 768 features in float32, 100 classes: `python benchmarks/baselines.py [n d c]`"
import sys

from _measure import gaussian_features, machine, measure, report, ridge_floor
import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
import torch

from transfer_metrics.answers import fold_answers
from transfer_metrics.transferability.baselines import knn, linear_probe


def their_knn(x, y):
    "scikit-learn's neighbours of the training samples, each left out; a split vote goes to the smallest label"
    votes = y[KNeighborsClassifier(5, algorithm='brute').fit(x, y).kneighbors(None, return_distance=False)]
    return float(np.mean([np.bincount(v).argmax()==k for v,k in zip(votes, y, strict=True)]))

def their_probe(x, y, head=None):
    "scikit-learn's accuracy of a linear head on standardised features, over five parts"
    model = make_pipeline(StandardScaler(), head or RidgeClassifier(1.))
    return float(cross_val_score(model, x, y, cv=5).mean())

def overlapping(n, d, c):
    "Classes that overlap much: hard for a logistic head, and many answers are close"
    rng = np.random.default_rng(0)
    y = np.arange(n)%c
    means = .1*rng.standard_normal((c, d), dtype=np.float32)
    return rng.standard_normal((n, d), dtype=np.float32)+means[y],y

def our_answers(x, y, fold, undecided):
    "Our classes of the samples of each part, by a head of the other parts"
    X,Y,F = map(torch.from_numpy, (x, y, fold))
    said = np.empty_like(y)
    for rows,answers in fold_answers(X, Y, F, int(y.max())+1, undecided=undecided): said[rows] = answers.logits.argmax(1)
    return said

def their_answers(x, y, fold, tol):
    "scikit-learn's"
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=tol, max_iter=10_000))
    return cross_val_predict(model, x, y, cv=PredefinedSplit(fold))

def logistic(title, x, y):
    "Ours beside scikit-learn's at several tolerances, and how many answers are not those at the minimum, which ours decides"
    fold = np.empty_like(y)
    for k,(_,rows) in enumerate(StratifiedKFold(5).split(x, y)): fold[rows] = k
    runs = [measure('logistic', our_answers, x, y, fold, .02, repeat=2), measure('logistic, exact', our_answers, x, y, fold, 0., repeat=2)]
    for tol in (1e-4,1e-6,1e-7): runs.append(measure(f'scikit-learn, tol={tol:.0e}', their_answers, x, y, fold, tol, repeat=2))
    exact = runs[1].value
    report(f'{title}; value: answers in 10,000 that are not those at the minimum', [r._replace(value=1e4*float((r.value!=exact).mean())) for r in runs])

def main(n=10_000, d=768, c=100):
    x,y = gaussian_features(n, d, c)
    print(machine())
    large = x.size>2**23 # scikit-learn takes minutes: ours alone
    budgets = {(10_000,768,100): (1.3,None), (20_000,2048,1000): (None,5)}
    of_knn,of_probe = budgets.get((n, d, c), (None,None))
    runs = [measure('knn', knn, x, y), measure('scikit-learn', their_knn, x, y), measure('half a product, float64', lambda x: float((x[:len(x)//2]@x.T)[0,0]), x.astype(np.float64)), measure('half a product, float32', lambda x: float((x[:len(x)//2]@x.T)[0,0]), x)]
    report(f'knn, {n:,} x {d}, {c} classes', runs, of_knn)
    runs = [measure('ridge chosen', linear_probe, x, y), measure('ridge 1', linear_probe, x, y, ridge=1.), measure('one at a time', linear_probe, x, y, folds=None)]
    runs.append(measure('Gram, eigenvectors, products', ridge_floor, x, c))
    if not large: runs.append(measure('scikit-learn, ridge 1', their_probe, x.astype(np.float64), y))
    report('linear probe, 5 folds', runs, of_probe)
    if large: return
    logistic('logistic head, classes far apart', x, y)
    logistic('logistic head, classes that overlap', *overlapping(n, d, c))

if __name__=='__main__': main(*map(int, sys.argv[1:]))
