"""Models of timm, Hugging Face, open_clip and sentence-transformers, small and with random weights: features are the library's own, a
network without a head has no logits, names and local folders open with their preprocessing, and data comes in every form"""
import json
import os
import re
import subprocess
import sys
from inspect import getsource
from pathlib import Path
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader
import transfer_metrics as tm
from transfer_metrics.adapters import open_model
from transfer_metrics.class_names import class_outputs, named_outputs
from transfer_metrics.cli.main import main
from transfer_metrics.libraries import sentence_encoder
from transfer_metrics.models import outputs

quiet = dict(progress=False)
labels = ['cat','dog']*3
transformer = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
image = dict(image_size=32, patch_size=8)
words = '[PAD] [UNK] [CLS] [SEP] [MASK] a joy dull warm and wise film long slow bright the'.split()
reviews = ['a joy', 'dull and slow film', 'warm and wise', 'the long dull film', 'bright', 'a slow film']

@pytest.fixture(autouse=True)
def seed(): torch.manual_seed(0)

def images(size=32): return torch.randn(6, 3, size, size)

def same(a, b): np.testing.assert_allclose(a, b.detach().flatten(1), rtol=1e-5, atol=1e-5)

def padded():
    "Token numbers of texts of different lengths, in two batches, and all together"
    ids = torch.randint(5, 50, (6, 9))
    mask = (torch.arange(9)<torch.tensor([9,7,5,8,3,9])[:,None]).long()
    ids[mask==0] = 1
    whole = dict(input_ids=ids, attention_mask=mask)
    return whole, [{k: v[i:i+3] for k,v in whole.items()}|dict(labels=labels[i:i+3]) for i in (0,3)]

_timm = {'resnet10t': {}, 'convnext_atto': {}, 'efficientnet_b0': {}, 'mobilenetv3_small_050': {},
         'vit_tiny_patch16_224': dict(img_size=32, depth=2), 'mixer_s16_224': dict(img_size=32),
         'swin_tiny_patch4_window7_224': dict(img_size=32, window_size=2, depths=(1,1,1,1)),
         'eva02_tiny_patch14_224': dict(img_size=28, depth=2), 'maxvit_rmlp_pico_rw_256': dict(img_size=64), 'regnetx_002': {},
         'test_nfnet': {}, 'coatnet_pico_rw_224': dict(img_size=64)}

@pytest.mark.parametrize('name', _timm)
def test_timm(name):
    timm = pytest.importorskip('timm')
    if not timm.is_model(name): pytest.skip(f'timm {timm.__version__} has no {name}')
    model = timm.create_model(name, num_classes=10, **_timm[name]).eval()
    x = images(_timm[name].get('img_size', 32))
    with torch.no_grad():
        features = model.forward_head(model.forward_features(x), pre_logits=True)
        z = model(x)
    o = outputs(model, (x, labels), **quiet)
    same(o.features, features)
    same(o.logits, z)
    model.reset_classifier(0)
    with torch.no_grad(): alone = model(x)
    o = outputs(model, (x, labels), **quiet)
    same(o.features, alone)
    assert o.logits is None and o.probs is None and 'no head' in o.taken

_two_heads = {'deit_tiny_distilled_patch16_224': dict(img_size=32, depth=2), 'pit_ti_distilled_224': dict(img_size=64, depth=(1,1,1)),
              'volo': dict(img_size=64, layers=(1,1,1,1), embed_dims=(24,48,48,48), num_heads=(2,4,4,4))}

@pytest.mark.parametrize('name', _two_heads)
def test_distilled(name):
    "Two heads read two tokens, or all: timm's features are one row for both, and what each reads stands side by side where it is asked for"
    timm = pytest.importorskip('timm')
    own = _two_heads[name]
    made = timm.models.volo.VOLO(num_classes=10, **own) if name=='volo' else timm.create_model(name, num_classes=10, **own)
    model = made.eval()
    x = images(own['img_size'])
    with torch.no_grad():
        features = model.forward_head(model.forward_features(x), pre_logits=True)
        z = model(x)
    o = outputs(model, (x, labels), **quiet)
    same(o.features, features)
    same(o.logits, z)
    both = outputs(model, (x, labels), features='head', **quiet)
    once = name[:3]=='pit' and 'x_dist = self.head_drop(x)\n' in getsource(timm.models.pit) # older versions: both read the first token
    assert both.features.shape==(6, (2-once)*features.shape[1]) and both.taken.startswith('input of ')
    same(both.logits, z)
    if 'distilled' in name: same(both.features.reshape(6, 2-once, -1).mean(1), features)
    model.reset_classifier(0)
    with torch.no_grad(): alone = model(x)
    same(outputs(model, (x, labels), **quiet).features, alone)

def test_last_channels_and_largest_answers():
    "Heads behind which a view or a maximum stands; a model that counts its classes is not taken for one of features"
    from torchvision.models import squeezenet1_1
    conv = squeezenet1_1(num_classes=5).eval()
    for x in images(64), images(64).to(memory_format=torch.channels_last):
        o = outputs(conv, (x, labels), **quiet)
        assert o.taken=="input of 'classifier.1', mean over its places" and o.logits.shape==(6,5)
    class Largest(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(4, 3)
        def forward(self, tokens): return self.head(tokens[:,0])+self.head(tokens[:,1:]).max(1)[0]/2
    o = outputs(Largest(), (torch.randn(6, 5, 4), labels), **quiet)
    assert o.logits.shape==(6,3)
    hidden = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    assert outputs(hidden, (torch.randn(6, 4), labels), **quiet).logits is None
    hidden.num_classes = 3
    with pytest.raises(ValueError, match='no layer is seen to make the logits'): outputs(hidden, (torch.randn(6, 4), labels), **quiet)

_texts = {'Bert': {}, 'Roberta': {}, 'XLMRoberta': {}, 'Electra': dict(embedding_size=16), 'DebertaV2': {},
          'Albert': dict(embedding_size=16), 'MobileBert': dict(embedding_size=16, true_hidden_size=16, intra_bottleneck_size=16),
          'ModernBert': dict(cls_token_id=2, sep_token_id=3, reference_compile=False),
          'DistilBert': dict(dim=16, hidden_dim=32, n_layers=2, n_heads=2), 'GPT2': dict(n_embd=16, n_layer=2, n_head=2),
          'XLNet': dict(d_model=16, d_inner=32, n_layer=2, n_head=2)}
_without_width = 'DistilBert','GPT2','XLNet'

@pytest.mark.parametrize('name', _texts)
@pytest.mark.filterwarnings('ignore')
def test_text_classifiers(name):
    "Features are what leaves the encoder, not the output of a dense layer that nothing has trained; encoders have a mean without padding"
    transformers = pytest.importorskip('transformers')
    kind = getattr(transformers, f'{name}Config')
    own = _texts[name] if name in _without_width else transformer|_texts[name]
    more = {} if name in ('GPT2','XLNet') else dict(max_position_embeddings=40)
    config = kind(vocab_size=50, pad_token_id=1, bos_token_id=2, eos_token_id=3, num_labels=4, **own, **more)
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    whole,batches = padded()
    with torch.no_grad(): hidden,z = model.base_model(**whole),model(**whole).logits
    mask = whole['attention_mask']
    tokens = hidden.last_hidden_state
    last = tokens[torch.arange(6), mask.sum(1)-1]
    of_pooler = dict.fromkeys(['Bert','Albert','MobileBert'], lambda: hidden.pooler_output)
    of_place = dict(GPT2=lambda: last, XLNet=lambda: tokens[:,-1], ModernBert=lambda: model.head(tokens[:,0]))
    with torch.no_grad(): expected = (of_pooler|of_place).get(name, lambda: tokens[:,0])()
    o = outputs(model, batches, **quiet)
    same(o.features, expected)
    same(o.logits, z)
    assert o.labels.tolist()==labels
    mean = (tokens*mask[...,None]).sum(1)/mask.sum(1, keepdim=True)
    for pooling,row in {None: mean, 'mean': mean, 'cls': tokens[:,0], 'last': last}.items():
        o = outputs(model.base_model, batches, pooling=pooling, **quiet)
        same(o.features, row)
        assert o.probs is None
        if not pooling: continue
        o = outputs(model, batches, pooling=pooling, **quiet) # also of a classifier whose head reads one token
        same(o.features, row)
        same(o.logits, z)
        assert pooling in o.taken

@pytest.mark.filterwarnings('ignore')
def test_encoder_of_two_parts():
    "The encoder of T5 alone has a mean of tokens without padding"
    transformers = pytest.importorskip('transformers')
    config = transformers.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, pad_token_id=1)
    model = transformers.T5EncoderModel(config).eval()
    whole,batches = padded()
    with torch.no_grad(): tokens = model(**whole).last_hidden_state
    mask = whole['attention_mask'][...,None]
    o = outputs(model, batches, **quiet)
    same(o.features, (tokens*mask).sum(1)/mask.sum(1))
    assert o.probs is None

