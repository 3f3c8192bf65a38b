// Differences from the baseline with their intervals, one row per cell.
const FEW_LINES = 24;
const MAX_LINES = 400;
const [WIDE, HIGH] = [220, 18];

class SweepForest {
  constructor(sweep, id, container, cell) {
    Object.assign(this, { sweep, id, container, cell });
    const metrics = sweep.numbered(sweep.differences);
    this.metric = metrics.includes(sweep.objectives[0]) ? sweep.objectives[0] : metrics[0];
    this.wanted = sweep.factors.map(() => ANY);
    this.order = 0;
    this.maxLines = FEW_LINES;
    this.lines = make('div', {});
    const factors = sweep.factors.map((factor, number) => [factor, number]).filter(([factor, number]) => factor.levels.length > (number === sweep.factors.length - 1 ? 2 : 1));
    const set = (name) => (value) => { this[name] = value; this.show(); };
    container.append(make('div', { class: 'choices' },
      choice('Metric', metricOptions(sweep, metrics), this.metric, set('metric')),
      ...factors.map(([factor, number]) => choice(number === sweep.factors.length - 1 ? 'Assignor' : factor.name, [[ANY, 'any'], ...factor.levels.map((level, n) => [n, level])], ANY, (level) => { this.wanted[number] = level; this.show(); })),
      choice('Order', [[0, 'significant and largest'], [1, 'lowest first'], [2, 'by setting']], 0, set('order'))), this.lines);
    container.hidden = false;
    this.show();
  }

  chosenRows() {
    const { sweep, metric } = this;
    const rows = sweep.compared
      .filter((cell) => this.wanted.every((level, factor) => level === ANY || sweep.level(cell, factor) === level))
      .map((cell) => [cell, sweep.difference(metric, cell)]).filter(([, difference]) => difference);
    const isSignificant = ([, { low, high }]) => low !== null && (low > 0 || high < 0);
    if (this.order === 0) rows.sort((a, b) => isSignificant(b) - isSignificant(a) || Math.abs(b[1].mean) - Math.abs(a[1].mean) || a[0] - b[0]);
    if (this.order === 1) rows.sort((a, b) => a[1].mean - b[1].mean || a[0] - b[0]);
    return [rows.slice(0, this.maxLines), rows.length, rows.filter(isSignificant)];
  }

  show() {
    const { sweep, metric } = this;
    const [lines, all, significant] = this.chosenRows();
    const less = significant.filter(([, { mean }]) => mean < 0).length;
    const ends = lines.flatMap(([, { mean, low, high }]) => [mean, low === null ? mean : low, high === null ? mean : high]);
    const largest = Math.max(...ends.map(Math.abs), Number.MIN_VALUE);
    const [from, to] = [Math.min(0, ...ends) - largest * 0.04, Math.max(0, ...ends) + largest * 0.04];
    const at = (value) => (WIDE * (value - from)) / (to - from);
    const summary = counted(all, 'cell') + ': significantly lower than the baseline in ' + less + ', higher in ' + (significant.length - less) + ', not significant in ' + (all - significant.length) + '.' + (all > lines.length ? ' The first ' + lines.length + ' are shown.' : '');
    const head = ['Setting', make('th', { scope: 'col', 'data-name': 'mean_difference' }, 'Difference'), make('th', { scope: 'col', 'data-name': 'low' }, 'From'), make('th', { scope: 'col', 'data-name': 'high' }, 'To'), make('th', { scope: 'col', class: 'text' }, 'Assignor')];
    this.lines.replaceChildren(
      make('p', { class: 'note', role: 'status' }, summary),
      tableWithCsv('Differences from the baseline', this.id + '-differences', 'grid forest', head, lines.map(([cell, difference]) => this.line(cell, difference, at)), sweep.metrics[metric].title),
      ...(all > lines.length && this.maxLines < MAX_LINES ? [make('p', { class: 'more' }, make('button', { type: 'button', onclick: () => { this.maxLines = MAX_LINES; this.show(); } }, 'Show ' + Math.min(all, MAX_LINES)))] : []));
  }

  line(cell, difference, at) {
    const { sweep, metric } = this;
    const { mean, low, high } = difference;
    const open = make('button', { type: 'button', class: 'sort', onclick: () => this.cell.open(cell, [], open) }, breakable(sweep.label(cell)));
    const isSignificant = low !== null && (low > 0 || high < 0);
    const picture = draw('svg', { viewBox: '0 0 ' + WIDE + ' ' + HIGH, class: 'interval ' + colorClass(sweep.cells.assignor[cell]) + (isSignificant ? ' front' : ' dominated'), 'aria-hidden': 'true' },
      draw('line', { class: 'zero', x1: at(0), x2: at(0), y1: 0, y2: HIGH }),
      low === null ? '' : draw('line', { x1: at(low), x2: at(high), y1: HIGH / 2, y2: HIGH / 2 }),
      draw('path', { d: shapeOf(sweep.cells.assignor[cell]), transform: 'translate(' + at(mean) + ' ' + HIGH / 2 + ')' }));
    const end = (value) => make('td', { 'data-v': value }, value === null ? '' : sweep.signed(metric, value));
    return make('tr', {}, make('th', { scope: 'row' }, open),
      make('td', { 'data-v': mean }, picture, make('span', { class: isSignificant ? 'significant' : '' }, sweep.signed(metric, mean))), end(low), end(high), make('td', { class: 'text' }, named(sweep.assignor(cell))));
  }
}

for (const { id: dataId } of document.querySelectorAll('script[id^="sweep-"]')) {
  withData(dataId, (data) => {
    const id = dataId.replace(/-data$/, '');
    const sweep = new SweepData(data);
    const elementFor = (part) => document.getElementById(id + '-' + part);
    const cell = new SweepCell(sweep, id, elementFor('cell-here'));
    if (sweep.objectives.length > 1 && sweep.count) new SweepFront(sweep, id, elementFor('front-here'), cell);
    if (elementFor('heat-here')) new SweepHeat(sweep, elementFor('heat-here'), elementFor('heat-table'), sweep.heat);
    if (elementFor('differences-here')) new SweepForest(sweep, id, elementFor('differences-here'), cell);
  });
}
