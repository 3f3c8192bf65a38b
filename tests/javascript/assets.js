// The scripts of the pages for tests: their files, and their top-level names outside a browser.
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';

export const ASSETS = new URL('../../reports/render/html/assets/', import.meta.url);

const NAME = /^(?:async )?(?:const|let|class|function) (?:(\w+)|\[([^\]]+)\])/gm;

// Names that a file declares at its top level: its declarations are not indented.
export function topLevelNames(text) {
  return [...text.matchAll(NAME)].flatMap(([, one, several]) => (one ? [one] : several.split(',').map((name) => name.trim())));
}

export const source = (file) => readFileSync(new URL(file, ASSETS), 'utf8');

// Run files in one scope, as a page does, and return their top-level names. Only what runs at load may need a document.
export function load(...files) {
  const program = files.map(source).join('\n');
  const names = files.flatMap((file) => topLevelNames(source(file)));
  const nothing = { querySelectorAll: () => [], getElementById: () => null };
  const globals = { document: nothing, Blob, Response, DecompressionStream, atob, Uint8Array };
  return runInNewContext(`(() => {\n'use strict';\n${program}\nreturn { ${names.join(', ')} };\n})()`, globals);
}

// Deterministic random numbers from 0 to 1 (mulberry32).
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}
