"The command line as a user meets it: widths, the answer, files of results, what is refused and how soon, help, an interruption"
import io, json, os, re, shlex, subprocess, sys
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from inspect import signature
from pathlib import Path
from shutil import which
from types import ModuleType
import numpy as np
import pandas as pd
import pytest
from transfer_metrics.cli.main import all_commands, main
from transfer_metrics.models import Outputs

# each command's job in seconds, on its own example or on a small one
quick = {
    'rank': 'rank --no-progress',
    'curves': 'curves --n-boot 200 --no-progress',
    'loss-data': 'loss-data --n-points 4 --n-seeds 2 --train-steps 50 --no-progress',
    'study': 'study correlation --tasks 12 --n-boot 100 --no-progress',
    'invariance': 'invariance --interior 4 --metrics average_confidence,nuclear_norm --n-boot 100 --no-progress',
    'accuracy': 'accuracy --n-boot 100 --no-progress',
    'benchmark': 'benchmark --n-boot 100'}

@pytest.fixture(scope='module')
def arrays(tmp_path_factory):
    "A folder with features, labels, images and long curves"
    d = tmp_path_factory.mktemp('arrays')
    rng = np.random.default_rng(0)
    y = np.arange(60)%3
    np.save(d/'good.npy', np.eye(3)[y]+rng.normal(size=(60,3))/3)
    np.save(d/'bad.npy', rng.normal(size=(60,3)))
    pd.DataFrame(dict(label=y)).to_csv(d/'y.csv', index=False)
    np.save(d/'objects.npy', np.full((60,3), 1., object))
    (d/'torn').mkdir()
    np.save(d/'torn'/'data.npy', np.zeros((4,8,8), np.uint8))
    bright = np.float32(255)*(np.arange(4)%2)[:,None,None,None]*np.ones((1,8,8,3), np.float32)
    np.savez(d/'bright.npz', images=bright, labels=[0,1,0,1])
    np.savez(d/'fewer.npz', images=bright/255, labels=[0,1,0])
    for k in ('two/owl','two/wren','empty'): (d/k).mkdir(parents=True)
    for k in ('owl','wren'): (d/'two'/k/'1.png').touch()
    (d/'noise.csv').write_bytes(b'\xff\xfe\x00'*9)
    (d/'text.npy').write_text('0,1')
    pd.DataFrame(dict(label=[f'bird {i}' for i in range(60)])).to_csv(d/'names.csv', index=False)
    rows = [dict(train_size=n, accuracy=.5+k/5+n/1000, init=name) for name,k in (('scratch',0),('pretrained',1)) for n in (0,50,100,200)]
    frame = pd.DataFrame(rows)
    frame.to_csv(d/'curves.csv', index=False)
    frame.assign(init=frame.init.where(~frame.index.isin([0,2]))).to_csv(d/'gaps.csv', index=False)
    frame[frame.train_size==50].to_csv(d/'once.csv', index=False)
    frame[:0].rename(columns=dict(train_size='n', accuracy='perf')).to_csv(d/'headers.csv', index=False)
    pd.DataFrame(dict(init=['a','b','c'], n=1, perf=.5)).to_csv(d/'three.csv', index=False)
    return d

def run(line, width=80): return run_args(*line.split(), width=width)

def run_args(*args, width=80):
    "Status, stdout and stderr of a command line"
    before = os.environ.get('COLUMNS')
    os.environ['COLUMNS'] = str(width)
    try:
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            try: status = main(list(args))
            except SystemExit as e: status = e.code
    finally:
        if before is None: del os.environ['COLUMNS']
        else: os.environ['COLUMNS'] = before
    return status,out.getvalue(),err.getvalue()

def fits(text, width):
    wide = [o for o in text.splitlines() if len(o)>width and not o.startswith('wrote ')]
    assert not wide, '\n'.join(wide)

@pytest.mark.parametrize('name', quick)
def test_every_command_is_here(name): assert name in all_commands()

@pytest.mark.filterwarnings('default')
@pytest.mark.parametrize('name', quick)
def test_example(name, tmp_path):
    "At 80 and 120 columns; the answer, what it rests on, the next command and the page come last; files hold the same"
    paths = {k: tmp_path/f'{name}.{end}' for k,end in dict(csv='csv', json='json', plot='png', report='html').items()}
    line = quick[name]+''.join(f' --{k} {p}' for k,p in paths.items())
    status,out,_ = run(line, 120)
    assert status==0
    fits(out, 120)
    status,out,_ = run(line, 80)
    assert status==0
    fits(out, 80)
    assert 'nan' not in out
    result = json.loads(paths['json'].read_text())
    assert result['command']==name
    assert result['answer'] in ' '.join(out.split())
    tail = out[out.index('Rests on:'):]
    assert re.search(r'^Next:\s+transfer-metrics ', tail, re.M)
    assert re.search(rf'^Page: https://\S+/cli/{name.replace("-", "_")}\.html$', tail, re.M)
    assert not re.search(r'[\u2500-\u257f\x1b]', out)   # no boxes and no colour where it is piped
    rows = pd.read_csv(paths['csv'])
    assert len(rows)==len(next(iter(result['tables'].values())))
    assert paths['plot'].read_bytes()[:4]==b'\x89PNG'
    report = paths['report'].read_text()
    seen = Seen()
    seen.feed(report)
    assert not seen.elsewhere
    assert seen.names.count('img')>=1 and seen.names.count('table')>=3
    for word in result['answer'].split()[:5]: assert word in report

