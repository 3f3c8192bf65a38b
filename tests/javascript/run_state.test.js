// The state of a run at a time does not depend on how the reader got there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, randomNumbers } from './assets.js';

const { RunState } = load('run_state.js');

// A run with random changes of task states, owners, standbys and warm-ups.
function randomRun(seed) {
  const random = randomNumbers(seed);
  const upTo = (number) => Math.floor(random() * number);
  const [tasks, clients] = [1 + upTo(6), 1 + upTo(4)];
  const standbys = new Set();
  const rounds = Array.from({ length: 1 + upTo(6) }, (_, index) => {
    const task = upTo(tasks);
    const client = upTo(clients);
    const key = task + ':' + client;
    const round = { n: index + 1, at: index * 100 + upTo(90), own: [task, client, -1], add: [], drop: [] };
    if (standbys.delete(key)) round.drop = [task, client];
    else {
      standbys.add(key);
      round.add = [task, client];
      if (random() < 0.5) round.warm = [task, client];
    }
    return round;
  });
  const transitions = Array.from({ length: upTo(12) }, () => [upTo(60), upTo(tasks), 6 * (upTo(clients) + 1) + upTo(6)]);
  return { tasks: Array.from({ length: tasks }, (_, n) => '0_' + n), clients: Array.from({ length: clients }, () => ({ stays: [[1, null]] })), rounds, transitions };
}

const snapshot = (state) => ({
  round: state.round,
  state: [...state.state],
  client: [...state.client],
  target: [...state.target],
  copies: [...state.copies].map(([client, tasks]) => [client, [...tasks].sort()]).filter(([, tasks]) => tasks.length).sort(),
  warm: [...state.warm].sort(),
});

test('seeking back and forth gives the same state as seeking once', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const run = randomRun(seed);
    const random = randomNumbers(seed + 1000);
    const wandering = new RunState(run, {});
    for (let n = 0; n < 8; n += 1) {
      const at = Math.floor(random() * 700);
      wandering.seek(at);
      const direct = new RunState(run, {});
      direct.seek(at);
      assert.deepEqual(snapshot(wandering), snapshot(direct), `seed ${seed}, time ${at}`);
    }
  }
});

test('the states of a task are those that seeking passes through', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const run = randomRun(seed);
    const state = new RunState(run, {});
    run.tasks.forEach((_, task) => {
      for (const [at, value, client] of state.statesOf(task).slice(-1)) {
        state.seek(Math.max(at, 10000));
        assert.deepEqual([state.state[task], state.client[task]], [value, client]);
      }
    });
  }
});
