// Details of a cell: Pareto status, command to reproduce its runs, and all metrics.
class SweepCell {
  constructor(sweep, id, container) {
    Object.assign(this, { sweep, id, container });
    container.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.close(); });
  }

  // others: cells at the same position; back: element that gets the focus afterwards.
  open(cell, others, back) {
    const { sweep, container } = this;
    this.back = back || this.back;
    const by = sweep.cells.by[cell];
    const heading = make('h4', { tabindex: -1 }, named(sweep.assignor(cell)), ' with ', named(sweep.label(cell)));
    const close = make('button', { type: 'button', onclick: () => this.close() }, 'Close');
    container.hidden = false;
    container.setAttribute('role', 'region');
    container.setAttribute('aria-label', 'Cell');
    container.replaceChildren(
      make('div', { class: 'history-head' }, heading, close),
      make('p', {}, ...sweep.paretoStatus(cell), '. ', counted(sweep.cells.runs[cell], 'run'), ', ' + Math.round(100 * sweep.cells.stable[cell]) + ' % stable. Setting ' + sweep.settings[sweep.cells.setting[cell]][0] + ' of the sweep.'),
      ...(by >= 0 ? [make('p', {}, this.openButton(by, 'Open the dominating cell', []))] : []),
      ...(others.length ? [make('p', {}, 'At the same position: ', ...others.slice(0, 12).map((other) => this.openButton(other, sweep.label(other), [cell, ...others.filter((candidate) => candidate !== other)])), others.length > 12 ? ' and ' + (others.length - 12) + ' more' : '')] : []),
      make('p', { class: 'note' }, 'Command to reproduce it:'),
      make('pre', {}, sweep.command(cell)),
      this.table(cell));
    heading.focus();
  }

  openButton(cell, text, others) {
    return make('button', { type: 'button', class: 'other', onclick: () => this.open(cell, others) }, named(text));
  }

  table(cell) {
    const { sweep } = this;
    const isBaseline = sweep.assignor(cell) === sweep.baseline;
    const number = (value, text) => make('td', { 'data-v': value }, value === null ? '' : text);
    const rows = sweep.numbered(sweep.figures).map((metric) => {
      const figure = sweep.figure(metric, cell);
      const difference = sweep.difference(metric, cell);
      if (!figure) return null;
      return make('tr', {}, make('th', { scope: 'row', 'data-name': sweep.metrics[metric].name }, sweep.metrics[metric].title),
        number(figure.mean, sweep.write(metric, figure.mean)),
        ...[figure.low, figure.high].map((end) => number(end, end === null ? '' : sweep.write(metric, end))),
        ...(isBaseline ? [] : [difference ? make('td', { 'data-v': difference.mean }, sweep.signed(metric, difference.mean), make('small', {}, sweep.span(metric, difference, (value) => sweep.signed(metric, value)))) : make('td', {}, 'n/a')]));
    });
    const head = ['Metric', 'Mean', 'From', 'To', ...(isBaseline ? [] : [make('th', { scope: 'col', 'data-name': 'difference' }, 'Difference from ', named(sweep.baseline))])];
    return tableWithCsv('All metrics of the cell', this.id + '-cell', 'grid', head, rows.filter(Boolean));
  }

  close() {
    this.container.hidden = true;
    this.container.replaceChildren();
    if (this.back && this.back.isConnected) this.back.focus();
  }
}
