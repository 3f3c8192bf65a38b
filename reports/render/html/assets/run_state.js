// State of one run at any time: client and state of each task, decoded from the changes.
const [ASSIGNED, RESTORING, RUNNING, REVOKED, BLOCKED] = [1, 2, 3, 4, 5];
const STATES = 6;
const NO_CLIENT = -1;

class RunState {
  constructor(run, words) {
    this.run = run;
    this.words = words;
    let at = 0;
    this.steps = run.transitions.map(([passed, ...pairs]) => ({ at: (at += passed), pairs }));
    // The first round assigns all tasks, so it has no moves.
    this.moved = run.rounds.map((round, index) => new Set(index ? triples(round.own).map(([task]) => task) : []));
    this.reset();
  }

  reset() {
    const tasks = this.run.tasks.length;
    this.now = -1;
    this.step = 0;
    this.round = -1;
    this.state = new Uint8Array(tasks);
    this.client = new Int32Array(tasks).fill(NO_CLIENT);
    this.target = new Int32Array(tasks).fill(NO_CLIENT);
    this.copies = new Map();
    this.warm = new Set();
  }

  // Advance or rewind to a time, and apply all changes up to it.
  seek(at) {
    if (at < this.now) this.reset();
    this.now = at;
    while (this.round + 1 < this.run.rounds.length && this.run.rounds[this.round + 1].at <= at) this.enterRound(++this.round);
    while (this.step < this.steps.length && this.steps[this.step].at <= at) this.applyStep(this.steps[this.step++]);
  }

  enterRound(index) {
    const round = this.run.rounds[index];
    for (const [task, client] of triples(round.own)) this.target[task] = client;
    for (const [task, client] of pairs(round.drop)) {
      this.copiesOf(client).delete(task);
      this.warm.delete(client + ':' + task);
    }
    for (const [task, client] of pairs(round.add)) this.copiesOf(client).add(task);
    for (const [task, client] of pairs(round.cool || [])) this.warm.delete(client + ':' + task);
    for (const [task, client] of pairs(round.warm || [])) this.warm.add(client + ':' + task);
  }

  applyStep(step) {
    for (const [task, code] of pairs(step.pairs)) {
      this.state[task] = code % STATES;
      this.client[task] = Math.floor(code / STATES) - 1;
    }
  }

  copiesOf(client) {
    if (!this.copies.has(client)) this.copies.set(client, new Set());
    return this.copies.get(client);
  }

  isMember(client) {
    const number = this.round < 0 ? 0 : this.run.rounds[this.round].n;
    return this.run.clients[client].stays.some(([from, until]) => from <= number && (until === null || number < until));
  }

  // States of a task in order of time: [at, state, client].
  statesOf(task) {
    const states = [];
    for (const step of this.steps) {
      for (let index = 0; index < step.pairs.length; index += 2) {
        if (step.pairs[index] === task) states.push([step.at, step.pairs[index + 1] % STATES, Math.floor(step.pairs[index + 1] / STATES) - 1]);
      }
    }
    return states;
  }
}

function groups(flat, size) {
  const result = [];
  for (let index = 0; index < flat.length; index += size) result.push(flat.slice(index, index + size));
  return result;
}
const pairs = (flat) => groups(flat, 2);
const triples = (flat) => groups(flat, 3);
