"""Sentences as the mean of their words and layers, beside transformer-ranker 0.2.0: the same embeddings of a small random BERT.

`pip install transformers transformer-ranker`, then `python benchmarks/words.py [sentences]`. One word in four has two pieces. The
two are timed in turn, in processor seconds, and the least of each counts."""
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from _measure import machine
from transformer_ranker.embedder import Embedder
from transformers import AutoTokenizer, BertConfig, BertModel, BertTokenizer

from transfer_metrics.adapters import open_model
from transfer_metrics.words import word_outputs

words = 'joy film warm wise dull long slow joyful'.split()

def saved(folder):
    "A small BERT and its tokenizer, written to a folder"
    vocab = folder/'vocab.txt'
    vocab.write_text('\n'.join(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', *words[:-1], '##ful']))
    BertTokenizer(str(vocab)).save_pretrained(folder)
    config = BertConfig(vocab_size=13, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    BertModel(config).save_pretrained(folder)
    return str(folder)

def seconds(f):
    start = time.process_time()
    f()
    return time.process_time()-start

def main(n=200, batch=32, repeat=9):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    sentences = [[str(w) for w in rng.choice(words, rng.integers(5, 20), p=[.75/7]*7+[.25])] for _ in range(n)]
    with tempfile.TemporaryDirectory() as d:
        name = saved(Path(d))
        adapted = open_model(f'hf:{name}')
        peer = Embedder(name, tokenizer=AutoTokenizer.from_pretrained(name), sentence_pooling='mean', layer_mean=True)
    how = dict(subword='mean', sentence='mean', batch_size=batch, progress=False)
    def ours(): return word_outputs(adapted, sentences, [0]*n, **how)['mean'].features
    def theirs(): return torch.stack([o[0] for o in peer.embed(sentences, batch_size=batch, show_progress=False)])
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-5, atol=1e-5)
    took = [(seconds(ours), seconds(theirs)) for _ in range(repeat)]
    own,other = map(min, zip(*took, strict=True))
    print(machine())
    print(f'{n} sentences: {own:.4f} CPU s, transformer-ranker {other:.4f} CPU s, ratio {own/other:.2f}')
    print(f'budget 1.00: {"kept" if own<=other else "EXCEEDED"}')

if __name__=='__main__': main(*map(int, sys.argv[1:]))
