"""Run notebooks as Colab does: cell by cell in IPython, each in a process and a folder of its own, without the rest of the
project: `python .ci/colab.py NOTEBOOK...`. The heavy libraries are imported once, before the processes part.
Nothing is left out, slow cells neither; those of a study whose data are not there show what is stored in its page.
With `--times` what each takes of one core without slow cells goes to docs/times.json, which docs/runs.py reads."""
import gc, json, os, re, shutil, signal, sys, time
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ['MPLBACKEND'] = 'agg'
import matplotlib.pyplot, pandas, scipy.stats, sklearn.datasets, sklearn.linear_model, torch, torchvision  # noqa: F401
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

seconds = 300
steps = 5,10,20,40,60,120,seconds  # of the times that are written: the first that is long enough

def marked(src, mark):
    "Does the cell `src` say of itself what the pattern `mark` does?"
    return re.search(rf'^#\| *{mark}\s*$', src, re.M) is not None

def left_out(path):
    "Does the notebook at `path` need what is not installed? The page itself installs it, an extra of its own"
    needed = re.findall(r'#\| needs: (\w+)', path.read_text('utf-8'))
    return not all(map(find_spec, needed))

def run(path, slow):
    "What went wrong in the notebook at `path`, '' for nothing; with its slow cells or without"
    if left_out(path): return ''
    cells = [''.join(c['source']) for c in json.loads(path.read_text('utf-8'))['cells'] if c['cell_type']=='code']
    shell = InteractiveShell.instance(config=Config(HistoryManager=dict(enabled=False)), colors='nocolor')
    for src in cells:
        if marked(src, 'eval: *false') or (marked(src, 'slow') and not slow): continue
        with capture_output() as out: ok = shell.run_cell(src).success
        if not ok: return f'failed in\n{src}\n\n{out.stdout}\n{out.stderr}'
    return ''

def too_long(*args): raise TimeoutError(f'not done after {seconds} s')

def processors():
    "Seconds that this process and those it has waited for had of processors"
    return sum(os.times()[:4])

def timed(path, slow):
    "Seconds that the notebook at `path` took, those of processors, and what went wrong; one that hangs is ended"
    start,busy = time.perf_counter(),processors()
    gc.freeze()  # collections pass over what was imported before
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    with TemporaryDirectory() as d:
        os.chdir(d)
        shutil.copy(path, d)  # as it lies beside the reader's kernel
        wrong = run(path, slow)
        os.chdir('/')
    signal.alarm(0)
    return time.perf_counter()-start, processors()-busy, wrong

def write_times(found):
    "Write the seconds `found` of notebooks by path, rounded up, beside those that are known"
    root = Path(__file__).resolve().parents[1]
    file = root/'docs/times.json'
    known = json.loads(file.read_text())
    for path,busy in found.items():
        name = path.relative_to(root/'nbs').with_suffix('').as_posix()
        known[name] = next(o for o in steps if busy<=o or o==seconds)
    lines = [f'"{k}": {known[k]}' for k in sorted(known)]
    file.write_text('{\n'+',\n'.join(lines)+'\n}\n')

def main(paths, times=False):
    "Run all; the number of those that failed"
    failed,found = 0,{}
    with get_context('fork').Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        jobs = {p: pool.apply_async(timed, [p, not times]) for p in paths}
        for p,job in jobs.items():
            try: took,busy,wrong = job.get(timeout=2*seconds)
            except Exception as e: took,busy,wrong = 0., 0., f'{type(e).__name__}: {e}; its process died or did not end'
            failed += bool(wrong)
            if not wrong and not left_out(p): found[p] = busy
            told = f' {wrong}\n' if wrong else ' not run: needs what is not installed' if left_out(p) else ''
            print(f'{took:5.1f} s  {os.path.relpath(p)}', told, flush=True)
    if times: write_times(found)
    return failed

if __name__=='__main__':
    paths = [Path(p).resolve() for p in sys.argv[1:] if p!='--times']
    sys.exit(main(paths, '--times' in sys.argv) > 0)
