// Elements and formatting. Text is always set as text; no script parses markup.
const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A name from a scenario or a log, isolated in its writing direction.
const named = (text) => make('bdi', { dir: 'auto' }, text);

// Data of the page, a promise: JSON, or JSON that is compressed and base64.
async function embedded(element) {
  if (element.type === 'application/json') return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}

// Call use(data) with the data of an element, if the page has it; a browser that cannot decompress keeps the page without it.
function withData(id, use) {
  const element = document.getElementById(id);
  if (element) embedded(element).then(use);
}

// Numbers with three significant digits and a unit, as in the rest of the page.
function digits(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

function scaled(value, units) {
  const rounded = Math.abs(Number(value.toPrecision(3)));
  const [factor, unit] = units.find(([, , until]) => until === null || rounded < until);
  return digits(value / factor) + ' ' + unit;
}

const BYTES = [[1, 'B', 1e3], [1e3, 'kB', 1e6], [1e6, 'MB', 1e9], [1e9, 'GB', 1e12], [1e12, 'TB', 1e15], [1e15, 'PB', null]];
const TIMES = [[1, 'ms', 1e3], [1e3, 's', 120e3], [60e3, 'min', 7200e3], [3600e3, 'h', 48 * 3600e3], [86400e3, 'd', null]];
const writeBytes = (value) => scaled(value, BYTES);
const writeDuration = (value) => (value ? scaled(value, TIMES) : '0 s');

function writeUsd(value) {
  return '$' + (value >= 0.1 && value < 100 ? value.toFixed(2) : digits(value));
}

function writeClock(ms) {
  const seconds = Math.round(ms / 1000);
  const two = (number) => String(number).padStart(2, '0');
  return Math.floor(seconds / 3600) + ':' + two(Math.floor(seconds / 60) % 60) + ':' + two(seconds % 60);
}

const counted = (number, singular, plural) => number.toLocaleString('en-US') + ' ' + (number === 1 ? singular : plural || singular + 's');