@pytest.mark.filterwarnings('ignore')
def test_image_classifiers():
    "What enters the classifier is what the library's own makes its logits of"
    transformers = pytest.importorskip('transformers')
    steps = dict(hidden_sizes=[8,16], depths=[1,1])
    windows = dict(image_size=32, patch_size=4, embed_dim=8, depths=[1,1], num_heads=[2,2], window_size=2)
    small = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    kinds = dict(ViT=transformer|image, Beit=transformer|image, Swin=windows, ConvNext=steps|dict(num_stages=2),
                 ResNet=steps|dict(embedding_size=8), Dinov2=small|image)
    x = images()
    for kind,own in kinds.items():
        config = getattr(transformers, f'{kind}Config')(num_labels=5, **own)
        model = transformers.AutoModelForImageClassification.from_config(config).eval()
        o = outputs(model, (x, labels), **quiet)
        with torch.no_grad(): z = model(x).logits
        same(o.logits, z)
        with torch.no_grad(): again = model.classifier(torch.from_numpy(o.features))
        same(o.logits, again)

@pytest.mark.filterwarnings('ignore')
def test_image_encoders():
    transformers = pytest.importorskip('transformers')
    x = images()
    def check(config, features):
        model = transformers.AutoModel.from_config(config).eval()
        with torch.no_grad(): hidden = model(x)
        o = outputs(model, (x, labels), **quiet)
        same(o.features, features(hidden))
        assert o.probs is None
        return model,hidden
    check(transformers.ViTConfig(**transformer, **image), lambda h: h.last_hidden_state.mean(1))
    registers = transformers.Dinov2WithRegistersConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, **image)
    model,hidden = check(registers, lambda h: h.pooler_output)
    patches = outputs(model, (x, labels), pooling='patches', **quiet)
    same(patches.features, hidden.last_hidden_state[:,5:].mean(1))
    check(transformers.Dinov2Config(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, **image), lambda h: h.pooler_output)
    check(transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8,16], depths=[1,1]), lambda h: h.pooler_output)
    check(transformers.SiglipVisionConfig(**transformer, **image), lambda h: h.pooler_output)
    check(transformers.BeitConfig(**transformer, **image), lambda h: h.pooler_output)

@pytest.mark.filterwarnings('ignore')
def test_clip(tmp_path):
    "Image features on their own, and as a zero-shot classifier"
    transformers = pytest.importorskip('transformers')
    from transfer_metrics.libraries import ZeroShot
    text = dict(**transformer, vocab_size=50, max_position_embeddings=40, bos_token_id=2, eos_token_id=3, pad_token_id=1)
    config = transformers.CLIPConfig(text_config=text, vision_config=dict(**transformer, **image), projection_dim=12)
    model = transformers.CLIPModel(config).eval()
    x = images()
    whole,_ = padded()
    with torch.no_grad():
        features = model.get_image_features(x)
        of_texts = model.get_text_features(**whole)
        both = model(pixel_values=x, **whole)
    features = getattr(features, 'pooler_output', features)
    of_texts = getattr(of_texts, 'pooler_output', of_texts)
    same(outputs(model, (x, labels), **quiet).features, features)
    zero_shot = ZeroShot(model, of_texts, scale=float(model.logit_scale.exp()))
    o = outputs(zero_shot, (x, labels), **quiet)
    np.testing.assert_allclose(o.logits, both.logits_per_image.detach(), rtol=1e-4, atol=1e-4)

@pytest.mark.parametrize('kind', ['Blip','Flava'])
@pytest.mark.filterwarnings('ignore')
def test_towers_with_a_pooler(kind):
    "What is compared, though there is a pooler with weights below it; of FLAVA, which projects each token, CLS; a mean of tokens is to be had"
    transformers = pytest.importorskip('transformers')
    text = dict(**transformer, vocab_size=50, max_position_embeddings=40, bos_token_id=2, eos_token_id=3, pad_token_id=1)
    vision = dict(**transformer, **image)
    own = dict(vision_config=vision) if kind=='Blip' else dict(image_config=vision, multimodal_config=transformer)
    config = getattr(transformers, f'{kind}Config')(text_config=text, projection_dim=12, **own)
    model = getattr(transformers, f'{kind}Model')(config).eval()
    x = images()
    whole,batches = padded()
    with torch.no_grad(): of = model.get_image_features(pixel_values=x),model.get_text_features(**whole)
    given = (x, labels),batches
    for data,found in zip(given, of, strict=True):
        row = getattr(found, 'pooler_output', found)
        o = outputs(model, data, **quiet)
        same(o.features, row[:,0] if row.ndim==3 else row)
        assert o.logits is None
    if kind=='Blip' and hasattr(of[0], 'last_hidden_state'):
        same(outputs(model, given[0], pooling='mean', **quiet).features, of[0].last_hidden_state.mean(1))

@pytest.mark.filterwarnings('ignore')
def test_masked_autoencoders(tmp_path):
    "All patches are looked at, directly and by name, and the share that training leaves out is given back"
    transformers = pytest.importorskip('transformers')
    model = transformers.ViTMAEModel(transformers.ViTMAEConfig(**transformer, **image))
    processor = transformers.ViTImageProcessor(size=dict(height=32, width=32))
    name = saved(tmp_path, model, processor)
    x = processor(small_pictures(), return_tensors='pt')['pixel_values']
    found = [outputs(model, (x, labels), **quiet), outputs(name, (small_pictures(), labels), **quiet)]
    assert model.config.mask_ratio==.75
    model.config.mask_ratio = 0.
    with torch.no_grad(): tokens = model.eval()(x).last_hidden_state
    assert tokens.shape[1]==17
    for o in found: same(o.features, tokens.mean(1))

@pytest.mark.parametrize('size', ['auto', 0, -1])
def test_samples_in_a_batch(size):
    "The same refusal for a network and for a model by name"
    data = images(8),labels
    for model in nn.Sequential(nn.Flatten(), nn.Linear(192, 3)),open_model('torchvision:squeezenet1_1', pretrained=False):
        with pytest.raises(ValueError, match='`batch_size` must be a whole number of at least 1'): outputs(model, data, batch_size=size, **quiet)
    with pytest.raises(ValueError, match='`batch_size` must be a whole number of at least 1'):
        outputs(model, (small_pictures(), labels), batch_size=size, **quiet)

def test_open_clip():
    open_clip = pytest.importorskip('open_clip')
    from transfer_metrics.libraries import _image_tower
    text = open_clip.CLIPTextCfg(context_length=10, vocab_size=50, width=32, heads=2, layers=1)
    vit,resnet = dict(layers=1, width=64, patch_size=8, image_size=32),dict(layers=[1,1,1,1], width=16, image_size=32)
    for vision in vit,resnet:
        model = open_clip.CLIP(32, open_clip.CLIPVisionCfg(**vision), text).eval()
        x = images()
        with torch.no_grad(): raw = model.encode_image(x)
        for net,forward in (model.visual,None),(model,None),(model,_image_tower):
            o = outputs(net, (x, labels), forward=forward, **quiet)
            same(o.features, raw)
            assert o.probs is None

def tiny_bert(folder, architecture='AutoModel'):
    "A folder as `save_pretrained` writes it"
    transformers = pytest.importorskip('transformers')
    vocab = folder/'vocab.txt'
    folder.mkdir(exist_ok=True)
    vocab.write_text('\n'.join(words))
    transformers.BertTokenizer(str(vocab)).save_pretrained(folder)
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=6, **transformer)
    getattr(transformers, architecture).from_config(config).save_pretrained(folder)
    return str(folder)

