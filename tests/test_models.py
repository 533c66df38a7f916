"Models of five libraries built from configurations: features and logits are the library's own, by object and by name of a folder"
import json
import sys
import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F
from transfer_metrics.features import Reader, find_head, pool
from transfer_metrics.models import load, load_models, match_classes, parse_name
from transfer_metrics.outputs import Outputs, forward, frozen, outputs

pytestmark = pytest.mark.filterwarnings('ignore')
labels = ['cat','dog']*3
tiny = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
vision = tiny|dict(image_size=32, patch_size=8)
words = '[PAD] [UNK] [CLS] [SEP] [MASK] a joy dull warm and wise film long slow bright the'.split()
texts = ['a joy', 'dull and slow film', 'warm and wise', 'the long dull film', 'bright', 'a slow film']

def said(model, x, **options): return outputs(model, (x, labels), progress=False, **options)
def images(size=32): return torch.randn(6, 3, size, size)
def same(a, b): np.testing.assert_allclose(a, b.detach().float().flatten(1), rtol=1e-4, atol=1e-5)
def pictures(): return [Image.fromarray(x) for x in np.random.default_rng(0).integers(0, 256, (6,40,48,3), np.uint8)]

# One linear layer whose output is the model's

class Net(nn.Module):
    def __init__(self, how, d=5):
        super().__init__()
        self.how,self.b,self.head,self.aux = how,nn.Sequential(nn.Linear(d, 6), nn.ReLU()),nn.Linear(6, 3),nn.Linear(6,
            3)
    def forward(self, x): return self.how(self, x)

g = torch.Generator().manual_seed(0)
rows,tokens = torch.randn(6, 5, generator=g),torch.randn(6, 4, 5, generator=g)
def of_rows(m, x): return m.b(x)
def of_mean(m, x): return m.b(x).mean(1)

found = {
    'rows': (lambda m, x: m.head(m.b(x)), rows, of_rows),
    'the first of two calls': (lambda m, x: (m.head(m.b(x)), m.head(m.b(-x)))[0], rows, of_rows),
    'the last of two calls': (lambda m, x: (m.head(m.b(-x)), m.head(m.b(x)))[1], rows, of_rows),
    'another layer of the same width after it': (lambda m, x: (m.head(m.b(x)), m.aux(m.b(x)))[0], rows, of_rows),
    'temperature': (lambda m, x: m.head(m.b(x))/.07, rows, of_rows),
    'log_softmax': (lambda m, x: m.head(m.b(x)).log_softmax(1), rows, of_rows),
    'softmax': (lambda m, x: m.head(m.b(x)).softmax(1), rows, of_rows),
    'one token': (lambda m, x: m.head(m.b(x))[:,1], tokens, lambda m, x: m.b(x)[:,1]),
    'mean of tokens': (lambda m, x: m.head(m.b(x)).mean(1), tokens, of_mean),
    'on tokens, then on their mean': (lambda m, x: (m.head(m.b(x)), m.head(m.b(x).mean(1)))[1], tokens, of_mean),
    'in a dictionary': (lambda m, x: dict(hidden=m.b(x), out=m.head(m.b(x))), rows, of_rows),
    'in a tuple': (lambda m, x: (m.b(x), m.head(m.b(x))), rows, of_rows),
    'in double precision': (lambda m, x: m.head(m.b(x)), rows.double(), lambda m, x: m.b(x.float()))}

@pytest.mark.parametrize('name', found)
def test_head(name):
    how,x,features = found[name]
    model = Net(how).eval()
    o = said(model, x, batch_size=4)
    same(o.features, features(model, x))
    assert o.taken.startswith("input of 'head'") and o.logits.shape==(6,3)
    np.testing.assert_allclose(o.probs, torch.from_numpy(o.logits).softmax(1), rtol=1e-5)
    assert find_head(model, (x.float(), None)).module is model.head

@pytest.mark.parametrize('wrap', [nn.Sequential, lambda m: nn.DataParallel(m, device_ids=[])])
def test_wrapped(wrap):
    model = Net(found['rows'][0])
    same(said(wrap(model), rows).features, model.b(rows))

