"Labelled data in the forms that people have it"
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset
from transfer_metrics.data import Samples, as_images, labels_of, load_images, load_texts, stratified_subset
from transfer_metrics.outputs import Outputs, outputs

x,y = torch.rand(6, 3, 5, 6),torch.tensor([0,1,2,0,1,2])
bytes_ = (x*255).round().byte()
texts,names = list('abcdef'),['cat','dog']*3
pairs = [*zip(texts, texts[::-1], strict=True)]

class Pairs(Dataset):
    def __len__(self): return 6
    def __getitem__(self, i): return x[i],int(y[i])

class Stream(IterableDataset):
    def __iter__(self): return iter(Pairs()[i] for i in range(6))

def read(data, **how):
    "All inputs and labels of the batches of some data"
    batches = [*Samples.of(data).batches(4, **how)]
    ys = [b[1] for b in batches]
    inputs = torch.cat([b[0] for b in batches]) if isinstance(batches[0][0],
                                                              torch.Tensor) else [o for b in batches for o in b[0]]
    return inputs,None if ys[0] is None else np.concatenate([np.asarray(o) for o in ys])

forms = {
    'tensors': (x, y), 'arrays': (x.numpy(), y.numpy()), 'lists': (x, y.tolist()), 'bytes': (bytes_, y),
    'channels last': (bytes_.permute(0, 2, 3, 1).numpy(), y),
    'data set': Pairs(), 'tensor data set': TensorDataset(x, y), 'subset': Subset(Pairs(), range(6)),
    'loader': DataLoader(Pairs(), 4),
    'batches': [(x[:4],y[:4]), (x[4:],y[4:])], 'two batches': [(x[:3],y[:3]), (x[3:],y[3:])],
    'samples': [Pairs()[i] for i in range(6)],
    'dictionaries': [dict(pixel_values=x[i], labels=int(y[i])) for i in range(6)],
    'outputs': Outputs(features=x, labels=y), 'samples of it': Samples.of((x, y)),
    'stream': Stream(), 'generator': None, 'pictures': ([Image.fromarray(o.permute(1, 2, 0).numpy()) for o in bytes_],
                                                        y)}

@pytest.mark.parametrize('name', forms)
def test_forms(name):
    data = (b for b in forms['batches']) if name=='generator' else forms[name]
    if name not in ('stream','generator'): assert labels_of(data).tolist()==y.tolist() and len(Samples.of(data))==6
    if name=='stream':
        with pytest.raises(ValueError, match='unknown before it is read'): labels_of(data)
    inputs,labels = read(data)
    if isinstance(inputs, list): inputs = torch.cat([o['pixel_values'] for o,_ in Samples.of(data).batches(4)])
    np.testing.assert_allclose(inputs, x, atol=.5/255+1e-6)
    assert labels.tolist()==y.tolist()

def test_images_go_through_the_transform_of_the_model():
    "Pictures, bytes and numbers in [0, 1]; not what was normalised"
    def transform(image): return torch.tensor(np.asarray(image)).permute(2, 0, 1).float()-300
    right = bytes_.float()-300
    for form in 'pictures','bytes','channels last','tensors','data set','loader':
        torch.testing.assert_close(read(forms[form], transform=transform)[0], right)
    torch.testing.assert_close(read((x-.5, y), transform=transform)[0], x-.5)
    torch.testing.assert_close(read((bytes_[:,0], y), transform=transform)[0], right[:,:1].expand_as(right)) # grey

def test_some_of_them():
    for form in 'tensors','data set','pictures','dictionaries':
        part = Samples.of(forms[form])[y.numpy()==1]
        assert part.labels().tolist()==[1,1] and len(part)==2
    with pytest.raises(ValueError, match='no positions'): Samples.of(forms['loader'])[:2]

