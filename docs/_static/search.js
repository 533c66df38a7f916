// Pages in the order of what they are about: words in the title and subtitle weigh most, then other names of the page, headings and
// public names, then the prose. docs/search_index.py writes the index; `stem` is the rule that it has.
const weight = {title: 12, subtitle: 7, also: 6, heads: 4, names: 5, prose: 1.5}
const synonyms = {no: ['no', 'without'], huggingface: ['hugging', 'face'], unlabeled: ['unlabelled'], many: ['many', 'much']}

function stem(word) {
  if (word.length < 4) return word
  if (word.endsWith('ies')) return word.slice(0, -3) + 'y'
  return word.endsWith('s') && !'sui'.includes(word.at(-2)) ? word.slice(0, -1) : word
}
const split = text => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
const words = text => split(text).filter(w => !searchIndex.stop.includes(w)).map(stem)

function prepared(page) {   // words of each part of a page
  const names = page.names.flatMap(n => [n.toLowerCase(), ...words(n)])
  return {title: words(page.title), subtitle: words(page.subtitle), also: words(page.also),
          heads: page.heads.flatMap(([text]) => words(text)), names,
          said: ` ${split(`${page.title} ${page.subtitle} ${page.also}`).join(' ')} `}
}

function search(query) {
  const n = searchIndex.pages.length, parts = searchIndex.pages.map(prepared)
  const asked = words(query), all = asked.length ? asked : split(query).map(stem)
  const score = new Array(n).fill(0), met = new Array(n).fill(0)
  for (const word of all) {
    const forms = (synonyms[word] ?? [word]).map(stem)
    const counts = new Map(forms.flatMap(f => Object.hasOwn(searchIndex.words, f) ? searchIndex.words[f] : []))
    const points = parts.map((part, i) => {
      let res = 0
      for (const key of ['title', 'subtitle', 'also', 'heads', 'names']) {
        const whole = part[key].some(w => forms.includes(w)), begins = part[key].some(w => word.length > 2 && w.startsWith(word))
        if (whole || begins) res += weight[key] * (whole ? 1 : .5) / (key == 'title' ? Math.sqrt(part.title.length) : 1)
      }
      const times = counts.get(i) ?? 0
      return res + weight.prose * times / (times + 3)
    })
    const rarity = Math.log(1 + n / (1 + points.filter(p => p > 0).length))
    points.forEach((p, i) => { score[i] += p * rarity; met[i] += p > 0 })
  }
  const phrase = ` ${split(query).join(' ')} `, name = query.toLowerCase().replace(/^tm\.|\(\)$/g, '')
  return searchIndex.pages
    .map((page, i) => ({page, score: score[i] * (met[i] / all.length) ** 2 + (parts[i].said.includes(phrase) ? 15 : 0)
      + (parts[i].names.includes(name) ? 10 : 0)}))
    .filter(r => r.score > 0).sort((a, b) => b.score - a.score || a.page.title.localeCompare(b.page.title))
    .map(r => ({...r, asked: all}))
}

document.addEventListener('DOMContentLoaded', () => {
  const query = new URLSearchParams(location.search).get('q')?.trim() ?? ''
  for (const box of document.querySelectorAll('input.sidebar-search')) box.value = query
  const summary = document.querySelector('#search-summary'), list = document.querySelector('#search-results ul')
  if (!query) { summary.textContent = 'What are you looking for?'; return }
  const found = search(query).slice(0, 20)
  summary.textContent = found.length ? `“${query}”: ${found.length == 20 ? 'the first 20 pages' : found.length == 1 ? '1 page' : `${found.length} pages`}`
                                     : `Nothing found for “${query}”. Fewer or other words may help.`
  for (const {page, asked} of found) {
    const item = list.appendChild(document.createElement('li')), link = item.appendChild(document.createElement('a'))
    link.href = page.url
    link.textContent = page.title
    if (page.subtitle) item.appendChild(document.createElement('p')).textContent = page.subtitle
    const heads = page.heads.filter(([text]) => words(text).some(w => asked.includes(w))).slice(0, 3)
    if (!heads.length) continue
    const more = item.appendChild(document.createElement('p'))
    more.className = 'parts'
    for (const [text, id] of heads) {
      const part = more.appendChild(document.createElement('a'))
      part.href = `${page.url}#${id}`
      part.textContent = text
    }
  }
})
