"The built site in a browser: `sphinx-build -W --keep-going docs _docs/html`, then `python -m pytest docs/test_site.py`"
import json
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import unquote, urldefrag, urlsplit
from urllib.request import urlopen
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

root = Path(__file__).parent.parent/'_docs/html'
flags = '--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'
seen = '''const all = (s, f) => [...document.querySelectorAll(s)].map(f)
const described = ['meta[name="description"]', 'meta[property="og:title"]', 'meta[property="og:description"]']
for (const o of document.querySelectorAll('details')) o.open = true
return {links: all('a[href]', a => a.href), ids: all('[id]', o => o.id),
        broken: all('img', i => i).filter(i => !i.naturalWidth).map(i => i.src),
        wide: all('pre', o => o).filter(o => o.scrollWidth>o.clientWidth+1).map(o => o.textContent.slice(0, 60)),
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

def wait(browser, css):
    "The elements that match `css`, as soon as there are any"
    return WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, css), f'nothing matches {css}')

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
    for page in sorted(p.relative_to(root).as_posix() for p in root.rglob('*.html')):
        browser.get(f'{site}/{page}')
        if 'class="math' in browser.page_source: wait(browser, 'mjx-container')
        events = [json.loads(o['message'])['message'] for o in browser.get_log('performance')]
        res[f'{site}/{page}'] = browser.execute_script(seen) | dict(
            errors=[o['message'] for o in browser.get_log('browser') if o['level']=='SEVERE'],
            requests=[e['params']['request']['url'] for e in events if e['method']=='Network.requestWillBeSent'])
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
    assert any('linear_probe' in o.text and 'resnet18' in o.text for o in wait(browser, '.cell_output table'))
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

# What comes first for what readers type
first_for = {
    'how much data do I need': 'how_much_data.html',
    'which model': 'which_model.html',
    'no labels': 'accuracy_without_labels.html',
    'timm': 'start/your_models.html',
    'hugging face': 'start/your_models.html',
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
    WebDriverWait(browser, 20).until(lambda b: 'search.html' in b.current_url)
    found = [o.get_attribute('href') for o in wait(browser, '#search-results li > a')]
    assert urlsplit(found[0]).path==f'/{first_for[query]}', found[:5]

def test_search_knows_no_code(site, browser):
    browser.get(f'{site}/search.html?q=plt')
    assert 'Nothing found' in wait(browser, '#search-summary')[0].text

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
    links = {o: page for page,v in visited.items() for o in v['links'] if urlsplit(o).netloc==urlsplit(site).netloc}
    assert not {o: page for o,page in links.items() if status(urldefrag(o).url)!=200}
    def missing(url, fragment): return fragment and unquote(fragment) not in visited.get(url if url.endswith('.html') else f'{url}index.html', {'ids': []})['ids']
    assert not {o: page for o,page in links.items() if missing(*urldefrag(o))}

def test_nothing_broken(visited): assert not {k: v['broken']+v['errors'] for k,v in visited.items() if v['broken'] or v['errors']}

def test_described(visited): assert not {k: v['undescribed'] for k,v in visited.items() if v['undescribed']}

def test_code_does_not_scroll(visited): assert not {k: v['wide'] for k,v in visited.items() if v['wide']}

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
