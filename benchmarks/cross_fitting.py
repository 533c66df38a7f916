"""LEEP, NCE, H-score and LogME with `cv=5` beside the same without: `python benchmarks/cross_fitting.py [n d c_s]`.
10000 768 1000 takes a quarter of a minute. A naive loop fits five times; ours adds up sums of parts."""
import sys
import warnings
from functools import partial

from _measure import gaussian_features, machine, measure, report, softmax_probs

import transfer_metrics as tm
from transfer_metrics.core import as_features, as_labels
from transfer_metrics.folds import dealt_samples


def refitted(f, x, y):
    "What a loop over parts cannot avoid: the score of all parts but one, five times"
    fold = dealt_samples(as_features(x), as_labels(y).codes, 5, 0).numpy()
    return sum(f(x[fold!=k], y[fold!=k]) for k in range(5))/5

def main(n=10_000, d=768, c_s=1_000):
    print(machine())
    warnings.simplefilter('ignore')
    x,y = gaussian_features(n, d, 10)
    p,labels = softmax_probs(n, c_s, 10)
    answers = p.argmax(1)
    shrunk = partial(tm.h_score, shrinkage='ledoit_wolf')
    cases = {'leep': (tm.leep, p, labels), 'nce': (tm.nce, answers, labels), 'h_score': (tm.h_score, x, y),
        'h_score, shrunk': (shrunk, x, y), 'logme': (tm.logme, x, y)}
    for name,(f,data,of) in cases.items():
        judged = measure(f'{name}, cv=5', f, data, of, cv=5, repeat=2)
        plain = measure(name, f, data, of, repeat=2)
        loop = measure('five fits', refitted, f, data, of, repeat=1) if name!='nce' else plain
        report(f'{n:,} samples', [judged,plain,loop] if name!='nce' else [judged,plain])
        print(f'  cv=5 over plain: {judged.cpu/plain.cpu:.1f}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
