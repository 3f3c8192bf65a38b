// Two factors of a sweep: mean of any metric per pair of levels, for all assignors or one.
const ANY = -1;

class SweepHeat {
  constructor(sweep, container, table, first) {
    Object.assign(this, { sweep, container, table });
    [this.row, this.column] = first;
    [this.metric] = sweep.objectives;
    this.only = ANY;
    container.hidden = false;
    this.showChoices();
    this.show();
  }

  showChoices() {
    const { sweep } = this;
    const factors = sweep.factors.map((factor, number) => [number, factor.name]).filter(([number]) => sweep.factors[number].levels.length > 1);
    // Swap rows and columns if the same factor is selected for both.
    const chosen = (one, other) => (factor) => {
      if (this[other] === factor) this[other] = this[one];
      this[one] = factor;
      this.showChoices();
      this.show();
    };
    this.container.replaceChildren(
      choice('Metric', metricOptions(sweep, sweep.numbered(sweep.figures)), this.metric, (metric) => { this.metric = metric; this.show(); }),
      choice('Rows', factors, this.row, chosen('row', 'column')),
      choice('Columns', factors, this.column, chosen('column', 'row')),
      choice('Assignor', [[ANY, 'all'], ...sweep.assignors.map((name, number) => [number, name])], this.only, (assignor) => { this.only = assignor; this.show(); }));
  }

  // Means over runs: cells are weighted by their number of runs with the metric.
  means() {
    const { sweep } = this;
    const [rows, columns] = [this.row, this.column].map((factor) => sweep.factors[factor].levels.length);
    const sums = Array.from({ length: rows }, () => Array.from({ length: columns }, () => [0, 0]));
    sweep.cells.setting.forEach((_, cell) => {
      const figure = sweep.figure(this.metric, cell);
      if (!figure || (this.only !== ANY && sweep.cells.assignor[cell] !== this.only)) return;
      const sum = sums[sweep.level(cell, this.row)][sweep.level(cell, this.column)];
      sum[0] += figure.mean * figure.runs;
      sum[1] += figure.runs;
    });
    return sums.map((row) => row.map(([sum, runs]) => (runs ? Number((sum / runs).toPrecision(6)) : null)));
  }

  show() {
    const { sweep, table, metric } = this;
    const means = this.means();
    const known = means.flat().filter((mean) => mean !== null);
    const least = Math.min(...known);
    const width = Math.max(...known) - least;
    const heat = (mean) => (mean === null || !width ? 0 : Math.round((10 * (mean - least)) / width));
    const [rows, columns] = [sweep.factors[this.row], sweep.factors[this.column]];
    table.caption.replaceChildren(sweep.metrics[metric].title + (this.only === ANY ? '' : ', '), ...(this.only === ANY ? [] : [named(sweep.assignors[this.only])]));
    const head = (name, scope) => make('th', { scope }, breakable(name));
    table.tHead.replaceChildren(make('tr', {}, make('th', { scope: 'col' }, breakable(rows.name), ' \\ ', breakable(columns.name)), ...columns.levels.map((level) => head(level, 'col'))));
    table.tBodies[0].replaceChildren(...rows.levels.map((level, row) => make('tr', {}, head(level, 'row'), ...means[row].map((mean) => (mean === null
      ? make('td', {}, 'n/a')
      : make('td', { class: 'heat-' + heat(mean), 'data-v': mean }, sweep.write(metric, mean)))))));
  }
}