class Seen(HTMLParser):
    "Elements of a page, and what it loads from elsewhere"
    def __init__(self):
        super().__init__()
        self.names = []
        self.elsewhere = []
    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        if tag!='a': self.elsewhere += [v for k,v in attrs if k in ('src','href') and not v.startswith('data:')]

@pytest.mark.parametrize('name', quick)
@pytest.mark.parametrize('width', [80,120])
def test_help(name, width):
    status,out,_ = run(f'help {name}', width)
    assert status==0
    fits(out, width)
    assert out==run(f'{name} --help', width)[1]
    assert '(default: )' not in out and "''" not in out
    assert 'PATH' in out and re.search(r'\bN\b', out)

def test_options_are_called_the_same():
    "Models, labelled images and results have the same options in every command that takes them"
    options = {k: set(signature(c.f).parameters) for k,c in all_commands().items()}
    of_models = {'models','weights','limit','size','mean','std','root','split','seed','device','batch_size','progress'}
    of_images = {'images','dataset','npy'}
    for k in ('rank','loss-data','invariance','study'): assert of_models|of_images<=options[k]
    for k in ('rank','loss-data','study'): assert {'outputs','features','labels'}<=options[k]
    assert of_models<=options['accuracy']
    for k,o in options.items(): assert {'csv','json','plot','report','seed'}<=o, k

def test_help_of_all():
    status,out,_ = run('help')
    assert status==0
    fits(out, 80)
    for name in all_commands(): assert f'\n  {name} ' in out
    assert run('--help')[1]==run('')[1]==out

@pytest.mark.parametrize('name', quick)
def test_help_on_a_narrow_terminal(name):
    "Only what cannot be broken is wider, such as an address"
    for out in run('help', 60)[1],run(f'help {name}', 60)[1]:
        wide = [o for o in out.splitlines() if len(o)>60 and ' ' in o.strip()]
        assert not wide, wide

def test_help_of_what_is_no_job():
    for name in ('help','version'): assert run(f'help {name}')[0]==0

@pytest.mark.filterwarnings('default')
def test_one_model_wants_another(arrays):
    "The next command does not repeat what says nothing, and the table says which H-score it has"
    line = f'rank --features {arrays}/good.npy --labels {arrays}/y.csv --no-progress'
    out = run(line, 200)[1]
    assert f'Next: transfer-metrics rank --features {arrays}/good.npy,ANOTHER --labels' in out
    assert '--retrain' not in out and 'h_score: with shrinkage ledoit_wolf' in out
    assert 'h_score: the plain one' in run(f'{line} --metrics h_score')[1]

@pytest.mark.filterwarnings('default')
def test_settings_are_options(arrays, tmp_path):
    "What a report calls its settings can be typed"
    report = tmp_path/'report.html'
    run(f'benchmark tll --n-boot 0 --report {report}')
    text = report.read_text()
    assert '<th scope="row">NAME</th><td>tll</td>' in text and '--name' not in text and '--progress' not in text
    files = f'--features {arrays}/good.npy --labels {arrays}/y.csv'
    run(f'rank {files} --no-progress --report {report}')
    text = report.read_text()
    assert '<th scope="row">--no-progress</th><td>given</td>' in text and '--interval' not in text
    (tmp_path/'odd.json').write_text('{"nothing": 1}')
    err = run(f'invariance --config {tmp_path}/odd.json')[2]
    assert 'unknown option' in err and ', files' not in err

def test_subcommand_shows_its_own_options():
    meta = run('help study meta')[1]
    correlation = run('study correlation --help')[1]
    assert '--episodes' in meta and '--episodes' not in correlation
    assert '--levels' in meta and '--levels' not in correlation

