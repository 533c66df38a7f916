"""The index of the site's search, for `_static/search.js`: titles, subtitles, headings, public names, and how often each word of the prose occurs

Sphinx's own search takes every page that has all words of a query, in alphabetical order, and knows code cells, outputs and buttons as text.
So it is off. Here a page is known by what it is about: the script gives most weight to titles and subtitles."""
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from docutils import nodes
from sphinx import addnodes
from page_head import subtitle

# Without a meaning of their own; the script leaves them out of queries
stop = set('a an and are as at be by can do does for from have how i if in is it its me my of on one or should so than that the then there '
           'these they this to was we what when where will with you your'.split())

def stem(word):
    "A word without the ending of its plural; `_static/search.js` has the same rule"
    if len(word)<4: return word
    if word.endswith('ies'): return word[:-3]+'y'
    return word[:-1] if word.endswith('s') and word[-2] not in 'sui' else word

def words(text): return [stem(o) for o in re.findall(r'[^\W_]+', text.lower()) if o not in stop]

def is_prose(node):
    "Whether a node is read: not code, nor what a cell shows, nor a button, nor a hidden part of the sidebar"
    if isinstance(node, nodes.literal_block|nodes.raw|nodes.math_block|nodes.math|nodes.comment|addnodes.toctree|addnodes.desc_signature):
        return False
    classes = node.get('classes', []) if isinstance(node, nodes.Element) else []
    return not {'cell', 'button', 'toctree-wrapper'} & set(classes)

def prose(node):
    "The text of a node without what is no prose"
    if isinstance(node, nodes.Text): return str(node)
    return ' '.join(prose(o) for o in node.children if is_prose(o))

def own_names(doctree):
    "Last part of each name that the page documents"
    return sorted({o.split('.')[-1] for d in doctree.findall(addnodes.desc_signature) for o in d.get('ids', [])})

def page(doctree, also):
    "What is known of a page, and its words"
    heads = [(s.next_node(nodes.title).astext(), s['ids'][0]) for s in doctree.findall(nodes.section)]
    known = dict(title=heads[0][0], subtitle=subtitle(doctree), also=also, heads=heads[1:], names=own_names(doctree))
    return known,Counter(words(prose(doctree)))

def no_own_index(app):
    "Sphinx's index is not written"
    app.builder.search = False

def write_index(app, also_called):
    "Write the index of all pages but those that are lists only"
    pages,found = [],defaultdict(list)
    for name in sorted(app.env.found_docs-{'api'}):
        known,counts = page(app.env.get_doctree(name), also_called.get(name, ''))
        for word,n in counts.items(): found[word].append([len(pages), n])
        pages.append(dict(url=f'{name}.html', **known))
    data = json.dumps(dict(pages=pages, words=found, stop=sorted(stop)), ensure_ascii=False, separators=(',', ':'))
    Path(app.outdir, '_static/search-index.js').write_text(f'const searchIndex = {data}\n', encoding='utf-8')
