"The built site in a browser: `sphinx-build -W --keep-going docs _docs/html`, then `python -m pytest docs/test_site.py`"
import json
import re
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import unquote, urldefrag, urlsplit
from urllib.request import urlopen
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
import transfer_metrics as tm
from page_links import symbol, xref
from transfer_metrics.cli.main import all_commands
from transfer_metrics.pages import site as public_address

root = Path(__file__).parent.parent/'_docs/html'
flags = '--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'
seen = '''const all = (s, f) => [...document.querySelectorAll(s)].map(f)
const described = ['meta[name="description"]', 'meta[property="og:title"]', 'meta[property="og:description"]']
for (const o of document.querySelectorAll('details')) o.open = true
const texts = [], walk = document.createTreeWalker(document.querySelector('article') ?? document.body, NodeFilter.SHOW_TEXT)
while (walk.nextNode()) if (!walk.currentNode.parentElement.closest('code, pre, .math, script, style')) texts.push(walk.currentNode.data)
function begins(o) {   // a line, with a mark that belongs behind a formula
  if (o?.nodeType!==Node.TEXT_NODE || !/^[.,;:!?)]/.test(o.data)) return false
  const first = document.createRange()
  first.setStart(o, 0)
  first.setEnd(o, 1)
  return first.getBoundingClientRect().left < o.previousSibling.getBoundingClientRect().right-2
}
return {links: all('a[href]', a => a.href), ids: all('[id]', o => o.id),
        broken: all('img', i => i).filter(i => !i.naturalWidth).map(i => i.src),
        wide: all('pre, div.math', o => o).filter(o => o.scrollWidth>o.clientWidth+1).map(o => o.textContent.slice(0, 60)),
        scrolled: all('.cell_output table', o => o).filter(o => o.parentElement.scrollWidth>o.parentElement.clientWidth+1).map(o => o.textContent.trim().slice(0, 60)),
        stray: texts.filter(o => /[$`]|\\\\[a-zA-Z]/.test(o) && !/^\\w*Error: /.test(o.trim())),   // messages are shown as they are
         left: all('span.math', o => o.nextSibling).filter(begins).map(o => o.data.slice(0, 40)),
        undescribed: described.filter(o => !document.querySelector(o)?.content)}'''

class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args): pass

@pytest.fixture(scope='module')
def site():
    "Address of the site on a free port of this machine"
    assert (root/'index.html').exists(), 'no _docs/html/index.html: build the site first'
    with ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=root)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()

@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    "Debian's Chromium, with a fresh profile"
    options = webdriver.ChromeOptions()
    options.binary_location = '/usr/bin/chromium'
    for o in *flags.split(), '--window-size=1440,1000', f"--user-data-dir={tmp_path_factory.mktemp('profile')}": options.add_argument(o)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService('/usr/bin/chromedriver')) as driver: yield driver

def until(browser, f, message=''):
    "What `f` of the browser gives, as soon as it is something; half a second between looks is the default, on 200 pages"
    return WebDriverWait(browser, 20, poll_frequency=.02).until(f, message)

def wait(browser, css):
    "The elements that match `css`, as soon as there are any"
    return until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, css), f'nothing matches {css}')

def background(browser): return browser.execute_script('return getComputedStyle(document.body).backgroundColor')

@cache
def status(url):
    try:
        with urlopen(url) as r: return r.status
    except HTTPError as e:
        with e: return e.code

@pytest.fixture(scope='module')
def visited(site, browser):
    "What a visit to each page shows: links, anchors, images that did not load, console errors, requests"
    res = {}
    for o in ('browser', 'performance'): browser.get_log(o)
    as_it_was = browser.get_window_size()
    browser.set_window_size(1280, 900) # the narrowest that shows both sidebars
    for page in sorted(p.relative_to(root).as_posix() for p in root.rglob('*.html')):
        browser.get(f'{site}/{page}')
        if 'class="math' in browser.page_source:
            wait(browser, 'mjx-container')
            browser.execute_async_script('MathJax.startup.promise.then(arguments[0])')
        events = [json.loads(o['message'])['message'] for o in browser.get_log('performance')]
        res[f'{site}/{page}'] = browser.execute_script(seen) | dict(
            errors=[o['message'] for o in browser.get_log('browser') if o['level']=='SEVERE'],
            requests=[e['params']['request']['url'] for e in events if e['method']=='Network.requestWillBeSent'])
    browser.set_window_size(as_it_was['width'], as_it_was['height'])
    return res