def test_texts():
    "Pairs, tables, and what loaders make of pairs"
    datasets = pytest.importorskip('datasets')
    how = dict(text_transform=lambda o: o)
    table = datasets.Dataset.from_dict(dict(sentence=texts, label=names))
    both = datasets.Dataset.from_dict(dict(premise=texts, hypothesis=texts[::-1], label=names))
    frame = pd.DataFrame(dict(text=texts, label=names))
    samples,of_pairs = [*zip(texts, names, strict=True)],[*zip(pairs, names, strict=True)]
    for data in ((texts, names), (np.array(texts), names), (pd.Series(texts), pd.Series(names)), frame,
                 frame.to_dict('records'),
                 table, dict(text=texts, label=names), samples, DataLoader(samples, 4), DataLoader(table, 4)):
        inputs,labels = read(data, **how)
        assert inputs==texts and labels.tolist()==names
    for data in (pairs, names), both, DataLoader(of_pairs, 2), DataLoader(of_pairs, 4):
        assert [tuple(o) for o in read(data, **how)[0]]==pairs
    for data in texts,np.array(texts): assert read(data, **how)==(texts,None)
    assert labels_of(table).tolist()==names
    with pytest.raises(ValueError, match='takes texts'): read((texts, names))

def test_encoded_texts():
    ids = dict(input_ids=torch.arange(12).view(6, 2), attention_mask=torch.ones(6, 2))
    class Net(nn.Module):
        def forward(self, input_ids, attention_mask): return input_ids*attention_mask
    for data in (ids, y), [ids|dict(labels=y)]:
        o = outputs(Net(), data, batch_size=4, progress=False)
        assert o.labels.tolist()==y.tolist() and o.features.tolist()==ids['input_ids'].tolist()

def photos(folder):
    for i,name in enumerate(names):
        (folder/name).mkdir(parents=True, exist_ok=True)
        Image.new('RGB', (8,6), (40*i,9,9)).save(folder/name/f'{i}.png')
    return folder

def test_folder_of_images(tmp_path):
    "Hidden files are left out, others counted; upright by EXIF; 16 bits are scaled; errors name the file"
    photos(tmp_path)
    (tmp_path/'.ipynb_checkpoints').mkdir()
    (tmp_path/'cat'/'._1.jpg').touch()
    data = load_images(tmp_path)
    assert data.classes==['cat','dog'] and labels_of(data).tolist()==[0]*3+[1]*3
    for k in 'a.heic','b.HEIC','c.gif': (tmp_path/'dog'/k).touch()
    with pytest.warns(UserWarning, match=r'3 files in .* are not read \(2 \.heic, 1 \.gif\)'): load_images(tmp_path)
    for k in 'a.heic','b.HEIC','c.gif': (tmp_path/'dog'/k).unlink()
    turned = Image.Exif()
    turned[0x112] = 6
    Image.new('RGB', (8,6)).save(tmp_path/'cat'/'9.jpg', exif=turned)
    Image.fromarray(np.full((6,8), 32896, np.uint16)).save(tmp_path/'cat'/'8.png')
    images = {p.name: load_images(tmp_path)[i][0] for i,p in enumerate(load_images(tmp_path).files)}
    assert images['9.jpg'].size==(6,8) and images['8.png'].getpixel((0,0))==(128,128,128)
    for name,make in {'x.png': lambda p: p.write_bytes(b''), 'y.png': lambda p: p.symlink_to('nowhere.png')}.items():
        make(tmp_path/'dog'/name)
        with pytest.raises(OSError, match=name): [load_images(tmp_path)[i] for i in range(len(load_images(tmp_path)))]
        (tmp_path/'dog'/name).unlink()
    alone = load_images(tmp_path/'dog')
    assert Samples.of(alone).labels() is None and len(alone)==3
    with pytest.raises(ValueError, match='must have labels'): labels_of(alone)
    (tmp_path/'owl').mkdir()
    with pytest.raises(ValueError, match='no image in owl'): load_images(tmp_path)
    for k in 'train','test': photos(tmp_path/'parts'/k)
    with pytest.raises(ValueError, match='it holds test, train; pass .*parts'): load_images(tmp_path/'parts')

