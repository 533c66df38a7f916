"""What enters the head is what makes the logits, however the forward pass is written: each small network has one right answer, and
where nothing in the pass tells it, an error says what to pass"""
import subprocess
import sys
from pathlib import Path
import numpy as np
import pytest
import torch
from torch import nn
from torchvision.models import resnet18
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transfer_metrics.cli.main import main
from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.models import outputs

rows,tokens = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)),torch.randn(7, 4, 5, generator=torch.Generator().manual_seed(1))
pixels = torch.randn(7, 2, 3, 3, generator=torch.Generator().manual_seed(2))
labels = list('abababa')
Linear = nn.Linear

class Net(nn.Module):
    "Parts, and a forward pass that calls them"
    def __init__(self, forward, **parts):
        super().__init__()
        for k,part in parts.items(): setattr(self, k, part)
        self.how = forward
    def forward(self, x): return self.how(self, x)

def body(d=6): return nn.Sequential(Linear(5, d), nn.ReLU())
def weights(*shape): return nn.Parameter(torch.randn(*shape))
def net(forward, **parts): return Net(forward, **dict(b=body(), head=Linear(6, 3))|parts)
def entering(m, x): return m.b(x)
def said(model, x, **options): return outputs(model.eval(), (x, labels), batch_size=4, progress=False, **options) # two batches

def first(*parts): return parts[0]
def last(*parts): return parts[-1]
def emptied(m, x):
    h = m.b(x)
    z = m.head(h)
    h.zero_()
    return z
def by_length(m, x):
    order = x[:,0].argsort()
    return m.head(m.b(x[order]))[order.argsort()]
def one_more_where_short(m, x): return last(*([m.head(m.b(-x))] if len(x)<4 else []), m.head(m.b(x)))

right = {
    # one layer, called several times
    'on tokens, then on their mean': (lambda m,x: last(m.head(m.b(x)), m.head(m.b(x).mean(1))), tokens, lambda m,x: m.b(x).mean(1)),
    'on the mean, then on tokens': (lambda m,x: first(m.head(m.b(x).mean(1)), m.head(m.b(x))), tokens, lambda m,x: m.b(x).mean(1)),
    'the first call counts': (lambda m,x: first(m.head(m.b(x)), m.head(m.b(-x))), rows, entering),
    'the last call counts': (lambda m,x: last(m.head(m.b(-x)), m.head(m.b(x))), rows, entering),
    'mean of two calls': (lambda m,x: (m.head(m.b(x))+m.head(m.b(-x)))/2, rows, lambda m,x: (m.b(x)+m.b(-x))/2),
    'difference of two calls': (lambda m,x: m.head(m.b(x))-m.head(m.b(-x)), rows, lambda m,x: torch.cat([m.b(x),m.b(-x)], 1)),
    # what comes after the head
    'temperature': (lambda m,x: m.head(m.b(x))/.07, rows, entering),
    'log_softmax': (lambda m,x: m.head(m.b(x)).log_softmax(1), rows, entering),
    'softmax': (lambda m,x: m.head(m.b(x)).softmax(1), rows, entering),
    'reshaped': (lambda m,x: m.head(m.b(x)).reshape(len(x), 3, 1).permute(0, 2, 1).squeeze(1), rows, entering),
    # tokens
    'one token': (lambda m,x: m.head(m.b(x))[:,0], tokens, lambda m,x: m.b(x)[:,0]),
    'one token, scaled': (lambda m,x: m.head(m.b(x))[:,1]*3, tokens, lambda m,x: m.b(x)[:,1]),
    'one token, log_softmax': (lambda m,x: m.head(m.b(x))[:,2].log_softmax(1), tokens, lambda m,x: m.b(x)[:,2]),
    'one token, softmax': (lambda m,x: m.head(m.b(x))[:,3].softmax(1), tokens, lambda m,x: m.b(x)[:,3]),
    'mean of tokens': (lambda m,x: m.head(m.b(x)).mean(1), tokens, lambda m,x: m.b(x).mean(1)),
    # crops
    'crops beside each other': (lambda m,x: m.head(m.b(x.flatten(0, 1))).view(len(x), 4, -1).mean(1), tokens, lambda m,x: m.b(x).mean(1)),
    'crops in blocks': (lambda m,x: m.head(m.b(x.mT.mT.transpose(0, 1).flatten(0, 1))).view(4, len(x), -1).mean(0), tokens,
                        lambda m,x: m.b(x).mean(1)),
    'crops in a loop': (lambda m,x: torch.stack([m.head(m.b(o)) for o in x.unbind(1)]).mean(0), tokens, lambda m,x: m.b(x).mean(1)),
    # other ways to write it
    'emptied afterwards': (emptied, rows, entering),
    'sorted by length, and back': (by_length, rows, entering),
    'checkpoint': (lambda m,x: checkpoint(lambda o: m.head(m.b(o)), x, use_reentrant=False), rows, entering),
    'checkpoint, older': (lambda m,x: checkpoint(lambda o: m.head(m.b(o)), x, use_reentrant=True), rows, entering)}