refused = {
    'rank --metrics lepp': "did you mean 'leep'",
    'rank --models resnet81 --images {d}': 'resnet18',
    'rank --features {d}/none.npy --labels {d}/y.csv': 'no such file',
    'rank --features {d}/y.txt --labels {d}/y.csv': '--features must name a file that ends in .npy',
    'rank --features {d}/good.npy': '--features needs --labels, a file with one label',
    'rank --labels {d}/y.csv': '--labels needs --features or --probs',
    'rank --limit 1': '--limit must be 0 for all samples, or at least 2',
    'rank --features {d}/good.npy --labels {d}/names.csv': 'the 60 samples have 60 different labels',
    'rank --features {d}/objects.npy --labels {d}/y.csv': 'save them as numbers, such as features.astype(float)',
    'rank --models resnet18 --weights none --npy {d}/torn': 'must hold data.npy and labels.npy: no such file',
    'rank --models resnet18 --weights none --images {d}/bright.npz': '--images {d}/bright.npz must lie in [0, 1], got 0 to 255',
    'rank --models resnet18 --weights none --images {d}/fewer.npz': '/fewer.npz must have one label a sample, got 4 samples and 3',
    'rank --features {d}/good.npy --labels {d}/y.csv --metrics leep': '--metrics leep needs --probs',
    'rank --features {d}/good.npy --labels {d}/y.csv --metrics otce': '--metrics otce needs samples of the source',
    'rank --device gpu': '--device must be',
    'rank --report {d}/report.txt': '--report must name a file that ends in .html',
    'rank --imges x': 'did you mean --images?',
    'benchmark --limit 5': 'unrecognized arguments: --limit (transfer-metrics benchmark --help lists the options)',
    'curves {d}/curves.csv': '--by',
    'curves --n train_size': '--n train_size is for a file of your own',
    'curves {d}/curves.xlsx --by init': 'save its sheet as CSV UTF-8',
    'curves {d}/curves.csv --n train_size --perf accuracy --by init --run init': '--run and --by must name different columns',
    'curves {d}/gaps.csv --n train_size --perf accuracy --by init': 'gaps.csv: column init must have a value in every row, it has none in lines 2 and 4',
    'curves {d}/once.csv --n train_size --perf accuracy --by init': 'scratch has a single size, n = 50',
    'curves {d}/headers.csv --by init': '--by init must have two values, without and with transfer, got no rows',
    'curves {d}/three.csv --by init': 'got 3: a, b, c; keep the rows of two of them',
    'loss-data --whiten grey': '--whiten must be',
    'loss-data --features {d}/good.npy': '--labels',
    'loss-data --images {d}': '--models goes with one of --images, --dataset, --npy and --texts',
    'rank --texts {d}/y.csv': '--texts needs --models, such as --models hf:',
    'loss-data --features {d}/good.npy --labels {d}/y.csv --points 9,90': 'from 1 to 54 (samples that are left',
    'study correlation --classes 2-20': '--classes must be at most 10',
    'benchmark openclip --against leep': "--against must be 'n_parameters', 'source_accuracy', 'elsewhere' or 'chance', got 'leep'",
    'loss-data --outputs a.npz --features {d}/good.npy --labels {d}/y.csv': 'one of --features with --labels, --outputs',
    'loss-data --features {d}/good.npy --labels {d}/noise.csv': 'is not a csv file of UTF-8 text',
    'loss-data --features {d}/good.npy --labels {d}/names.csv': 'held out to measure a loss on: 60 samples have 60 different labels',
    'loss-data --features {d}/text.npy --labels {d}/y.csv': 'text.npy is not a .npy file of numbers or text',
    'loss-data --points 10.5': '--points must be whole numbers separated by commas',
    'loss-data --n-points few': '--n-points must be a whole number',
    'rank --features {d}/good.npy --labels {d}/y.csv --csv {d}/y.csv/out.csv': 'cannot be written',
    'benchmark --seed -1': '--seed must be a whole number of at least 0',
    'accuracy --model resnet18 --known {d} --new nowhere': 'no data set of torchvision: nowhere',
    'accuracy --metrics lepp': 'transfer-metrics help accuracy lists them',
    'invariance --metrics accuracy': 'name at least one of them',
    'invariance --n-boot 2': '--n-boot must be a whole number of at least 100, got 2',
    'invariance --models resnet18 --images {d}/two --metrics jigsaw_prediction': '--metrics jigsaw_prediction needs --train',
    'invariance --models resnet18 --images {d}/two --metrics atc': '--metrics atc needs --source',
    'invariance --models resnet18 --images {d}/two --exterior {d}/empty': 'empty holds no images',
    'rank --json /proc/x.json': 'cannot be written',
    'invariance --metrics entropi': "did you mean 'entropy'",
    'accuracy --model resnet81 --known {d} --new {d}': 'resnet18',
    'accuracy --model resnet18': '--known and --new are missing',
    'invariance --models resnet81 --images {d}': 'resnet18',
    'study correlation --metrics lepp': "did you mean 'leep'",
    'study correlation --tasks 1': '--tasks must be a whole number of at least 3',
    'rnk': "did you mean 'rank'"}

@pytest.mark.parametrize('line', refused)
def test_refused(line, arrays):
    "One line on stderr, nothing on stdout, status 2"
    status,out,err = run(line.format(d=arrays))
    assert (status,out)==(2,'')
    assert len(err.splitlines())==1
    assert refused[line].format(d=arrays) in err

taken = [
    'curves curves.csv --n train_size --perf accuracy --by init --csv curves.csv',
    'curves curves.csv --n train_size --perf accuracy --by init --csv ./sub/../curves.csv',
    'curves curves.csv bad.csv --csv link.csv',
    'loss-data --features good.npy --labels y.csv --csv y.csv',
    'loss-data --features good.npy --labels y.csv --curve y.csv',
    'loss-data --features first=good.npy,second=bad.npy --labels y.csv --latex bad.npy',
    'loss-data --outputs a.npz,b.npz --store b.npz',
    'rank --features good.npy --labels y.csv --csv y.csv',
    'rank --models torchvision:resnet18=y.csv --images . --csv y.csv',
    'rank --models hf:bert --texts y.csv --csv y.csv',
    'study --features good.npy,bad.npy --labels y.csv --store y.csv',
    'study --resume --csv study-correlation.csv',
    'accuracy --models nets:net=y.csv --known . --new . --csv y.csv',
    'accuracy --model hf:bert --known y.csv --new curves.csv --csv curves.csv',
    'invariance --config config.json --json config.json',
    'invariance --csv fits.csv --fits ./fits.csv',
    'loss-data --curve all.csv --csv ./sub/../all.csv']

