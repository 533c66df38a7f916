"The published tables: nothing of a file is lost or made up in the long form, and each says where it is from"
import csv
import tomllib
from pathlib import Path
import pytest
import transfer_metrics as tm

folder = Path(tm.__file__).parent/'datasets'/'tables'
catalogue = tomllib.loads((folder/'tables.toml').read_text(encoding='utf-8'))['tables']

def numbers(about):
    "Rows of the file as pairs of what names the row and its numbers, read without pandas"
    read = about['read']
    names = read.get('rename', {})
    words = {*read.get('model', []), *read.get('drop', [])}
    with (folder/about['file']).open(encoding='utf-8', newline='') as f:
        for row in csv.DictReader(f):
            model = '/'.join(row[k] for k in read.get('model', []))
            named = {names.get(k, k): v for k,v in row.items() if k not in words}
            keys = {k: named.pop(k) for k in ('data','n') if k in named}
            yield dict(keys, model=model), {k: float(v.replace(',', '')) for k,v in named.items() if v}

def is_left_out(keys, name, table):
    "As SOURCES says: the NCE of DTD, which repeats LogME, and a model on its own source data"
    if table=='tll': return keys['data']=='DTD' and name=='nce'
    return table=='medmnist_sources' and keys['data']==keys['model']

@pytest.mark.parametrize('table', catalogue)
def test_rows(table):
    "As many rows as the file has numbers, and the same numbers in the unit of this package"
    about = catalogue[table]
    read = about['read']
    expected = []
    for keys,found in numbers(about):
        for name,value in found.items():
            if is_left_out(keys, name, table): continue
            metric = read.get('same', {}).get('metric', name) if name not in read.get('facts', []) else name
            by = read.get('divide', {}).get(metric, 1)
            expected.append(value*read.get('multiply', {}).get(metric, 1)/by)
    frame = tm.datasets.published(table)
    assert len(frame)==len(expected)==about['rows']
    assert sorted(frame.value)==pytest.approx(sorted(expected), rel=1e-12)

@pytest.mark.parametrize('table', catalogue)
def test_provenance(table):
    "Where it is from, who made it and under which licence"
    told = tm.datasets.published(table).attrs
    assert set(told)=={'title','licence','source','citation','copyright','note'}
    assert '`' not in told['title'], 'it is shown in a table, not as Markdown'
    assert all(told.values())
    assert told['licence'] in ('MIT','Apache-2.0')
    assert told['source'].startswith('https://github.com/')

def test_files():
    "Each file has an entry, and each entry a file of its own"
    files = sorted(o.name for o in folder.glob('*.csv'))
    assert files==sorted(o['file'] for o in catalogue.values())