def check(model, x, right_features, **options):
    "Features are those given, and logits the model's own in both batches"
    o = said(model, x, **options)
    with torch.no_grad(): expected,z = right_features(model, x),model(x)
    np.testing.assert_allclose(o.features, expected, atol=1e-5)
    if z.ndim==2 and not torch.allclose(z.sum(1), torch.ones(len(z))): np.testing.assert_allclose(o.logits, z, atol=1e-5)
    np.testing.assert_allclose(o.probs.sum(1), 1, atol=1e-5)
    return o

@pytest.mark.parametrize('name', right)
@pytest.mark.filterwarnings('ignore:None of the inputs have requires_grad')
def test_layers(name):
    torch.manual_seed(0)
    forward,x,features = right[name]
    o = check(net(forward), x, features)
    assert o.taken.startswith("input of 'head'")

class LowRank(nn.Module):
    "A head and a change of low rank, as it is written by hand"
    def __init__(self, zero):
        super().__init__()
        self.base = nn.Linear(512, 10)
        self.a = nn.Linear(512, 8, bias=False)
        self.b = nn.Linear(8, 10, bias=False)
        if zero: nn.init.zeros_(self.b.weight)
    def forward(self, x): return self.base(x)+self.b(self.a(x))*2.

@pytest.mark.parametrize('zero', [True,False])
def test_low_rank_change_of_the_head(zero):
    "What enters its second layer is no feature: a change that is still zero must not change the features"
    torch.manual_seed(0)
    model = resnet18(num_classes=10).eval()
    images = torch.rand(7, 3, 32, 32)
    plain = said(model, images)
    model.fc = LowRank(zero)
    changed = said(model, images)
    assert changed.taken=="input of 'fc.base'"
    np.testing.assert_array_equal(changed.features, plain.features)
    with torch.no_grad(): np.testing.assert_allclose(changed.logits, model(images), atol=1e-5)

def test_which_calls_are_said():
    o = said(net(right['mean of two calls'][0]), rows)
    assert o.taken=="input of 'head', mean over its 2 calls"
    o = said(net(right['one token, scaled'][0]), tokens)
    assert o.taken=="input of 'head', at the token whose answer is returned"
    o = said(net(right['the first call counts'][0]), rows, layer='head')
    assert o.taken=="input of 'head', the last of its 2 calls"
    with pytest.raises(ValueError, match="'head' was called once in the first batch, and 2 times in a later one"):
        said(net(one_more_where_short), rows)