@pytest.mark.parametrize('line', taken)
def test_results_take_no_place(line, arrays, monkeypatch):
    "No file of results takes the place of one that is read, or of another, whatever the two are called"
    monkeypatch.chdir(arrays)
    for name in ('a.npz','b.npz'): np.savez(name, labels=[0,1])
    Path('config.json').write_text('{"interior": 4}')
    Path('sub').mkdir(exist_ok=True)
    Path('link.csv').unlink(missing_ok=True)
    Path('link.csv').symlink_to('curves.csv')
    before = {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}
    status,out,err = run(line)
    assert (status,out)==(2,'')
    assert len(err.splitlines())==1
    assert 'would overwrite what this command reads' in err or 'files of results must differ' in err
    assert before=={p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}

at_once = [
    'rank --metrics lepp',
    'rank --models resnet81 --images .',
    'rank --models resnet18 --weights V3 --images .',
    'rank --models nowhere:net --images .',
    'rank --models resnet18 --dataset CIFAR11',
    'rank --outputs none.npz',
    'loss-data --features none.npy --labels y.npy',
    'loss-data --points few',
    'loss-data --images {d}',
    'loss-data --features {d}/nan.npy --labels {d}/y.npy',
    'loss-data --epsilons -1',
    'loss-data --points 5000',
    'loss-data --ns 5000',
    'loss-data --features {d}/x.npy --labels {d}/y.npy --points 4',
    'loss-data --outputs {d}/saved.npz --points 4',
    'loss-data --models resnet18 --images {d}/birds --points 4',
    'rank --features {d}/nan.npy --labels {d}/y.npy',
    'rank --features {d}/x.npy --labels {d}/y.npy --metrics leep,nce',
    'rank --features {d}/x.npy --labels {d}/y.npy --metrics otce',
    'study --features {d}/x.npy --labels {d}/y.npy --metrics leep',
    'rank --features {d}/x.npy --labels {d}/same.npy',
    'rank --features {d}/x.npy --labels {d}/x.npy',
    'rank --features {d}/y.npy --labels {d}/y.npy',
    'rank --probs {d}/x.npy --labels {d}/nan.npy',
    'rank --features {d}/torn.npz --labels {d}/y.npy',
    'study --tasks 2',
    'study correlation --test 1.5',
    'study correlation --n-boot -1',
    'study correlation --per-class -1',
    'study correlation --classes 5-2',
    'study correlation --classes 1',
    'study correlation --imbalance .5',
    'study correlation --imbalance 3-20 --per-class 5',
    'study convergence --methods retrain_head',
    'study convergence --features {d}/x.npy --labels {d}/y.npy',
    'invariance --n-boot -1',
    'curves --seed -1',
    'curves --coverage 2',
    'benchmark tlll',
    'benchmark tll --against leap',
    'study imbalanced --per-class 5',
    'study --classes 20',
    'study --outputs {d}/saved.npz --classes 3',
    'study --models resnet18 --images {d}/birds --classes 3',
    'accuracy --metrics lepp',
    'accuracy --model resnet18 --known . --new . --mean .5',
    'invariance --metrics lepp',
    'invariance --metrics accuracy',
    'invariance --n-boot 2',
    'invariance --minutes 1',
    'invariance --models resnet18 --images {d}/birds --metrics rotation_prediction',
    'invariance --models resnet18 --images {d}/birds --metrics doc',
    'invariance --models resnet18 --images {d}/birds --exterior {d}/empty',
    'accuracy --models resnet18 --known {d}/birds --new {d}/empty',
    'accuracy --models resnet18 --known {d}/birds --new {d}/birds --classes owl',
    'accuracy --models resnet18 --known {d}/x.npy --new {d}/birds',
    'invariance --models resnet18 --images {d}/birds --classes owl',
    'invariance --permutations some',
    'invariance --models resnet18',
    'study corelation',
    'study correlation --metrics lepp',
    'study correlation --methods tune',
    'study correlation --classes few',
    'study correlation --sources all,middle',
    'rank --models resnet18 --images {d}/split',
    'rank --models resnet18 --images {d}/split/train',
    'rank --models resnet18 --images {d}/flat',
    'rank --outputs {d}/y.npy',
    'accuracy --model resnet18 --known {d}/split --new {d}',
    'accuracy --known-outputs {d}/y.npy --new-outputs {d}/y.npy',
    'invariance --models resnet18 --images {d}/split',
    'study correlation --models resnet18 --images {d}/split',
    'curves {d}/c.csv --by init',
    'rank --models resnet18 --texts {d}/texts.csv',
    'rank --models hf:bert --texts {d}/one.csv',
    'rank --models hf:bert --texts {d}/texts.csv --columns text,stars',
    'rank --models hf:bert --texts {d}/texts.csv --pooling avg',
    'rank --models hf:bert --texts {d}/texts.csv --images {d}',
    'loss-data --models hf:bert --texts {d}/c.csv']
if not which('nvidia-smi'): at_once.append('rank --device cuda')

