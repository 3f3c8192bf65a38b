// The scripts share one scope: no name twice, and no name without a use.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { ASSETS, source, topLevelNames } from './assets.js';

const files = readdirSync(ASSETS).filter((file) => file.endsWith('.js'));
const names = files.flatMap((file) => topLevelNames(source(file)));

test('no two files declare the same name', () => {
  assert.deepEqual(names.filter((name, at) => names.indexOf(name) !== at), []);
  assert.ok(names.length > 50);
});

test('every shared name is used', () => {
  const all = files.map((file) => source(file).replace(/^\s*\/\/.*$/gm, '')).join('\n');
  const unused = names.filter((name) => all.match(new RegExp(`\\b${name}\\b`, 'g')).length < 2);
  assert.deepEqual(unused, []);
});

test('no script parses markup or code', () => {
  for (const file of files) assert.doesNotMatch(source(file), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, file);
});