def text_of(elements): return [o.text for o in elements]

def sidebar(browser): return [o.text for o in wait(browser, '.sidebar-tree .toctree-l1 > a') if o.is_displayed()]

def go(browser, text, within='article'):
    "Follow the link that says `text`"
    link = next(o for o in wait(browser, f'{within} a') if o.text==text)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", link)
    link.click()

def test_landing_page(site, browser):
    browser.get(site)
    section, = wait(browser, '#which-metric-do-i-need')
    assert section.text.count('?')>4, 'the heading and four questions'
    assert wait(browser, 'article img')[0].get_attribute('alt')

def test_from_landing_page_to_a_result(site, browser):
    browser.get(site)
    go(browser, 'Use your own models')
    wait(browser, '#to-a-ranking')
    assert any('linear_probe' in o.text and 'mobilenet_v3_small' in o.text for o in wait(browser, '.cell_output table'))
    assert any(o.text.startswith('!transfer-metrics rank --outputs') for o in wait(browser, '.cell_input pre'))
    go(browser, 'Learning curves from a CSV', '.sidebar-tree')
    assert 'handicap' in wait(browser, '.cell_output table')[-1].text
    go(browser, 'A model in production', '.sidebar-tree')
    assert 'estimated_accuracy' in wait(browser, '.cell_output table')[0].text

def test_tour_shows_everything(site, browser):
    "Four questions, each with an output; captions below the figures, which have texts of their own"
    browser.get(f'{site}/studies/tour.html')
    assert len(wait(browser, 'article section section'))==5, 'four questions and what to take home'
    captions = text_of(wait(browser, 'article figcaption'))
    assert len(captions)>=5
    assert not [o for o in wait(browser, 'article img') if o.get_attribute('alt') in ('', 'Figure')]

def test_sidebar(site, browser):
    "Questions first, internals last; areas are closed, and open where one is"
    browser.get(site)
    entries = sidebar(browser)
    assert entries[:3]==['What it is', 'A tour in ten minutes', 'Which score when?']
    assert len([o for o in entries if o.endswith('?')])==5
    assert entries[-1]=='Under the hood'
    assert len(entries)<20
    assert not [o for o in browser.find_elements(By.CSS_SELECTOR, '.sidebar-tree .toctree-l2') if o.is_displayed()]
    links = text_of(wait(browser, '.sidebar-links a'))
    assert [o.split()[0] for o in links]==['Repository', 'Version', 'Report']

@pytest.mark.parametrize('page', ['invariance/evaluation.html', 'loss_data/threads.html', 'cli/study.html'])
def test_sidebar_shows_the_current_page(site, browser, page):
    browser.get(f'{site}/{page}')
    current = wait(browser, '.sidebar-tree .current-page > a')[-1]
    assert current.is_displayed()
    inside = 'const b = document.querySelector(".sidebar-scroll").getBoundingClientRect(), o = arguments[0].getBoundingClientRect()'
    assert browser.execute_script(f'{inside}; return o.top>=b.top && o.bottom<=b.bottom', current)

def test_metric_page(site, browser):
    browser.get(f'{site}/transferability/leep.html')
    assert wait(browser, 'mjx-container')
    figures = wait(browser, '.cell_output img')
    assert all(browser.execute_script('return arguments[0].decode().then(() => arguments[0].naturalWidth)', o)>0 for o in figures)
    signature, = wait(browser, 'dt[id="transfer_metrics.transferability.leep.leep"]')
    assert 'probs' in signature.text
    assert 'probs' in wait(browser, 'dl.py dl.field-list')[0].text
    colab, = wait(browser, 'a.colab')
    assert colab.get_attribute('href').endswith('/blob/main/nbs/transferability/01_leep.ipynb')