@pytest.mark.filterwarnings('ignore')
def test_folder_of_texts(tmp_path):
    "A saved encoder ranks from a list, a table, a CSV file, a loader of strings; a classifier brings its answers"
    encoder = tiny_bert(tmp_path/'encoder')
    classifier = tiny_bert(tmp_path/'classifier', 'AutoModelForSequenceClassification')
    table = pd.DataFrame(dict(text=reviews, label=labels))
    table.to_csv(tmp_path/'reviews.csv', index=False)
    loader = DataLoader(list(zip(reviews, labels, strict=True)), batch_size=4)
    said = [outputs(f'hf:{encoder}', form, **quiet) for form in ((reviews, labels), table, str(tmp_path/'reviews.csv'), loader)]
    for o in said: np.testing.assert_allclose(o.features, said[0].features, atol=1e-5)
    pairs = outputs(f'hf:{encoder}', (list(zip(reviews, reviews, strict=True)), labels), **quiet)
    assert pairs.features.shape==(6,16)
    scores = tm.score_models([f'hf:{encoder}', f'hf:{classifier}'], table, ['knn','leep'], progress=False)
    values = scores.set_index(['model','metric'])
    assert 'no head makes it' in values.error[encoder,'leep']
    assert (values.error.drop((encoder,'leep'))=='').all()

@pytest.mark.filterwarnings('ignore')
def test_texts_from_a_shell(tmp_path, monkeypatch, capsys):
    "The same numbers as in Python, from a table with columns of other names; labels needed, told by their names"
    monkeypatch.chdir(tmp_path)
    encoder = tiny_bert(tmp_path/'encoder')
    table = pd.DataFrame(dict(review=reviews*2, stars=labels*2))
    table.to_csv('reviews.csv', index=False, sep=';')
    line = f'--models hf:{encoder} --texts reviews.csv --columns review,stars --no-progress'.split()
    kept = ['--store', 'kept', '--metrics', 'transrate,knn']
    assert main(['rank', *line, *kept, '--pooling', 'cls', '--csv', 'scores.csv'])==0
    out = ' '.join(capsys.readouterr().out.split())
    assert '12 texts, 2 classes' in out and 'one model, one forward pass over 12 texts' in out
    assert '--texts reviews.csv --columns review,stars' in out.replace('\\ ', '') # of the next command
    given = open_model(f'hf:{encoder}')
    said = outputs(given, (reviews*2, labels*2), pooling='cls', **quiet)
    expected = tm.score_models({encoder: said}, metrics=['transrate','knn'], progress=False)
    found = pd.read_csv('scores.csv').set_index('metric').value
    for row in expected.itertuples(): np.testing.assert_allclose(found[row.metric], row.value, rtol=1e-5)
    assert main(['rank', *line, *kept, '--pooling', 'max', '--csv', 'other.csv'])==0 # nothing of the first is taken for it
    assert abs(pd.read_csv('other.csv').set_index('metric').value['transrate']-found['transrate'])>1e-6
    few = '--n-seeds 1 --train-steps 5 --points 4,8 --limit 10'.split()
    assert main(['loss-data', *line, *few])==0
    assert '10 texts, 2 classes' in ' '.join(capsys.readouterr().out.split())

@pytest.mark.filterwarnings('ignore')
def test_texts_for_a_model_of_pictures(tmp_path, capsys):
    "An image classifier cannot read; the line says which model that was"
    transformers = pytest.importorskip('transformers')
    folder = tmp_path/'vit'
    config = transformers.ViTConfig(**transformer, **image, num_labels=2)
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    transformers.ViTImageProcessor(size=dict(height=32, width=32)).save_pretrained(folder)
    pd.DataFrame(dict(text=reviews, label=labels)).to_csv(tmp_path/'reviews.csv', index=False)
    assert main(['rank', '--models', f'hf:{folder}', '--texts', str(tmp_path/'reviews.csv'), '--no-progress'])==2
    err = ' '.join(capsys.readouterr().err.split())
    assert f'the model takes pictures, got the text {reviews[0]!r}' in err

@pytest.mark.filterwarnings('ignore')
def test_texts_that_nobody_has_labelled(tmp_path):
    "One row a text, as with labels; the accuracy on them is estimated of a model by name as of what it said"
    name = f"hf:{tiny_bert(tmp_path/'classifier', 'AutoModelForSequenceClassification')}"
    known = reviews*6,[0,1]*18
    labelled = outputs(name, known, **quiet)
    for form in known[0], np.array(known[0]), pd.Series(known[0]):
        alone = outputs(name, form, **quiet)
        assert alone.labels is None
        np.testing.assert_allclose(alone.probs, labelled.probs, atol=1e-6)
    shown = dict(n_boot=0, metrics=['atc_entropy','doc','cot'], progress=False)
    expected = tm.predicted_accuracy('classifier', labelled, alone, **shown)
    for model in name, open_model(name), {'classifier': name}:
        found = tm.predicted_accuracy(model, known, known[0], **shown)
        np.testing.assert_allclose(found.estimated_accuracy, expected.estimated_accuracy, atol=1e-6)
    with pytest.raises(ValueError, match="numbers of outputs, got 'cat'"): tm.predicted_accuracy(name, (reviews, labels), reviews, **shown)
    by_name = tm.predicted_accuracy(name, (known[0], ['cat','dog']*18), reviews, classes=['cat','dog'], **shown)
    pd.testing.assert_series_equal(by_name.value, tm.predicted_accuracy(name, known, reviews, **shown).value)

def named_bert(folder, *classes):
    "A classifier of texts that says what its outputs are called"
    tiny_bert(folder, 'AutoModelForSequenceClassification')
    file = folder/'config.json'
    named = dict(id2label=dict(enumerate(classes)), label2id={k: i for i,k in enumerate(classes)})
    file.write_text(json.dumps(json.loads(file.read_text())|named))
    return f'hf:{folder}'

@pytest.mark.filterwarnings('ignore')
def test_labels_that_are_names(tmp_path, capsys):
    "Labels are found among what a classifier calls its outputs, in Python and from a shell, in lists and in tables"
    name = named_bert(tmp_path/'classifier', 'DOG', 'CAT')
    assert open_model(name).classes==('DOG','CAT')
    known = reviews*6,labels*6
    expected = outputs(name, (known[0], [1,0]*18), **quiet)
    right = (expected.predicted==expected.labels).mean()
    table = pd.DataFrame(dict(text=known[0], label=known[1]))
    table.to_csv(tmp_path/'known.csv', index=False)
    table[['text']].to_csv(tmp_path/'new.csv', index=False)
    shown = dict(n_boot=0, metrics=['doc','cot'], progress=False)
    found = [tm.predicted_accuracy(name, *form, **shown) for form in
             ((known, known[0]), (table, table[['text']]), (str(tmp_path/'known.csv'), tmp_path/'new.csv'))]
    for o in found:
        assert o[o.metric=='known_accuracy'].value.item()==right
        pd.testing.assert_frame_equal(o.drop(columns='seconds'), found[0].drop(columns='seconds'))
    datasets = pytest.importorskip('datasets')
    described = datasets.Features(text=datasets.Value('string'), label=datasets.ClassLabel(names=['cat','dog']))
    rows = datasets.Dataset.from_dict(dict(text=known[0], label=[0,1]*18), features=described)
    by_feature = tm.predicted_accuracy(name, rows, rows.remove_columns('label'), **shown)
    pd.testing.assert_frame_equal(by_feature.drop(columns='seconds'), found[0].drop(columns='seconds'))
    stars = named_bert(tmp_path/'stars', '1', '2')
    as_numbers,from_one = [tm.predicted_accuracy(stars, (known[0], y), reviews, **shown) for y in ([0,1]*18, [1,2]*18)]
    pd.testing.assert_series_equal(from_one.value, as_numbers.value)
    files = '--known', str(tmp_path/'known.csv'), '--new', str(tmp_path/'new.csv')
    run = 'accuracy', '--models', name, *files, '--metrics', 'doc,cot', '--n-boot', '0', '--no-progress'
    assert main([*run, '--csv', str(tmp_path/'a.csv')])==0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'labelled: 36 texts, 2 classes: cat 18, dog 18' in text and 'new: 36 texts without labels in new' in text
    saved = pd.read_csv(tmp_path/'a.csv')
    np.testing.assert_allclose(saved.value, found[0].value, atol=1e-6)
    assert main([*run, '--classes', 'cat,dog', '--csv', str(tmp_path/'b.csv')])==0
    turned = pd.read_csv(tmp_path/'b.csv')
    np.testing.assert_allclose(turned[turned.metric=='known_accuracy'].value, 1-right)
    assert main([*run, '--classes', 'good,bad'])==2
    assert "names of theirs (good, bad), got 'cat'; --classes says" in ' '.join(capsys.readouterr().err.split())

