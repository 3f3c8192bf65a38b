// The Pareto front by any two objectives, one mark per cell.
const SHAPES = [
  'M 5 0 A 5 5 0 1 1 -5 0 A 5 5 0 1 1 5 0 Z',
  'M -4.5 -4.5 H 4.5 V 4.5 H -4.5 Z',
  'M 0 -5.5 L 5.5 4.5 H -5.5 Z',
  'M 0 -6 L 6 0 L 0 6 L -6 0 Z',
  'M 0 5.5 L 5.5 -4.5 H -5.5 Z',
  'M -5 -2.5 L -2.5 -5 L 0 -2.5 L 2.5 -5 L 5 -2.5 L 2.5 0 L 5 2.5 L 2.5 5 L 0 2.5 L -2.5 5 L -5 2.5 L -2.5 0 Z',
  'M -2 -5.5 H 2 V -2 H 5.5 V 2 H 2 V 5.5 H -2 V 2 H -5.5 V -2 H -2 Z',
];
const COLORS = 7;
const shapeOf = (assignor) => SHAPES[(assignor + Math.floor(assignor / COLORS)) % SHAPES.length];
const colorClass = (assignor) => 'a-' + (assignor % COLORS);

const UNITS = { bytes: BYTES, rate: BYTES, time: TIMES };

// Round tick values in a suitable unit.
function ticksOf(kind, low, high, most) {
  const [factor, unit] = UNITS[kind] ? UNITS[kind].find(([, , until]) => until === null || high < until) : [1, { usd: '$', percent: '%' }[kind] || ''];
  const raw = (high - low) / factor / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((multiple) => multiple * power >= raw * 0.999);
  const ticks = [];
  for (let n = Math.ceil(low / factor / step); n * step * factor <= high; n += 1) ticks.push([n * step * factor, digits(Number((n * step).toPrecision(12)))]);
  return { ticks, unit: kind === 'rate' ? unit + '/s' : unit };
}

const LANE = 34;

class SweepFront {
  constructor(sweep, id, container, cell) {
    Object.assign(this, { sweep, id, container, cell });
    [this.x, this.y] = sweep.objectives;
    this.picture = make('div', { class: 'sweep-picture' });
    this.readout = make('div', { class: 'readout', role: 'status' });
    const axis = (title, name) => choice(title, metricOptions(sweep, sweep.objectives), this[name], (metric) => { this[name] = metric; this.show(); });
    container.append(
      make('div', { class: 'choices' }, axis('x axis', 'x'), axis('y axis', 'y'), make('button', { type: 'button', onclick: () => this.saveAll() }, 'CSV of all cells')),
      this.legend(), this.picture, this.readout);
    container.hidden = false;
    let width = 0;
    new ResizeObserver(() => {
      const now = this.picture.clientWidth;
      if (now && Math.abs(now - width) > 8) { width = now; this.show(); }
    }).observe(this.picture);
  }

  legend() {
    const mark = (assignor, classes) => draw('svg', { viewBox: '-8 -8 16 16', class: 'swatch ' + classes, 'aria-hidden': 'true' }, draw('path', { d: shapeOf(assignor) }));
    return make('ul', { class: 'legend' },
      ...this.sweep.assignors.map((name, assignor) => make('li', {}, mark(assignor, 'front ' + colorClass(assignor)), ' ', named(name))),
      make('li', {}, 'filled: Pareto-optimal'), make('li', {}, 'hollow: dominated'), make('li', {}, 'crossed out: left out'));
  }

  show() {
    const width = Math.max(280, Math.min(1100, this.picture.clientWidth || 800));
    const height = width < 520 ? 320 : 430;
    const { sweep, x, y } = this;
    const lacks = [x, y].map((metric) => sweep.cells.setting.some((_, cell) => !sweep.figure(metric, cell)));
    this.box = { left: 62, right: width - 16 - (lacks[0] ? LANE : 0), top: 14 + (lacks[1] ? LANE : 0), bottom: height - 44 };
    this.across = this.scale(x, this.box.left, this.box.right);
    this.up = this.scale(y, this.box.bottom, this.box.top);
    this.whiskers = draw('g', { class: 'whiskers' });
    this.marks = this.placed().map((group) => this.mark(group));
    const above = (mark) => (sweep.cells.place[mark.cells[0]] ? 1 : 0);
    const title = sweep.metrics[x].title + ' by ' + sweep.metrics[y].title;
    const svg = draw('svg', { viewBox: '0 0 ' + width + ' ' + height, role: 'group', 'aria-label': 'Pareto front: ' + title }, ...this.axes(width, height, lacks), this.whiskers,
      ...[...this.marks].sort((a, b) => above(a) - above(b)).map((mark) => mark.root));
    svg.addEventListener('keydown', (event) => this.pressed(event));
    this.picture.replaceChildren(svg);
    this.readout.replaceChildren('Point at a mark, or select it with Tab and the arrow keys.');
    if (this.marks.length) this.marks[0].root.setAttribute('tabindex', 0);
  }