def test_no_head():
    "Features are the output, said in words; probabilities that no layer makes are refused"
    projected = nn.Sequential()
    projected.encoder,projected.projector = nn.Linear(5, 6),nn.Linear(6, 3)
    for model in projected,Net(lambda m, x: F.normalize(m.head(m.b(x)))),nn.Sequential(nn.Linear(5, 3), nn.ReLU()):
        o = said(model, rows)
        assert o.logits is None and o.probs is None and o.taken.startswith('output, which no linear layer computes')
        same(o.features, model(rows))
    assert said(projected, rows, features='head').taken=="input of 'projector'"
    assert said(Net(lambda m, x: F.normalize(m.head(m.b(x)))), rows).taken.endswith('normalized to length 1')
    dense = said(Net(lambda m, x: m.head(m.b(x))), tokens)
    assert dense.logits is None and dense.features.shape==(6,6)
    assert said(Net(lambda m, x: m.head(m.b(x))), rows, features='output').logits is None
    with pytest.raises(ValueError, match='probabilities that are not the softmax of a linear layer'):
        said(Net(lambda m, x: F.softmax(-torch.cdist(m.b(x), m.aux.weight), 1)), rows)

def test_several_tensors():
    two = Net(lambda m, x: (m.head(m.b(x)), m.aux(m.b(-x))))
    with pytest.raises(ValueError, match=r"it returns per sample 0 \[3\], 1 \[3\]; choose one with forward="): said(two, rows)
    same(said(two, rows, forward=lambda m, batch: m(batch[0])[1]).features, two.b(-rows))
    beside = said(two, rows, forward=lambda m, batch: dict(logits=m(batch[0])[0], features=m.b(batch[0])))
    assert beside.taken=='features, returned beside the logits'
    maps = Net(lambda m, x: [x[...,None,None].expand(-1, -1, k, k) for k in (8,4,2)])
    o = said(maps, rows)
    assert 'output 2' in o.taken and o.features.shape==(6,5)
    named = Net(lambda m, x: dict(out=x[...,None,None], aux=x[...,None,None]))
    with pytest.raises(ValueError, match="'out' .*, 'aux'"): said(named, rows)

def test_who_knows_better():
    model = Net(lambda m, x: m.head(m.b(x).mean(1)))
    both = said(model, tokens, layer=['b.1','head'])
    same(both['b.1'].features, model.b[0](tokens).mean(1))
    assert both['b.1'].taken=="input of 'b.1', mean over its tokens" and both['head'].logits is not None
    same(said(model, tokens, layer='b.1', pooling='last').features, model.b[0](tokens)[:,-1])
    with pytest.raises(ValueError, match="did you mean 'head'"): said(model, tokens, layer='heads')
    with pytest.raises(ValueError, match="'aux' was not called"): said(model, tokens, layer='aux')
    with pytest.raises(ValueError, match='one row per sample'): said(model, tokens, pooling='max')
    with pytest.raises(ValueError, match='no linear layer computes the logits'):
        said(model, tokens, forward=lambda m, b: dict(logits=m(b[0]).exp()))

def test_pooling():
    x,mask = torch.arange(12.).view(2, 3, 2),torch.tensor([[1,1,0],[0,1,1]])
    expected = dict(mean=[[1,2],[9,10]], cls=[[0,1],[8,9]], last=[[2,3],[10,11]], max=[[2,3],[10,11]])
    for how,right in expected.items(): assert pool(x, mask, how).tolist()==right
    assert pool(torch.ones(2, 5, 4, 4)).shape==(2,5) and pool(torch.ones(2, 4, 4, 5), channels_last=True).shape==(2,5)

# Libraries

timm_models = {'resnet10t': {}, 'convnext_atto': {}, 'mobilenetv3_small_050': {},
               'vit_tiny_patch16_224': dict(img_size=32, depth=2),
               'swin_tiny_patch4_window7_224': dict(img_size=32, window_size=2, depths=(1,1,1,1)), 'test_nfnet': {},
               'eva02_tiny_patch14_224': dict(img_size=28, depth=2),
               'deit_tiny_distilled_patch16_224': dict(img_size=32, depth=2)}

