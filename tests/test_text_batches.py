"Texts, pairs of texts and dictionaries of arrays come in whatever order a loader or a list has them in"
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
import transfer_metrics as tm
from transfer_metrics.adapters import Adapter
from transfer_metrics.items import are_columns, items_of, texts_in_rows
from transfer_metrics.samples import Samples

firsts,seconds = list('abcde'),list('vwxyz')
pairs = list(zip(firsts, seconds, strict=True))
takes_texts = Adapter(nn.Identity(), 'texts', lambda texts: texts)

def in_rows(items): return tuple(map(list, zip(*items, strict=True)))
def in_columns(items):
    inputs,labels = in_rows(items)
    return in_rows(inputs),labels
def seen_in(data): return [tuple(o) for batch in takes_texts.batches(data) for o in batch[0]]

class Streamed(IterableDataset):
    def __iter__(self): return iter(zip(pairs, range(5)))

@pytest.mark.parametrize('collate', [None,in_rows,in_columns])
@pytest.mark.parametrize('size', [1,2,3,5])
def test_pairs_of_a_loader(size, collate):
    "Torch puts pairs together as two columns, also two pairs, which look like two rows"
    for labels in range(5),list('ghghg'):
        samples = list(zip(pairs, labels, strict=True))
        assert seen_in(DataLoader(samples, size, collate_fn=collate))==pairs

def test_pairs_without_labels_in_streams_and_arrays():
    assert seen_in(DataLoader([(o,) for o in pairs], 2))==pairs
    assert seen_in(Streamed())==seen_in(DataLoader(Streamed(), 2))==pairs
    assert seen_in([(np.array(pairs[:3]),[0,1,0]), (np.array(pairs[3:]),[0,1])])==pairs
    assert seen_in([((firsts[:3],seconds[:3]),[0,1,0])])==pairs[:3]
    assert seen_in((np.array(pairs), range(5)))==pairs
    assert items_of((np.array(firsts), range(5)))[1]==('b',1)

def test_two_batches_are_no_inputs_with_labels():
    "Told by structure; what may be either is refused"
    two = [(firsts[:2],['g','h']), (seconds[:2],['g','h'])]
    assert [*takes_texts.batches(two)]==two
    out = tm.outputs(Adapter(nn.Identity(), 'n', lambda texts: torch.tensor([[ord(o)] for o in texts]).float()), two, progress=False)
    assert out.labels.tolist()==['g','h','g','h'] and out.features.shape==(4,1)
    with pytest.raises(ValueError, match=r'batches come in a list, \[\(texts, labels\)'): items_of(tuple(two))
    assert items_of([pairs[:2], ['g','h']])[0]==(pairs[0],'g')   # two pairs and their labels

def test_what_is_left_open():
    assert not are_columns(pairs, range(5)) and not are_columns(pairs[:2], [0,1]) and not are_columns(firsts, [0]*5)
    assert texts_in_rows(firsts)==firsts

def test_dictionary_of_arrays_and_labels():
    "A data set of its own, cut into batches"
    class Net(nn.Module):
        def forward(self, ids, mask):
            assert len(ids)<=4
            return ids*mask
    x,y = torch.rand(6, 3),list('ababab')
    for data in (dict(ids=x, mask=x.numpy()), y),[dict(ids=x, mask=x), y]:
        out = tm.outputs(Net(), data, batch_size=4, progress=False)
        assert out.labels.tolist()==y and np.array_equal(out.features, x**2)
    assert list(Samples.of((dict(ids=x), y)).subset([5,0]).labels)==['b','a']
    with pytest.raises(ValueError, match='one label a sample, got 6 samples and 5 labels'): Samples.of((dict(ids=x), y[:5]))
    with pytest.raises(ValueError, match='must have equally many rows'): Samples.of((dict(ids=x, mask=x[1:]), y))

@pytest.mark.parametrize('model', [nn.Linear(2, 2), takes_texts])
def test_nothing(model):
    with pytest.raises(ValueError, match='must hold at least one sample, got none'): tm.outputs(model, ([], []), progress=False)
