// Axes and cells of a sweep.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, randomNumbers } from './assets.js';

const { ticksOf, SweepData } = load('dom.js', 'tables.js', 'sweep.js', 'sweep_front.js');

test('ticks are inside the axis, evenly spaced and not too many', () => {
  const random = randomNumbers(3);
  for (const kind of ['bytes', 'rate', 'time', 'usd', 'percent', 'number', 'count']) {
    for (let n = 0; n < 100; n += 1) {
      const low = random() * 10 ** Math.floor(random() * 12);
      const high = low + random() * 10 ** Math.floor(random() * 12) + 1e-3;
      const { ticks } = ticksOf(kind, low, high, 6);
      const values = ticks.map(([value]) => value);
      assert.ok(values.length <= 8, `${kind} ${low} ${high}: ${values.length}`);
      for (const value of values) assert.ok(value >= low - 1e-9 * high && value <= high * (1 + 1e-9), `${kind} ${low} ${high} ${value}`);
      const gaps = values.slice(1).map((value, at) => value - values[at]);
      for (const gap of gaps) assert.ok(Math.abs(gap - gaps[0]) <= 1e-6 * Math.max(high, 1), `${kind} ${low} ${high} ${gaps}`);
    }
  }
});

const sweep = () => new SweepData({
  assignors: ['steady', 'rival'],
  factors: [{ name: 'rate', levels: ['1', '5'] }, { name: 'assignor', levels: ['steady', 'rival'] }],
  settings: [[0, 'rate=1', [0], [0]], [1, 'rate=5', [1], [1]]],
  args: ['--set rate=1', '--set rate=5'],
  commands: ['run steady', 'run rival'],
  metrics: [{ name: 'cost', title: 'Cost', kind: 'usd' }],
  cells: { setting: [0, 0, 1, 1], assignor: [0, 1, 0, 1], place: [0, 1, 0, 0], by: [1, -1, 1, -1], out: [-1, -1, -1, 0], reasons: ['failed'] },
  compared: [1, 3],
  figures: { 0: { mean: [10, 8, 20, null], below: [1, 1, 1, null], above: 2, runs: 3 } },
  differences: { 0: { mean: [-2, 4], below: [1, 1], above: [1, 1], runs: 3 } },
});

test('a cell has its levels, interval and command', () => {
  const data = sweep();
  assert.deepEqual([data.level(3, 0), data.level(3, 1), data.command(3)], [1, 1, 'run rival --set rate=5']);
  assert.equal(data.withInterval(0, data.figure(0, 1)), '$8.00 ($7.00 to $10.00)');
  assert.equal(data.figure(0, 3), null);
});

test('differences exist only for compared cells, with a sign', () => {
  const data = sweep();
  assert.equal(data.difference(0, 0), null);
  assert.deepEqual([1, 3].map((cell) => data.signed(0, data.difference(0, cell).mean)), ['−$2.00', '+$4.00']);
  assert.equal(data.signed(0, 0), data.write(0, 0));
});
