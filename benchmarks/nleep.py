"N-LEEP of 10,000 x 768 features, 100 classes, 500 components, against scikit-learn's mixture: `python benchmarks/nleep.py [n d c [all]]`; the large case, minutes, is 20000 2048 1000"
import sys

from _measure import gaussian_features, machine, measure, report
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from transfer_metrics.transferability.leep import leep
from transfer_metrics.transferability.nleep import nleep


def straightforward(x, y):
    "The definition with scikit-learn's parts, from the same start"
    z = PCA(.8).fit_transform(x.astype(np.float64))
    k = min(5*(y.max()+1), len(y))
    return leep(GaussianMixture(k, random_state=0).fit(z).predict_proba(z), y)

def kmeans(x, y):
    "The floor: principal components, and the k-means from which the mixture starts"
    z = PCA(.8).fit_transform(x.astype(np.float64))
    return float(KMeans(min(5*(y.max()+1), len(y)), n_init=1, random_state=0).fit(z).inertia_)

def flat_features(n, d, c, seed=0):
    "Features `[n, d]` in float32 that vary alike in all directions, with class means apart, and labels `[n]`"
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n)%c)
    return rng.standard_normal((n, d), dtype=np.float32)+.5*rng.standard_normal((c, d), dtype=np.float32)[y],y

def main(n=10_000, d=768, c=100, both=False):
    print(machine())
    budgets = {(10_000,768,100): 5, (20_000,2048,1000): 30}
    budget = budgets.get((n, d, c))
    x,y = gaussian_features(n, d, c)
    report(f'N-LEEP {n:,} x {d:,}, {c} classes, few components hold the variance', [measure('nleep', nleep, x, y, repeat=2),
        measure('scikit-learn', straightforward, x, y, repeat=1), measure('PCA and k-means', kmeans, x, y, repeat=2)], budget)
    x,y = flat_features(n, d, c)   # here scikit-learn takes minutes: only if asked for
    report('all directions alike', [measure('nleep', nleep, x, y, repeat=2),
        *([measure('scikit-learn', straightforward, x, y, repeat=1)] if both else []), measure('PCA and k-means', kmeans, x, y, repeat=2)], budget)

if __name__=='__main__': main(*map(int, sys.argv[1:4]), both='all' in sys.argv)