@pytest.mark.filterwarnings('ignore')
def test_folders_that_are_outputs(tmp_path, capsys):
    "A folder stands for the output that is called as it is, whatever the order; a classifier of more classes as well"
    transformers = pytest.importorskip('transformers')
    names = 'owl','Dog','cat'
    config = transformers.ViTConfig(**transformer, **image, id2label=dict(enumerate(names)))
    model = transformers.ViTForImageClassification(config)
    model.classifier.bias.data[2] = 9
    model.save_pretrained(tmp_path/'vit')
    transformers.ViTImageProcessor(size=dict(height=32, width=32)).save_pretrained(tmp_path/'vit')
    rng = np.random.default_rng(0)
    for k in ('cat','dog'):
        (tmp_path/'photos'/k).mkdir(parents=True)
        for i in range(8): Image.fromarray(rng.integers(0, 256, (32,32,3), np.uint8)).save(tmp_path/'photos'/k/f'{i}.png')
    name = f"hf:{tmp_path/'vit'}"
    right = .5 # cat is its answer to everything, and the first of its two folders, the last of its three outputs
    pictures = [Image.open(p).convert('RGB') for p in sorted((tmp_path/'photos').rglob('*.png'))]
    shown = dict(n_boot=0, metrics=['doc'], progress=False)
    found = tm.predicted_accuracy(name, str(tmp_path/'photos'), pictures, **shown)
    assert found[found.metric=='known_accuracy'].value.item()==right
    run = '--models', name, '--metrics', 'doc', '--no-progress'
    photos = str(tmp_path/'photos')
    assert main(['accuracy', *run, '--known', photos, '--new', photos, '--n-boot', '0', '--csv', str(tmp_path/'a.csv')])==0
    saved = pd.read_csv(tmp_path/'a.csv')
    assert saved[saved.metric=='known_accuracy'].value.item()==right
    (tmp_path/'photos'/'emu').mkdir()
    Image.new('RGB', (32,32)).save(tmp_path/'photos'/'emu'/'0.png')
    assert main(['accuracy', *run, '--known', photos, '--new', photos])==2
    err = ' '.join(capsys.readouterr().err.split())
    assert "'cat' is class 0 of" in err and "'emu' is none of its outputs; --classes says" in err

def test_long_texts_are_told(tmp_path):
    adapted = open_model(f'hf:{tiny_bert(tmp_path)}')
    long = ['a joy '*9]*6
    with pytest.warns(UserWarning, match='6 of the first 6 texts are longer than the 6 tokens') as told:
        outputs(adapted, (long, labels), **quiet)
        outputs(adapted, (long, labels), **quiet)
    assert len([w for w in told if 'longer' in str(w.message)])==1

def saved(folder, model, *beside):
    "A folder as `save_pretrained` writes it, and the name of what is in it"
    for part in (model, *beside): part.save_pretrained(folder)
    return f'hf:{folder}'

def word_tokenizer(**options):
    "Words apart, between CLS and SEP, and no limit but that of the model"
    tokenizers = pytest.importorskip('tokenizers')
    transformers = pytest.importorskip('transformers')
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({k: i for i,k in enumerate(words)}, unk_token='[UNK]'))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(single='[CLS] $A [SEP]', special_tokens=[('[CLS]',2),('[SEP]',3)])
    special = dict(unk_token='[UNK]', pad_token='[PAD]', eos_token='[SEP]')|options
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **special)

@pytest.mark.parametrize('kind', ['Bert','Roberta','GPT2','DebertaV2'])
@pytest.mark.filterwarnings('ignore')
def test_no_tokenizer_in_the_folder(tmp_path, kind):
    "transformers 5 makes one in which every word is unknown, with the same features for every text"
    transformers = pytest.importorskip('transformers')
    own = _texts[kind] if kind in _without_width else transformer
    config = getattr(transformers, f'{kind}Config')(vocab_size=19, **own)
    name = saved(tmp_path, transformers.AutoModel.from_config(config))
    with pytest.raises(ValueError, match='save .*beside the model, tokenizer.save_pretrained'): open_model(name)

def test_no_image_processor_in_the_folder(tmp_path):
    transformers = pytest.importorskip('transformers')
    name = saved(tmp_path, transformers.ViTModel(transformers.ViTConfig(**transformer, **image)))
    with pytest.raises(ValueError, match='has no image processor that can be read, save it beside the model'): open_model(name)

_places = {'Roberta': {}, 'MPNet': {}, 'Longformer': dict(attention_window=8), 'IBert': {}, 'Data2VecText': {}, 'RobertaPreLayerNorm': {},
           'Xmod': dict(languages=['en_XX'], default_language='en_XX')}

@pytest.mark.parametrize('kind', ['Bert', *_places])
@pytest.mark.filterwarnings('ignore')
def test_longest_texts_that_fit(tmp_path, kind):
    "Positions that begin behind that of padding leave two tokens less; whatever is cut, the model takes the rest"
    transformers = pytest.importorskip('transformers')
    config = getattr(transformers, f'{kind}Config')(vocab_size=len(words), max_position_embeddings=34, pad_token_id=1,
                                                    **transformer, **_places.get(kind, {}))
    model = transformers.AutoModel.from_config(config)
    name = saved(tmp_path, model, word_tokenizer(pad_token='[UNK]'))
    with pytest.warns(UserWarning, match=f'than the {32 if kind in _places else 34} tokens'):
        o = outputs(name, (['a joy '*30, *reviews[1:]], labels), **quiet)
    adapted = open_model(name)
    assert adapted.prepare(['a joy '*30])['input_ids'].shape[1]==(32 if kind in _places else 34)
    with torch.no_grad(): alone = model.eval()(**adapted.prepare([reviews[1]])).last_hidden_state.mean(1)
    same(o.features[1:2], alone)

@pytest.mark.filterwarnings('ignore')
def test_texts_of_any_length(tmp_path):
    "XLNet has no limit, and says so by a length of -1"
    transformers = pytest.importorskip('transformers')
    model = transformers.XLNetModel(transformers.XLNetConfig(vocab_size=len(words), **_texts['XLNet']))
    name = saved(tmp_path, model, word_tokenizer(padding_side='left'))
    o = outputs(name, (['a joy '*600, *reviews[1:]], labels), **quiet)
    ids = open_model(name).prepare(['a joy '*600])
    assert ids['input_ids'].shape[1]==1202
    with torch.no_grad(): same(o.features[:1], model.eval()(**ids).last_hidden_state.mean(1))

def small_pictures(n=6): return [Image.fromarray(x) for x in np.random.default_rng(0).integers(0, 256, (n,40,48,3), np.uint8)]

_levit = dict(image_size=64, hidden_sizes=[16,32,48], num_attention_heads=[2,2,2], depths=[1,1,1], key_dim=[8,8,8])
_perceiver = dict(num_latents=4, d_latents=16, num_blocks=1, num_self_attends_per_block=1, num_self_attention_heads=2,
                  num_cross_attention_heads=1, image_size=32)

@pytest.mark.parametrize('name,own', [('DeiTForImageClassificationWithTeacher', transformer|image), ('LevitForImageClassificationWithTeacher', _levit),
                                      ('PerceiverForImageClassificationLearned', _perceiver), ('CLIPVisionModelWithProjection', transformer|image)])
