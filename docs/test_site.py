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
return {links: all('a[href]', a => a.href), ids: all('[id]', o => o.id), broken: all('img', i => i).filter(i => !i.naturalWidth).map(i => i.src)}'''

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
    for o in *flags.split(), '--window-size=1400,1000', f"--user-data-dir={tmp_path_factory.mktemp('profile')}": options.add_argument(o)
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

def test_landing_page(site, browser):
    browser.get(site)
    section, = wait(browser, '#which-metric-do-i-need')
    assert section.text.count('?')>4, 'the heading and four questions'
    assert any('/transferability/' in o.get_attribute('href') for o in section.find_elements(By.CSS_SELECTOR, 'a.internal'))

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

def test_search(site, browser):
    browser.get(site)
    box = wait(browser, 'input.sidebar-search')[0]
    box.send_keys('leep')
    box.submit()
    assert wait(browser, '#search-results li a[href*="transferability/leep.html"]')

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

def test_no_outside_requests(site, visited):
    assert not {k: o for k,v in visited.items() for o in v['requests'] if o.startswith(('http', 'ws')) and not o.startswith(site)}