products = {
    'linear': (lambda m,x: F.linear(m.b(x), m.w), entering),
    'matmul': (lambda m,x: m.b(x)@m.w.T, entering),
    'the other way round': (lambda m,x: (m.w@m.b(x).T).T, entering),
    'einsum': (lambda m,x: torch.einsum('nd,cd->nc', m.b(x), m.w), entering),
    'cosine': (lambda m,x: (F.normalize(m.b(x))@F.normalize(m.w).T)*16, lambda m,x: F.normalize(m.b(x))),
    'distance': (lambda m,x: -torch.cdist(m.b(x), m.w), entering),
    'squared distance': (lambda m,x: -torch.cdist(m.b(x), m.w)**2, entering),
    'squares, number by number': (lambda m,x: -((m.b(x)[:,None]-m.w)**2).sum(-1), entering),
    'squares, turned': (lambda m,x: -((m.b(x)[:,:,None]-m.w.T)**2).mean(1), entering),
    'squares, expanded': (lambda m,x: -(m.b(x).unsqueeze(1).expand(-1, 3, -1)-m.w.expand(len(x), 3, 6)).square().sum(2), entering),
    'squares, root': (lambda m,x: -(m.w-m.b(x)[:,None]).pow(2).sum(-1).add(1e-6).sqrt(), entering),
    'squares, weighed': (lambda m,x: -((m.b(x)[:,None]-m.w)**2*m.head.weight[0].exp()).sum(-1), entering),
    'squares, log_softmax': (lambda m,x: (-((m.b(x)[:,None]-m.w)**2).sum(-1)/.1).log_softmax(1), entering),
    'squares by their formula': (lambda m,x: 2*m.b(x)@m.w.T-(m.b(x)**2).sum(1, keepdim=True)-(m.w**2).sum(1), lambda m,x: 2*m.b(x)),
    'norm': (lambda m,x: -(m.b(x)[:,None]-m.w).norm(dim=-1), entering),
    'absolute values': (lambda m,x: -torch.linalg.norm(m.b(x)[:,None]-m.w, ord=1, dim=-1), entering),
    'cosine_similarity': (lambda m,x: 16*F.cosine_similarity(m.b(x)[:,None], m.w, dim=-1), lambda m,x: F.normalize(m.b(x))),
    'cosine by hand': (lambda m,x: m.b(x)@m.w.T/m.b(x).norm(dim=1, keepdim=True)/m.w.norm(dim=1), entering),
    'pairwise_distance': (lambda m,x: torch.stack([-F.pairwise_distance(m.b(x), o[None]) for o in m.w], 1), entering),
    'products, number by number': (lambda m,x: (m.b(x)[:,None]*m.w).sum(-1), entering),
    'a loop of products': (lambda m,x: torch.stack([m.b(x)@o for o in m.w], 1), entering),
    'a loop, number by number': (lambda m,x: torch.stack([(m.b(x)*o).sum(1) for o in m.w], 1), entering),
    'kernel': (lambda m,x: torch.exp(-torch.cdist(m.b(x), m.w)**2), entering),
    'mean squared error': (lambda m,x: -F.mse_loss(m.b(x)[:,None].expand(-1, 3, -1), m.w.expand(len(x), 3, 6), reduction='none').mean(-1), entering),
    'bilinear': (lambda m,x: F.bilinear(m.b(x), x, m.w[:,:,None]*torch.ones(5)), lambda m,x: torch.cat([m.b(x),x], 1)),
    'tied': (lambda m,x: F.linear(m.b(x), m.head.weight, m.head.bias), entering)}

@pytest.mark.parametrize('name', products)
def test_heads_that_are_no_layers(name):
    "May be a head or a projection: said by the user or by the model, never guessed"
    torch.manual_seed(0)
    forward,features = products[name]
    model = net(forward, w=weights(3, 6))
    with pytest.raises(ValueError, match="features='head' if it is logits"): said(model, rows)
    o = check(model, rows, features, features='head')
    assert o.taken.startswith(("input of 'w'", "input of 'head.weight'"))
    plain = said(model, rows, features='output')
    assert plain.logits is None
    np.testing.assert_allclose(plain.features, o.logits, atol=1e-6)
    model.num_classes = 3
    check(model, rows, features)
    model.num_classes,model.output_dim = 0,3
    assert said(model, rows).logits is None

def one_after_the_other(m, x):
    h = m.c(m.b(x))
    return h,m.head(h.relu())

embeddings = {
    'a normalised projection': lambda m,x: F.normalize(m.b(x)@m.w.T),
    'normalised by hand': lambda m,x: (m.b(x)@m.w.T)/(m.b(x)@m.w.T).norm(dim=1, keepdim=True),
    'a normalised layer': lambda m,x: F.normalize(m.head(m.b(x))),
    'a shifted, normalised layer': lambda m,x: F.normalize(m.head(m.b(x))-m.w[0]),
    'positions, then a norm': lambda m,x: F.layer_norm(m.b(x)[:,None]+m.w, (6,)).mean(1),
    'a queried mean': lambda m,x: ((m.b(x)@m.w[0]).softmax(0)[:,None]*m.b(x)),
    'a residual stream': lambda m,x: sum(one_after_the_other(m, x)),
    'layers side by side': lambda m,x: torch.cat(one_after_the_other(m, x), 1),
    'a mixture of layers': lambda m,x: (torch.stack([m.b(x), m.b(-x)], -1)*m.w[0,:2].softmax(0)).sum(-1)}

