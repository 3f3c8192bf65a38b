// History of one task in one run: when it moved, from where to where, why, and its downtime.
function taskHistory(runState, task) {
  const { run } = runState;
  const states = runState.statesOf(task);
  const entries = [];
  let owner = NO_CLIENT;
  const copies = new Set();
  run.rounds.forEach((round, index) => {
    const later = run.rounds.slice(index + 1).find((_, after) => runState.moved[index + 1 + after].has(task));
    const until = later ? later.at : run.until;
    const move = triples(round.own).find(([which]) => which === task);
    if (move) {
      const decision = run.sentences && run.sentences[round.n + ':' + task];
      entries.push({ at: round.at, round, kind: 'move', parts: moveParts(runState, owner, move, decision), cost: cost(states, move[1], round.at, until) });
      owner = move[1];
    }
    const removed = pairs(round.drop).filter(([which]) => which === task).map(([, client]) => client);
    const added = pairs(round.add).filter(([which]) => which === task).map(([, client]) => client);
    removed.forEach((client) => copies.delete(client));
    added.forEach((client) => copies.add(client));
    if (removed.length || added.length) {
      entries.push({ at: round.at, round, kind: 'copy', parts: copyParts(runState, task, added, removed, owner, copies, round), cost: null });
    }
  });
  return entries;
}

function clientParts(runState, client) {
  if (client === NO_CLIENT) return ['no client'];
  const { name, rack } = runState.run.clients[client];
  return rack === null ? [named(name)] : [named(name), ' (', named(rack), ')'];
}

const listed = (runState, clients) => clients.flatMap((client, n) => [...(n ? [', '] : []), ...clientParts(runState, client)]);

function moveParts(runState, from, [, to, why], decision) {
  const reason = why === NO_CLIENT ? null : runState.words.reasons[runState.run.why[why]] || runState.run.why[why];
  const parts = from === NO_CLIENT ? ['Assigned to ', ...clientParts(runState, to)] : ['From ', ...clientParts(runState, from), ' to ', ...clientParts(runState, to)];
  if (reason) parts.push(': ', make('strong', {}, reason));
  parts.push('.');
  if (decision) parts.push(' ', make('span', { class: 'decision' }, named(decision)));
  return parts;
}

function copyParts(runState, task, added, removed, owner, copies, round) {
  const parts = [];
  const toWarmUp = new Set(pairs(round.warm || []).map(([task, client]) => task + ':' + client));
  const [warm, kept] = [true, false].map((wanted) => added.filter((client) => toWarmUp.has(task + ':' + client) === wanted));
  if (kept.length) parts.push('Standby added on ', ...listed(runState, kept), '. ');
  if (warm.length) parts.push('Warm-up added on ', ...listed(runState, warm), '. ');
  const left = removed.filter((client) => client !== owner);
  const promoted = removed.filter((client) => client === owner);
  if (promoted.length) parts.push('The copy on ', ...listed(runState, promoted), ' becomes the active task. ');
  if (left.length) parts.push('Copy removed from ', ...listed(runState, left), '. ');
  if (!copies.size) parts.push('No copies remain. ');
  return parts;
}

// Downtime of the task around a move, until it first runs on the new client.
function cost(states, client, from, until) {
  if (client === NO_CLIENT) return ['down', 'No client runs it.'];
  const first = states.findIndex(([at, state, on]) => at >= from && at <= until && state === RUNNING && on === client);
  if (first < 0) return ['down', 'Never ran there.'];
  let before = first - 1;
  while (before >= 0 && states[before][1] !== RUNNING) before -= 1;
  if (before < 0) return firstRun(states[first][0] - from);
  const down = states[first][0] - states[before + 1][0];
  const restoring = states.slice(before + 1, first).reduce((sum, [at, state], n) => sum + (state === RESTORING ? states[before + 2 + n][0] - at : 0), 0);
  if (!down) return ['', 'No downtime.'];
  return ['down', 'Down for ' + writeDuration(down) + (restoring ? ', ' + writeDuration(restoring) + ' of it restoring state' : '') + '.'];
}

const firstRun = (after) => (after ? ['down', 'Ran ' + writeDuration(after) + ' later.'] : ['', 'Ran immediately.']);

function historyList(runState, task, jump) {
  const entries = taskHistory(runState, task);
  if (!entries.length) return make('p', {}, 'Never assigned.');
  const more = runState.run.sentences ? null : make('p', {}, 'The steps behind each move are left out to limit the size of the page; assignor-sim explain shows them.');
  return [more, make('ol', { class: 'history-list' }, entries.map(({ at, round, parts, cost: paid, kind }) => make('li', { class: kind },
    make('button', { type: 'button', class: 'when', onclick: () => jump(at) }, writeClock(at) + ', round ' + round.n),
    make('span', {}, parts, paid ? make('span', { class: 'cost ' + paid[0] }, ' ' + paid[1]) : null))))];
}
