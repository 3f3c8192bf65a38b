// What became of one task in one run: when it moved, from where to where, why, and what that cost.
function story(life, task) {
  const { run } = life;
  const states = life.statesOf(task);
  const told = [];
  let owner = NOBODY;
  const standing = new Set();
  run.rounds.forEach((round, place) => {
    const later = run.rounds.slice(place + 1).find((_, after) => life.moved[place + 1 + after].has(task));
    const until = later ? later.at : run.until;
    const move = triples(round.own).find(([which]) => which === task);
    if (move) {
      const said = run.told && run.told[round.n + ':' + task];
      told.push({ at: round.at, round, kind: 'move', parts: moveParts(life, owner, move, said), cost: cost(states, move[1], round.at, until) });
      owner = move[1];
    }
    const gone = pairs(round.drop).filter(([which]) => which === task).map(([, client]) => client);
    const come = pairs(round.add).filter(([which]) => which === task).map(([, client]) => client);
    gone.forEach((client) => standing.delete(client));
    come.forEach((client) => standing.add(client));
    if (gone.length || come.length) {
      told.push({ at: round.at, round, kind: 'copy', parts: copyParts(life, task, come, gone, owner, standing, round), cost: null });
    }
  });
  return told;
}

function place(life, client) {
  if (client === NOBODY) return ['nobody'];
  const { name, rack } = life.run.clients[client];
  return rack === null ? [named(name)] : [named(name), ' (', named(rack), ')'];
}

const listed = (life, clients) => clients.flatMap((client, n) => [...(n ? [', '] : []), ...place(life, client)]);

function moveParts(life, from, [, to, why], said) {
  const reason = why === NOBODY ? null : life.words.reasons[life.run.why[why]] || life.run.why[why];
  const parts = from === NOBODY ? ['Given to ', ...place(life, to)] : ['From ', ...place(life, from), ' to ', ...place(life, to)];
  if (reason) parts.push(': ', make('strong', {}, reason));
  parts.push('.');
  if (said) parts.push(' ', make('span', { class: 'said' }, named(said)));
  return parts;
}

function copyParts(life, task, come, gone, owner, standing, round) {
  const parts = [];
  const toWarmUp = new Set(pairs(round.warm || []).map(([task, client]) => task + ':' + client));
  const [warm, kept] = [true, false].map((wanted) => come.filter((client) => toWarmUp.has(task + ':' + client) === wanted));
  if (kept.length) parts.push('A copy is kept on ', ...listed(life, kept), '. ');
  if (warm.length) parts.push('A copy warms up on ', ...listed(life, warm), '. ');
  const left = gone.filter((client) => client !== owner);
  const promoted = gone.filter((client) => client === owner);
  if (promoted.length) parts.push('The copy on ', ...listed(life, promoted), ' becomes the task itself. ');
  if (left.length) parts.push('No copy on ', ...listed(life, left), ' any more. ');
  if (!standing.size) parts.push('It has no copy now. ');
  return parts;
}

// How long the task stood still around a move, up to its first running on the new client.
function cost(states, client, from, until) {
  if (client === NOBODY) return ['down', 'Nobody runs it.'];
  const first = states.findIndex(([at, state, on]) => at >= from && at <= until && state === RUNNING && on === client);
  if (first < 0) return ['down', 'It never ran there.'];
  let before = first - 1;
  while (before >= 0 && states[before][1] !== RUNNING) before -= 1;
  if (before < 0) return firstRun(states[first][0] - from);
  const down = states[first][0] - states[before + 1][0];
  const restoring = states.slice(before + 1, first).reduce((sum, [at, state], n) => sum + (state === RESTORING ? states[before + 2 + n][0] - at : 0), 0);
  if (!down) return ['', 'It did not stand still.'];
  return ['down', 'It stood still for ' + writeDuration(down) + (restoring ? ', ' + writeDuration(restoring) + ' of it to restore its state' : '') + '.'];
}

const firstRun = (after) => (after ? ['down', 'It ran ' + writeDuration(after) + ' later.'] : ['', 'It ran at once.']);

function storyList(life, task, jump) {
  const told = story(life, task);
  if (!told.length) return make('p', {}, 'Nobody was ever given it.');
  const more = life.run.told ? null : make('p', {}, 'The steps that led to each move are too many for this page; assignor-sim explain tells them.');
  return [more, make('ol', { class: 'story-list' }, told.map(({ at, round, parts, cost: paid, kind }) => make('li', { class: kind },
    make('button', { type: 'button', class: 'when', onclick: () => jump(at) }, writeClock(at) + ', round ' + round.n),
    make('span', {}, parts, paid ? make('span', { class: 'cost ' + paid[0] }, ' ' + paid[1]) : null))))];
}