@pytest.mark.parametrize('name', embeddings)
def test_weights_that_are_no_head(name):
    torch.manual_seed(0)
    model = net(embeddings[name], w=weights(3, 6), c=Linear(6, 6), head=Linear(6, 6))
    o = said(model, rows)
    assert o.logits is None
    with torch.no_grad(): np.testing.assert_allclose(o.features, torch.cat([model(x) for x in (rows[:4],rows[4:])]), atol=1e-6)

def test_a_backbone_in_a_wrapper():
    "It says that it has no head, and so does what it is wrapped in; a head beside it has weights of its own"
    torch.manual_seed(0)
    backbone = net(lambda m,x: m.head(m.b(x)))
    backbone.num_classes = 0
    for model in nn.Sequential(backbone, nn.Flatten()),nn.DataParallel(backbone, device_ids=[]): assert said(model, rows).logits is None
    assert said(nn.Sequential(backbone, Linear(3, 2)), rows).logits.shape==(7,2)
    behind = net(lambda m,x: m.backbone(x)@m.w, b=nn.Identity(), head=nn.Identity(), backbone=backbone, w=weights(3, 2))
    with pytest.raises(ValueError, match="features='head' if it is logits"): said(behind, rows)
    pooled = nn.Sequential(nn.Conv2d(2, 6, 3), nn.AdaptiveAvgPool2d(1), nn.Conv2d(6, 4, 1), nn.ReLU(), nn.Flatten())
    assert said(pooled, pixels).logits is None # a hidden layer, as at the end of GhostNet

doubtful = {
    'quadratic': (lambda m,x: torch.einsum('ni,cij,nj->nc', m.b(x), m.t, m.b(x)), "'t', weights of no layer"),
    'likenesses of two things': (lambda m,x: F.normalize(m.head(m.b(x)))@F.normalize(m.head(m.b(-x[:3]))).T, 'product of two things'),
    'capped': (lambda m,x: 30*torch.tanh(m.head(m.b(x))/30), 'tanh of what a layer made')}

@pytest.mark.parametrize('name', doubtful)
def test_in_doubt(name):
    "Where features are the output and may be logits, that stands beside each number that is read from them"
    torch.manual_seed(0)
    forward,why = doubtful[name]
    model = net(forward, t=weights(3, 6, 6))
    assert why in repr(said(model, rows))
    sure = net(lambda m,x: m.b(x))
    def cautions(**options):
        scores = score_models(dict(model=model, sure=sure), (rows, labels), 'logme,knn', progress=False, **options)
        return scores[scores.error==''].set_index(['model','metric']).caution
    found = cautions()
    assert found['model'][['logme','knn']].str.contains(why).all() and not found['sure'].str.contains('doubtful').any()
    assert not cautions(features='output').str.contains('doubtful').any()

def test_several_tensors():
    "Features beside logits, an embedding that is a linear layer, two heads"
    torch.manual_seed(0)
    beside = net(lambda m,x: (m.b(x), m.head(m.b(x))), b=body(3), head=Linear(3, 3))
    o = said(beside, rows)
    with torch.no_grad(): features,z = beside(rows)
    np.testing.assert_allclose(o.features, features, atol=1e-6)
    np.testing.assert_allclose(o.logits, z, atol=1e-6)
    for order in (0,1),(1,0):
        def embedded(m, x, order=order):
            e = m.embed(m.b(x))
            both = e,m.head(e)
            return tuple(both[i] for i in order)
        model = net(embedded, embed=Linear(6, 4), head=Linear(4, 4))
        o = said(model, rows)
        with torch.no_grad(): e = model.embed(model.b(rows))
        np.testing.assert_allclose(o.features, e, atol=1e-6)
        np.testing.assert_allclose(o.logits, model.head(e).detach(), atol=1e-6)
    deep = net(lambda m,x: (m.aux(m.b(-x)), m.head(m.b(x))), aux=Linear(6, 3))
    with pytest.raises(ValueError, match=r"could each be the head \('aux' and 'head'\)"): said(deep, rows)
    chosen = said(deep, rows, forward=lambda model, batch: dict(logits=model(batch[0])[1]))
    np.testing.assert_allclose(chosen.features, deep.b(rows).detach(), atol=1e-6)
    named = net(lambda m,x: dict(main=m.head(m.b(x)), aux=m.head(m.b(-x))))
    with pytest.raises(ValueError, match='pass forward='): said(named, rows)

