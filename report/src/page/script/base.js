// Helpers: elements, packed numbers, numbers as text, colours.
const root = document.getElementById('nodes');

const make = (tag, attributes = {}, text = '') => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
};

// A long name may be broken behind its underscores, and nowhere else.
const pieces = (text) => text.split(/(?<=_)/).flatMap((part, at) => (at ? [make('wbr'), part] : [part]));

const draw = (tag, attributes = {}, text = '') => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
};

// Bytes in base 64 as an array of numbers; the page was written little-endian, and so is every machine that shows it.
const unpack = (text, type) => {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new type(bytes.buffer);
};

const grouped = (x) => x.toLocaleString('en');
const plural = (count, word) => `${grouped(count)} ${word}${count === 1 ? '' : 's'}`;

// What attackers do to edges: remove, insert, change, or nothing. Where attributes are flipped at the same time, both.
const edged = root === null ? null : root.getAttribute('data-edges');
const both = root !== null && root.hasAttribute('data-both');
// The same where categories are changed, or numbers moved. Rows are about nodes, or about whole graphs.
const categories = root !== null && root.hasAttribute('data-categories');
const moves = root !== null && root.hasAttribute('data-moves');
const graphs = root !== null && root.hasAttribute('data-graphs');
const target = graphs ? 'graph' : 'node';
const EDGED = { remove: 'removed edge', insert: 'inserted edge', change: 'changed edge' };
const say = (text) => (edged && !both ? text.replace(/\bQ\b/g, 'E').replace(/\ba flip\b/g, 'a change').replace(/\bflip(s?)\b/g, `${EDGED[edged]}$1`)
  : categories || moves || both ? text.replace(/\bflip(s?)\b/g, 'change$1') : text);

// Of both budgets it is flips that are counted.
const sayCounted = (text) => (both ? text : say(text));

// Four digits; `side` -1 rounds down and 1 rounds up, so that a bound that is shown still holds.
const brief = (x, side = 0) => {
  if (!Number.isFinite(x)) return '–';
  if (x === 0) return '0';
  const unit = 10 ** (3 - Math.floor(Math.log10(Math.abs(x))));
  if (!Number.isFinite(unit)) return String(x);
  const scaled = x * unit;
  const whole = side < 0 ? Math.floor(scaled) : side > 0 ? Math.ceil(scaled) : Math.round(scaled);
  return String(Number((whole / unit).toPrecision(4))).replace('-', '−');
};

const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const CLASS_INKS = ['--blue', '--orange', '--green', '--purple', '--sky', '--vermillion', '--yellow', '--soft'];
// More classes than colours that everybody can tell apart: the rest are hues, and every node also says its class in words.
const classInk = (at) => (at < 0 ? theme('--line') : at < CLASS_INKS.length ? theme(CLASS_INKS[at]) : `hsl(${(at * 67) % 360} 55% 55%)`);
const VERDICT_INKS = { robust: '--blue', 'non-robust': '--vermillion', undecided: '--orange', 'not asked': '--line' };
const verdictInk = (name) => theme(VERDICT_INKS[name]);

// The shape of a verdict around (0, 0), as an SVG path: a circle, a diamond, a square.
const outline = (verdict, r) => {
  if (verdict === 'non-robust') return `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`;
  if (verdict === 'undecided') return `M${-r} ${-r}H${r}V${r}H${-r}Z`;
  const s = verdict === 'not asked' ? 0.6 * r : r;
  return `M${-s} 0A${s} ${s} 0 1 0 ${s} 0A${s} ${s} 0 1 0 ${-s} 0Z`;
};

// A figure can be saved as it is: its colours stand in its attributes.
document.querySelectorAll('button.save').forEach((button) => {
  button.addEventListener('click', () => {
    const svg = button.closest('figure').querySelector('svg');
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: 'image/svg+xml' }));
    link.download = button.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
});

if (!root) return;
const find = (selector) => root.querySelector(selector);