@pytest.mark.parametrize('name', timm_models)
def test_timm(name):
    timm = pytest.importorskip('timm')
    model = timm.create_model(name, num_classes=10, **timm_models[name]).eval()
    x = images(timm_models[name].get('img_size', 32))
    o = said(model, x)
    with torch.no_grad(): same(o.features, model.forward_head(model.forward_features(x), pre_logits=True))
    with torch.no_grad(): same(o.logits, model(x))
    model.reset_classifier(0)
    o = said(model, x)
    assert o.logits is None
    with torch.no_grad(): same(o.features, model(x))

@pytest.mark.parametrize('name', ['squeezenet1_1','shufflenet_v2_x0_5','mobilenet_v3_small','vit_b_16'])
def test_torchvision(name):
    from torchvision.models import get_model
    model = get_model(name, weights=None, num_classes=5, **(dict(image_size=32) if name[:3]=='vit' else {})).eval()
    x = images(64 if name[:3]!='vit' else 32)
    o = said(model, x)
    with torch.no_grad(): same(o.logits, model(x))
    _,head,*_ = find_head(model, (x, None))
    if isinstance(head, nn.Linear): same(o.logits, head(torch.from_numpy(o.features)))

def padded():
    mask = (torch.arange(9)<torch.tensor([9,7,5,8,3,9])[:,None]).long()
    return dict(input_ids=torch.randint(5, 16, (6,9))*mask, attention_mask=mask)

text_models = {'Bert': {}, 'Roberta': {}, 'DebertaV2': {}, 'ModernBert': dict(reference_compile=False),
               'DistilBert': dict(dim=16, hidden_dim=32, n_layers=2, n_heads=2),
               'GPT2': dict(n_embd=16, n_layer=2, n_head=2)}

def config(kind, **own):
    transformers = pytest.importorskip('transformers')
    special = dict(vocab_size=16, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)
    size = {} if kind in ('DistilBert','GPT2') else tiny
    return getattr(transformers, f'{kind}Config')(**special, **size, **text_models[kind], max_position_embeddings=40,
                                                  **own)

@pytest.mark.parametrize('kind', text_models)
def test_texts_of_hugging_face(kind):
    "The classifier's last layer reads the features; of the encoder they are the mean of its tokens without padding"
    import transformers
    x = padded()
    model = transformers.AutoModelForSequenceClassification.from_config(config(kind, num_labels=4)).eval()
    o = said(model, x, batch_size=3)
    with torch.no_grad(): same(o.logits, model(**x).logits)
    same(o.logits, find_head(model, (x, None)).module(torch.from_numpy(o.features)))
    encoder = transformers.AutoModel.from_config(config(kind)).eval()
    with torch.no_grad(): hidden,mask = encoder(**x).last_hidden_state,x['attention_mask'][...,None]
    o = said(encoder, x, batch_size=3)
    assert o.logits is None and o.taken=='last_hidden_state, mean over its tokens'
    same(o.features, (hidden*mask).sum(1)/mask.sum(1))
    same(said(encoder, x, pooling='cls').features, hidden[:,0])

def test_images_of_hugging_face():
    transformers = pytest.importorskip('transformers')
    x = images()
    for kind,own in dict(ViT=vision, Beit=vision, ConvNext=dict(hidden_sizes=[8,16], depths=[1,1],
                                                                num_stages=2)).items():
        about = getattr(transformers, f'{kind}Config')(num_labels=5, **own)
        model = transformers.AutoModelForImageClassification.from_config(about).eval()
        o = said(model, x)
        with torch.no_grad(): same(o.logits, model(x).logits)
        same(o.logits, model.classifier(torch.from_numpy(o.features)))
    for kind,field in dict(ViT='last_hidden_state', Dinov2='pooler_output', SiglipVision='pooler_output').items():
        encoder = transformers.AutoModel.from_config(getattr(transformers, f'{kind}Config')(**vision)).eval()
        o = said(encoder, x)
        with torch.no_grad(): out = getattr(encoder(x), field)
        same(o.features, out.mean(1) if out.ndim==3 else out)
        assert o.logits is None and o.taken.startswith(field)
    about = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8,16], depths=[1,1], out_indices=[1,2])
    backbone = transformers.ResNetBackbone(about)
    same(said(backbone, x).features, backbone.eval()(x).feature_maps[-1].mean((2,3)))