def test_two_heads():
    "Side by side, what both read once"
    torch.manual_seed(0)
    distilled = net(lambda m,x: (m.head(m.b(x)[:,0])+m.other(m.b(x)[:,1]))/2, other=Linear(6, 3))
    check(distilled, tokens, lambda m,x: m.b(x)[:,:2].flatten(1))
    def of_one(m, x):
        h = m.b(x)
        return torch.cat([m.head(h[:]), m.other(h[:])], 1)
    o = check(net(of_one, other=Linear(6, 2)), rows, entering)
    assert o.taken=="input of 'head' and 'other'"

def test_layers_of_equal_width():
    torch.manual_seed(0)
    def unused(m, x):
        h = m.b(x)
        z = m.head(h)
        m.other(2*h)
        return z
    check(net(unused, other=Linear(6, 3)), rows, entering)

def test_mlp():
    "All trained: what enters the last layer; a fresh head behind a trained body: what enters its first"
    torch.manual_seed(0)
    deep = net(lambda m,x: m.head(m.c(m.b(x)).relu()), b=nn.Sequential(Linear(5, 6), nn.LayerNorm(6)), c=Linear(6, 6))
    for p in deep.parameters(): p.data.normal_()
    check(deep, rows, lambda m,x: m.c(m.b(x)).relu())
    deep.c.bias.data.zero_()
    o = check(deep, rows, entering)
    assert o.taken=="input of 'c', where the untrained part of the head begins"

def test_dropout_that_is_always_on():
    "Features and logits are of one pass"
    torch.manual_seed(0)
    model = net(lambda m,x: m.head(F.dropout(m.b(x), .5, True)))
    o = said(model, rows)
    np.testing.assert_allclose(model.head(torch.from_numpy(o.features)).detach(), o.logits, atol=1e-6)

def test_hooks_that_were_there():
    "Hooks of somebody else count: what the layer was really given"
    torch.manual_seed(0)
    model = net(lambda m,x: m.head(m.b(x)))
    model.head.register_forward_pre_hook(lambda module, args: (2*args[0],))
    model.head.register_forward_hook(lambda module, args, out: out/3)
    check(model, rows, lambda m,x: 2*m.b(x))
    assert len(model.head._forward_pre_hooks)==len(model.head._forward_hooks)==1

@pytest.mark.parametrize('dtype', ['bfloat16','float32'])
def test_half_precision(dtype):
    "The token is found, and the rows of crops, in the precision of the pass"
    torch.manual_seed(0)
    for name in 'one token','mean of tokens','crops beside each other','mean of two calls','sorted by length, and back':
        forward,x,features = right[name]
        model = net(forward).eval()
        o = said(model, x, dtype=dtype)
        with torch.no_grad(): np.testing.assert_allclose(o.features, features(model, x), atol=.05)

wrapped = {
    'sequence': (lambda m: nn.Sequential(m), lambda w: w[0]),
    'parallel': (lambda m: nn.DataParallel(m, device_ids=[]), lambda w: w.module),
    'compiled': (lambda m: torch.compile(m, backend='eager'), lambda w: w._orig_mod),
    'a compiled part': (lambda m: nn.Sequential(torch.compile(m, backend='aot_eager')), lambda w: w[0]._orig_mod)}

def wrapped_right(name):
    torch.manual_seed(0)
    wrap,inner = wrapped[name]
    check(wrap(net(lambda m,x: m.head(m.b(x)))), rows, lambda w,x: inner(w).b(x))

@pytest.mark.parametrize('name', wrapped)
@pytest.mark.filterwarnings('ignore')
def test_wrapped(name):
    "The compiler starts threads, after which no test of its process may fork and train: it has one of its own"
    if 'compiled' not in name: return wrapped_right(name)
    code = f'from test_heads import wrapped_right; wrapped_right({name!r})'
    subprocess.run([sys.executable, '-c', code], cwd=Path(__file__).parent, check=True, timeout=120)

