// Traffic between racks, for one kind at a time.
withData('matrix-data', (data) => {
  const choice = document.getElementById('matrix-kind');
  if (!choice) return;
  const cellsOf = (table) => [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const tables = [...document.querySelectorAll('.matrices table.matrix')].map((table) => [table, cellsOf(table)]);
  const crossing = (matrix, sent, from, to) => from !== to && !matrix.unknown_racks.includes(from) && !matrix.unknown_racks.includes(to) && sent;

  function show(kind) {
    const sums = data.map((matrix) => matrix.kinds[kind] || matrix.kinds.all.map((row) => row.map(() => 0)));
    const maximum = Math.max(1, ...data.flatMap((matrix, n) => sums[n].flatMap((row, from) => row.map((sent, to) => crossing(matrix, sent, from, to) || 0))));
    tables.forEach(([, cells], n) => cells.forEach((row, from) => row.forEach((cell, to) => {
      const sent = sums[n][from][to];
      const crosses = crossing(data[n], sent, from, to);
      cell.className = 'heat-' + (crosses ? Math.ceil((10 * sent) / maximum) : 0);
      cell.dataset.v = sent;
      cell.textContent = writeBytes(sent);
    })));
  }

  choice.hidden = false;
  choice.querySelector('select').addEventListener('change', (event) => show(event.target.value));
});