@pytest.mark.filterwarnings('ignore')
def test_saved_classes_of_images(tmp_path, name, own):
    "The class that was saved is built, with its heads and its projection, whatever its name ends in"
    transformers = pytest.importorskip('transformers')
    made = getattr(transformers, name)
    more = dict(projection_dim=12) if 'Projection' in name else dict(num_labels=3)
    model = made(made.config_class(**own, **more)).eval()
    processor = transformers.ViTImageProcessor(size=dict.fromkeys(('height','width'), own['image_size']))
    by_name = open_model(saved(tmp_path, model, processor))
    assert type(by_name.model) is made
    o = outputs(by_name, (small_pictures(), labels), **quiet)
    with torch.no_grad(): expected = model(processor(small_pictures(), return_tensors='pt')['pixel_values'])
    if 'Projection' in name: return same(o.features, expected.image_embeds)
    same(o.logits, expected.logits)
    untrained = open_model(f'hf:{tmp_path}', pretrained=False)
    assert type(untrained.model) is made

@pytest.mark.filterwarnings('ignore')
def test_saved_classes_of_texts(tmp_path):
    "A projection, and the encoder of T5 and mT5, however they were saved; Bart's decoder reads the text by itself"
    transformers = pytest.importorskip('transformers')
    two = dict(vocab_size=len(words), pad_token_id=0, eos_token_id=3, decoder_start_token_id=0)
    t5 = dict(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, **two)
    bart = dict.fromkeys(('encoder_layers','decoder_layers','encoder_attention_heads','decoder_attention_heads'), 2)
    bart = dict(d_model=16, encoder_ffn_dim=32, decoder_ffn_dim=32, bos_token_id=2, **bart, **two)
    clip = dict(**transformer, vocab_size=len(words), bos_token_id=2, eos_token_id=3, pad_token_id=0, projection_dim=12)
    def tokens(encoder, ids):
        hidden,mask = encoder(**ids).last_hidden_state,ids['attention_mask'][...,None]
        return (hidden*mask).sum(1)/mask.sum(1)
    def of_encoder(model, ids): return tokens(model.get_encoder(), ids)
    kinds = {'T5EncoderModel': (t5, tokens), 'MT5EncoderModel': (t5, tokens), 'T5ForConditionalGeneration': (t5, of_encoder),
             'T5Model': (t5, of_encoder), 'BartForConditionalGeneration': (bart, lambda m, ids: tokens(m.model, ids)),
             'CLIPTextModelWithProjection': (clip, lambda m, ids: m(**ids).text_embeds)}
    for name,(own,expected) in kinds.items():
        made = getattr(transformers, name)
        model = made(made.config_class(**own)).eval()
        by_name = saved(tmp_path/name, model, word_tokenizer())
        ids = word_tokenizer()(reviews, padding=True, return_tensors='pt')
        ids.pop('token_type_ids', None)
        o = outputs(by_name, (reviews, labels), **quiet)
        with torch.no_grad(): same(o.features, expected(model, ids))
        assert o.logits is None

@pytest.mark.filterwarnings('ignore')
def test_patches_that_count(tmp_path):
    "SigLIP 2 keeps the shape of a picture: its processor says which patches are pictures, and the mean is of these"
    transformers = pytest.importorskip('transformers')
    if not hasattr(transformers, 'Siglip2Model'): pytest.skip(f'transformers {transformers.__version__} has no SigLIP 2')
    text = dict(**transformer, vocab_size=50, max_position_embeddings=16, projection_size=16)
    config = transformers.Siglip2Config(vision_config=dict(**transformer, patch_size=8, num_patches=16), text_config=text)
    model = transformers.Siglip2Model(config).eval()
    processor = transformers.Siglip2ImageProcessor(patch_size=8, max_num_patches=16)
    name = saved(tmp_path, model, processor)
    pictures = [x.resize((40+8*i, 60)) for i,x in enumerate(small_pictures())]
    batch = processor(pictures, return_tensors='pt')
    with torch.no_grad(): features = model.get_image_features(**batch)
    o = outputs(name, (pictures, labels), **quiet)
    same(o.features, getattr(features, 'pooler_output', features))
    mask = batch['pixel_attention_mask']
    assert (mask==0).any()
    with torch.no_grad(): tokens = model.vision_model(batch['pixel_values'], mask, batch['spatial_shapes']).last_hidden_state
    o = outputs(name, (pictures, labels), pooling='mean', batch_size=4, **quiet)
    same(o.features, (tokens*mask[...,None]).sum(1)/mask.sum(1, keepdim=True))
    scores = tm.score_models({'a': name, 'b': name}, (pictures*3, labels*3), ['logme'], progress=False)
    assert (scores.error=='').all() and scores.value[0]==scores.value[1]

@pytest.mark.filterwarnings('ignore')
def test_sentence_transformers(tmp_path):
    st = pytest.importorskip('sentence_transformers')
    try: from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    except ImportError: from sentence_transformers.models import Pooling, Transformer
    body = Transformer(tiny_bert(tmp_path/'bert'))
    model = st.SentenceTransformer(modules=[body, Pooling(16)], device='cpu')
    expected = torch.from_numpy(model.encode(reviews, convert_to_numpy=True))
    o = outputs(model, (reviews, labels), **quiet)
    same(o.features, expected)
    assert o.probs is None
    model.save(str(tmp_path/'saved'))
    again = outputs(f'sentence-transformers:{tmp_path/"saved"}', (reviews, labels), **quiet)
    same(again.features, expected)

@pytest.mark.parametrize('own', [dict(prompts=dict(q='the film '), default_prompt_name='q'), dict(truncate_dim=4), {}])
@pytest.mark.filterwarnings('ignore')
def test_encode(tmp_path, own):
    "With a prompt by default, left out of the mean or not, a width of its own, and texts that are cut, which is said once"
    st = pytest.importorskip('sentence_transformers')
    try: from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    except ImportError: from sentence_transformers.models import Pooling, Transformer
    bert = Transformer(tiny_bert(tmp_path/'bert'), max_seq_length=6)
    for i,inside in enumerate([True,False]):
        model = st.SentenceTransformer(modules=[bert, Pooling(16, include_prompt=inside)], device='cpu', **own)
        model.save(str(tmp_path/f'{i}'))
        texts = [*reviews[:5], 'a joy '*9]
        expected = torch.from_numpy(model.encode(texts, convert_to_numpy=True))
        again = st.SentenceTransformer(str(tmp_path/f'{i}'), device='cpu')
        of_folder = torch.from_numpy(again.encode(texts, convert_to_numpy=True))
        for given,right in (model, expected),(f'sentence-transformers:{tmp_path/str(i)}', of_folder):
            with pytest.warns(UserWarning, match='of the first 6 texts are longer than the 6 tokens'):
                o = outputs(given, (texts, labels), **quiet)
            same(o.features, right)
        older = type('Older', (), dict(prompts=model.prompts, default_prompt_name=model.default_prompt_name, tokenizer=model.tokenizer,
                                       max_seq_length=6, tokenize=staticmethod(getattr(model, 'preprocess', None) or model.tokenize)))()
        made = sentence_encoder(older).prepare(texts)
        with torch.no_grad(): z = model(made)['sentence_embedding']
        same(z[:,:own.get('truncate_dim', 16)], expected)
    if own.get('prompts') and not hasattr(model, 'preprocess'): return # older versions put no prompt before a pair
    pairs = list(zip(reviews, reviews[::-1], strict=True))
    with pytest.warns(UserWarning, match='are cut'): o = outputs(model, (pairs, labels), **quiet)
    same(o.features, torch.from_numpy(model.encode(pairs, convert_to_numpy=True)))

@pytest.mark.filterwarnings('ignore')
def test_datasets():
    "Data sets of the `datasets` library, as texts and as tensors in dictionaries"
    datasets = pytest.importorskip('datasets')
    from transfer_metrics.items import items_of
    texts = datasets.Dataset.from_dict(dict(sentence=reviews, label=[0,1]*3))
    assert items_of(texts)[1]==(reviews[1],1)
    x = images(4)
    tensors = datasets.Dataset.from_dict(dict(image=x.tolist(), label=[0,1]*3)).with_format('torch')
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    o = outputs(net, DataLoader(tensors, batch_size=4), **quiet)
    same(o.features, x)
    assert o.labels.tolist()==[0,1]*3