def test_table_of_texts(tmp_path):
    file = tmp_path/'reviews.csv'
    file.write_text('\ufeffid;text;label\n1;12;good\n2;None;bad\n', encoding='utf-8')
    assert load_texts(file)==(['12','None'],['good','bad'])
    file.write_text('id,review\n1,a\n')
    with pytest.raises(ValueError, match='it has id, review; rename them'): load_texts(file)
    assert load_texts(file, text='review', label='')==(['a'],None)
    with pytest.raises(ValueError, match="did you mean 'review'"): load_texts(file, text='reviews')
    for content,why in ('text,label\na,b,c\n', 'quotes around texts'), ('text,label\n,b\n', 'row 1 has no text'), ('',
        'table of UTF-8'):
        file.write_text(content)
        with pytest.raises(ValueError, match=why): load_texts(file)
    file.write_bytes('text,label\nGrüße,b\n'.encode('latin-1'))
    with pytest.raises(ValueError, match='UTF-8'): load_texts(file)
    lines = tmp_path/'r.jsonl'
    lines.write_text('\ufeff{"text": "007", "label": 1}\n', encoding='utf-8')
    frame = pd.DataFrame(dict(text=['x','y'], label=['a','b']))
    frame.to_parquet(tmp_path/'r.parquet')
    assert load_texts(lines)==(['007'],[1]) and load_texts(tmp_path/'r.parquet')==(['x','y'],['a','b'])
    frame.to_csv(tmp_path/'r.tsv', sep='\t', index=False)
    assert Samples.of(str(tmp_path/'r.tsv')).labels().tolist()==['a','b']

def test_refused():
    moved = pd.DataFrame({'a': [1,2]}),pd.Series([0,1], index=[1,0])
    for data,why in ((([], []), 'at least one sample'), ([], 'at least one sample'), (3, 'got int'),
                     ((x, y[:5]), '6 samples and 5 labels'), ((texts, ['a',None]*3), 'first missing one is at position 1'),
                     (moved, 'same index as the samples'), (pd.DataFrame(dict(a=texts)), 'it has a; rename')):
        with pytest.raises(ValueError, match=why): Samples.of(data)
    with pytest.raises(ValueError, match='with 1, 3 or 4 channels'): as_images(torch.rand(2, 5, 5, 5))
    with pytest.raises(ValueError, match='must have the same size'): read(([Image.new('RGB', (4+i,4)) for i in range(6)], y))

@pytest.mark.parametrize('values,warned', [([-1,0,1,-1,2,0], True), ([-100,0,1,0,1,0], True), ([-1,1,-1,1,-1,1], False),
                                           ([0,1,2,0,1,2], False), ([1.,-1,0,1,0,1], False)])
def test_labels_to_ignore(values, warned, recwarn):
    outputs(nn.Flatten(), (x, values), progress=False)
    assert any('counts as a class' in str(w.message) for w in recwarn)==warned

def test_stratified_subset():
    "The share of each class, within one; the draws of earlier versions"
    labels = np.repeat([0,1,2], (70,20,10))
    drawn = stratified_subset(labels, 30, seed=1)
    assert np.bincount(labels[drawn]).tolist()==[21,6,3] and (np.diff(drawn)>0).all()
    assert np.bincount(labels[stratified_subset(labels, 3)]).tolist()==[1,1,
        1] and len(stratified_subset(labels, 500))==100
    assert stratified_subset(labels, 9, seed=3).tolist()==[0, 18, 38, 41, 48, 60, 74, 80, 96]
    assert stratified_subset(Pairs(), 4).indices==stratified_subset(y, 4).tolist()
    assert sorted(stratified_subset(Samples.of((x, y)), 3).labels())==[0,1,2]
    with pytest.raises(ValueError, match='pass its `.dataset`'): stratified_subset(DataLoader(Pairs()), 3)
