// Folded blocks that cells link to: opened by their links, and their tables built from data if the page has many rows.
function foldedTable({ key, heads, rows }, texts) {
  const line = ([first, ...others]) => make('tr', {},
    make('th', { scope: 'row' }, named(texts[first])), others.map((at) => make('td', { class: 'words' }, named(texts[at]))));
  const head = heads.map((text) => make('th', { scope: 'col', class: 'words' }, text));
  return make('table', { class: 'grid compact', 'data-csv': key }, make('thead', {}, make('tr', {}, head)), make('tbody', {}, rows.map(line)));
}

document.querySelectorAll('script[id$="-folded"]').forEach((script) => withData(script.id, ({ texts, tables }) => {
  for (const [id, data] of Object.entries(tables)) {
    const details = document.getElementById(id);
    const build = () => {
      if (!details.open || details.querySelector('table')) return;
      const table = foldedTable(data, texts);
      details.append(make('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': data.name }, table));
      addTableControls(table);
    };
    details.addEventListener('toggle', build);
    build();
  }
}));

function openTarget() {
  const details = window.location.hash ? document.getElementById(window.location.hash.slice(1)) : null;
  if (details && details.tagName === 'DETAILS') {
    details.open = true;
    details.scrollIntoView();
  }
}

window.addEventListener('hashchange', openTarget);
openTarget();