def test_convolutions():
    "One pixel, flattened; a kernel that sees the whole map is no layer whose input is known to be the features"
    torch.manual_seed(0)
    front = nn.Conv2d(2, 6, 3),nn.ReLU()
    check(nn.Sequential(*front, nn.Conv2d(6, 3, 1), nn.Flatten()), pixels, lambda m,x: m[:2](x).flatten(1))
    whole = nn.Sequential(nn.Conv2d(2, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 3, 3), nn.Flatten())
    with pytest.raises(ValueError, match="made with the weights '2.weight'"): said(whole, pixels)
    o = said(whole, pixels, layer='2')
    assert o.features.shape==(7,6)

def plain(): return nn.Sequential(Linear(5, 6), nn.ReLU(), nn.Dropout(.5), Linear(6, 3)).eval()
def program(model): return torch.export.export(model, (rows[:4],), dynamic_shapes=({0: torch.export.Dim('n')},)).module()

@pytest.mark.parametrize('kind', ['script','traced','exported'])
@pytest.mark.filterwarnings('ignore')
def test_programs(kind):
    "Layers are no modules at work: products are seen, but whether they are the head is for the user to say"
    torch.manual_seed(0)
    model = plain()
    make = dict(script=torch.jit.script, traced=lambda m: torch.jit.trace(m, rows[:4]), exported=program)[kind]
    given = make(model)
    def said(**options): return outputs(given, (rows, labels), batch_size=4, progress=False, **options)
    with pytest.raises(ValueError, match="features='head' if it is logits"): said()
    with pytest.raises(ValueError, match='cannot be watched' if kind!='exported' else 'was not called'): said(layer='3')
    expected = said(features='head'),said(forward=lambda m, batch: dict(logits=m(batch[0])))
    for o in expected:
        with torch.no_grad(): np.testing.assert_allclose(o.features, model[:3](rows), atol=1e-6)
        with torch.no_grad(): np.testing.assert_allclose(o.logits, model(rows), atol=1e-6)
    assert said(features='output').logits is None
    if kind=='exported':
        with pytest.raises(ValueError, match='export model.eval'): outputs(program(plain().train()), (rows, labels), progress=False)

def test_features_beside_logits():
    "Who returns both has said which are which"
    torch.manual_seed(0)
    model = net(lambda m,x: dict(logits=m.head(m.b(x)), features=F.normalize(m.b(x))))
    o = said(model, rows)
    with torch.no_grad(): np.testing.assert_allclose(o.features, F.normalize(model.b(rows)), atol=1e-6)
    with torch.no_grad(): np.testing.assert_allclose(o.logits, model.head(model.b(rows)), atol=1e-6)
    assert o.taken=='features, as they were returned beside the logits'
    assert said(model, rows, features='head').taken=="input of 'head'"
    quadratic = net(lambda m,x: torch.einsum('ni,cij,nj->nc', m.b(x), m.t, m.b(x)), t=weights(3, 6, 6))
    both = said(quadratic, rows, forward=lambda m, batch: dict(logits=m(batch[0]), features=m.b(batch[0])))
    with torch.no_grad(): np.testing.assert_allclose(both.features, quadratic.b(rows), atol=1e-6)
    assert both.logits.shape==(7,3)
    alone = said(model, rows, forward=lambda m, batch: dict(features=m.b(batch[0])))
    assert alone.logits is None and alone.features.shape==(7,6)
    def sometimes(m, batch):
        found = dict(logits=m.head(m.b(batch[0])), features=m.b(batch[0]))
        return found if len(batch[0])==4 else dict(logits=found['logits'])
    with pytest.raises(ValueError, match='features must come as'): said(model, rows, forward=sometimes)

def test_mappings():
    "One tensor is the output, of several the one that a head made of the others; names are named"
    torch.manual_seed(0)
    assert said(net(lambda m,x: dict(out=m.head(m.b(x)), n=3)), rows).logits.shape==(7,3)
    o = said(net(lambda m,x: dict(hidden=m.b(x), out=m.head(m.b(x)))), rows)
    assert o.logits.shape==(7,3) and o.features.shape==(7,6)
    two = net(lambda m,x: dict(out=m.head(m.b(x)), aux=m.aux(m.b(-x))), aux=Linear(6, 3))
    with pytest.raises(ValueError, match=r"model\(batch\[0\]\)\['out'\]}, or another of \['out', 'aux'\]"): said(two, rows)

