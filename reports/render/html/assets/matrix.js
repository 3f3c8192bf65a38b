// Traffic between racks, for one kind at a time.
(() => {
  const data = embedded('matrix-data');
  const choice = document.getElementById('matrix-kind');
  if (!data || !choice) return;
  const cellsOf = (table) => [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const tables = [...document.querySelectorAll('table.matrix')].map((table) => [table, cellsOf(table)]);
  const crossing = (one, sent, from, to) => from !== to && !one.nowhere.includes(from) && !one.nowhere.includes(to) && sent;

  function show(kind) {
    const sums = data.map((one) => one.kinds[kind] || one.kinds.all.map((row) => row.map(() => 0)));
    const most = Math.max(1, ...data.flatMap((one, n) => sums[n].flatMap((row, from) => row.map((sent, to) => crossing(one, sent, from, to) || 0))));
    tables.forEach(([, cells], n) => cells.forEach((row, from) => row.forEach((cell, to) => {
      const sent = sums[n][from][to];
      const crosses = crossing(data[n], sent, from, to);
      cell.className = 'heat-' + (crosses ? Math.ceil((10 * sent) / most) : 0);
      cell.dataset.v = sent;
      const paid = data[n].price !== null && from !== to && !data[n].nowhere.includes(from) && !data[n].nowhere.includes(to);
      cell.replaceChildren(writeBytes(sent), ...(paid ? [make('small', {}, writeUsd(sent * data[n].price))] : []));
    })));
  }

  choice.hidden = false;
  choice.querySelector('select').addEventListener('change', (event) => show(event.target.value));
})();