  scale(metric, from, to) {
    const { sweep } = this;
    const values = sweep.cells.setting.map((_, cell) => sweep.figure(metric, cell)).filter(Boolean).map((figure) => figure.mean);
    const least = values.length ? Math.min(...values) : 0;
    const most = values.length ? Math.max(...values) : 1;
    const pad = (most - least) * 0.05 || Math.abs(most) * 0.05 || 1;
    const [low, high] = [least - pad, most + pad];
    return { low, high, at: (value) => from + ((value - low) / (high - low)) * (to - from) };
  }

  axes(width, height, lacks) {
    const { box, sweep } = this;
    const text = (at, anchor, words, more) => draw('text', { x: at[0], y: at[1], 'text-anchor': anchor, ...more }, words);
    const line = (x1, y1, x2, y2) => draw('line', { x1, y1, x2, y2 });
    const kindX = sweep.metrics[this.x].kind;
    const kindY = sweep.metrics[this.y].kind;
    const inX = ticksOf(kindX, this.across.low, this.across.high, width < 520 ? 4 : 8);
    const inY = ticksOf(kindY, this.up.low, this.up.high, 6);
    const axisTitle = (metric, unit) => sweep.metrics[metric].title + (unit ? ' (' + unit + ')' : '');
    return [
      draw('g', { class: 'rules' }, ...inX.ticks.map(([value]) => line(this.across.at(value), box.top, this.across.at(value), box.bottom)), ...inY.ticks.map(([value]) => line(box.left, this.up.at(value), box.right, this.up.at(value)))),
      draw('g', { class: 'ticks' },
        ...inX.ticks.map(([value, words]) => text([this.across.at(value), box.bottom + 16], 'middle', words)),
        ...inY.ticks.map(([value, words]) => text([box.left - 7, this.up.at(value) + 4], 'end', words)),
        text([(box.left + box.right) / 2, height - 8], 'middle', axisTitle(this.x, inX.unit), { class: 'axis' }),
        text([0, 0], 'middle', axisTitle(this.y, inY.unit), { class: 'axis', transform: 'translate(13 ' + (box.top + box.bottom) / 2 + ') rotate(-90)' }),
        lacks[0] ? text([box.right + LANE / 2 + 4, box.bottom + 16], 'middle', 'n/a') : '',
        lacks[1] ? text([box.left - 7, box.top - LANE / 2 + 4], 'end', 'n/a') : ''),
      draw('g', { class: 'frame' }, line(box.left, box.bottom, box.right, box.bottom), line(box.left, box.top, box.left, box.bottom)),
    ];
  }

  position(cell) {
    const [x, y] = [this.sweep.figure(this.x, cell), this.sweep.figure(this.y, cell)];
    return [x ? this.across.at(x.mean) : this.box.right + LANE / 2 + 4, y ? this.up.at(y.mean) : this.box.top - LANE / 2];
  }

  // Cells of one assignor at the same position share a mark; marks of several assignors are drawn side by side.
  placed() {
    const { sweep } = this;
    const spots = new Map();
    sweep.cells.setting.forEach((_, cell) => {
      const at = this.position(cell);
      const key = at.map((coordinate) => coordinate.toFixed(1)).join();
      if (!spots.has(key)) spots.set(key, { at, groups: new Map() });
      const { groups } = spots.get(key);
      const assignor = sweep.cells.assignor[cell];
      if (!groups.has(assignor)) groups.set(assignor, []);
      groups.get(assignor).push(cell);
    });
    const all = [...spots.values()].flatMap(({ at, groups }) => [...groups.values()].map((cells, n) => ({
      x: at[0] + (n - (groups.size - 1) / 2) * 11,
      y: at[1],
      cells: [...cells].sort((a, b) => (sweep.cells.place[a] || Infinity) - (sweep.cells.place[b] || Infinity) || a - b),
    })));
    return all.sort((a, b) => a.x - b.x || b.y - a.y);
  }