unclear = {
    'sigmoid': (lambda m,x: m.head(m.b(x)).sigmoid(), rows, 'a sigmoid of what a layer made'),
    'a softmax of its own': (lambda m,x: m.head(m.b(x)).exp()/m.head(m.b(x)).exp().sum(1, keepdim=True), rows, 'the output is probabilities'),
    'the largest of tokens': (lambda m,x: m.head(m.b(x)).amax(1), tokens, "reads 4 tokens of each sample.*pass pooling="),
    'some of the tokens': (lambda m,x: m.head(m.b(x))[:,2:].mean(1), tokens, "reads 4 tokens of each sample.*pass pooling="),
    'the largest of crops': (lambda m,x: m.head(m.b(x.flatten(0, 1))).view(len(x), 4, -1).amax(1), tokens, 'reads 16 rows for 4 samples'),
    'by NumPy': (lambda m,x: torch.from_numpy(m.head(m.b(x)).numpy().copy()), rows, 'not seen to be made by layers')}

@pytest.mark.parametrize('name', unclear)
def test_unclear(name):
    "Refused, and read where it is said what is wanted"
    torch.manual_seed(0)
    forward,x,text = unclear[name]
    model = net(forward)
    with pytest.raises(ValueError, match=text): said(model, x)
    assert said(model, x, features='output').features.shape==(7,3)
    if 'crops' not in name: assert said(model, x, layer='head').features.shape==(7,6)

def test_a_head_of_zeros():
    "All tokens have the same answer, so the numbers do not show which counts"
    model = net(lambda m,x: m.head(m.b(x))[:,1])
    nn.init.zeros_(model.head.weight)
    with pytest.raises(ValueError, match="answers alike for different tokens"): said(model, tokens)
    assert said(model, tokens, pooling='cls').features.shape==(7,6)

own = """
import torch
from torch import nn
class Nearest(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Linear(16, 5)
        self.w = nn.Parameter(torch.randn(3, 5))
    def forward(self, x): return -((self.body(x.flatten(1)).relu()[:,None]-self.w)**2).sum(-1)
class Quadratic(Nearest):
    def forward(self, x):
        h = self.body(x.flatten(1)).relu()
        return torch.einsum('ni,cj,nj->nc', h, self.w, h)
"""

def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    "What to pass is called as the command calls it, and does what it says; a caution has a line"
    monkeypatch.chdir(tmp_path)
    Path('own_heads.py').write_text(own)
    pictures = torch.rand(30, 1, 4, 4, generator=torch.Generator().manual_seed(3))
    np.savez('pictures.npz', images=pictures.numpy(), labels=np.arange(30)%3)
    def told(name, *more):
        code = main(['rank', '--models', f'own_heads:{name}', '--images', 'pictures.npz', '--metrics', 'logme,knn', *more])
        said = capsys.readouterr()
        return code,' '.join((said.out+said.err).split())
    code,text = told('Nearest')
    assert code and 'pass --layer head if it is logits, --layer output if it is features' in text
    for layer in 'head','output':
        code,text = told('Nearest', '--layer', layer)
        assert not code and 'may be logits' not in text
    code,text = told('Quadratic')
    assert not code and "logme, knn of all models: the features are the output of the model, which may be logits" in text
    assert "weights of no layer of torch; --layer output says that it is right" in text

class Contrastive(nn.Module):
    "As SimCLR trains it: an encoder, and a projection behind it"
    def __init__(self, name='projector'):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        setattr(self, name, nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3)))
        self.behind = name
    def forward(self, x): return getattr(self, self.behind)(self.encoder(x))

def test_projection_is_no_classifier():
    "Its output would pass for logits; nobody guesses, and each reading can be had by a word"
    net = Contrastive()
    x,y = torch.randn(9, 4),[0,1,2]*3
    with pytest.raises(ValueError, match="made by 'projector.2', by its name a projection"): outputs(net, (x, y), progress=False)
    projected = outputs(net, (x, y), features='output', progress=False)
    assert projected.logits is None
    np.testing.assert_allclose(projected.features, net(x).detach(), rtol=1e-5)
    encoded = outputs(net.encoder, (x, y), progress=False)
    assert encoded.logits is None and encoded.features.shape==(9,6)
    answers = outputs(net, (x, y), features='head', progress=False)
    assert answers.logits is not None and answers.features.shape==(9,6)
    assert outputs(Contrastive('classifier'), (x, y), progress=False).logits is not None
