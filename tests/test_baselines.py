"Nearest neighbours and linear probes against loops with ties and all, at the edges, and what they refuse"
import numpy as np
import pytest
from transfer_metrics.transferability.baselines import knn, linear_probe

r = np.random.default_rng(0)
x,y = r.normal(size=(40,3)),np.arange(40)%4
each = pytest.mark.parametrize('f', [knn, linear_probe])

def squared(a, b): return ((a-b)**2).sum()
def angle(a, b): return 1-a@b/(np.linalg.norm(a)*np.linalg.norm(b))

def shares(D, places):
    "With which part of a vote each of the neighbours at distances `D` is among the nearest"
    edge = sorted(D.values())[places-1]
    near = [j for j in D if D[j]<edge-1e-9]
    tied = [j for j in D if abs(D[j]-edge)<=1e-9]
    return dict.fromkeys(near, 1) | dict.fromkeys(tied, (places-len(near))/len(tied))

def naive_knn(x, y, k, distance):
    n,total = len(x),0
    for i in range(n):
        D = {j: distance(x[i], x[j]) for j in range(n) if j!=i}
        votes = dict.fromkeys(y.tolist(), 0)
        for j,share in shares(D, min(k, n-1)).items(): votes[y[j]] += share
        best = [c for c in votes if votes[c]>max(votes.values())-1e-9]
        total += (y[i] in best)/len(best)
    return total/n

@pytest.mark.parametrize('k', [1, 5, 40, 500])
def test_ties(k):
    "Features of few values tie often, in distance and in votes"
    few,many = r.integers(0, 3, (60,2)).astype(float),r.normal(size=(60,3))
    labels = r.integers(0, 4, 60)
    for features in few,many: assert knn(features, labels, k=k)==pytest.approx(naive_knn(features, labels, k, squared), abs=1e-12)
    assert knn(many, labels, k=k, distance='cosine')==pytest.approx(naive_knn(many, labels, k, angle), abs=1e-12)

@each
def test_edges(f):
    assert f(x, np.zeros(40))==1            # one class
    assert f(x, np.arange(40))==0           # classes of one sample
    assert f(x[:2], [0,1])==0
    assert f(np.r_[x, 50+x[:1]], np.r_[y, 9])<=40/41
    for size in 1e-200,1e200: assert f(x*size, y)==f(x, y)
    assert f(np.ones((10,2)), [0]*7+[1]*3)==pytest.approx(.7, abs=1e-12)

def test_constant_feature(): assert linear_probe(np.c_[x, np.full(40, 3.)], y)==pytest.approx(linear_probe(x, y), abs=.051)

@pytest.mark.parametrize('f,args,options,text', [
    (knn, (x[:1],y[:1]), {}, '`features` must have at least two samples'),
    (linear_probe, (x[:1],y[:1]), {}, '`features` must have at least two samples'),
    (knn, (x,y), dict(k=0), '`k` must be a whole number of at least 1'),
    (knn, (x,y), dict(distance='manhattan'), "`distance` must be 'euclidean' or 'cosine'"),
    (linear_probe, (x,y), dict(folds=1), '`folds` must be a whole number of at least 2'),
    (linear_probe, (x,y), dict(folds=None, head='logistic'), '`folds` must be a number'),
    (linear_probe, (x,y), dict(ridge=0), '`ridge` must be positive'),
    (linear_probe, (x,y), dict(head='mlp'), "`head` must be 'ridge' or 'logistic'")])
def test_refuses(f, args, options, text):
    with pytest.raises(ValueError, match=text): f(*args, **options)
