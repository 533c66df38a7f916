// pandas aligns every column to the right: columns of text go to the left
const number = /^([-+−]?([\d.,]+(e[-+]?\d+)?|inf|∞)\s*%?|nan|none|[<>]?)$/i
document.addEventListener('DOMContentLoaded', () => {
  for (const table of document.querySelectorAll('.cell_output table:not(.docutils)')) {
    const rows = [...table.rows], body = rows.filter(r => !r.closest('thead'))
    if (new Set(rows.map(r => r.cells.length)).size > 1) continue   // merged cells
    for (let i = 0; i < rows[0].cells.length; i++)
      if (body.some(r => !number.test(r.cells[i].textContent.trim()))) rows.forEach(r => r.cells[i].style.textAlign = 'left')
  }
})

// The sidebar shows where one is, also in a long list
document.addEventListener('DOMContentLoaded', () => {
  const here = document.querySelector('.sidebar-tree .current-page > .reference'), box = document.querySelector('.sidebar-scroll')
  if (!here || !box) return
  const {top, bottom} = here.getBoundingClientRect(), frame = box.getBoundingClientRect()
  if (top < frame.top || bottom > frame.bottom) box.scrollBy({top: top - frame.top - frame.height / 2, behavior: 'instant'})
})
