// One run of the player: its clients by rack, with their tasks at the current time.
// Symbol and description of a task chip by its look.
const LOOKS = {
  running: ['', 'running'],
  restoring: ['↻', 'restoring state'],
  blocked: ['!', 'blocked: an input or output partition is unavailable'],
  waiting: ['…', 'assigned, not running yet'],
  leaving: ['×', 'revoked, not yet assigned to another client'],
  coming: ['→', 'assigned to this client, not yet received'],
  standby: ['○', 'standby'],
  warm: ['▲', 'warm-up: a copy that takes over the task once it has caught up'],
};
const LOOK_OF = { [ASSIGNED]: 'waiting', [RESTORING]: 'restoring', [RUNNING]: 'running', [BLOCKED]: 'blocked', [REVOKED]: 'leaving' };
// Runs with more tasks than this show small chips without task ids.
const DENSE = 700;

class Panel {
  constructor(runStates, chosen, number, notify) {
    this.runStates = runStates;
    this.notify = notify;
    this.picker = make('select', { 'aria-label': 'Run ' + (number + 1), onchange: () => this.choose(Number(this.picker.value)) },
      runStates.map((runState, index) => make('option', { value: index, selected: index === chosen }, runState.run.label)),
      number ? make('option', { value: -1 }, '(none)') : null);
    this.head = make('p', { class: 'now' });
    this.counts = make('p', { class: 'counts' });
    this.body = make('div', { class: 'racks' });
    this.body.addEventListener('click', (event) => this.clicked(event.target.closest('.chip')));
    this.body.addEventListener('keydown', (event) => this.pressed(event));
    this.root = make('div', { class: 'panel', role: 'group', 'aria-label': 'Run ' + (number + 1) }, make('div', { class: 'pick' }, this.picker), this.head, this.counts, this.body);
    this.build(chosen);
  }

  choose(index) {
    this.build(index);
    this.notify('run chosen', this);
  }

  build(index) {
    this.runState = index < 0 ? null : this.runStates[index];
    this.root.classList.toggle('empty', !this.runState);
    this.cards = [];
    if (!this.runState) return this.body.replaceChildren();
    const { clients, tasks } = this.runState.run;
    this.body.classList.toggle('dense', tasks.length > DENSE);
    const racks = [...new Set(clients.map((client) => client.rack))].sort((a, b) => (a === null) - (b === null) || (a < b ? -1 : 1));
    this.cards = clients.map((client, at) => this.card(client, at));
    this.unassigned = make('div', { class: 'chips' });
    this.tray = make('div', { class: 'tray' }, make('h3', {}, 'Not running'), this.unassigned);
    this.body.replaceChildren(...racks.map((rack) => make('section', { class: 'rack' },
      make('h3', {}, rack === null ? 'unknown rack' : named(rack)),
      make('div', { class: 'clients' }, this.cards.filter((card) => card.client.rack === rack).map((card) => card.root)))), this.tray);
    return this;
  }

  card(client, at) {
    const chips = make('div', { class: 'chips' });
    const load = make('span', { class: 'load' });
    const root = make('div', { class: 'client', role: 'group' }, make('div', { class: 'who' }, named(client.name), load), chips);
    return { client, at, chips, load, root, shown: null };
  }

  // Show the current time of the run, and mark the task with this name.
  show(name) {
    if (!this.runState) return;
    const { runState } = this;
    this.marked = name === null ? NO_CLIENT : runState.run.tasks.indexOf(name);
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const held = this.cards.map(() => []);
    const free = [];
    runState.run.tasks.forEach((_, task) => {
      const [on, to] = [runState.client[task], runState.target[task]];
      const look = LOOK_OF[runState.state[task]];
      if (look && on !== NO_CLIENT) held[on].push([task, look]);
      if (to !== NO_CLIENT && (on !== to || !look)) held[to].push([task, 'coming']);
      if (on === NO_CLIENT || !look) free.push([task, 'leaving']);
    });
    this.cards.forEach((card) => this.refresh(card, held[card.at]));
    this.put(this.unassigned, free, 'x');
    this.tray.hidden = !free.length;
    this.describe(held, free);
    this.restoreFocus(focused);
  }