def test_two_towers():
    "Image and text features of CLIP, in transformers and open_clip"
    transformers,open_clip = map(pytest.importorskip, ('transformers','open_clip'))
    text = dict(**tiny, vocab_size=16, max_position_embeddings=40, bos_token_id=2, eos_token_id=3, pad_token_id=0)
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision,
                                                           projection_dim=12)).eval()
    x,ids = images(),padded()
    with torch.no_grad(): right = model.get_image_features(x),model.get_text_features(**ids)
    for data,row in zip((x, ids), right, strict=True):
        o = said(model, data)
        same(o.features, getattr(row, 'pooler_output', row))
        assert o.logits is None
    text = open_clip.CLIPTextCfg(context_length=10, vocab_size=50, width=32, heads=2, layers=1)
    model = open_clip.CLIP(32, open_clip.CLIPVisionCfg(layers=1, width=64, patch_size=8, image_size=32), text).eval()
    for net in model,model.visual:
        with torch.no_grad(): same(said(net, x).features, model.encode_image(x))

# Names

def tokenizer(folder):
    transformers = pytest.importorskip('transformers')
    folder.mkdir(exist_ok=True)
    (folder/'vocab.txt').write_text('\n'.join(words))
    transformers.BertTokenizer(str(folder/'vocab.txt')).save_pretrained(folder)

def saved(folder, kind='AutoModel', **own):
    "A folder as `save_pretrained` writes it"
    tokenizer(folder)
    getattr(sys.modules['transformers'], kind).from_config(config('Bert', **own)).save_pretrained(folder)
    return f'hf:{folder}'

def test_folder_of_hugging_face(tmp_path):
    import transformers
    named = dict(id2label={0: 'DOG', 1: 'CAT'}, label2id={'DOG': 0, 'CAT': 1})
    name = saved(tmp_path/'bert', 'AutoModelForSequenceClassification', **named)
    model = load(name)
    assert model.classes==('DOG','CAT') and match_classes(['cat','dog'], model.classes)==[1,0] and not model.training
    o = said(name, texts)
    with torch.no_grad(): same(o.logits, model(**model.text_transform(texts)).logits)
    pairs = said(name, [*zip(texts, texts[::-1], strict=True)])
    with torch.no_grad():
        same(pairs.logits, model(**model.text_transform([*zip(texts, texts[::-1], strict=True)])).logits)
    with pytest.warns(UserWarning, match='1 of 6 texts in a batch are cut to 40 tokens'):
        said(name, ['a joy '*30, *texts[1:]])
    with pytest.raises(ValueError, match='takes texts'): said(load('squeezenet1_1', pretrained=False), texts)
    (tmp_path/'bert'/'tokenizer.json').unlink(missing_ok=True)
    (tmp_path/'bert'/'vocab.txt').unlink(missing_ok=True)
    with pytest.raises(ValueError, match='tokenizer'): load(name)
    with pytest.raises(ValueError, match='hf:nowhere/at/all cannot be loaded'): load('hf:nowhere/at/all')
    vit = transformers.ViTMAEModel(transformers.ViTMAEConfig(**vision))
    processor = transformers.ViTImageProcessor(size=dict(height=32, width=32))
    for part in vit,processor: part.save_pretrained(tmp_path/'mae')
    model = load(f'hf:{tmp_path}/mae')
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path/'mae') # of the kind that `load` takes
    x = processor(pictures(), return_tensors='pt')['pixel_values']
    with torch.no_grad(): hidden = model(x).last_hidden_state
    assert hidden.shape[1]==17 # all patches are looked at
    same(said(f'hf:{tmp_path}/mae', pictures()).features, hidden.mean(1))

def test_roberta_counts_positions_behind_the_padding(tmp_path):
    import transformers
    tokenizer(tmp_path)
    roberta = transformers.RobertaConfig(vocab_size=16, max_position_embeddings=34, pad_token_id=1, **tiny)
    transformers.RobertaModel(roberta).save_pretrained(tmp_path)
    transformers.PreTrainedTokenizerFast(tokenizer_object=transformers.BertTokenizerFast(str(tmp_path/'vocab.txt'))._tokenizer,
                                         pad_token='[UNK]', eos_token='[SEP]').save_pretrained(tmp_path)
    model = load(f'hf:{tmp_path}')
    assert model.text_transform(['a joy '*30])['input_ids'].shape[1]==32
    assert said(model, ['a joy '*30, *texts[1:]]).features.shape==(6,16)