commands = ['rank', 'curves', 'loss-data', 'invariance', 'study', 'accuracy', 'benchmark']

@pytest.mark.parametrize('name', commands)
def test_command_page(site, browser, name):
    "How to call it comes before how it is made"
    browser.get(f'{site}/cli/{name.replace("-", "_")}.html')
    parts = [o.text.rstrip('¶#') for o in wait(browser, 'article section h2')]
    assert parts[:2]==['Three recipes', 'Options']
    assert 'How it works' in parts[2:]
    recipes = text_of(wait(browser, '#three-recipes pre'))
    assert len(recipes)==3 and all(o.startswith(f'transfer-metrics {name} ') for o in recipes)
    assert f'usage: transfer-metrics {name}' in wait(browser, '#options .cell_output')[0].text

def test_sidebar_lists_commands(site, browser):
    "and nothing that they are made of"
    browser.get(f'{site}/cli/rank.html')
    listed = [o.text for o in wait(browser, '.sidebar-tree .toctree-l2 > a') if o.is_displayed()]
    assert listed==['The command itself', *(f'Command {o}' for o in commands)]

def test_narrow_header(site, browser):
    "A thumb finds the theme and the table of contents"
    narrow = dict(width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', narrow)
    try:
        browser.get(f'{site}/transferability/leep.html')
        theme,contents = (wait(browser, f'.header-right {o}')[0].rect for o in ('.theme-toggle', '.toc-overlay-icon'))
        assert contents['x']-theme['x']-theme['width']>=8
        browser.get(f'{site}/cli/loss_data.html')
        options = [o for o in wait(browser, 'p code .pre') if o.text.startswith('--')]
        assert options and {browser.execute_script('return arguments[0].getClientRects().length', o) for o in options}=={1}
    finally: browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})

@contextmanager
def phone(browser):
    "A window as wide as that of a phone"
    narrow = dict(width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', narrow)
    try: yield
    finally: browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})

def test_narrow_table(site, browser):
    "On a phone the first question shows all its answers"
    with phone(browser):
        browser.get(site)
        table = wait(browser, '#which-metric-do-i-need table')[0]
        assert in_page(browser, 'document.querySelector("#which-metric-do-i-need table").getBoundingClientRect().right')<=390, table.text

def test_narrow_figure(site, browser):
    "The words of the first figure can be read on a phone: it is moved sideways, and the page is not"
    with phone(browser):
        browser.get(site)
        figure = wait(browser, '.cell_output img.wide')[0]
        assert figure.rect['width']>600
        assert browser.execute_script('return document.documentElement.scrollWidth')<=390
        assert browser.execute_script('const o = arguments[0].parentElement; return o.scrollWidth>o.clientWidth', figure)

# What comes first for what readers type
first_for = {
    'how much data do I need': 'how_much_data.html',
    'which model': 'which_model.html',
    'no labels': 'accuracy_without_labels.html',
    'timm': 'start/timm.html',
    'hugging face': 'start/hugging_face.html',
    'clip': 'start/clip_and_sentences.html',
    'use my own model': 'start/your_models.html',
    'cite': 'index.html',
    'leep': 'transferability/leep.html',
    'tm.score_models': 'model_selection/ranking.html',
    'learning curves csv': 'start/curves_from_a_csv.html',
}
@pytest.mark.parametrize('query', first_for)
def test_search(site, browser, query):
    browser.get(site)
    box = wait(browser, 'input.sidebar-search')[0]
    box.send_keys(query)
    box.submit()
    until(browser, lambda b: 'search.html' in b.current_url)
    found = [o.get_attribute('href') for o in wait(browser, '#search-results li > a')]
    assert urlsplit(found[0]).path==f'/{first_for[query]}', found[:5]

def test_search_knows_no_code(site, browser):
    browser.get(f'{site}/search.html?q=plt')
    assert 'Nothing found' in wait(browser, '#search-summary')[0].text

