"Commands in a terminal of their own: bars with the time that is left, warnings within the width, Ctrl-C"
import os, re, select, signal, subprocess, sys, time
import numpy as np
import pytest

pty = pytest.importorskip('pty') # not on Windows
import fcntl, struct, termios

def in_terminal(args, columns=80, stop=None, limit=240, cwd=None):
    "Status and what a terminal of `columns` got; Ctrl-C as soon as `stop(text)` is true"
    if signal.getsignal(signal.SIGINT)==signal.SIG_IGN:  # the tests run in the background of a shell, and children inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    master,slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    env = {k: v for k,v in os.environ.items() if k not in ('COLUMNS','NO_COLOR','FORCE_COLOR','CI')} | dict(TERM='xterm-256color')
    command = [sys.executable, '-m', 'transfer_metrics.cli.main', *map(str, args)]
    p = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=cwd, start_new_session=True)
    os.close(slave)
    got = b''
    stopped = stop is None
    until = time.monotonic()+limit
    while time.monotonic()<until:
        if select.select([master], [], [], .1)[0]:
            try: piece = os.read(master, 1<<16)
            except OSError: break
            if not piece: break
            got += piece
        if not stopped and stop(got.decode(errors='ignore')):
            p.send_signal(signal.SIGINT)
            stopped = True
    else: p.kill()
    os.close(master)
    return p.wait(),got.decode()

def last(text):
    "What stands in the terminal after the bars are gone"
    return re.sub(r'\x1b\[[?\d;]*[a-zA-Z]', '', re.split(r'[\r\n]\x1b\[2K', text)[-1]).replace('\r', '')

@pytest.fixture(scope='module')
def photos(tmp_path_factory):
    "A folder of images of two classes"
    from PIL import Image
    root = tmp_path_factory.mktemp('photos')
    rng = np.random.default_rng(0)
    for name in 'cat','dog':
        (root/name).mkdir()
        for i in range(12): Image.fromarray(rng.integers(0, 255, (16,16,3), dtype=np.uint8)).save(root/name/f'{i}.png')
    return root

def left(text): return re.search(r'\d+:\d\d left', text) is not None

stores = {
    'loss-data': 'loss-data --n-seeds 5 --train-steps 1500',
    'invariance': 'invariance',
    'study': 'study correlation --tasks 200'}

@pytest.mark.parametrize('name', stores)
def test_interrupted_with_a_store(name, tmp_path):
    "One line that names what was kept, and the same command goes on from there"
    store = tmp_path/'kept.csv'
    def stop(text): return left(text) and store.exists()
    status,text = in_terminal([*stores[name].split(), '--store', store], stop=stop)
    assert status==130, text[-2000:]
    said = ' '.join(last(text).split())
    again = ' with --resume' if name=='study' else ''
    assert said.endswith(f'transfer-metrics: interrupted; what was finished is in {store}; the same command{again} goes on from there')
    assert 'Traceback' not in text
    assert len(store.read_text().splitlines())>1

@pytest.mark.parametrize('line', [
    'curves --n-boot 20000000',
    'rank --models resnet18 --weights none --images {photos} --batch-size 1',
    'accuracy --model two:net --known {photos} --new {photos}/cat --size 224 --batch-size 1'])
def test_interrupted(line, photos, tmp_path):
    "Nothing was kept where no store was named; what can have one says so"
    (tmp_path/'two.py').write_text('def net():\n    from torchvision.models import resnet18\n    return resnet18(num_classes=2)\n')
    status,text = in_terminal(line.format(photos=photos).split(), stop=left, cwd=tmp_path)
    assert status==130, text[-2000:]
    has_store = line.startswith('rank')
    how = '; with --store PATH what is finished stays' if has_store else ', the same command begins anew'
    assert ' '.join(last(text).split()).endswith(f'transfer-metrics: interrupted; nothing was kept{how}')
    assert 'Traceback' not in text

def test_warning_within_the_width(tmp_path):
    "Wrapped between words, once"
    path = tmp_path/'late.csv'
    path.write_text('n,perf,by\n'+''.join(f'{n},{.4+k/5+n/1000},{k}\n' for k in (0,1) for n in (50,100,200)))
    status,text = in_terminal(['curves', path, '--by', 'by', '--no-progress'])
    assert status==0, text
    plain = re.sub(r'\x1b\[[?\d;]*[a-zA-Z]', '', text).replace('\r', '')
    warned = plain[plain.index('transfer-metrics: warning'):]
    assert plain.count('warning:')==1
    assert '\x1b[33m' in text
    lines = [o for o in warned.splitlines() if str(tmp_path) not in o]
    assert max(map(len, lines))<=80

def test_long_work_is_foretold(monkeypatch, capsys, tmp_path):
    "loss-data and study say how long their work takes, each kind of it once, also where there is no terminal"
    from transfer_metrics.cli.main import main
    for name in ('progress._lasting','progress._enough','cli.plan._long'): monkeypatch.setattr(f'transfer_metrics.{name}', 0.)
    rng = np.random.default_rng(0)
    y = np.arange(60)%3
    np.save(tmp_path/'y.npy', y)
    for k in 'ab': np.save(tmp_path/f'{k}.npy', rng.normal(size=(60,4))+y[:,None])
    data = ['--features', f'{tmp_path}/a.npy,{tmp_path}/b.npy', '--labels', f'{tmp_path}/y.npy']
    assert main(['loss-data', *data, '--points', '5,20', '--n-seeds', '2', '--train-steps', '5'])==0
    said = capsys.readouterr().err
    assert said.count('8 networks: ')==1 and 'with --store PATH what is finished stays' in said
    assert main(['study', *data, '--tasks', '3', '--store', f'{tmp_path}/study.csv'])==0
    said = capsys.readouterr().err
    assert said.count('retrain_head of 2 models: ')==1 and f'what is finished stays in {tmp_path}/study.csv' in said
    assert main(['loss-data', *data, '--points', '5', '--train-steps', '5', '--no-progress'])==0
    assert 'networks: ' not in capsys.readouterr().err