def test_refused_at_once(tmp_path):
    "What is wrong with names and options is said before anything heavy is imported, torch above all"
    code = """import sys, json
from transfer_metrics.cli.main import main
heavy = 'torch','torchvision','scipy','sklearn','matplotlib'
for line in json.loads(sys.argv[1]): print(main(line.split()), *(k for k in heavy if k in sys.modules))
"""
    (tmp_path/'split'/'train'/'owl').mkdir(parents=True)
    (tmp_path/'split'/'train'/'owl'/'1.png').touch()
    (tmp_path/'empty').mkdir()
    for name in ('train','test'):
        (tmp_path/'flat'/name).mkdir(parents=True)
        (tmp_path/'flat'/name/'1.png').touch()
    for name in ('owl/1','owl/2','wren/1','wren/2'):
        (tmp_path/'birds'/name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path/'birds'/f'{name}.png').touch()
    np.savez(tmp_path/'saved.npz', features=np.ones((4,2)), labels=[0,1,0,1])
    (tmp_path/'torn.npz').write_bytes(b'PK')
    np.save(tmp_path/'x.npy', np.ones((3,2)))
    np.save(tmp_path/'same.npy', np.zeros(3))
    np.save(tmp_path/'y.npy', [0,1,0])
    np.save(tmp_path/'nan.npy', np.full((3,2), np.nan))
    (tmp_path/'c.csv').write_text('init,accuracy\na,.5\n')
    (tmp_path/'texts.csv').write_text('text,label\na joy,good\nso dull,bad\n')
    (tmp_path/'one.csv').write_text('text,label\na joy,good\n')
    lines = json.dumps([o.format(d=tmp_path) for o in at_once])
    r = subprocess.run([sys.executable, '-c', code, lines], capture_output=True, text=True, check=True)
    assert r.stdout.splitlines()==['2']*len(at_once), r.stderr
    assert len(r.stderr.splitlines())==len(at_once)

def test_advice_of_a_test_set_names_the_option(tmp_path):
    "--test is a share; a test set of its own is another file, of outputs or images"
    np.save(tmp_path/'x.npy', np.eye(4))
    np.save(tmp_path/'y.npy', [0,0,0,1])
    np.savez(tmp_path/'saved.npz', features=np.eye(4), labels=[0,0,0,1])
    status,_,of_files = run(f'study --features {tmp_path}/x.npy --labels {tmp_path}/y.npy --no-progress')
    assert status==2 and of_files.endswith('1 has 1. Leave such classes out\n')
    status,_,of_outputs = run(f'study --outputs {tmp_path}/saved.npz --no-progress')
    assert status==2 and of_outputs.endswith('Leave such classes out, or give a test set as --test-outputs\n')

def test_refused_in_a_fraction_of_the_time_of_torch():
    "Measured beside it, so that a busy machine does not matter"
    def seconds(*args):
        code = 'import sys, time\n'+args[0]+'\nprint(time.process_time())'
        runs = [subprocess.run([sys.executable, '-c', code, *args[1:]], capture_output=True, text=True, check=True) for _ in range(3)]
        return min(float(r.stdout.split()[-1]) for r in runs)
    torch = seconds('import torch')
    refused = seconds('from transfer_metrics.cli.main import main; main(sys.argv[1:])', 'invariance', '--metrics', 'lepp')
    assert refused<.7*torch

@pytest.mark.parametrize('name', [k for k in quick if k!='benchmark'])   # the others take metrics
def test_help_lists_metrics(name):
    assert 'Metrics: ' in run(f'help {name}')[1]

@pytest.mark.filterwarnings('default')
def test_files_of_arrays(arrays):
    status,out,err = run(f'rank --features one={arrays}/good.npy,two={arrays}/bad.npy --labels {arrays}/y.csv --no-progress')
    assert (status,err)==(0,'')
    assert 'one is first by all' in out and '60 samples, 3 classes' in out

@pytest.mark.filterwarnings('default')
def test_one_long_table(arrays):
    line = f'curves {arrays}/curves.csv --n train_size --perf accuracy --by init --no-progress'
    status,out,_ = run(line)
    assert status==0
    words = ' '.join(out.split())
    assert 'no interval: one run' in words and 'Rests on: one run of each;' in words and 'nan' not in out
    status,_,err = run(f'curves {arrays}/noise.csv --by init')
    assert status==2 and 'is not a csv file of UTF-8 text' in err

@pytest.mark.filterwarnings('default')
def test_next_command_can_be_copied(arrays):
    "With every option that this one needed, and quoted"
    table = arrays/'my curves.csv'
    frame = pd.read_csv(arrays/'curves.csv').assign(seed=1)
    again = frame.assign(seed=2, accuracy=frame.accuracy+.01)
    pd.concat([frame,again]).to_csv(table, index=False, sep=';', decimal=',')   # as a spreadsheet in German writes it
    status,out,_ = run_args('curves', str(table), '--n', 'train_size', '--perf', 'accuracy', '--by', 'init', '--no-progress')
    assert status==0
    assert '--run seed, which tells them apart' in ' '.join(out.split())
    following = ' '.join(out[out.index('Next:')+5:out.index('Page:')].replace('\\\n', ' ').split())
    program,*args = shlex.split(following)
    assert program=='transfer-metrics' and args[-2:]==['--run','seed']
    status,out,_ = run_args(*args, '--n-boot', '100', '--no-progress')
    assert status==0 and 'scratch: 2 runs' in out