@pytest.mark.parametrize('width', [1280,1366,1410,1440,1920])
def test_page_is_no_wider_than_the_window(site, browser, width):
    as_it_was = browser.get_window_size()
    browser.set_window_size(width, 900)
    for page in ('index','transferability/leep','cli/benchmark','start/your_models'):
        browser.get(f'{site}/{page}.html')
        assert browser.execute_script('const o = document.documentElement; return o.scrollWidth<=o.clientWidth'), page
    browser.set_window_size(as_it_was['width'], as_it_was['height'])

def test_dark_mode(site, browser):
    browser.get(site)
    colours = {background(browser)}
    for _ in range(3):
        next(o for o in wait(browser, '.theme-toggle') if o.is_displayed()).click()
        colours.add(background(browser))
    assert len(colours)==2

def test_api_index(site, visited):
    "It leads to each name at top level, and to names of each area and module"
    from transfer_metrics.public import listed
    anchors = {urldefrag(o).fragment for o in visited[f'{site}/api.html']['links']}
    lib = 'transfer_metrics'
    names = listed(lib)
    modules = {f'{lib}.{name}' for name,where in names.items() if where==lib}
    assert not {f'{where}.{name}' for name,where in names.items() if where!=lib} - anchors
    assert not modules - {'.'.join(o.split('.')[:2]) for o in anchors}

def test_links(site, visited):
    "They lead to a page and to an anchor on it, also where the public address of the site is written out"
    def here(o): return o.replace(public_address(), f'{site}/', 1) if o.startswith(public_address()) else o
    found = {here(o): page for page,v in visited.items() for o in v['links']}
    links = {o: page for o,page in found.items() if urlsplit(o).netloc==urlsplit(site).netloc}
    assert not {o: page for o,page in links.items() if status(urldefrag(o).url)!=200}
    def missing(url, fragment): return fragment and unquote(fragment) not in visited.get(url if url.endswith('.html') else f'{url}index.html', {'ids': []})['ids']
    assert not {o: page for o,page in links.items() if missing(*urldefrag(o))}

def test_names_that_are_links():
    "Symbols; not words that are arguments or columns, nor private names"
    leep = 'transfer_metrics.transferability.leep.leep'
    chance = 'transfer_metrics.model_selection.chance.chance'
    assert symbol('leep', {})==symbol('tm.leep', {})==leep
    assert symbol('near', {'near': 'here.near'})=='here.near'
    assert not any(symbol(o, {}) for o in ('known','near','pixels','spread','head','levels','encode','adapt','rows'))
    assert symbol('outputs', {}) and not symbol('outputs', {}, args={'outputs'})
    assert symbol('chance', {}, area='model_selection')==chance and not symbol('chance', {}, area='cli')
    assert symbol('_apply', {'_apply': 'here._apply'}) is None
    assert 'transfer-metrics' not in xref('_training', {}, '{}', '{} {}', '{}')

def test_every_address_leads_to_a_page():
    "Those in docstrings, on cards, in the README, in what commands print, in the texts and in the list of them"
    package = Path(tm.__file__).parent
    files = [p for p in package.rglob('*.py*') if p.suffix in ('.py','.pyi')]
    code = '\n'.join(p.read_text(encoding='utf-8') for p in files)
    texts = [root/'llms.txt', package.parent/'README.md', *root.rglob('*.html.md')]
    cards = [tm.card(k)._repr_markdown_() for k in tm.registry()]
    said = '\n'.join([code, *cards, *(p.read_text(encoding='utf-8') for p in texts)])
    named = set(re.findall(rf'{re.escape(public_address())}([\w/.-]*\w)', said))
    printed = re.findall(r"\.page\('([^']+)'\)", code)
    assert len(named)>250 and len(printed)==len(all_commands())
    assert not sorted(o for o in named.union(printed) if not (root/o).is_file())

