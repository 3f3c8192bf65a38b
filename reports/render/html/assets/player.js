// The round player: two runs in step through the same time.
class Player {
  constructor(root, data) {
    this.lives = data.runs.map((run) => new Life(run, data));
    this.every = false;
    this.marked = null;
    this.panels = [0, 1].slice(0, this.lives.length).map((number) => new Panel(this.lives, number, number, (...told) => this.told(...told)));
    this.timeline = new Timeline((at) => this.go(this.nearest(at)));
    this.controls(root);
    this.choose();
    // Before anything is assigned there is nothing to see.
    this.go(this.nearest(Math.max(0, ...this.shown.map((life) => (life.run.rounds.length ? life.run.rounds[0].at : 0)))));
  }

  controls(root) {
    const button = (label, text, act) => make('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
    this.play = button('Play', '▶ Play', () => this.toggle());
    this.play.classList.add('play');
    this.slider = make('input', { type: 'range', min: 0, step: 1, 'aria-label': 'Moment', oninput: () => this.go(Number(this.slider.value)) });
    this.slider.addEventListener('keydown', (event) => this.pressed(event));
    this.clock = make('output', { class: 'clock' });
    this.speed = make('select', { 'aria-label': 'Speed', onchange: () => this.playing && this.start() },
      [['slow', 1600], ['normal', 800], ['fast', 250]].map(([name, ms]) => make('option', { value: ms, selected: ms === 800 }, name)));
    const steps = make('select', { 'aria-label': 'Steps', onchange: (event) => this.stepBy(event.target.value === 'every') },
      make('option', { value: 'rounds' }, 'rounds and events'), make('option', { value: 'every' }, 'every change'));
    this.find = make('input', { type: 'search', placeholder: '0_3', size: 6, 'aria-label': 'Find a task', onchange: () => this.search() });
    this.missing = make('span', { class: 'missing', role: 'status' });
    this.aside = make('aside', { class: 'story', 'aria-live': 'polite', hidden: true });
    this.aside.addEventListener('keydown', (event) => event.key === 'Escape' && this.close());
    root.addEventListener('keydown', (event) => event.key === 'Escape' && !this.aside.hidden && this.close());
    root.append(
      make('div', { class: 'controls' },
        button('To the beginning', '|◀', () => this.go(0)), button('One step back', '◀', () => this.go(this.moment - 1)), this.play,
        button('One step on', '▶|', () => this.go(this.moment + 1)), this.clock,
        make('label', {}, 'Steps ', steps), make('label', {}, 'Speed ', this.speed), make('label', {}, 'Find task ', this.find), this.missing),
      make('div', { class: 'track' }, this.slider, this.timeline.root),
      legend(this.lives),
      make('div', { class: 'panels' }, this.panels.map((panel) => panel.root)),
      this.aside);
    root.hidden = false;
  }

  // Which runs are shown decides at which moments anything happens.
  choose() {
    this.shown = this.panels.map((panel) => panel.life).filter(Boolean);
    const moments = new Set([0]);
    for (const life of this.shown) {
      life.run.rounds.forEach((round) => moments.add(round.at));
      life.run.events.forEach(([at]) => at <= life.run.until && moments.add(at));
      if (this.every) life.steps.forEach((step) => moments.add(step.at));
      moments.add(life.run.until);
    }
    this.moments = [...moments].sort((a, b) => a - b);
    this.slider.max = this.moments.length - 1;
    this.timeline.show(this.shown);
  }

  nearest(at) {
    const distances = this.moments.map((moment) => Math.abs(moment - at));
    return distances.indexOf(Math.min(...distances));
  }

  go(moment) {
    this.moment = Math.max(0, Math.min(this.moments.length - 1, moment));
    const at = this.moments[this.moment];
    this.shown.forEach((life) => life.seek(at));
    this.panels.forEach((panel) => panel.show(this.marked));
    this.slider.value = this.moment;
    const happened = this.shown.length ? this.shown[0].run.events.filter(([when]) => when === at).map(([, text]) => text) : [];
    this.clock.replaceChildren(make('strong', {}, writeClock(at)), ...(happened.length ? [' ', named(happened.slice(0, 2).join(', ') + (happened.length > 2 ? ' and ' + (happened.length - 2) + ' more' : ''))] : []));
    this.slider.setAttribute('aria-valuetext', [writeClock(at), ...this.shown.map((life) => 'round ' + (life.round < 0 ? 0 : life.run.rounds[life.round].n)), ...happened.slice(0, 3)].join(', '));
    this.timeline.at(at);
    if (this.playing && this.moment === this.moments.length - 1) this.stop();
  }

  stepBy(every) {
    const at = this.moments[this.moment];
    this.every = every;
    this.choose();
    this.go(this.nearest(at));
  }

  toggle() {
    if (this.playing) return this.stop();
    if (this.moment === this.moments.length - 1) this.go(0);
    return this.start();
  }

  start() {
    clearInterval(this.playing);
    this.playing = setInterval(() => this.go(this.moment + 1), Number(this.speed.value));
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

  told(what, panel, task) {
    if (what === 'asked') return this.tellStory(panel.life.run.tasks[task]);
    const at = this.moments[this.moment];
    this.choose();
    if (this.aside.dataset.task) this.tellStory(this.aside.dataset.task);
    return this.go(this.nearest(at));
  }

  search() {
    const wanted = this.find.value.trim();
    const known = this.shown.some((life) => life.run.tasks.includes(wanted));
    this.missing.textContent = wanted && !known ? 'no such task' : '';
    if (known) this.tellStory(wanted);
    else if (!wanted) this.close();
  }

  // The story of a task in each of the runs that are shown.
  tellStory(name) {
    this.back = document.activeElement && document.activeElement.dataset.key ? document.activeElement.dataset.key : null;
    const jump = (at) => this.go(this.nearest(at));
    const told = this.shown.filter((life) => life.run.tasks.includes(name)).map((life) => make('section', {},
      make('h4', {}, named(life.run.label)), storyList(life, life.run.tasks.indexOf(name), jump)));
    this.aside.replaceChildren(
      make('div', { class: 'story-head' }, make('h3', {}, 'Task ', named(name)), make('button', { type: 'button', class: 'close', onclick: () => this.close() }, 'Close')),
      make('div', { class: 'stories' }, told));
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
    const chip = [...document.querySelectorAll('.chip')].find((each) => this.back && each.dataset.key === this.back);
    if (chip) chip.focus({ preventScroll: true });
  }
}

function legend(lives) {
  const knows = lives.some((life) => life.run.rounds.some((round) => round.warm));
  const blocks = lives.some((life) => life.steps.some((step) => pairs(step.pairs).some(([, code]) => code % STATES === BLOCKED)));
  const looks = Object.entries(LOOKS).filter(([look]) => (knows || look !== 'warm') && (blocks || look !== 'blocked'));
  return make('ul', { class: 'legend' }, looks.map(([look, [mark, words]]) => make('li', {},
    make('span', { class: 'chip ' + look }, make('span', { class: 'mark' }, mark), make('span', { class: 'id' }, '0_0')), ' ', words)),
  make('li', {}, make('span', { class: 'chip running moved' }, make('span', { class: 'mark' }), make('span', { class: 'id' }, '0_0')), ' moved in this round'));
}

(() => {
  const root = document.getElementById('player-here');
  const data = embedded('player-data');
  if (root && data && data.runs.length) new Player(root, data);
})();
