"Run one notebook as Colab does: cell by cell in IPython, in a folder without the rest of the project: `python .ci/colab.py NOTEBOOK`"
import json, os, re, sys, time
from tempfile import TemporaryDirectory

os.environ['MPLBACKEND'] = 'agg'
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

def skipped(src):
    "Is the cell `src` slow, or not meant to be run?"
    return re.search(r'^#\| *(slow|eval: *false)\s*$', src, re.M)

def run(path):
    cells = [''.join(c['source']) for c in json.load(open(path, encoding='utf-8'))['cells'] if c['cell_type']=='code']
    shell = InteractiveShell.instance(config=Config(HistoryManager=dict(enabled=False)), colors='nocolor')
    for src in cells:
        if skipped(src): continue
        with capture_output() as out: ok = shell.run_cell(src).success
        if not ok: sys.exit(f'{path} failed in\n{src}\n\n{out.stdout}\n{out.stderr}')

if __name__=='__main__':
    path,start,home = os.path.abspath(sys.argv[1]),time.perf_counter(),os.getcwd()
    with TemporaryDirectory() as d:
        os.chdir(d)
        try: run(path)
        finally: os.chdir(home)
    print(f'{time.perf_counter()-start:5.1f} s  {os.path.relpath(path)}')
