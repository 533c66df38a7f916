// Titles and subtitles come before the text of a page
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 30, partialTitle: 12, term: 3, partialTerm: 1,
}
