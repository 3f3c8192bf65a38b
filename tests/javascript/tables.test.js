// Tables: CSV that no spreadsheet takes for a formula, and an order with unknown values last.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, randomNumbers } from './assets.js';

const { csvField, compareCells } = load('dom.js', 'tables.js');
const cell = (value, text = '') => ({ dataset: value === null ? {} : { v: String(value) }, textContent: text });

// Read one line of CSV (RFC 4180).
function fields(line) {
  const found = [];
  for (let at = 0; at <= line.length; at += 1) {
    const quoted = /^"((?:[^"]|"")*)"/.exec(line.slice(at));
    const plain = /^[^,]*/.exec(line.slice(at))[0];
    found.push(quoted ? quoted[1].replaceAll('""', '"') : plain);
    at += quoted ? quoted[0].length : plain.length;
  }
  return found;
}

test('random fields survive writing and reading', () => {
  const random = randomNumbers(7);
  const chars = ['a', '"', ',', '\n', ' ', '=', 'é', '-', '1'];
  for (let n = 0; n < 500; n += 1) {
    const texts = Array.from({ length: 3 }, () => 'x' + Array.from({ length: Math.floor(random() * 6) }, () => chars[Math.floor(random() * chars.length)]).join(''));
    assert.deepEqual(fields(texts.map(csvField).join(',')), texts);
  }
});

test('formulas become text, negative numbers remain numbers', () => {
  assert.deepEqual(['=1+1', '@x', '+1+1', '-5', '-1.5e3', '\tx'].map(csvField), ["'=1+1", "'@x", "'+1+1", '-5', '-1.5e3', "'\tx"]);
});

test('unknown values are last in both directions', () => {
  const cells = [cell(3), cell(null), cell(1), cell(2)];
  for (const [sign, expected] of [[1, [1, 2, 3]], [-1, [3, 2, 1]]]) {
    const sorted = [...cells].sort((a, b) => compareCells(a, b, sign)).map(({ dataset }) => dataset.v);
    assert.deepEqual(sorted, [...expected.map(String), undefined]);
  }
});
