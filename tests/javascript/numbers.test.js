// Formatting of numbers, as in reports/analysis/formatting.py.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './assets.js';

const page = load('dom.js', 'tables.js', 'sweep.js');

test('bytes have three significant digits and a decimal prefix', () => {
  assert.deepEqual([0, 999, 1000, 1.5e9, 999.6e6, 4e15].map(page.writeBytes), ['0 B', '999 B', '1 kB', '1.5 GB', '1 GB', '4 PB']);
});

test('durations use a unit up to twice the next one', () => {
  assert.deepEqual([0, 850, 45e3, 119e3, 120e3, 90 * 60e3, 8 * 3600e3, 72 * 3600e3].map(page.writeDuration),
    ['0 s', '850 ms', '45 s', '119 s', '2 min', '90 min', '8 h', '3 d']);
});

test('small amounts of money are not rounded to 0', () => {
  assert.deepEqual([0.004, 0.1, 73.119, 1240].map(page.writeUsd), ['$0.004', '$0.10', '$73.12', '$1,240']);
});

test('times are hours, minutes and seconds', () => {
  assert.deepEqual([0, 59499, 3903000].map(page.writeClock), ['0:00:00', '0:00:59', '1:05:03']);
});

test('counts have a noun in the right number', () => {
  assert.deepEqual([page.counted(1, 'copy', 'copies'), page.counted(1200, 'copy', 'copies'), page.counted(0, 'cell')], ['1 copy', '1,200 copies', '0 cells']);
});
