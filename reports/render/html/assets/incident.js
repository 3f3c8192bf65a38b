// Moves of a rebalance: listed when its details open, and links to details that are closed.
function movesTable(number, moves, texts, titles) {
  const heads = titles.map((text) => make('th', { scope: 'col' }, text));
  const line = ([task, source, target, steps]) => make('tr', {},
    make('th', { scope: 'row' }, texts[task]), make('td', {}, named(texts[source])), make('td', {}, named(texts[target])),
    ...(heads.length > 3 ? [make('td', {}, named(steps.map((step) => texts[step]).join('; ') || '–'))] : []));
  return make('table', { class: 'moves', 'data-csv': 'moves-' + number }, make('thead', {}, make('tr', {}, heads)), make('tbody', {}, moves.map(line)));
}

withData('incident-moves', (data) => {
  for (const details of document.querySelectorAll('details[data-moves]')) {
    const number = details.dataset.moves;
    const list = () => {
      if (!details.open || details.querySelector('table')) return;
      const table = movesTable(number, data.moves[number], data.texts, data.heads);
      details.append(make('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Moves of rebalance ' + number }, table));
      addTableControls(table);
    };
    details.addEventListener('toggle', list);
    list();
  }
});

function openTarget() {
  const details = window.location.hash ? document.getElementById(window.location.hash.slice(1)) : null;
  if (details && details.tagName === 'DETAILS') {
    details.open = true;
    details.scrollIntoView();
  }
}

if (document.getElementById('incident-details')) {
  window.addEventListener('hashchange', openTarget);
  openTarget();
}
