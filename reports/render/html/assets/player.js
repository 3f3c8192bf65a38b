// The round player: two runs at the same simulated time.
class Player {
  constructor(root, data) {
    this.runStates = data.runs.map((run) => new RunState(run, data));
    this.stepEveryChange = false;
    this.marked = null;
    this.panels = [0, 1].slice(0, this.runStates.length).map((number) => new Panel(this.runStates, number, number, (...event) => this.onPanelEvent(...event)));
    this.timeline = new Timeline((at) => this.go(this.nearest(at)));
    this.controls(root);
    this.choose();
    // Start at the first assignment.
    this.go(this.nearest(Math.max(0, ...this.selected.map((runState) => (runState.run.rounds.length ? runState.run.rounds[0].at : 0)))));
  }

  controls(root) {
    const button = (label, text, act) => make('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
    this.play = button('Play', '▶ Play', () => this.toggle());
    this.play.classList.add('play');
    this.slider = make('input', { type: 'range', min: 0, step: 1, 'aria-label': 'Time', oninput: () => this.go(Number(this.slider.value)) });
    this.slider.addEventListener('keydown', (event) => this.pressed(event));
    this.clock = make('output', { class: 'clock' });
    this.speed = make('select', { 'aria-label': 'Speed', onchange: () => this.playing && this.start() },
      [['slow', 1600], ['normal', 800], ['fast', 250]].map(([name, ms]) => make('option', { value: ms, selected: ms === 800 }, name)));
    const steps = make('select', { 'aria-label': 'Steps', onchange: (event) => this.stepBy(event.target.value === 'every') },
      make('option', { value: 'rounds' }, 'rounds and events'), make('option', { value: 'every' }, 'every change'));
    this.find = make('input', { type: 'search', placeholder: '0_3', size: 6, 'aria-label': 'Find a task', onchange: () => this.search() });
    this.searchResult = make('span', { class: 'missing', role: 'status' });
    this.aside = make('aside', { class: 'history', 'aria-live': 'polite', hidden: true });
    this.aside.addEventListener('keydown', (event) => event.key === 'Escape' && this.close());
    root.addEventListener('keydown', (event) => event.key === 'Escape' && !this.aside.hidden && this.close());
    root.append(
      make('div', { class: 'controls' },
        button('To the start', '|◀', () => this.go(0)), button('Step back', '◀', () => this.go(this.index - 1)), this.play,
        button('Step forward', '▶|', () => this.go(this.index + 1)), this.clock,
        make('label', {}, 'Steps ', steps), make('label', {}, 'Speed ', this.speed), make('label', {}, 'Find task ', this.find), this.searchResult),
      make('div', { class: 'track' }, this.slider, this.timeline.root),
      legend(this.runStates),
      make('div', { class: 'panels' }, this.panels.map((panel) => panel.root)),
      this.aside);
    root.hidden = false;
  }

  // Collect the times at which the selected runs change.
  choose() {
    this.selected = this.panels.map((panel) => panel.runState).filter(Boolean);
    const times = new Set([0]);
    for (const runState of this.selected) {
      runState.run.rounds.forEach((round) => times.add(round.at));
      runState.run.events.forEach(([at]) => at <= runState.run.until && times.add(at));
      if (this.stepEveryChange) runState.steps.forEach((step) => times.add(step.at));
      times.add(runState.run.until);
    }
    this.times = [...times].sort((a, b) => a - b);
    this.slider.max = this.times.length - 1;
    this.timeline.show(this.selected);
  }

  nearest(at) {
    const distances = this.times.map((time) => Math.abs(time - at));
    return distances.indexOf(Math.min(...distances));
  }

  go(index) {
    this.index = Math.max(0, Math.min(this.times.length - 1, index));
    const at = this.times[this.index];
    this.selected.forEach((runState) => runState.seek(at));
    this.panels.forEach((panel) => panel.show(this.marked));
    this.slider.value = this.index;
    const events = this.selected.length ? this.selected[0].run.events.filter(([when]) => when === at).map(([, text]) => text) : [];
    this.clock.replaceChildren(make('strong', {}, writeClock(at)), ...(events.length ? [' ', named(events.slice(0, 2).join(', ') + (events.length > 2 ? ' and ' + (events.length - 2) + ' more' : ''))] : []));
    this.slider.setAttribute('aria-valuetext', [writeClock(at), ...this.selected.map((runState) => 'round ' + (runState.round < 0 ? 0 : runState.run.rounds[runState.round].n)), ...events.slice(0, 3)].join(', '));
    this.timeline.at(at);
    if (this.playing && this.index === this.times.length - 1) this.stop();
  }

  stepBy(every) {
    const at = this.times[this.index];
    this.stepEveryChange = every;
    this.choose();
    this.go(this.nearest(at));
  }

  toggle() {
    if (this.playing) return this.stop();
    if (this.index === this.times.length - 1) this.go(0);
    return this.start();
  }

  start() {
    clearInterval(this.playing);
    this.playing = setInterval(() => this.go(this.index + 1), Number(this.speed.value));
    this.play.textContent = 'Pause';
    this.play.title = 'Pause';
    this.play.setAttribute('aria-label', 'Pause');
  }

  stop() {
    clearInterval(this.playing);
    this.playing = null;
    this.play.textContent = '▶ Play';
    this.play.title = 'Play';
    this.play.setAttribute('aria-label', 'Play');
  }

  pressed(event) {
    if (event.key !== ' ') return;
    event.preventDefault();
    this.toggle();
  }

  onPanelEvent(what, panel, task) {
    if (what === 'task clicked') return this.showHistory(panel.runState.run.tasks[task]);
    const at = this.times[this.index];
    this.choose();
    if (this.aside.dataset.task) this.showHistory(this.aside.dataset.task);
    return this.go(this.nearest(at));
  }

  search() {
    const wanted = this.find.value.trim();
    const known = this.selected.some((runState) => runState.run.tasks.includes(wanted));
    this.searchResult.textContent = wanted && !known ? 'unknown task' : '';
    if (known) this.showHistory(wanted);
    else if (!wanted) this.close();
  }

  // Show the history of a task in each selected run.
  showHistory(name) {
    this.focusKey = document.activeElement && document.activeElement.dataset.key ? document.activeElement.dataset.key : null;
    const jump = (at) => this.go(this.nearest(at));
    const sections = this.selected.filter((runState) => runState.run.tasks.includes(name)).map((runState) => make('section', {},
      make('h4', {}, named(runState.run.label)), historyList(runState, runState.run.tasks.indexOf(name), jump)));
    this.aside.replaceChildren(
      make('div', { class: 'history-head' }, make('h3', {}, 'Task ', named(name)), make('button', { type: 'button', class: 'close', onclick: () => this.close() }, 'Close')),
      make('div', { class: 'histories' }, sections));
    this.aside.dataset.task = name;
    this.aside.hidden = false;
    this.marked = name;
    this.panels.forEach((panel) => panel.show(this.marked));
  }

  close() {
    this.aside.hidden = true;
    delete this.aside.dataset.task;
    this.marked = null;
    this.panels.forEach((panel) => panel.show(null));
    const chip = [...document.querySelectorAll('.chip')].find((element) => this.focusKey && element.dataset.key === this.focusKey);
    if (chip) chip.focus({ preventScroll: true });
  }
}

function legend(runStates) {
  const hasWarmUps = runStates.some((runState) => runState.run.rounds.some((round) => round.warm));
  const hasBlocked = runStates.some((runState) => runState.steps.some((step) => pairs(step.pairs).some(([, code]) => code % STATES === BLOCKED)));
  const looks = Object.entries(LOOKS).filter(([look]) => (hasWarmUps || look !== 'warm') && (hasBlocked || look !== 'blocked'));
  return make('ul', { class: 'legend' }, looks.map(([look, [mark, words]]) => make('li', {},
    make('span', { class: 'chip ' + look }, make('span', { class: 'mark' }, mark), make('span', { class: 'id' }, '0_0')), ' ', words)),
  make('li', {}, make('span', { class: 'chip running moved' }, make('span', { class: 'mark' }), make('span', { class: 'id' }, '0_0')), ' moved in this round'));
}

withData('player-data', (data) => {
  if (data.runs.length) new Player(document.getElementById('player-here'), data);
});