  refresh(card, actives) {
    const { runState } = this;
    const copies = [...runState.copiesOf(card.at)].sort((a, b) => a - b).map((task) => [task, runState.warm.has(card.at + ':' + task) ? 'warm' : 'standby']);
    const chips = [...actives, ...copies.filter(([task]) => !actives.some(([which]) => which === task))];
    const isMember = runState.isMember(card.at);
    const running = actives.filter(([, look]) => look !== 'coming').length;
    card.root.classList.toggle('gone', !isMember);
    card.load.textContent = isMember ? running + ' + ' + copies.length + ' / ' + counted(card.client.threads, 'thread') : 'not in the group';
    card.root.setAttribute('aria-label', card.client.name + ': ' + card.load.textContent);
    this.put(card.chips, chips, card.at);
  }

  put(into, chips, where) {
    const moved = this.runState.moved[this.runState.round] || new Set();
    const key = chips.map(([task, look]) => task + look + moved.has(task) + (task === this.marked)).join();
    if (into.dataset.key === key) return;
    into.dataset.key = key;
    into.replaceChildren(...chips.map(([task, look]) => this.chip(task, look, where, look !== 'standby' && look !== 'warm' && moved.has(task), task === this.marked)));
  }

  chip(task, look, where, moved, marked) {
    const [mark, words] = LOOKS[look];
    const name = this.runState.run.tasks[task];
    const text = name + ', ' + words + (moved ? ', moved in this round' : '');
    const classes = ['chip', look, moved ? 'moved' : '', marked ? 'marked' : ''].filter(Boolean).join(' ');
    return make('button', { type: 'button', class: classes, tabindex: -1, 'data-task': task, 'data-key': where + ':' + task, title: text, 'aria-label': text },
      make('span', { class: 'mark' }, mark), make('span', { class: 'id' }, name));
  }

  describe(held, free) {
    const { runState } = this;
    const { rounds } = runState.run;
    if (runState.round < 0) {
      this.head.replaceChildren('Before the first round');
    } else {
      const round = rounds[runState.round];
      this.head.replaceChildren(make('strong', {}, 'Round ' + round.n + ' of ' + rounds[rounds.length - 1].n), ', since ' + writeClock(round.at) + ': ', named(round.reason || 'unknown reason'));
    }
    const counts = { running: 0, restoring: 0, blocked: 0, waiting: 0, leaving: 0 };
    held.flat().forEach(([, look]) => { if (look in counts) counts[look] += 1; });
    const copies = [...runState.copies.values()].reduce((sum, tasks) => sum + tasks.size, 0);
    const moved = runState.round < 0 ? 0 : runState.moved[runState.round].size;
    this.counts.textContent = [
      counts.running + ' running',
      counts.restoring ? counts.restoring + ' restoring' : null,
      counts.blocked ? counts.blocked + ' blocked' : null,
      counts.waiting + counts.leaving + free.length ? counts.waiting + counts.leaving + free.length + ' waiting' : null,
      counted(copies, 'copy', 'copies') + (runState.warm.size ? ' (' + runState.warm.size + ' warm-up)' : ''),
      runState.round > 0 ? moved + ' moved in this round' : null,
    ].filter(Boolean).join(' · ');
  }

  // One chip per panel is reachable by Tab; arrow keys move between chips.
  restoreFocus(focused) {
    const chips = [...this.body.querySelectorAll('.chip')];
    const same = focused === null ? null : chips.find((chip) => chip.dataset.key === focused);
    if (focused !== null && (same || chips[0])) (same || chips[0]).focus({ preventScroll: true });
    if (chips.length && !this.body.querySelector('.chip[tabindex="0"]')) (same || chips[0]).tabIndex = 0;
  }

  clicked(chip) {
    if (chip) this.notify('task clicked', this, Number(chip.dataset.task));
  }

  pressed(event) {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    const chip = event.target.closest('.chip');
    if (!by || !chip) return;
    const list = [...this.body.querySelectorAll(event.key === 'ArrowUp' || event.key === 'ArrowDown' ? '.chips' : '.chip')].filter((element) => element.matches('.chip') || element.firstChild);
    const at = list.indexOf(chip.closest(event.key === 'ArrowUp' || event.key === 'ArrowDown' ? '.chips' : '.chip'));
    const next = list[at + by];
    if (next) {
      const to = next.matches('.chip') ? next : next.firstChild;
      this.body.querySelectorAll('.chip[tabindex="0"]').forEach((other) => { other.tabIndex = -1; });
      to.tabIndex = 0;
      to.focus();
    }
    event.preventDefault();
  }
}