def test_texts_are_no_images(arrays):
    "A table in the place of images is refused before a model is opened, and the way to score texts is said"
    table = arrays/'reviews.csv'
    table.write_text('text,label\na joy,good\nso dull,bad\n')
    status,_,err = run(f'rank --models hf:nowhere --images {table}')
    assert status==2 and 'images are in a folder, an .npy or an .npz file' in ' '.join(err.split())
    assert f'transfer-metrics rank --models hf:NAME --texts {table}' in ' '.join(err.split())
    (arrays/'new').mkdir()
    status,_,err = run(f'accuracy --model hf:nowhere --known {table} --new {arrays}/new')
    assert status==2 and 'must both be tables of texts, got' in ' '.join(err.split())

@pytest.mark.filterwarnings('default')
def test_wide_table(arrays):
    wide = arrays/'wide.csv'
    pd.read_csv(arrays/'curves.csv').pivot(index='train_size', columns='init', values='accuracy').to_csv(wide)
    status,_,err = run(f'curves {wide} --n train_size')
    assert status==2 and '--perf WITHOUT,WITH' in err and 'train_size, pretrained, scratch' in err
    status,out,_ = run(f'curves {wide} --n train_size --perf pretrained,scratch --no-progress')
    assert status==0
    assert 'starts worse by 0.200' in ' '.join(out.split())

@pytest.mark.filterwarnings('default')
def test_equal_models(arrays):
    "Of two that are equal by every score there is no first"
    status,out,_ = run(f'rank --features one={arrays}/good.npy,two={arrays}/good.npy --labels {arrays}/y.csv --no-progress')
    assert status==0
    assert 'one and two are equal by all' in out
    assert 'below the first' not in out

def test_outputs_of_other_classes(arrays, monkeypatch):
    "A network of three classes is not tried on a folder of two"
    from PIL import Image
    for k in ('cat','dog'):
        (arrays/'pets'/k).mkdir(parents=True, exist_ok=True)
        Image.new('RGB', (4,4)).save(arrays/'pets'/k/'1.png')
    (arrays/'three_classes.py').write_text('from torch import nn\ndef net(): return nn.Sequential(nn.Flatten(), nn.Linear(48, 3))\n')
    monkeypatch.syspath_prepend(arrays)
    monkeypatch.chdir(arrays)
    line = 'accuracy --model three_classes:net --known pets --new pets --no-progress'
    status,out,err = run(line)
    assert (status,out)==(2,'')
    assert 'net has 3 outputs, but pets has 2 classes' in err and '--classes' in err
    status,out,_ = run(f'{line} --classes bird,cat,dog --n-boot 0')
    assert status==0 and 'cat 1, dog 1' in out
    assert 'net gets pixels in [0, 1]' in out

def paint(folder, dark, bright, n):
    "A folder of grey pictures for each of two classes"
    from PIL import Image
    for k,grey in ((dark,50),(bright,200)):
        (folder/k).mkdir(parents=True)
        for i in range(n): Image.new('L', (4,4), grey+i).save(folder/k/f'{i}.png')

@pytest.mark.filterwarnings('default')
def test_one_model_that_fails_leaves_the_others(arrays, monkeypatch):
    "Whatever it raises, its rows say so; a model that cannot be opened is refused by its name"
    paint(arrays/'two_pets', 'cat', 'dog', n=4)
    (arrays/'some_nets.py').write_text("""from torch import nn
class Broken(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error
    def forward(self, x): raise self.error('in vain')
def good(): return nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
def att(): return Broken(AttributeError)
def mem(): return Broken(MemoryError)
def lost(): raise KeyError('weights')
""")
    monkeypatch.syspath_prepend(arrays)
    monkeypatch.chdir(arrays)
    line = 'rank --images two_pets --metrics leep --no-progress --models some_nets:good,some_nets:'
    for k,error in dict(att='AttributeError', mem='MemoryError').items():
        status,out,err = run(f'{line}{k}')
        assert status==0, err
        assert '  good ' in out and f'{k}, leep: {error}: in vain' in err
    status,out,err = run(f'{line}lost')
    assert status==2 and "--models some_nets:lost: KeyError: 'weights'" in err and len(err.splitlines())==1

@pytest.mark.filterwarnings('default')
def test_labels_are_called_as_their_folders(arrays, monkeypatch):
    "Not by the numbers that a data set gives them"
    paint(arrays/'birds', 'owl', 'wren', n=8)
    (arrays/'two_birds.py').write_text('from torch import nn\ndef net(): return nn.Sequential(nn.Flatten(), nn.Linear(16, 2))\n')
    monkeypatch.syspath_prepend(arrays)
    monkeypatch.chdir(arrays)
    status,_,err = run('loss-data --models two_birds:net --images birds --points 2,12 --train-steps 3 --no-progress')
    assert status==0, err
    assert 'with n = 2 some seeds never see class wren' in err