@pytest.mark.filterwarnings('ignore')
def test_columns_in_batches_and_streams(tmp_path):
    "Texts of a loader that gives dictionaries, and of a data set that streams, pairs as well"
    datasets = pytest.importorskip('datasets')
    encoder = open_model(f'hf:{tiny_bert(tmp_path)}')
    expected = outputs(encoder, (reviews, labels), **quiet)
    data = datasets.Dataset.from_dict(dict(text=reviews, label=labels))
    for form in DataLoader(data, batch_size=4), data.to_iterable_dataset(), data.iter(4):
        o = outputs(encoder, form, **quiet)
        np.testing.assert_allclose(o.features, expected.features, atol=1e-5)
        assert o.labels.tolist()==labels
    both = reviews,reviews[::-1]
    pairs = datasets.Dataset.from_dict(dict(premise=both[0], hypothesis=both[1], label=labels))
    expected = outputs(encoder, (list(zip(*both, strict=True)), labels), **quiet)
    o = outputs(encoder, pairs.to_iterable_dataset(), **quiet)
    np.testing.assert_allclose(o.features, expected.features, atol=1e-5)
    splits = datasets.DatasetDict(train=data, test=data)
    with pytest.raises(ValueError, match=r"data\['train'\]"): outputs(encoder, splits, **quiet)

def test_pictures_by_name(tmp_path):
    "Pictures of any size go through timm's own transform, from Python and from the command line"
    timm = pytest.importorskip('timm')
    for i,name in enumerate(labels):
        (tmp_path/'images'/name).mkdir(parents=True, exist_ok=True)
        Image.new('RGB', (50+i, 40), (40*i, 90, 20)).save(tmp_path/'images'/name/f'{i}.png')
    adapted = open_model('timm:resnet10t', pretrained=False)
    data = tm.load_images(str(tmp_path/'images'), transform=lambda x: x)
    batch, = adapted.batches(data)
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(adapted.model))
    np.testing.assert_allclose(batch[0][0], transform(data[0][0]))
    found = tmp_path/'scores.json'
    main(['rank', '--models', 'timm:resnet10t', '--weights', 'none', '--images', str(tmp_path/'images'), '--metrics', 'leep',
          '--no-progress', '--json', str(found)])
    assert 'resnet10t' in json.dumps(json.loads(found.read_text()))

@pytest.mark.parametrize('prefix', ['timm:','timm:local-dir:','hf:'])
def test_folder_of_timm(prefix, tmp_path):
    "What timm saved is opened with timm, by any name that means it"
    timm = pytest.importorskip('timm')
    pytest.importorskip('transformers')
    made = timm.create_model('resnet10t', num_classes=4).eval()
    timm.models._hub.save_for_hf(made, tmp_path/'net', safe_serialization=False)
    opened = open_model(f'{prefix}{tmp_path}/net')
    x = torch.rand(2, 3, 32, 32)
    with torch.no_grad(): assert torch.equal(opened.model.eval()(x), made(x))
    assert 'Resize' in repr(opened.prepare.transform)
    with pytest.raises(ValueError, match='must be a model of timm or a folder'): open_model('timm:')

def test_folders_that_timm_did_not_save(tmp_path):
    "Said with what the folder lacks, not with the error of a library"
    timm = pytest.importorskip('timm')
    (tmp_path/'empty').mkdir()
    (tmp_path/'other').mkdir()
    (tmp_path/'other'/'config.json').write_text('{"model_type": "bert"}')
    for name in ('empty','other'):
        with pytest.raises(ValueError, match=f'{name} must be a model of timm or a folder with a config.json'): open_model(f'timm:{tmp_path}/{name}')
    with pytest.raises(ValueError, match='no such folder: ./nowhere'): open_model('timm:./nowhere')
    timm.models.save_for_hf(timm.create_model('resnet10t'), tmp_path/'net', safe_serialization=False)
    (tmp_path/'net'/'pytorch_model.bin').unlink()
    with pytest.raises(ValueError, match='No suitable checkpoints found'): open_model(f'timm:{tmp_path}/net')

def test_names_of_outputs_of_timm(tmp_path):
    "Pretrained weights of timm say what their outputs are called; folders of ImageNet have their numbers in WordNet, for every model of it"
    timm = pytest.importorskip('timm')
    def saved(name, **config):
        model = timm.create_model('resnet10t', num_classes=config.get('num_classes', 1000))
        timm.models._hub.save_for_hf(model, tmp_path/name, model_config=config, safe_serialization=False)
        return open_model(f'timm:local-dir:{tmp_path/name}').classes
    folders = ['n03888257','n01440764','n02102040']
    of_timm = saved('imagenet')
    assert named_outputs(folders, of_timm)==[701,0,217]
    assert named_outputs(['parachute','Tinca_tinca','english springer'], of_timm)==[701,0,217]
    own = dict(num_classes=2, label_names=['d','c'])
    assert saved('own', **own)==('d','c')
    assert saved('described', **own, label_descriptions=dict(d='dog', c='cat'))==('dog, d','cat, c')
    assert saved('silent', num_classes=2)==()
    assert open_model('timm:resnet10t', pretrained=False).classes==()
    of_torchvision = open_model('torchvision:resnet18', pretrained=False).classes
    assert named_outputs(folders, of_torchvision)==[701,0,217]
    assert named_outputs(folders, of_torchvision[:999])==[None]*3

def test_folders_of_imagenet_without_timm(monkeypatch):
    "What would know them is named"
    monkeypatch.setattr('transfer_metrics.class_names.find_spec', lambda name: None)
    outputs = [f'a{i}' for i in range(1000)]
    with pytest.raises(ValueError, match="`pip install timm` for the names of ImageNet's folders"):
        class_outputs(['n03888257','n01440764'], outputs, 1000)

@pytest.mark.filterwarnings('ignore')
def test_libraries_share_images(tmp_path, monkeypatch):
    "Two models of timm, of Hugging Face, of torchvision: each picture is opened three times, not six, and no score changes"
    pytest.importorskip('timm')
    transformers = pytest.importorskip('transformers')
    from transfer_metrics.datasets import images
    from transfer_metrics.shared_images import SharedImages
    opened = []
    open_picture = images.open_picture
    monkeypatch.setattr(images, 'open_picture', lambda path: opened.append(path) or open_picture(path))
    noise = np.random.default_rng(0).integers(0, 256, (6,50,40,3), dtype=np.uint8)
    for i,x in enumerate(noise):
        (tmp_path/'images'/labels[i]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(x).save(tmp_path/'images'/labels[i]/f'{i}.png')
    data = images.load_images(tmp_path/'images')
    data.transform = None
    names = ['timm:resnet10t','timm:resnet14t','torchvision:squeezenet1_1','torchvision:shufflenet_v2_x0_5']
    zoo = {k: open_model(k, pretrained=False) for k in names}
    for k in 'a','b':
        config = transformers.ViTConfig(**transformer, **image, num_labels=2)
        transformers.ViTForImageClassification(config).save_pretrained(tmp_path/k)
        transformers.ViTImageProcessor(size=dict(height=32, width=32)).save_pretrained(tmp_path/k)
        zoo[k] = f'hf:{tmp_path/k}'
    def values(memory):
        opened.clear()
        scores = tm.score_models(zoo, data, ['logme','leep'], memory=memory, progress=False)
        assert (scores.error=='').all()
        return scores.value.tolist(),len(opened)
    apart = values(0)
    assert apart[1]==36
    for few in 512,1: # as numbers, as bytes
        monkeypatch.setattr(SharedImages, 'few', few)
        assert values(None)==(apart[0], 18)

@pytest.mark.filterwarnings('ignore')
def test_one_loader_for_all_commands(tmp_path, capsys):
    "Models of libraries answer stored images as they answer pictures, in every command that takes models"
    timm = pytest.importorskip('timm')
    transformers = pytest.importorskip('transformers')
    from transfer_metrics.cli.networks import classifiers
    config = transformers.ViTConfig(**transformer, **image, num_labels=2)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path/'vit')
    transformers.ViTImageProcessor(size=dict(height=32, width=32)).save_pretrained(tmp_path/'vit')
    bytes_ = torch.randint(0, 256, (6, 3, 32, 32), dtype=torch.uint8)
    model, = classifiers(f'hf:{tmp_path/"vit"}', 'DEFAULT', [], []).values()
    adapted = open_model(f'hf:{tmp_path/"vit"}')
    pictures = [Image.fromarray(x.permute(1, 2, 0).numpy()) for x in bytes_]
    with torch.no_grad(): expected = adapted.model.eval()(adapted.prepare(pictures)).logits
    same(outputs(model, (bytes_, labels), **quiet).logits, expected)
    small, = classifiers('timm:resnet10t', 'none', [.5]*3, [.5]*3).values()
    assert isinstance(small[-1], type(timm.create_model('resnet10t')))
    for i,x in enumerate(pictures*4):
        folder = tmp_path/('known' if i<16 else 'new')/labels[i%6]
        folder.mkdir(parents=True, exist_ok=True)
        x.save(folder/f'{i}.png')
    args = ['--known', str(tmp_path/'known'), '--new', str(tmp_path/'new'), '--no-progress']
    main(['accuracy', '--model', f'hf:{tmp_path/"vit"}', *args])
    assert 'vit' in capsys.readouterr().out