def test_encoder_of_t5(tmp_path):
    import transformers
    tokenizer(tmp_path)
    size = dict(vocab_size=16, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    t5 = transformers.T5Config(**size, pad_token_id=0, decoder_start_token_id=0)
    transformers.T5Model(t5).save_pretrained(tmp_path)
    model = load(f'hf:{tmp_path}')
    ids = model.text_transform(texts)
    mask = ids['attention_mask'][...,None]
    with torch.no_grad():
        hidden = model(input_ids=ids['input_ids'], attention_mask=ids['attention_mask']).last_hidden_state
    same(said(model, texts).features, (hidden*mask).sum(1)/mask.sum(1))

def test_folder_of_timm(tmp_path):
    timm = pytest.importorskip('timm')
    made = timm.create_model('resnet10t', num_classes=2).eval()
    named = dict(num_classes=2, label_names=['d','c'])
    timm.models.save_for_hf(made, tmp_path/'net', model_config=named, safe_serialization=False)
    x = torch.rand(2, 3, 32, 32)
    for name in f'timm:{tmp_path}/net',f'hf:{tmp_path}/net':
        opened = load(name)
        with torch.no_grad(): assert torch.equal(opened(x), made(x))
        assert opened.classes==('d','c')
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(made))
    same(said(opened, pictures()).logits, made(torch.stack([transform(o) for o in pictures()])))
    (tmp_path/'other').mkdir()
    with pytest.raises(ValueError,
                       match='other cannot be loaded: the folder must be written by timm.models.save_for_hf'):
        load(f'timm:{tmp_path}/other')
    with pytest.raises(ValueError, match="did you mean 'resnet50'"): load('timm:resnet5O')
    imagenet = load('torchvision:resnet18', pretrained=False)
    from torchvision.models import ResNet18_Weights
    classes = ResNet18_Weights.DEFAULT.meta['categories']
    assert match_classes(['n03888257','parachute','n02102040'], classes)==[701,701,217] and not hasattr(imagenet,
        'classes')

def test_folder_of_sentence_transformers(tmp_path):
    st = pytest.importorskip('sentence_transformers')
    try: from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    except ImportError: from sentence_transformers.models import Normalize, Pooling, Transformer # older versions
    saved(tmp_path/'bert')
    for own in dict(prompts=dict(q='the film '), default_prompt_name='q'),dict(truncate_dim=4),{}:
        model = st.SentenceTransformer(modules=[Transformer(str(tmp_path/'bert')), Pooling(16), Normalize()],
                                       device='cpu', **own)
        model.save(str(tmp_path/'saved'))
        o = said(f'sentence-transformers:{tmp_path}/saved', texts)
        again = st.SentenceTransformer(str(tmp_path/'saved'), device='cpu')
        same(o.features, torch.from_numpy(again.encode(texts, convert_to_numpy=True)))
    assert o.logits is None and o.taken=='sentence_embedding, normalized to length 1'
    with pytest.raises(ValueError, match='^sentence-transformers:/nowhere'): load('sentence-transformers:/nowhere')

def test_open_clip_by_name(tmp_path):
    open_clip = pytest.importorskip('open_clip')
    with pytest.raises(ValueError, match="did you mean 'ViT-B-32'"): load('open_clip:ViT-B-33/x')
    with pytest.raises(ValueError, match='weights of open_clip:ViT-B-32'): load('open_clip:ViT-B-32')
    with pytest.raises(ValueError, match='weights of open_clip:ViT-B-32'): load('open_clip:ViT-B-32/laion')
    text = dict(context_length=10, vocab_size=50, width=32, heads=2, layers=1)
    tower = dict(layers=1, width=64, patch_size=8, image_size=32)
    model = open_clip.CLIP(32, open_clip.CLIPVisionCfg(**tower), open_clip.CLIPTextCfg(**text)).eval()
    about = dict(model_cfg=dict(embed_dim=32, vision_cfg=tower, text_cfg=text), preprocess_cfg={})
    (tmp_path/'open_clip_config.json').write_text(json.dumps(about))
    torch.save(model.state_dict(), tmp_path/'open_clip_pytorch_model.bin')
    opened = load(f'open_clip:{tmp_path}')
    x = torch.stack([opened.transform(o) for o in pictures()])
    with torch.no_grad(): same(said(opened, pictures()).features, model.encode_image(x))

