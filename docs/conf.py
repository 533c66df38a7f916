"Sphinx site from the notebooks in nbs/: `sphinx-build -W --keep-going docs _docs/html`"
import sys
from importlib.metadata import metadata
from pathlib import Path
here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent)]
from nbdev_sphinx import cfg, convert_all, docstring, external, source_url as linkcode_resolve  # noqa: E402, F401

start = ['studies/tour.ipynb', 'model_selection/05_guide.ipynb']   # first in the sidebar; the rest follows by folder
areas = {
    'model_selection': 'Choosing a model',
    'transferability': 'Transferability scores',
    'loss_data': 'Loss-data curves',
    'learning_curves': 'Learning curves',
    'invariance': 'Accuracy without labels',
    'experiments': 'Experiments',
    'studies': 'Studies',
    '': 'Under the hood',
    'datasets': 'Data that ships',
    'cli': 'Command line',
}
project = html_title = cfg.title
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
autodoc_preserve_defaults = True
autodoc_typehints = 'none'

html_theme, pygments_style, pygments_dark_style = 'furo', 'github-light', 'github-dark'
html_static_path, html_css_files, html_js_files = ['_static'], ['site.css'], ['site.js']
html_favicon = html_logo = '_static/logo.svg'
html_copy_source = html_show_sourcelink = False
html_theme_options = dict(top_of_page_buttons=[])

def setup(app):
    "Build from docs/nbs, where the converted notebooks are written, so that pages have no folder in front"
    app.srcdir = here/'nbs'
    convert_all(app.srcdir, areas, start)
    app.connect('autodoc-process-docstring', docstring)
    app.connect('missing-reference', external)
