// Tables: sorting by header clicks and export as CSV, both with the full precision of data-v.
const valueOf = (cell) => (cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : null);
const textOf = (cell) => (cell ? cell.textContent.replace(/\s+/g, ' ').trim() : '');

// Unknown values are last in both directions.
function compareCells(first, second, sign) {
  const [a, b] = [valueOf(first), valueOf(second)];
  if (a !== null && b !== null) return sign * (a - b);
  if (a !== null || b !== null) return a === null ? 1 : -1;
  return sign * textOf(first).localeCompare(textOf(second), 'en', { numeric: true });
}

const NEXT = { none: 'ascending', ascending: 'descending', descending: 'none' };

// Make each header a button that calls sort(head, sign); sign 0 restores the original order.
function sortBy(heads, sort) {
  for (const head of heads) {
    const button = make('button', { type: 'button', class: 'sort' }, ...head.childNodes);
    head.append(button);
    head.setAttribute('aria-sort', 'none');
    button.addEventListener('click', () => {
      const next = NEXT[head.getAttribute('aria-sort')];
      heads.forEach((header) => header.setAttribute('aria-sort', 'none'));
      head.setAttribute('aria-sort', next);
      sort(head, { none: 0, ascending: 1, descending: -1 }[next]);
    });
  }
}

function sortRows(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  sortBy([...table.tHead.rows[0].cells], (head, sign) => {
    const at = head.cellIndex;
    const sorted = sign ? [...rows].sort((first, second) => compareCells(first.cells[at], second.cells[at], sign)) : rows;
    body.append(...sorted);
  });
}

// The comparison has one row per metric: sorting by a row orders the columns.
function sortColumns(table) {
  const rows = [...table.rows].map((row) => [row, [...row.cells]]);
  const heads = rows.filter(([row]) => row.dataset.sort !== undefined).map(([, cells]) => cells[0]);
  sortBy(heads, (head, sign) => {
    const by = rows.find(([, cells]) => cells[0] === head)[1];
    const order = by.map((_, index) => index).slice(1);
    if (sign) order.sort((first, second) => compareCells(by[first], by[second], sign));
    for (const [row, cells] of rows) row.append(...order.map((index) => cells[index]));
  });
}

// Spreadsheets interpret text with this prefix as a formula.
const RISKY = /^[=+\-@\t\r]/;

function csvField(text) {
  const safe = RISKY.test(text) && !/^-?[\d.,]+(e[+-]?\d+)?$/i.test(text) ? "'" + text : text;
  return /[",\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
}

function csvCell(cell) {
  if (cell.dataset.v !== undefined) return cell.dataset.v;
  if (cell.dataset.name !== undefined) return csvField(cell.dataset.name);
  return csvField(textOf(cell));
}

const csvOf = (table) => [...table.rows]
  .filter((row) => !row.classList.contains('group'))
  .map((row) => [...row.cells].map(csvCell).join(',') + '\n').join('');

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  make('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function addTableControls(table) {
  if (table.classList.contains('sortable')) sortRows(table);
  if (table.classList.contains('sort-columns')) sortColumns(table);
  const frame = table.closest('.scroll');
  const button = make('button', { type: 'button', class: 'csv', onclick: () => save(table.dataset.csv + '.csv', csvOf(table)) }, 'CSV');
  button.setAttribute('aria-label', 'Save as CSV: ' + frame.getAttribute('aria-label'));
  frame.after(make('div', { class: 'below' }, button));
}

document.querySelectorAll('table[data-csv]').forEach(addTableControls);
