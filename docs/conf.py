"The site: `python -m sphinx -W --keep-going -q docs _docs/html`; pages.py makes its pages of the notebooks"
import sys
from importlib.metadata import metadata
from pathlib import Path
here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent)]
from pages import cfg, write_pages, write_texts  # noqa: E402

project = html_title = cfg.title
version = release = metadata(cfg.lib_name)['Version']
copyright = author = metadata(cfg.lib_name)['Author']
extensions = ['myst_nb', 'sphinx_copybutton', 'sphinx-mathjax-offline']

nb_execution_mode = 'off'
nb_output_stderr = 'remove'
nb_merge_streams = True
nb_render_markdown_format = 'myst'
nb_code_prompt_show = nb_code_prompt_hide = 'Show code'
myst_enable_extensions = ['amsmath', 'attrs_inline', 'colon_fence', 'dollarmath']
myst_heading_anchors = 4
smartquotes = False
mathjax3_config = {'chtml': {'scale': .93}}

html_theme, pygments_style, pygments_dark_style = 'furo', 'github-light', 'github-dark'
html_static_path, html_css_files, html_js_files = ['_static'], ['site.css'], ['site.js']
html_search_scorer = str(here/'_static/scorer.js')
html_favicon = html_logo = '_static/logo.svg'
html_copy_source = html_show_sourcelink = False
html_theme_options = dict(top_of_page_buttons=[])
html_baseurl = cfg.doc_url

def setup(app):
    app.srcdir = here/'nbs'
    write_pages(app.srcdir)
    app.connect('build-finished', lambda app, error: error or write_texts(app.outdir))
