"The built site in a browser: `python -m sphinx -W --keep-going -q docs _docs/html`, then `python -m pytest -n 0 docs/test_site.py`"
import json
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

root = Path(__file__).resolve().parent.parent/'_docs/html'
site = root.as_uri()
flags = ('--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking '
         '--disable-component-update --disable-sync --window-size=1280,900')
seen = '''const all = (s, f) => [...document.querySelectorAll(s)].map(f)
for (const o of document.querySelectorAll('details')) o.open = true
return {links: all('a[href]', a => a.href), ids: all('[id]', o => o.id), title: document.title,
        broken: all('img', i => i).filter(i => !i.naturalWidth).map(i => i.src),
        raw: all('article p, article li, article td', o => o.innerText).filter(t => /\\]\\(\\S/.test(t)),
        wide: document.documentElement.scrollWidth>document.documentElement.clientWidth}'''

@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = '/usr/bin/chromium'
    for o in *flags.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}": options.add_argument(o)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService('/usr/bin/chromedriver')) as driver:
        yield driver

def wait(browser, css):
    return WebDriverWait(browser, 20, poll_frequency=.02).until(lambda b: b.find_elements(By.CSS_SELECTOR, css),
                                                                f'nothing matches {css}')

def test_pages(browser):
    "Links lead somewhere, images load, the console has no errors, nothing comes from elsewhere, and nothing is wider than the window"
    found = {}
    for page in sorted(p.relative_to(root).as_posix() for p in root.rglob('*.html')):
        browser.get(f'{site}/{page}')
        found[f'{site}/{page}'] = browser.execute_script(seen)
        phone = dict(width=390, height=844, deviceScaleFactor=1, mobile=True)
        browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', phone)
        assert browser.execute_script('return document.documentElement.scrollWidth')<=390, f'{page} is wider than a phone'
        browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    for page,o in found.items():
        assert not o['broken'] and not o['raw'] and not o['wide'], page
        for link in o['links']:
            address,anchor = urldefrag(link)
            if not address.startswith(site): continue
            assert Path(unquote(urlsplit(address).path)).is_file(), f'{page} links to {link}'
            assert not anchor or address not in found or unquote(anchor) in found[address]['ids'], f'{page} links to {link}'
    severe = [o['message'] for o in browser.get_log('browser') if o['level']=='SEVERE']
    assert not severe
    events = [json.loads(o['message'])['message'] for o in browser.get_log('performance')]
    requests = {e['params']['request']['url'] for e in events if e['method']=='Network.requestWillBeSent'}
    assert not [u for u in requests if not u.startswith((site,'data:','chrome','about:','blob:'))]

def test_home(browser):
    browser.get(f'{site}/index.html')
    assert wait(browser, 'article img')[0].get_attribute('alt')
    entries = [o.text for o in wait(browser, '.sidebar-tree .toctree-l1 > a') if o.is_displayed()]
    assert len(entries)<25 and len([o for o in entries if o.endswith('?')])>=4

def test_metric_page(browser):
    "Formula, documentation of the function, figure, and a link to the notebook"
    browser.get(f'{site}/transferability/leep.html')
    assert wait(browser, 'mjx-container') and wait(browser, '.cell_output img')
    assert any('probs' in o.text for o in wait(browser, 'div.api'))
    assert wait(browser, 'a.colab')[0].get_attribute('href').endswith('/blob/main/nbs/transferability/01_leep.ipynb')

@pytest.mark.parametrize(('query','page'), [('install','index'), ('which model','which_model'),
                                            ('no labels','accuracy_without_labels'),
    ('how much data','how_much_data'), ('leep','transferability/leep')])
def test_search(browser, query, page):
    browser.get(f'{site}/search.html?q={query.replace(" ", "+")}')
    first = wait(browser, '#search-results li a')[0].get_attribute('href')
    assert first.split('#')[0]==f'{site}/{page}.html'

@pytest.mark.parametrize(('page','name','control'), [('transferability/leep','LEEP','[role=radio][aria-checked=true]'),
    ('learning_curves/relative_reduction','RR(p)','[role=slider]'),
    ('invariance/nuclear_norm','nuclear norm','[role=slider]'),
    ('invariance/cot','COT','input'), ('invariance/atc','target above','[role=slider]')])
def test_interactive(browser, page, name, control):
    "A key moves the figure, and its numbers follow"
    browser.get(f'{site}/{page}.html')
    tree = wait(browser, '[data-moving]')[0].shadow_root
    def numbers(): return [o.text for o in tree.find_elements(By.CSS_SELECTOR, '[data-name]')]
    before = numbers()
    assert name in [o.get_attribute('data-name') for o in tree.find_elements(By.CSS_SELECTOR, '[data-name]')]
    o = tree.find_elements(By.CSS_SELECTOR, control)[0]
    for key in [Keys.ARROW_RIGHT]*3+[Keys.ARROW_UP]*9: o.send_keys(key)
    assert numbers()!=before
