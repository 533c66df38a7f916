// Pages whose title has all words of the query come first, and those of a question before those of a folder
const asked = (new URLSearchParams(location.search).get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
const words = asked.map(w => w === 'no' ? 'without' : w)
var Scorer = {
  score: ([page, title, anchor, descr, score]) => {
    const named = words.filter(w => title.toLowerCase().includes(w)).length / Math.max(1, words.length)
    return score + 20 * named + (named === 1 ? 60 + (page.includes('/') ? 0 : 20) : 0)
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 3, partialTerm: 1,
}