own = """
from torch import nn
def small(): return nn.Sequential(nn.Flatten(), nn.Linear(3*8*8, 4), nn.ReLU(), nn.Linear(4, 2))
def nothing(): return 3
def named():
    from transfer_metrics.models import image_transform
    model = small()
    model.transform = image_transform(8, mean=[.5]*3, std=[.25]*3)
    return model
"""

def test_networks_of_ones_own(tmp_path, monkeypatch):
    "Each with its size and normalisation, so that they can be ranked together; weights from a file that is not unpickled"
    monkeypatch.chdir(tmp_path)
    (tmp_path/'mynets.py').write_text(own)
    torch.manual_seed(0)
    sys.path.insert(0, str(tmp_path))
    import mynets
    made = mynets.small()
    torch.save(dict(state_dict={f'module.{k}': v for k,v in made.state_dict().items()}), 'a.pth')
    torch.save(dict(made=made), 'whole.pth')
    names = 'mynets:small=a.pth?size=8&mean=.5,.5,.5&std=.25,.25,.25,mynets:small=a.pth?size=8'
    plain,bare = load_models([names.rpartition(',')[0], names.rpartition(',')[2]]).values()
    assert list(load_models('mynets:small=a.pth?size=8&mean=.5,.5,.5&std=.25,.25,.25,mynets:named'))==['small','named']
    x = torch.stack([bare.transform(o) for o in pictures()])
    same(said(bare, pictures()).logits, made(x))
    same(said(plain, pictures()).logits, made((x-.5)/.25))
    assert said(load('mynets:named'), pictures()).logits.shape==(6,2)
    with pytest.raises(ValueError, match='must have the same size'):
        said(made, [o.resize((8+i,8)) for i,o in enumerate(pictures())])
    for name,why in {'mynets:small=whole.pth': 'state_dict', 'mynets:small=b.pth': 'does not exist',
                     'mynets:nothing': 'must return an nn.Module',
                     'tim:resnet18': 'did you mean timm:resnet18', 'mynets:small?sise=3': "did you mean 'size'",
                     'mynets:small?mean=a': 'numbers',
                     'mynets:smal': 'has no attribute', 'resnet5O': "did you mean 'resnet50'"}.items():
        with pytest.raises(ValueError, match=why): load(name)
    assert parse_name('timm:resnet18=w.pth')[:3]==('timm','resnet18','w.pth')

def test_checkpoint_in_the_cache_of_torchvision(tmp_path, monkeypatch):
    "Found without a network"
    from torchvision.models import SqueezeNet1_1_Weights, squeezenet1_1
    monkeypatch.setenv('TORCH_HOME', str(tmp_path))
    file = tmp_path/'hub'/'checkpoints'/SqueezeNet1_1_Weights.DEFAULT.url.rpartition('/')[2]
    file.parent.mkdir(parents=True)
    made = squeezenet1_1().eval()
    torch.save(made.state_dict(), file)
    model = load('squeezenet1_1')
    x = images(64)
    with torch.no_grad(): assert torch.equal(model(x), made(x))
    assert model.classes[0]=='tench'

# The pass

def test_model_is_left_as_it_was():
    model = nn.Sequential(nn.Flatten(), nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Dropout(), nn.Linear(6, 3)).train()
    model[2].eval()
    model[1].weight.grad = torch.ones(6, 5)
    before = {k: v.clone() for k,v in model.state_dict().items()}
    state = torch.get_rng_state()
    a,b = said(model, rows),said(model, rows, batch_size=2)
    np.testing.assert_allclose(a.features, b.features, atol=1e-6)
    assert torch.equal(state, torch.get_rng_state()) and [m.training for m in model]==[True,True,False,True,True]
    assert all(torch.equal(v, before[k]) for k,v in model.state_dict().items()) and model[1].weight.grad is not None
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    for look in forward(model, (rows, labels), progress=False):
        assert torch.is_grad_enabled() and look.logits.shape==(6,3)
        break
    with pytest.raises(ValueError), frozen(model): raise ValueError
    assert model.training and torch.is_grad_enabled()