def test_text_of_a_page(site):
    "Prose, formulas, code and results, without what only a browser needs"
    with urlopen(f'{site}/transferability/leep.html.md') as r: text = r.read().decode()
    assert text.startswith('# LEEP\n\n> Log Expected')
    for part in ('## Definition', r'\hat P(y, z)', 'def leep(', 'Figure: The joint', '| call | `tm.leep(probs, labels'): assert part in text
    for rest in ('#|', '.ipynb', 'show_doc', '<table', 'colab'): assert rest not in text

def test_nothing_broken(visited): assert not {k: v['broken']+v['errors'] for k,v in visited.items() if v['broken'] or v['errors']}

def test_described(visited): assert not {k: v['undescribed'] for k,v in visited.items() if v['undescribed']}

def test_markup_is_read(visited):
    "No dollar, backtick or backslash is left of a formula or of code that was taken for words; an error in a table has its own"
    assert not {k: v['stray'] for k,v in visited.items() if v['stray']}

def test_no_line_begins_with_a_mark(visited):
    "What follows a formula stays with it"
    assert not {k: v['left'] for k,v in visited.items() if v['left']}

def in_page(browser, code): return browser.execute_script(f'return {code}')

def test_slow_cells_show_it(site, browser):
    "As many as the head of the page says"
    for page,said in ('loss_data/estimator','4 cells'),('cli/study','one cell'),('studies/selection','19 cells'):
        browser.get(f'{site}/{page}.html')
        assert f'{said} marked' in in_page(browser, 'document.querySelector("article").textContent')
        cells = wait(browser, '.cell.tag_slow')
        assert len(cells)==int(said.replace('one', '1').split()[0])
        mark = 'getComputedStyle(document.querySelector(".cell.tag_slow"), "::before").content'
        assert in_page(browser, mark)=='"#| slow"'

def test_folds_say_what_they_hold(site, browser):
    for page in 'cli/main','torchmetrics','datasets/published':
        browser.get(f'{site}/{page}.html')
        said = [o.get_attribute('textContent').strip() for o in wait(browser, 'details.hide > summary')]
        assert not [o for o in said if o.endswith('Source of')]

def test_rows_stand_on_their_lines(site, browser):
    "The name of a row begins in the line in which its cells begin, and an interval does not end a line"
    browser.get(f'{site}/studies/small_data.html')
    aligned = '[...new Set([...document.querySelectorAll(".cell_output tbody th")].map(o => getComputedStyle(o).verticalAlign))]'
    assert in_page(browser, aligned)==['baseline']
    assert in_page(browser, '/\\[-?\\d+\\.\\d+, /.test([...document.querySelectorAll("td")].map(o => o.textContent).join())') is False

def test_code_and_formulas_do_not_scroll(visited): assert not {k: v['wide'] for k,v in visited.items() if v['wide']}

def test_tables_do_not_scroll(visited): assert not {k: v['scrolled'] for k,v in visited.items() if v['scrolled']}

def test_no_outside_requests(site, visited):
    assert not {k: o for k,v in visited.items() for o in v['requests'] if o.startswith(('http', 'ws')) and not o.startswith(site)}

@pytest.fixture(scope='module')
def report(tmp_path_factory):
    "Address of a report that a command wrote"
    from transfer_metrics.cli.main import main
    path = tmp_path_factory.mktemp('report')/'ranking.html'
    assert main(['rank', '--no-progress', '--report', str(path)])==0
    return path.as_uri()

def column(table, i): return [o.text for o in table.find_elements(By.CSS_SELECTOR, f'tbody tr > :nth-child({i+1})')]

def test_report_sorts(browser, report):
    "A click on a heading sorts by it, another one turns the order round; rows stay whole"
    browser.get(report)
    table = wait(browser, 'table')[0]
    rows = {o.text for o in table.find_elements(By.CSS_SELECTOR, 'tbody tr')}
    heads = [o.text for o in table.find_elements(By.CSS_SELECTOR, 'thead th')]
    at = heads.index('logme')
    heading = table.find_elements(By.CSS_SELECTOR, 'thead button')[at]
    for turned in False,True:
        heading.click()
        values = [float(o) for o in column(table, at)]
        assert values==sorted(values, reverse=turned)
    assert heading.find_element(By.XPATH, '..').get_attribute('aria-sort')=='descending'
    table.find_elements(By.CSS_SELECTOR, 'thead button')[0].click()
    assert column(table, 0)==sorted(column(table, 0))
    assert {o.text for o in table.find_elements(By.CSS_SELECTOR, 'tbody tr')}==rows