@pytest.mark.filterwarnings('default')
def test_grey_pictures_are_grey_for_every_command(arrays, monkeypatch):
    "One network and one folder mean the same to all, and an error says what an image was"
    from PIL import Image
    for k in range(2):
        (arrays/'shades'/str(k)).mkdir(parents=True)
        for i in range(12): Image.new('L', (4,4), 120*k+i).save(arrays/'shades'/str(k)/f'{i}.png')
    nets = 'from torch import nn\ndef grey(): return nn.Sequential(nn.Flatten(), nn.Linear(16, 2))\n'
    (arrays/'shade_nets.py').write_text(f'{nets}def colour(): return nn.Sequential(nn.Flatten(), nn.Linear(48, 2))\n')
    monkeypatch.syspath_prepend(arrays)
    monkeypatch.chdir(arrays)
    lines = 'rank', 'study correlation --tasks 3 --n-boot 0', 'loss-data --points 4,20 --train-steps 3'
    for line in lines:
        status,_,err = run(f'{line} --models shade_nets:grey,torchvision:squeezenet1_1 --weights none --images shades --no-progress')
        assert status==0, err
        status,_,err = run(f'{line} --models shade_nets:colour --images shades --no-progress')
        assert status==2 and 'an image was [1, 4, 4]' in ' '.join(err.split()), err

@pytest.mark.filterwarnings('default')
@pytest.mark.parametrize('line,said', [
    ('study correlation --tasks 4 --n-boot 100 --limit 50', '60 samples, 3 classes: 0: 20, 1: 20, 2: 20, of which 50 are used'),
    ('loss-data --n-points 2 --n-seeds 1 --train-steps 5 --limit 50', '50 samples, 3 classes')])
def test_arrays_for_every_command(line, said, arrays):
    "Features in files, of which some samples are drawn; the next command goes on with them"
    given = f'--features one={arrays}/good.npy,two={arrays}/bad.npy --labels {arrays}/y.csv'
    status,out,err = run(f'{line} {given} --no-progress')
    assert status==0, err
    text = ' '.join(out.replace('\\\n', ' ').split())
    assert said in text
    assert given in text[text.index('Next:'):]

@pytest.mark.filterwarnings('default')
def test_study_of_few_classes(arrays):
    "Random tasks of few classes repeat: how many differ is said, and nothing is made of two"
    given = f'--features {arrays}/bad.npy --labels {arrays}/y.csv --n-boot 100 --no-progress'
    status,out,err = run(f'study correlation --tasks 40 --classes 2 {given}')
    text = ' '.join(out.split())
    assert status==0, err
    assert '40 tasks of one data set, 3 of them different' in text and 'fewer than five tasks that differ' in text
    status,out,err = run(f'study correlation --tasks 9 --classes 3 {given}')
    text = ' '.join(out.split())
    assert status==0 and '9 tasks of one data set, 1 of them different' in text and 'nothing can be correlated' in text

@pytest.mark.filterwarnings('default')
def test_study_without_what_a_score_needs(tmp_path):
    "What is lacking, in place of a message about a table"
    x = np.random.default_rng(0).normal(size=(60,4))
    Outputs(features=x, labels=np.repeat([0,1,2], 20)).save(tmp_path/'a.npz')
    status,_,err = run(f'study correlation --outputs {tmp_path}/a.npz --metrics nce --tasks 9 --n-boot 100 --no-progress')
    assert status==2 and 'no score could be computed: nce needs `predicted`' in ' '.join(err.split()), err

@pytest.mark.filterwarnings('default')
def test_loss_data_says_what_it_leaves_out(arrays, tmp_path):
    "The held-out samples, a probe that is not done learning; the next command repeats all that was given"
    given = f'--features one={arrays}/good.npy,two={arrays}/bad.npy --labels {arrays}/y.csv --probe linear'
    sizes = f'--points 5,50 --n-seeds 2 --seed 3 --store {tmp_path}/st.csv --epsilons 1,.5'
    line = f'loss-data {given} --train-steps 20 --lr 0.01 {sizes} --no-progress --json {tmp_path}/a.json'
    status,out,err = run(line)
    assert status==0, err
    text = ' '.join(out.replace('\\\n', ' ').split())
    result = json.loads((tmp_path/'a.json').read_text())
    for word in 'All losses are on the same 6 held-out samples;','leave out which samples these are','--seed 4 draws others':
        assert word in text and word in ' '.join(result['notes'])
    for word in 'Not trained to the end: 40 steps','With 6 held-out samples a loss says next to nothing': assert word in result['answer']
    assert 'on 6 held-out samples' in ' '.join(result['rests_on'])
    repeated = set(text[text.index('Next:'):text.index('Page:')].split())
    assert {*f'{given} {sizes}'.split(), '--lr', '--train-steps', '80'}<=repeated
    assert len(pd.read_csv(tmp_path/'st.csv'))==2*2*2+2

def test_messages_name_options(arrays):
    "What a warning advises is an option"
    frame = pd.read_csv(arrays/'curves.csv')
    late = arrays/'late.csv'
    frame[frame.train_size>0].to_csv(late, index=False)
    line = f'curves {late} --n train_size --perf accuracy --by init --no-progress'
    _,_,err = run(line)
    assert '--start first' in err
    status,_,err = run(f'{line} --start first')
    assert (status,err)==(0,'')