def test_half_precision():
    model = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3))
    expected = said(model, rows)
    for kind in (model.half(), {}),(model.bfloat16(), {}),(model.float(), dict(autocast='bfloat16')):
        o = said(kind[0], rows, **kind[1])
        np.testing.assert_allclose(o.features, expected.features, atol=.02)
        assert o.probs.dtype==np.float32

def test_errors_of_the_pass():
    with torch.device('meta'): empty = nn.Linear(5, 3)
    for model,why in ((empty, 'on the meta device'), (3, 'must be a torch.nn.Module'),
                      (nn.Linear(4, 3), r'fails on a batch of \[6, 5\]')):
        with pytest.raises(ValueError, match=why): said(model, rows)
    broken = nn.Linear(5, 3)
    with pytest.raises(ValueError, match='must be finite, got NaN'): said(broken, rows*torch.nan)
    with pytest.raises(ValueError, match='at least one batch'): outputs(broken, iter([]), progress=False)
    with pytest.raises(ValueError, match='must return logits'): next(forward(nn.ReLU(), (rows, labels), progress=False))
    with pytest.warns(UserWarning, match='divide them by 255'):
        outputs(nn.Sequential(nn.Flatten(), nn.Linear(12, 2)), (torch.rand(3, 3, 2, 2)*255, None), progress=False)
    assert next(forward(nn.ReLU(), (rows, labels), need_logits=False, progress=False)).features.shape==(6,5)

def test_views_and_shards():
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    x,y = torch.rand(7, 3, 2, 2),torch.arange(7)
    looks = [*forward(model, (x, y), views=[None, lambda x: x.flip(3)], batch_size=4, dtype=torch.float64,
                      progress=False)]
    assert [o.view for o in looks]==[0,1,0,1] and looks[0].probs.dtype==torch.float64
    same(torch.cat([looks[1].logits, looks[3].logits]), model(x.flip(3)))
    parts = [outputs(model, (x, y), shard=i, of=3, progress=False) for i in range(3)]
    whole = outputs(model, (x, y), progress=False)
    np.testing.assert_allclose(np.concatenate([o.logits for o in parts]), whole.logits, rtol=1e-6)

def test_classifiers_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    o = outputs(model, (texts, labels))
    assert o.probs.shape==(6,2) and o.features.shape[0]==6 and o.logits is None
    look, = forward(model, (texts, labels))
    assert look.labels.tolist()==[0,1]*3
    with pytest.raises(ValueError, match="classes of the model, .*got owl"): next(forward(model, (texts, ['owl']*6)))

@pytest.mark.parametrize('form', ['folder','file.npz'])
def test_outputs_are_saved(form, tmp_path):
    o = said(nn.Linear(5, 3), rows)
    o.source = Outputs(features=np.eye(2), labels=[0,1])
    again = Outputs.load(o.save(tmp_path/form))
    for k,v in o.arrays().items(): np.testing.assert_array_equal(v, again.arrays()[k])
    assert again.taken==o.taken and len(again.source)==2 and again[[0,2]].labels.tolist()==['cat','cat']
    assert again[again.labels=='dog'].predicted.shape==(3,) and 'taken' in repr(again)
    with pytest.raises(ValueError, match='one row per sample'): Outputs(features=np.eye(3), labels=[0,1])
    with pytest.raises(ValueError, match='must hold at least one of features'): Outputs.load(tmp_path)

def test_reader_costs_nothing_after_the_first_batch():
    "Only the head is watched"
    model = nn.Sequential(*(nn.Linear(5, 5) for _ in range(9)))
    with Reader(model) as read, torch.no_grad():
        read((rows, None))
        assert sum(len(m._forward_hooks) for m in model)==1