def test_report_headings_stand_over_their_columns(browser, report):
    browser.get(report)
    sides = '''return [...document.querySelectorAll('table:not(.facts)')].flatMap(t => [...t.tHead.rows[0].cells].map(
        (o, i) => [o, o.firstChild, t.tBodies[0].rows[0].cells[i]].map(e => getComputedStyle(e).textAlign)))'''
    found = browser.execute_script(sides)
    assert all(len(set(o))==1 for o in found), found
    assert {o[0] for o in found}=={'left','right'}

def test_report_asks_for_nothing(browser, report):
    "One file: no request but its own, no error, every figure there"
    for o in ('browser', 'performance'): browser.get_log(o)
    browser.get(report)
    seen_here = browser.execute_script(seen)
    events = [json.loads(o['message'])['message'] for o in browser.get_log('performance')]
    requests = [e['params']['request']['url'] for e in events if e['method']=='Network.requestWillBeSent']
    assert [o for o in requests if not o.startswith('data:')]==[report]
    assert not seen_here['broken'] and not seen_here['wide']
    assert not [o for o in browser.get_log('browser') if o['level']=='SEVERE']

def test_report_dark_and_narrow(browser, report):
    "Paper and ink change sides in the dark; a telephone scrolls tables, not the page"
    def luminance(colour): return sum(int(o) for o in colour[colour.index('(')+1:-1].split(',')[:3])
    browser.get(report)
    seen_colours = {}
    try:
        for scheme in 'light','dark':
            browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
            ink = browser.execute_script('return getComputedStyle(document.body).color')
            seen_colours[scheme] = luminance(background(browser)),luminance(ink)
        assert seen_colours['light'][0]>600>seen_colours['light'][1]+400
        assert seen_colours['dark'][0]<150<seen_colours['dark'][1]-400
        narrow = dict(width=390, height=844, deviceScaleFactor=1, mobile=True)
        browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', narrow)
        assert browser.execute_script('return document.documentElement.scrollWidth')<=390
        assert browser.execute_script('return document.querySelector(".scroll").scrollWidth')>390-32
    finally:
        browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': []})
        browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})

# Moving pictures, driven by mouse and keys; what they show against what the package says

class Picture:
    "The moving picture of a page"
    def __init__(self, browser, url):
        self.browser = browser
        browser.get(url)
        self.host, = wait(browser, '[data-moving]')
        self.tree = self.host.shadow_root
        self.show()

    def show(self):
        "Into the middle of the window; formulas above may have pushed it out since"
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", self.host)

    def press(self, o):
        self.show()
        o.click()

    def all(self, css): return self.tree.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        found, = self.all(css)
        return found

    def named(self, name): return self.one(f'[aria-label="{name}"]')

    def back(self): self.press(self.all('button')[-1])

    @property
    def state(self): return json.loads(self.host.get_attribute('data-state'))

    @property
    def numbers(self):
        texts = {o.get_attribute('data-name'): o.text for o in self.all('.says b')}
        return {k: float(v.replace('−', '-').replace('∞', 'inf')) for k,v in texts.items()}

    def drag(self, o, right, down): ActionChains(self.browser).drag_and_drop_by_offset(o, right, down).perform()

    def keys(self, o, *keys):
        "Press `keys` one after the other, with the focus on `o` at first and then wherever it goes"
        self.browser.execute_script('arguments[0].focus()', o)
        ActionChains(self.browser).send_keys(*keys).perform()

    def agrees(self, **expected):
        "Whether the numbers shown are the `expected` ones, words with _ for spaces"
        shown = self.numbers
        wanted = {k.replace('_', ' '): v for k,v in expected.items()}
        assert {k: shown[k] for k in wanted}==pytest.approx(wanted, abs=1e-3), self.state

