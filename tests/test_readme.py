"The README is short, and its snippets run as they are printed"
import re, subprocess, sys
from pathlib import Path
import pytest
from fastcore.nbio import read_nb
from PIL import Image
from sklearn.datasets import load_digits

root = Path(__file__).parent.parent
text = (root/'README.md').read_text(encoding='utf-8')

# Where the tests run, weights cannot be downloaded: drawn ones stand for them. Nothing else is replaced.
no_downloads = '''
import torch, torchvision
pretrained = torchvision.models.get_model
def untrained(name, weights):
    torch.manual_seed(0)
    return pretrained(name, weights=None)
torchvision.models.get_model = untrained
'''

def blocks(language): return re.findall(rf'^```{language}\n(.*?)^```$', text, re.M|re.S)

@pytest.fixture
def pictures(tmp_path):
    "The folder that the README takes as given: one folder of pictures for each class"
    digits = load_digits()
    for digit,name in enumerate(['zero','one','two','three']):
        folder = tmp_path/'pictures'/name
        folder.mkdir(parents=True)
        for i,pixels in enumerate(digits.images[digits.target==digit][:20]):
            shades = (255-pixels*15.9).astype('uint8')
            Image.fromarray(shades).resize((64,64)).save(folder/f'{i}.png')
    return tmp_path

def numbers(s): return [float(o) for o in re.findall(r'-?\d+\.\d+', s)]

def test_snippets(pictures):
    "In a fresh process, one after the other; the last value is the table below it"
    code = blocks('python')
    assert code
    *body,last = '\n'.join(code).rstrip().split('\n')
    script = '\n'.join([no_downloads, *body, f'print(({last}).to_string())'])
    done = subprocess.run([sys.executable, '-W', 'error', '-c', script], cwd=pictures, capture_output=True, text=True)
    assert done.returncode==0, done.stderr
    for row in done.stdout.strip().split('\n')[2:]:
        name,*_ = row.split()
        shown = re.search(rf'^\| {name} \|.*$', text, re.M)
        assert numbers(shown[0])==pytest.approx(numbers(row), rel=1e-3)

def test_shell():
    "`.ci/run` takes the two commands from here"
    commands = blocks('sh')
    assert len(commands)==2
    assert all(o.count('\n')==1 for o in commands)
    assert 'git clone' in text

def test_short():
    "At most 10 kB, one picture, no lists of pages"
    assert len(text.encode())<10_000
    assert text.count('<img')==1
    assert len(text.splitlines())<100

def words(link):
    "Words in the sentences of a page of the site, or of a file of the repository"
    page = re.sub(r'.*(\.github\.io/transfer-metrics|/blob/main)/', '', link)
    if page.endswith('.md'): return len((root/page).read_text(encoding='utf-8').split())
    numbered = re.sub(r'([^/]*)\.html', r'*\1.ipynb', page)
    path = next(o for o in (root/'nbs').glob(numbered) if re.sub(r'^\d+_', '', o.stem)==Path(page).stem)
    return sum(len(c.source.split()) for c in read_nb(path).cells if c.cell_type=='markdown')

def test_minutes():
    "What each of three readers begins with takes the minutes that are said, at 200 words a minute, or up to ten fewer"
    rows = re.findall(r'^(\| (?:a|to) .*) \| (\d+) \|$', text, re.M)
    assert len(rows)==3
    for row,minutes in rows:
        links = [o for o in re.findall(r'\]\(([^)]*)\)', row) if 'glossary' not in o]
        takes = sum(map(words, links))/200
        assert int(minutes)-10<=takes<=int(minutes), f'{takes:.0f} minutes for {row}'