@pytest.mark.filterwarnings('default')
def test_grids_and_pairs(arrays, tmp_path):
    "At which sizes curves are compared, what is left out, and whether runs are pairs, is said and kept"
    frame = pd.concat([pd.read_csv(arrays/'curves.csv').assign(seed=k) for k in range(3)])
    frame['accuracy'] += frame.seed/100
    table = tmp_path/'grids.csv'
    line = f'curves {table} --n train_size --perf accuracy --by init --run seed --n-boot 100 --no-progress --json {tmp_path}/c.json'
    def said(rows):
        rows.to_csv(table, index=False)
        status,out,_ = run(line)
        assert status==0
        return ' '.join(out.split()),json.loads((tmp_path/'c.json').read_text())
    out,_ = said(frame)
    assert 'It starts better by 0.200' in out and 'first size' not in out and '3 and 3 runs, paired by seed;' in out
    mine = frame.init=='pretrained'
    out,kept = said(frame[~mine|(frame.train_size>0)&((frame.seed!=2)|(frame.train_size<200))])
    assert '(n = 50 with transfer, 0 without)' in out and '(n = 100 with transfer, 200 without)' in out
    assert 'pretrained: n = 200 is left out, for seed 2 was not measured there' in kept['notes']
    assert 'n = 0 and 200 were measured for scratch only' in kept['notes']
    out,_ = said(frame[frame.train_size>0])
    assert '(n = 50, the first size)' in out
    out,_ = said(frame.assign(seed=frame.seed+mine))
    assert '3 and 3 runs, each side resampled by itself, for they differ in seed;' in out

@pytest.mark.filterwarnings('default')
def test_warnings_stand_in_files(arrays, tmp_path):
    "What was warned of on stderr, once, and nothing of the command before"
    frame = pd.read_csv(arrays/'curves.csv')
    late = tmp_path/'late.csv'
    frame[frame.train_size>0].to_csv(late, index=False)
    line = f'--n train_size --perf accuracy --by init --no-progress --json {tmp_path}/c.json --report {tmp_path}/c.html'
    said = 'warning: the curve begins at n = 50'
    assert run(f'curves {late} {line}')[0]==0
    assert [o.startswith(said) for o in json.loads((tmp_path/'c.json').read_text())['notes']].count(True)==1
    assert (tmp_path/'c.html').read_text().count(said)==1
    assert run(f'curves {arrays}/curves.csv {line}')[0]==0
    assert said not in (tmp_path/'c.html').read_text()+(tmp_path/'c.json').read_text()

def test_time_of_small_networks_is_foretold(monkeypatch):
    "An image in a batch, not a call; in CPU seconds, so that a busy machine does not matter"
    import time
    import torch
    from torch import nn
    from transfer_metrics.cli.plan import Plan, passes, timed
    from transfer_metrics.invariance.domains import interior_domain
    from transfer_metrics.invariance.evaluation import evaluate
    monkeypatch.setattr(time, 'perf_counter', time.process_time)
    layers = nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 3)
    models = {'net': nn.Sequential(*layers)}
    images = torch.rand(100, 3, 32, 32)
    n_passes = passes(Plan(4, 'three_swaps', 0), 100, 0, 7)
    sets = list(interior_domain(images, 4, labels=torch.arange(100)%3))
    what = dict(metrics=['accuracy','rotation_invariance','jigsaw_invariance'], permutations='three_swaps', progress=False)
    def ratio():
        foretold = timed(models, images)*n_passes
        start = time.process_time()
        evaluate(models, sets, **what)
        return foretold/(time.process_time()-start)
    ratio()   # what is imported and set up at the first call
    assert .5<sorted(ratio() for _ in range(5))[2]<2

def test_interrupted(monkeypatch):
    def stop(*args, **kwargs): raise KeyboardInterrupt
    monkeypatch.setattr('transfer_metrics.learning_curves.compare.compare_curves', stop)
    status,_,err = run('curves')
    assert status==130
    assert err=='transfer-metrics: interrupted; nothing was kept, the same command begins anew\n'

def test_interrupted_at_once(monkeypatch, capsys):
    "Ctrl-C while modules are still being imported"
    from transfer_metrics.cli import run as begin
    class Read(ModuleType):
        def __getattr__(self, name): raise KeyboardInterrupt
    monkeypatch.setitem(sys.modules, 'transfer_metrics.cli.main', Read('main'))
    assert begin()==130
    assert capsys.readouterr().err=='transfer-metrics: interrupted\n'

def test_reader_that_has_enough():
    "`transfer-metrics help | head -1` ends without a word on stderr"
    line = f'{sys.executable} -c "from transfer_metrics.cli.main import main; import sys; sys.exit(main([\'help\', \'rank\']))"'
    r = subprocess.run(f'{{ {line}; echo $? >&2; }} | true', shell=True, capture_output=True, text=True)
    assert r.stderr.split()==['0']

def test_ranking_of_the_example_is_one_table():
    "The column that it is sorted by stands beside the scores, at 80 columns too"
    out = run('rank --metrics leep,nce,h_score,logme,knn,linear_probe --no-progress')[1]
    table = out[out.index('Scores on'):out.index('* a yardstick')]
    assert table.count('upside_down')==1

def test_readme_commands():
    "Every command line of the README is one that the parser takes"
    from transfer_metrics.cli.main import _parse
    text = (Path(__file__).parent.parent/'README.md').read_text()
    for line in re.findall(r'transfer-metrics ((?:rank|study|curves|loss-data|invariance|accuracy|benchmark)[^`\n]*)', text):
        name,*args = line.split()
        _parse(name, args)
