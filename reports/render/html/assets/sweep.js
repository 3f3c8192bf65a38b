// Access to the data of a sweep: cells by number, with formatted values.
const WRITERS = {
  bytes: writeBytes,
  rate: (value) => writeBytes(value) + '/s',
  time: writeDuration,
  usd: writeUsd,
  percent: (value) => digits(value) + ' %',
  number: digits,
  count: (value) => value.toLocaleString('en-US', { minimumFractionDigits: Number.isInteger(value) ? 0 : 1, maximumFractionDigits: 1 }),
};

const columnAt = (column, place) => (Array.isArray(column) ? column[place] : column);

class SweepData {
  constructor(data) {
    Object.assign(this, data);
    this.count = this.cells.setting.length;
    this.comparedAt = new Map(this.compared.map((cell, place) => [cell, place]));
  }

  label(cell) { return this.settings[this.cells.setting[cell]][1]; }

  assignor(cell) { return this.assignors[this.cells.assignor[cell]]; }

  level(cell, factor) {
    const { levels } = this.factors[factor];
    return factor === this.factors.length - 1 ? levels.indexOf(this.assignor(cell)) : this.settings[this.cells.setting[cell]][2][factor];
  }

  command(cell) {
    const args = this.settings[this.cells.setting[cell]][3].map((number) => this.args[number]);
    return [this.commands[this.cells.assignor[cell]], ...args].join(' ');
  }

  figure(metric, cell) { return this.read(this.figures[metric], cell); }

  difference(metric, cell) {
    return this.comparedAt.has(cell) ? this.read(this.differences[metric], this.comparedAt.get(cell)) : null;
  }

  read(columns, place) {
    if (!columns) return null;
    const mean = columnAt(columns.mean, place);
    if (mean === null) return null;
    const below = columnAt(columns.below, place);
    const above = columnAt(columns.above, place);
    const end = (value) => Number(value.toPrecision(6));
    return { mean, low: below === null ? null : end(mean - below), high: above === null ? null : end(mean + above), runs: columnAt(columns.runs, place) };
  }

  write(metric, value) { return WRITERS[this.metrics[metric].kind](value); }

  signed(metric, value) {
    const text = this.write(metric, Math.abs(value));
    return text === this.write(metric, 0) ? text : (value < 0 ? '−' : '+') + text;
  }

  span(metric, figure, write = (value) => this.write(metric, value)) {
    return figure.low === null || figure.low === figure.high ? '' : write(figure.low) + ' to ' + write(figure.high);
  }

  withInterval(metric, figure) {
    const span = this.span(metric, figure);
    return this.write(metric, figure.mean) + (span && ' (' + span + ')');
  }

  // Pareto status of a cell as text.
  paretoStatus(cell) {
    const { place, by, out, reasons } = this.cells;
    if (out[cell] >= 0) return ['Left out: ', named(reasons[out[cell]])];
    if (place[cell]) return ['Pareto-optimal'];
    return by[cell] < 0 ? ['Dominated'] : ['Dominated by ', named(this.assignor(by[cell])), ' with ', named(this.label(by[cell]))];
  }

  numbered(columns) { return Object.keys(columns).map(Number).sort((a, b) => a - b); }
}

// A labeled selection.
function choice(title, options, chosen, changed) {
  const select = make('select', { 'aria-label': title, onchange: () => changed(Number(select.value)) }, ...options.map(([value, text]) => make('option', { value, selected: value === chosen }, text)));
  return make('label', {}, named(title), ' ', select);
}

// A name that may break at word separators.
const breakable = (text) => make('bdi', { dir: 'auto' }, ...text.split(/(?<=[\s_.,:=/()-])/).flatMap((part) => [part, make('wbr')]));

const metricOptions = (sweep, numbers) => numbers.map((number) => [number, sweep.metrics[number].title]);

// A table created by scripts, with the same frame and CSV export as the static ones.
function tableWithCsv(title, csv, classes, head, rows, caption) {
  const table = make('table', { class: classes, 'data-csv': csv },
    caption ? make('caption', {}, caption) : null,
    make('thead', {}, make('tr', {}, ...head.map((cell) => (cell instanceof Node ? cell : make('th', { scope: 'col' }, cell))))),
    make('tbody', {}, ...rows));
  const frame = make('div', {}, make('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': title }, table));
  addTableControls(table);
  return frame;
}
