// The pages embed all scripts as one function, so each file sees the top-level names of the others.
import { readdirSync, readFileSync } from 'node:fs';
import js from '@eslint/js';
import { ASSETS, topLevelNames } from './assets.js';

const shared = Object.fromEntries(
  readdirSync(ASSETS).filter((file) => file.endsWith('.js')).flatMap((file) => topLevelNames(readFileSync(new URL(file, ASSETS), 'utf8')))
    .map((name) => [name, 'readonly']),
);
const browser = Object.fromEntries(
  ['document', 'window', 'Node', 'Blob', 'URL', 'Response', 'DecompressionStream', 'ResizeObserver', 'atob', 'setInterval', 'clearInterval', 'setTimeout']
    .map((name) => [name, 'readonly']),
);
const node = Object.fromEntries(['URL', 'console', 'process', 'Blob', 'Response', 'DecompressionStream', 'atob', 'structuredClone'].map((name) => [name, 'readonly']));
const rules = {
  'curly': ['error', 'multi-line'],
  'eqeqeq': 'error',
  'no-console': 'error',
  'no-eval': 'error',
  'no-implicit-globals': 'off',
  'no-implied-eval': 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'no-restricted-properties': ['error', ...['innerHTML', 'outerHTML', 'insertAdjacentHTML'].map((property) => ({ property }))],
};

export default [
  js.configs.recommended,
  {
    files: ['**/reports/render/html/assets/*.js'],
    languageOptions: { sourceType: 'script', ecmaVersion: 2023, globals: { ...browser, ...shared } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    // Every file redeclares its own shared names; tests check that each shared name is used somewhere.
    rules: { ...rules, 'no-redeclare': ['error', { builtinGlobals: false }], 'no-unused-vars': ['error', { vars: 'local', caughtErrors: 'all' }] },
  },
  { files: ['**/tests/javascript/*.js'], languageOptions: { globals: node }, rules },
];
