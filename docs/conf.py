"Sphinx site from the notebooks in nbs/: `sphinx-build -W --keep-going docs _docs/html`"
import gc
import sys
from importlib.metadata import metadata
from pathlib import Path
here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent)]
from areas import also_called, areas, captions, inner, start  # noqa: E402
from nbdev_sphinx import cfg, convert_all, docstring, external, source_url as linkcode_resolve  # noqa: E402, F401
from page_head import head  # noqa: E402
from page_text import write_texts  # noqa: E402
from search_index import no_own_index, write_index  # noqa: E402
from stubs import contract  # noqa: E402
from transfer_metrics.public import listed  # noqa: E402

names = [k for k,where in listed(cfg.lib_path.name).items() if where!=cfg.lib_path.name]
called = [*contract, *(k for k in names if k not in contract)]   # at top level: what users meet first, then every metric
project = html_title = cfg.title
version = release = metadata(cfg.lib_name)['Version']
copyright = author = metadata(cfg.lib_name)['Author']
extensions = ['myst_nb', 'sphinx.ext.autodoc', 'sphinx.ext.linkcode', 'sphinx_copybutton', 'sphinx-mathjax-offline']

nb_execution_mode = 'off'
nb_output_stderr = 'remove'
nb_merge_streams = True
nb_render_markdown_format = 'myst'
nb_ipywidgets_js = {}
nb_code_prompt_show = nb_code_prompt_hide = 'Show code'
myst_enable_extensions = ['amsmath', 'attrs_inline', 'colon_fence', 'deflist', 'dollarmath']
myst_heading_anchors = 4
smartquotes_action = 'D'   # dashes only: quotes in docments are often code
mathjax3_config = {'chtml': {'scale': .93}}
add_module_names = False
autodoc_typehints = 'none'

html_theme, pygments_style, pygments_dark_style = 'furo', 'github-light', 'github-dark'
html_static_path, html_css_files, html_js_files = ['_static'], ['site.css'], ['site.js']
html_favicon = html_logo = '_static/logo.svg'
html_copy_source = html_show_sourcelink = False
html_theme_options = dict(top_of_page_buttons=[])
html_baseurl = cfg.doc_url
templates_path = ['_templates']
html_additional_pages = {'search': 'search.html'}
html_sidebars = {'**': [f'sidebar/{o}.html' for o in ('brand', 'search', 'scroll-start', 'navigation', 'links', 'scroll-end')]}
html_context = dict(repository=cfg.git_url, changelog=f'{cfg.git_url}/blob/{cfg.branch}/CHANGELOG.md', issues=f'{cfg.git_url}/issues/new',
                    release=release)

def setup(app):
    "Build from docs/nbs, where the converted notebooks are written, so that pages have no folder in front"
    app.srcdir = here/'nbs'
    gc.set_threshold(200_000, 50, 50) # a doctree is a million objects that stay
    convert_all(app.srcdir, areas, start, inner, captions, called)
    app.connect('autodoc-process-docstring', docstring)
    app.connect('missing-reference', external)
    app.connect('html-page-context', head)
    app.connect('builder-inited', no_own_index)
    app.connect('build-finished', lambda app, error: error or write_index(app, also_called))
    app.connect('build-finished', lambda app, error: error or write_texts(app.outdir, areas, start, inner))
