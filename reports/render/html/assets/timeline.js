// Timeline: rounds of each run as ticks, scenario events as triangles.
class Timeline {
  constructor(jump) {
    this.svg = draw('svg', { class: 'timeline', preserveAspectRatio: 'none', viewBox: '0 0 1000 40', 'aria-hidden': 'true' });
    this.end = make('span');
    this.root = make('div', {}, this.svg, make('div', { class: 'timeline-ends' }, make('span', {}, writeClock(0)), this.end));
    this.svg.addEventListener('click', (event) => {
      const box = this.svg.getBoundingClientRect();
      jump(((event.clientX - box.left) / box.width) * this.until);
    });
  }

  // Ends shortly after the last round and event, because nothing changes later.
  show(runStates) {
    const events = runStates.length ? runStates[0].run.events : [];
    const last = Math.max(1, ...events.map(([at]) => at), ...runStates.flatMap((runState) => runState.run.rounds.map((round) => round.at)));
    this.until = Math.min(1.05 * last, Math.max(last, ...runStates.map((runState) => runState.run.until)));
    const x = (at) => ((1000 * at) / this.until).toFixed(2);
    const tick = (at, row) => draw('line', { class: 'tick row-' + row, x1: x(at), x2: x(at), y1: 12 + 14 * row, y2: 22 + 14 * row });
    const mark = ([at, text]) => draw('path', { class: 'event', d: 'M' + x(at) + ' 9 l-4 -8 h8 z' }, draw('title', {}, writeClock(at) + ': ' + text));
    this.cursor = draw('line', { class: 'cursor', y1: 0, y2: 40 });
    this.svg.replaceChildren(...runStates.flatMap((runState, row) => runState.run.rounds.map((round) => tick(round.at, row))), ...events.map(mark), this.cursor);
    this.end.textContent = writeClock(this.until);
  }

  at(time) {
    const x = (1000 * Math.min(time, this.until)) / this.until;
    this.cursor.setAttribute('x1', x);
    this.cursor.setAttribute('x2', x);
  }
}