def test_moving_leep(site, browser):
    labels = [0, 2, 4, 4, 1, 1, 3, 0, 0, 2]
    pic = Picture(browser, f'{site}/transferability/leep.html')
    def check():
        state = pic.state
        unsure = np.full((10, 4), (1-state['sure'])/3)
        unsure[range(10), state['answers']] = state['sure']
        pic.agrees(LEEP=tm.leep(unsure, labels))
        return state
    def cell(sample, z): return pic.all('[role=radiogroup]')[sample].find_elements(By.CSS_SELECTOR, '[role=radio]')[z]
    begin = check()
    pic.agrees(LEEP=-.6591673732008659)
    cell(2, 2).click()
    assert check()['answers'][2]==2
    pic.agrees(LEEP=-.4682)
    pic.keys(cell(0, 3), Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT)   # the first to class 0, the second too
    assert check()['answers'][:2]==[0, 0]
    joint = [o.text for o in pic.all('table')[1].find_elements(By.CSS_SELECTOR, 'td')]
    assert joint[:4]==['.10', '·', '·', '.20']
    pic.keys(pic.named('how sure'), *[Keys.ARROW_LEFT]*30)
    assert .6<check()['sure']<.8
    pic.back()
    assert check()==begin

def test_moving_curves(site, browser):
    pic = Picture(browser, f'{site}/learning_curves/relative_reduction.html')
    def check():
        state = pic.state
        base,transfer = (tm.Curve([0, 10, 20, 30], perf) for perf in state['perf'])
        p = state['level']
        expected = {'lexp base': tm.lexp(base, p), 'lexp transfer': tm.lexp(transfer, p),
                    'RR(p)': tm.relative_reduction(base, transfer, p),
                    'average RR': tm.average_relative_reduction(base, transfer)}
        shown = pic.numbers
        assert shown['p']==p
        for k,v in expected.items(): assert shown[k]==pytest.approx(v, abs=5e-3 if 'lexp' in k else 1e-3), (k, state)
        return state
    begin = check()
    assert pic.numbers['average RR']==pytest.approx(.6931, abs=1e-3)
    pic.drag(pic.named('transfer at n = 10'), 0, 30)
    assert check()['perf'][1][1]<.55
    pic.drag(pic.named('base at n = 20'), 0, -25)
    assert check()['perf'][0][2]>.65
    pic.drag(pic.named('level p'), 0, -30)
    assert check()['level']>.65
    pic.keys(pic.named('level p'), Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    check()
    pic.back()
    pic.keys(pic.named('transfer at n = 30'), Keys.ARROW_DOWN)
    assert check()['perf'][1][3]==.79
    assert pic.numbers['average RR']==-np.inf
    pic.back()
    pic.keys(pic.named('transfer at n = 0'), *[Keys.ARROW_DOWN]*40)   # transfer now begins lower
    assert check()['perf'][1][0]==pytest.approx(.1)
    assert pic.numbers['average RR']==-np.inf
    pic.back()
    assert check()==begin

def test_moving_predictions(site, browser):
    pic = Picture(browser, f'{site}/invariance/nuclear_norm.html')
    def check():
        probs = np.array(pic.state['probs'])
        confidence = np.linalg.norm(probs)/np.sqrt(len(probs))
        score = tm.nuclear_norm(probs)
        pic.agrees(confidence=confidence, dispersion=score/confidence, nuclear_norm=score)
        return probs
    begin = check()
    pic.drag(pic.named('prediction 1'), 90, -60)
    assert check()[0].max()<.8
    pic.drag(pic.named('prediction 1'), -30, 170)   # out of the triangle: at its edge
    assert check()[0].min()==0
    pic.keys(pic.named('prediction 4'), *[Keys.ARROW_LEFT]*8, Keys.ARROW_UP)
    assert not np.allclose(check()[3], begin[3])
    for name in 'sure, one class','in doubt':
        next(o for o in pic.all('button') if o.text==name).click()
        check()
    assert pic.numbers['nuclear norm']<.6
    pic.back()
    assert np.allclose(check(), begin)

def test_moving_prior(site, browser):
    frog = np.array([.9, .8, .7, .4])
    probs = np.stack([frog, 1-frog], 1)
    pic = Picture(browser, f'{site}/invariance/cot.html')
    def check():
        share = pic.state['share']
        pic.agrees(COT=tm.cot(probs, prior=[share, 1-share]), share_of_frogs=share)
        return share
    assert check()==.5
    slider = pic.named('share of frogs')
    pic.drag(slider, 60, 0)
    assert check()>.55
    for key in [Keys.ARROW_RIGHT]*3 + [Keys.HOME, Keys.END] + [Keys.ARROW_LEFT]*13:
        pic.keys(slider, key)
        check()
    assert pic.state['share']==.87
    pic.back()
    assert check()==.5

def test_moving_threshold(site, browser):
    source = np.array([.99, .97, .95, .9, .85, .8, .7, .6, .55, .5])
    target = np.array([.98, .75, .62, .66, .52])
    def two_classes(p): return np.stack([p, 1-p], 1)
    pic = Picture(browser, f'{site}/invariance/atc.html')
    def check(fits=False):
        state = pic.state
        right,t = np.array(state['right']),state['t']
        pic.agrees(threshold=t, source_right=right.mean(), source_above=(source>=t).mean(), target_above=(target>=t).mean())
        if fits: pic.agrees(target_above=tm.atc(two_classes(source), np.where(right, 0, 1), two_classes(target)))
        assert ('this is ATC' in pic.one('.says').text)==((source>=t).mean()==right.mean())
        return state
    begin = check()
    def fit(): pic.press(next(o for o in pic.all('button') if o.text=='to where it fits'))
    fit()
    assert check(fits=True)['t']==pytest.approx(.65)
    pic.drag(pic.named('threshold'), 60, 0)
    assert check()['t']>.7
    pic.keys(pic.named('threshold'), Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_RIGHT)
    check()
    circles = pic.all('[role=checkbox]')
    for i in 9,6,0:
        circles[i].click()
        fit()
        check(fits=True)
    pic.keys(circles[1], Keys.SPACE)
    fit()
    assert not check(fits=True)['right'][1]
    pic.back()
    assert check()==begin

moving_pages = ['transferability/leep', 'learning_curves/relative_reduction', 'invariance/nuclear_norm', 'invariance/cot',
                'invariance/atc']

@pytest.mark.parametrize('page', moving_pages)
def test_moving_fits_everywhere(site, browser, page):
    "Named controls that the tab key reaches in turn; light and dark; narrow; not on paper"
    pic = Picture(browser, f'{site}/{page}.html')
    controls = pic.all('button, input, [tabindex="0"]')
    assert all(o.get_attribute('aria-label') or o.text for o in controls)
    pic.keys(controls[0], *[Keys.TAB]*(len(controls)-1))
    assert browser.execute_script('return arguments[0].activeElement', pic.tree)==controls[-1]
    def colour(): return browser.execute_script('return getComputedStyle(arguments[0]).backgroundColor', pic.one('.box'))
    def theme(name): browser.execute_script('document.body.dataset.theme = arguments[0]', name)
    def emulate(**media): browser.execute_cdp_cmd('Emulation.setEmulatedMedia', media)
    def preferred(scheme):
        emulate(features=[dict(name='prefers-color-scheme', value=scheme)])
        return colour()
    theme('auto')
    light,dark = preferred('light'),preferred('dark')
    assert light!=dark
    theme('light')
    assert colour()==light
    emulate(features=[])
    theme('dark')
    assert colour()==dark
    emulate(media='print')
    assert not pic.host.is_displayed()
    emulate(media='')
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', dict(width=390, height=800, deviceScaleFactor=1, mobile=False))
    try: assert browser.execute_script('return arguments[0].scrollWidth<=arguments[0].clientWidth', pic.one('.box'))
    finally: browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