@pytest.mark.parametrize('library,wrong,near', [('timm','resnet5O','resnet50'), ('open_clip','ViT-B-33','ViT-B-32'), ('torchvision','resnet5O','resnet50')])
def test_unknown_names_have_near_ones(library, wrong, near):
    pytest.importorskip(library)
    with pytest.raises(ValueError, match=f"unknown model '{wrong}', did you mean '{near}'"): open_model(f'{library}:{wrong}')

@pytest.mark.filterwarnings('ignore')
def test_bad_texts(tmp_path):
    "No labels, other numbers of labels, no column of labels, no padding token, nothing in that place"
    transformers = pytest.importorskip('transformers')
    encoder = open_model(f'hf:{tiny_bert(tmp_path/"bert")}')
    def refused(data, why):
        with pytest.raises(ValueError, match=why): outputs(encoder, data, **quiet)
    refused((reviews, None), 'with a label each')
    refused((reviews, labels[:4]), 'got 6 samples and 4 labels')
    refused(pd.DataFrame(dict(text=reviews)), 'it has text; rename them')
    plain = transformers.PreTrainedTokenizerFast(tokenizer_object=encoder.prepare.tokenizer._tokenizer)
    plain.save_pretrained(tmp_path/'bert')
    with pytest.raises(ValueError, match='padding or an end token'): open_model(f'hf:{tmp_path/"bert"}')
    plain.add_special_tokens(dict(eos_token='[SEP]'))
    plain.save_pretrained(tmp_path/'bert')
    filled = outputs(f'hf:{tmp_path/"bert"}', (reviews, labels), pooling='mean', **quiet)
    assert filled.features.shape==(6,16)
    with pytest.raises(ValueError, match='^hf:nowhere/at/all'): open_model('hf:nowhere/at/all')

@pytest.mark.filterwarnings('ignore')
def test_no_such_sentence_encoder():
    pytest.importorskip('sentence_transformers')
    with pytest.raises(ValueError, match='^sentence-transformers:/nowhere'): open_model('sentence-transformers:/nowhere')

def test_without_a_connection(monkeypatch, tmp_path):
    "The cache is looked at alone where the hub cannot be connected to, not where it is slow, and never for a folder"
    from huggingface_hub import constants, utils
    from transfer_metrics.libraries import from_hub
    asked = []
    def fails(name):
        def head(*args, **kw):
            asked.append(name)
            raise type(name, (Exception,), {})
        monkeypatch.setattr(utils, 'get_session', lambda: type('Session', (), dict(head=staticmethod(head))))
    def offline(name):
        with from_hub(name): return constants.HF_HUB_OFFLINE
    monkeypatch.setattr('time.sleep', lambda s: None)
    monkeypatch.setattr(constants, 'HF_HUB_OFFLINE', False)
    fails('ReadTimeout')
    assert not offline('resnet18')
    fails('ConnectError')
    assert offline('resnet18') and not offline(str(tmp_path))
    assert asked==['ReadTimeout','ConnectError','ConnectError'] and not constants.HF_HUB_OFFLINE
    monkeypatch.setattr(constants, 'HF_HUB_OFFLINE', True)
    assert offline('resnet18') and len(asked)==3 and constants.HF_HUB_OFFLINE