  mark(group) {
    const { sweep } = this;
    const [cell] = group.cells;
    const assignor = sweep.cells.assignor[cell];
    const state = sweep.cells.out[cell] >= 0 ? 'out' : sweep.cells.place[cell] ? 'front' : 'dominated';
    const figures = [this.x, this.y].map((metric) => sweep.metrics[metric].title + ' ' + this.valueText(metric, cell)).join(', ');
    const words = sweep.assignor(cell) + ', ' + sweep.label(cell) + ': ' + { out: 'left out', front: 'Pareto-optimal', dominated: 'dominated' }[state] + ', ' + figures;
    const root = draw('g', { class: 'mark ' + state + ' ' + colorClass(assignor), role: 'button', tabindex: -1, 'aria-label': words, transform: 'translate(' + group.x.toFixed(1) + ' ' + group.y.toFixed(1) + ')' },
      draw('circle', { r: 11, class: 'reach' }),
      draw('path', { d: shapeOf(assignor), transform: state === 'front' ? 'scale(1.25)' : 'scale(0.8)' }),
      ...(state === 'out' ? [draw('path', { d: 'M -7 7 L 7 -7' })] : []));
    const mark = { ...group, root };
    root.addEventListener('mouseenter', () => this.read(mark));
    root.addEventListener('focus', () => this.read(mark));
    root.addEventListener('click', () => this.cell.open(cell, group.cells.slice(1), root));
    return mark;
  }

  valueText(metric, cell) {
    const figure = this.sweep.figure(metric, cell);
    return figure ? this.sweep.withInterval(metric, figure) : 'unknown for some runs';
  }

  read({ cells, x, y }) {
    const { sweep } = this;
    const [cell] = cells;
    const facts = sweep.objectives.map((metric) => make('div', {}, make('dt', {}, sweep.metrics[metric].title), make('dd', {}, this.valueText(metric, cell))));
    const more = cells.length > 1 ? ' ' + (cells.length - 1) + ' more of its cells are at the same position.' : '';
    this.readout.replaceChildren(make('p', {}, make('strong', {}, named(sweep.assignor(cell)), ' with ', named(sweep.label(cell))), '. ', ...sweep.paretoStatus(cell), '.' + more), make('dl', {}, ...facts));
    const clip = (value, one, other) => Math.max(Math.min(one, other), Math.min(Math.max(one, other), value));
    const [inX, inY] = [sweep.figure(this.x, cell), sweep.figure(this.y, cell)];
    const ends = [];
    if (inX && inX.low !== null) ends.push([clip(this.across.at(inX.low), this.box.left, this.box.right), y, clip(this.across.at(inX.high), this.box.left, this.box.right), y]);
    if (inY && inY.low !== null) ends.push([x, clip(this.up.at(inY.low), this.box.top, this.box.bottom), x, clip(this.up.at(inY.high), this.box.top, this.box.bottom)]);
    this.whiskers.replaceChildren(...ends.map(([x1, y1, x2, y2]) => draw('line', { x1, y1, x2, y2 })));
  }

  pressed(event) {
    const at = this.marks.findIndex((mark) => mark.root === event.target.closest('.mark'));
    if (at < 0) return;
    if (event.key === 'Enter' || event.key === ' ') {
      this.cell.open(this.marks[at].cells[0], this.marks[at].cells.slice(1), this.marks[at].root);
    } else {
      const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: this.marks.length - 1 }[event.key];
      if (to === undefined) return;
      const next = this.marks[to];
      if (next) {
        this.marks[at].root.setAttribute('tabindex', -1);
        next.root.setAttribute('tabindex', 0);
        next.root.focus();
      }
    }
    event.preventDefault();
  }

  saveAll() {
    const { sweep } = this;
    const head = ['assignor', 'setting', ...sweep.factors.slice(0, -1).map((factor) => factor.name), 'on_front', ...sweep.numbered(sweep.figures).flatMap((metric) => ['', '_low', '_high'].map((end) => sweep.metrics[metric].name + end))];
    const rows = sweep.cells.setting.map((_, cell) => [
      sweep.assignor(cell), sweep.settings[sweep.cells.setting[cell]][0],
      ...sweep.factors.slice(0, -1).map((factor, n) => factor.levels[sweep.level(cell, n)]), sweep.cells.place[cell] ? 'true' : 'false',
      ...sweep.numbered(sweep.figures).flatMap((metric) => { const figure = sweep.figure(metric, cell); return figure ? [figure.mean, figure.low, figure.high] : ['', '', '']; }),
    ]);
    save(this.id + '-cells.csv', [head, ...rows].map((row) => row.map((value) => csvField(value === null ? '' : String(value))).join(',') + '\n').join(''));
  }
}
