// The parts together: one Q, one set of filters and one node for map, drawing and table; the address says which node is open.
const slider = find('#q');

const announce = (counts) => {
  const [robust, broken, open] = [counts[ROBUST], counts[NONROBUST], counts[UNDECIDED]];
  find('.tally').textContent = `${say('Q')} = ${state.q}: ${grouped(robust)} robust, ${grouped(broken)} non-robust, ${grouped(open)} undecided`;
  slider.setAttribute('aria-valuetext', `${say('Q')} = ${state.q}: ${robust} robust, ${broken} non-robust, ${open} undecided`);
};

const paintMap = (counts) => {
  if (!map) return;
  map.paint();
  if (counts) map.describe(counts);
};

// Another Q: verdicts move; rows move only if they depend on verdicts.
const setQ = (q) => {
  const data = table(state.at);
  state.q = q;
  slider.value = q;
  const counts = judge(data);
  announce(counts);
  const moved = state.filters.has('verdict') || data.columns[state.sort] === data.column.verdict;
  if (moved) refresh(true);
  else drawTable();
  paintMap(counts);
  if (state.node !== null) showNode();
};
slider.addEventListener('input', () => setQ(Number(slider.value)));

// A filter has a control in the table and may have one above the map: both show the same.
const controls = (name) => root.querySelectorAll(`[data-filter="${name}"], [data-sieve="${name}"]`);
const filterBy = (name, control) => {
  const text = control.value;
  if (text === '') state.filters.delete(name);
  else state.filters.set(name, text);
  const column = table(state.at).column[name];
  const wrong = column && column.kind === 'number' && text !== '' && !numeric(text.trim());
  if (wrong) state.filters.delete(name);
  for (const other of controls(name)) {
    if (other !== control) other.value = text;
    other.setAttribute('aria-invalid', String(!!wrong));
  }
  refresh();
  paintMap();
};
root.querySelectorAll('[data-sieve]').forEach((control) => control.addEventListener('input', () => filterBy(control.dataset.sieve, control)));

const showModel = (at) => {
  Object.assign(state, { at, sort: -1, falling: false, page: 0 });
  state.filters.clear();
  const data = table(at);
  root.querySelectorAll('[data-sieve]').forEach((control) => {
    const column = data.column[control.dataset.sieve];
    control.closest('label').hidden = !column;
    if (column && column.kind === 'choice') options(control, column);
    control.value = '';
    control.removeAttribute('aria-invalid');
  });
  const { limit, start } = data.explorer;
  find('.dial').hidden = limit === null;
  slider.max = limit === null ? 0 : limit;
  state.q = limit === null ? null : state.q === null ? start : Math.min(state.q, limit);
  slider.value = state.q;
  const counts = judge(data);
  if (limit !== null) announce(counts);
  heads();
  refresh();
  paintMap(counts);
  if (map) map.legend();
  showNode();
};

// #node=194, and if wanted &Q=5 (&E=5 where edges are removed) and &model=2 (from 1).
const follow = () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  const model = Number(asked.get('model')) - 1;
  if (asked.has('model') && model !== state.at && sources[model]) {
    if (choose) choose.value = model;
    showModel(model);
  }
  const letter = say('Q');
  const q = Number(asked.get(letter));
  if (asked.has(letter) && Number.isInteger(q) && q >= 0 && q <= Number(slider.max) && state.q !== null) setQ(q);
  if (!asked.has('node') || !/^\d+$/.test(asked.get('node'))) return;
  state.node = Number(asked.get('node'));
  showNode();
  drawTable();
  paintMap();
  const panel = find('.one');
  const box = panel.getBoundingClientRect();
  // The slider stays at the top of the window: what is below it is not seen.
  const bar = find('.dial').offsetHeight;
  if (box.top < bar || box.top > innerHeight * 0.7) scrollBy(0, box.top - bar - 8);
  // A screen reader goes on where the node is told.
  panel.querySelector('h3').focus({ preventScroll: true });
};

find('.clear').addEventListener('click', () => showModel(state.at));
find('.goto').addEventListener('change', (event) => {
  const text = event.target.value.trim();
  if (/^\d+$/.test(text)) location.hash = `node=${text}`;
});
const choose = find('.model');
if (choose) choose.addEventListener('input', () => showModel(Number(choose.value)));
addEventListener('hashchange', follow);
showModel(0);
follow();
