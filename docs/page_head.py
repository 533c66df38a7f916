"What a page says of itself in its head: description, and what a link to it shows elsewhere"
from html import escape
from importlib.metadata import metadata
from docutils import nodes
from nbdev_sphinx import cfg

about = metadata(cfg.lib_name)['Summary']
picture = f'https://raw.githubusercontent.com/{cfg.user}/{cfg.repo}/{cfg.branch}/docs/readme/1.png'

def subtitle(doctree):
    "The quotation below the title of a page, '' if there is none"
    quote = doctree and next(iter(doctree.findall(nodes.block_quote)), None)
    return ' '.join(quote.astext().split()) if quote is not None else ''

def head(app, pagename, templatename, context, doctree):
    "Add description and Open Graph tags to the page"
    description = subtitle(doctree) or about
    title = context.get('title') or cfg.title
    tags = {'og:title': title, 'og:description': description, 'og:type': 'website', 'og:site_name': cfg.title,
            'og:url': f'{cfg.doc_url}{pagename}.html', 'og:image': picture}
    lines = [f'<meta name="description" content="{escape(description)}">']
    lines += [f'<meta property="{k}" content="{escape(v)}">' for k,v in tags.items()]
    context['metatags'] = context.get('metatags', '') + '\n'.join(lines)