def test_missing_library(monkeypatch):
    from transfer_metrics import model_names
    monkeypatch.setattr(model_names, 'find_spec', lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'transfer-metrics\[transformers\]'"): open_model('hf:bert')

@pytest.mark.filterwarnings('ignore')
def test_scripted():
    "A scripted network does not show what it returns"
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    x = images(4)
    scripted = torch.jit.trace(net, x)
    with pytest.raises(ValueError, match="features='output' if it is features"): outputs(scripted, (x, labels), **quiet)
    assert outputs(scripted, (x, labels), features='output', **quiet).logits is None

class Stream(torch.utils.data.IterableDataset):
    def __iter__(self): return iter(zip(images(4), labels, strict=True))

def test_help_where_it_is_needed():
    "What cannot work says how to mend it; what can, works"
    import scipy.sparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import make_scorer
    from transfer_metrics.distributed import Place, shard
    x = np.random.default_rng(0).normal(size=(30,4))
    y = np.arange(30)%3
    with pytest.raises(ValueError, match='toarray'): tm.h_score(scipy.sparse.csr_array(x), y)
    with pytest.raises(ValueError, match=r'labels.argmax\(1\)'): tm.h_score(x, np.eye(3)[y])
    with pytest.raises(ValueError, match='toarray'): tm.Outputs(features=scipy.sparse.csr_array(x), labels=y)
    for model,data in (x, np.eye(3)[y]),(nn.Linear(4, 3), (torch.tensor(x).float(), torch.eye(3)[y])):
        scores = tm.score_models({'one-hot': model}, data, 'h_score,logme', progress=False)
        assert 'labels.argmax(1)' in scores.error[0] and scores.error[1]=='' # LogME takes several labels a sample
    with pytest.raises(ValueError, match='pass its `.dataset`'): tm.stratified_subset(DataLoader(Stream()), 3)
    with pytest.raises(ValueError, match='gives one sample after the other'): shard(Stream(), Place(0, 2))
    with pytest.raises(ValueError, match='pass a data set, arrays'): tm.stratified_subset(Stream(), 3)
    model = LogisticRegression().fit(x, y)
    with pytest.raises(ValueError, match='labels come second'): make_scorer(tm.leep, response_method='predict_proba')(model, x, y)
    named = LogisticRegression().fit(x, np.array(list('abc'))[y])
    with pytest.raises(ValueError, match='labels come second'):
        make_scorer(tm.leep, response_method='predict_proba')(named, x, np.array(list('abc'))[y])
    scorer = make_scorer(lambda labels, probs: tm.leep(probs, labels), response_method='predict_proba')
    scores = tm.score_models({'lr': model}, (x, y), ['leep'], progress=False)
    assert scorer(model, x, y)==scores.value[0]
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    o = outputs(net, DataLoader(Stream(), batch_size=4), **quiet)
    assert o.labels.tolist()==labels

def tagged(n=120):
    "Sentences of words, labels of their words, and one label and one number a sentence"
    r = np.random.default_rng(0)
    sentences = [[str(w) for w in r.choice(words[5:], r.integers(3, 5))] for _ in range(n)]
    tags = [['N' if w in ('joy','film') else 'other' for w in s] for s in sentences]
    kinds = [min(2, int('joy' in s or 'warm' in s)+2*int('dull' in s)) for s in sentences]
    return sentences,tags,kinds,r.normal(size=n)+kinds

@pytest.mark.filterwarnings('ignore')
def test_words_and_pairs(tmp_path):
    "Ranked for tagging words at their first piece, per layer; for numbers of pairs of texts"
    from functools import partial
    from transfer_metrics.words import word_outputs
    encoder = tiny_bert(tmp_path/'encoder')
    sentences,tags,_,numbers = tagged()
    said = word_outputs(f'hf:{encoder}', sentences, tags, **quiet)
    scores = tm.score_models({'encoder': said}, metrics=['logme','h_score','knn'], progress=False)
    assert (scores.error=='').all() and set(scores.model)=={'encoder/layer 1','encoder/layer 2','encoder/mean'}
    adapted = open_model(f'hf:{encoder}')
    ids = adapted.prepare.tokenizer([sentences[0]], is_split_into_words=True, return_tensors='pt')
    with torch.no_grad(): hidden = adapted.model.eval()(**ids).last_hidden_state[0,1:-1]
    same(said['layer 2'].features[:len(sentences[0])], hidden)
    texts = [' '.join(s[:2]) for s in sentences]
    pairs = list(zip(texts, texts[::-1], strict=True)),numbers
    regression = {'logme': partial(tm.logme, regression=True)}
    scores = tm.score_models([f'hf:{encoder}'], pairs, regression, progress=False)
    assert scores.error[0]=='' and scores.n[0]==len(texts)

@pytest.mark.filterwarnings('ignore')
def test_as_transformer_ranker(tmp_path):
    "The same embeddings; LogME agrees, and kNN where it is an accuracy; its H-score is n/(n-1) times ours, its last layer is the first"
    estimators = pytest.importorskip('transformer_ranker.estimators')
    from inspect import getsource
    from transformer_ranker import TransformerRanker
    from transformer_ranker.embedder import Embedder
    from transformers import AutoTokenizer
    from transfer_metrics.words import word_outputs
    encoder = tiny_bert(tmp_path/'encoder')
    sentences,_,kinds,numbers = tagged()
    theirs = Embedder(encoder, tokenizer=AutoTokenizer.from_pretrained(encoder), sentence_pooling='mean', layer_mean=True)
    x = torch.stack([o[0] for o in theirs.embed(sentences, show_progress=False)])
    ours = word_outputs(f'hf:{encoder}', sentences, kinds, subword='mean', sentence='mean', **quiet)['mean']
    same(ours.features, x)
    assert 'layer_ids="0" if layer_aggregator == "lastlayer"' in getsource(TransformerRanker)
    y = torch.tensor(kinds)
    def fit(kind, labels, **options): return getattr(estimators, kind)(**options).fit(embeddings=x, labels=labels)
    n = len(y)
    assert tm.logme(x, y)==pytest.approx(fit('LogME', y), abs=1e-4)
    of_numbers = fit('LogME', torch.tensor(numbers), regression=True)
    assert tm.logme(x, numbers, regression=True)==pytest.approx(of_numbers, abs=1e-4)
    rare = (torch.arange(n)%40==0).long() # which nothing tells: it stops early, and adds 1e-5 to what it divides by
    assert 0<=tm.logme(x, rare)-fit('LogME', rare)<1e-3
    assert tm.h_score(x, y, shrinkage='ledoit_wolf')*n/(n-1)==pytest.approx(fit('HScore', y), abs=1e-4)
    x = torch.randn(n, 16) # sentences that are the same are at the same distance, where either may take any
    assert tm.knn(x, y, k=1)==pytest.approx(fit('NearestNeighbors', y, k=1), abs=1e-6)
    two = (y>0).long()
    nearest = (torch.cdist(x, x)+torch.eye(n)*1e9).topk(3, largest=False).indices
    voted = two[nearest].mode(1).values
    assert tm.knn(x, two, k=3)==pytest.approx((voted==two).float().mean().item(), abs=1e-6)
    right = 2*(voted*two).sum()/(voted.sum()+two.sum())
    assert fit('NearestNeighbors', two, k=3)==pytest.approx(right.item(), abs=1e-6) # of two classes F1, not accuracy

page = json.loads((Path(__file__).parents[1]/'nbs/start/09_trainers.ipynb').read_text())

def recipe(kind, *starts):
    "Cells of the page about trainers that begin so"
    cells = [''.join(c['source']) for c in page['cells'] if c['cell_type']==kind]
    found = [c for start in starts for c in cells if c.startswith(start)]
    assert len(found)==len(starts)
    return found

def in_two_processes(tmp_path, script, *start):
    "What a script prints that is started twice"
    (tmp_path/'job.py').write_text(script)
    env = dict(os.environ, PYTHONPATH=str(Path(tm.__file__).parents[1]), PYTHONWARNINGS='ignore')
    done = subprocess.run([sys.executable, *start, tmp_path/'job.py'], capture_output=True, text=True, env=env, timeout=300)
    assert not done.returncode, done.stderr
    return done.stdout

def test_lightning_in_two_processes(tmp_path):
    "The script of the page: 301 samples over two processes, the scores of the network on all of them"
    pytest.importorskip('lightning')
    whole = recipe('code', 'import logging', '#| code-fold', '#| needs: lightning', 'class Net')
    text, = recipe('markdown', 'With DDP')
    script = re.search('```python\n(.*)```', text, re.DOTALL)[1]
    check = """
said = tm.outputs(trainer, valid, progress=False)
logged = trainer.callback_metrics
assert same(logged['leep'], tm.leep(said.probs, said.labels)), logged
assert same(logged['h_score'], tm.h_score(said.features, said.labels)), logged
print('agrees')
"""
    assert 'agrees' in in_two_processes(tmp_path, '\n'.join([*whole, script, check]))

def test_accelerate_in_two_processes(tmp_path):
    pytest.importorskip('accelerate')
    whole = recipe('code', 'import logging', '#| code-fold', '#| needs: accelerate', 'accelerator = ')
    launched = in_two_processes(tmp_path, '\n'.join([*whole, "import os", "os.write(1, f'agrees {accelerator.num_processes} '.encode())"]),
                                '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node=2')
    assert launched.count('agrees 2')==2

@pytest.mark.filterwarnings('ignore')
def test_networks_in_trainers():
    "A Learner, a skorch net and a Lightning Trainer are the network that they hold, kept by its weights; without one they say so"
    learner = pytest.importorskip('fastai.learner')
    from fastai.data.core import DataLoaders
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    data = torch.utils.data.TensorDataset(images(4), torch.arange(6)%2)
    loader = DataLoader(data, batch_size=4)
    learn = learner.Learner(DataLoaders(loader, loader), net, loss_func=nn.CrossEntropyLoss())
    scores = tm.score_models({'learner': learn, 'network': net}, learn.dls.valid, ['leep'], progress=False)
    assert scores.value[0]==scores.value[2] and scores.metric[1]=='n_parameters'
    skorch = pytest.importorskip('skorch')
    scores = tm.score_models({'skorch': skorch.NeuralNetClassifier(net)}, data, ['leep'], progress=False)
    assert 'must hold a network' in scores.error[0]
    held = skorch.NeuralNetClassifier(net).initialize()
    same(outputs(held, data, **quiet).features, data.tensors[0])
    lightning = pytest.importorskip('lightning')
    with pytest.raises(ValueError, match='must hold a network'): outputs(lightning.Trainer(logger=False, accelerator='cpu'), data)

@pytest.mark.filterwarnings('ignore')
def test_pictures_in_a_stream(tmp_path):
    "webdataset's pictures, one by one, in batches and from its own loader, for a model with its own preprocessing"
    webdataset = pytest.importorskip('webdataset')
    pytest.importorskip('timm')
    with webdataset.TarWriter(str(tmp_path/'valid.tar')) as shards:
        for i in range(6): shards.write({'__key__': str(i), 'png': Image.new('RGB', (40, 40), (40*i, 9, 9)), 'cls': i%2})
    model = open_model('timm:resnet10t', pretrained=False)
    stream = webdataset.WebDataset(str(tmp_path/'valid.tar'), shardshuffle=False).decode('pil').to_tuple('png', 'cls')
    alone = outputs(model, stream, **quiet)
    assert alone.labels.tolist()==[0,1]*3 and alone.features.shape==(6,512)
    of_batches = stream.batched(4, collation_fn=lambda items: [list(o) for o in zip(*items, strict=True)])
    for other in of_batches, webdataset.WebLoader(of_batches, batch_size=None):
        o = outputs(model, other, **quiet)
        np.testing.assert_allclose(o.features, alone.features, atol=1e-5)
