'use strict';
// The table of nodes: sorted and filtered here, on typed arrays; only one page of rows is ever in the document.
(() => {
  const ROWS = 50;
  const root = document.getElementById('nodes');
  if (!root) return;
  const make = (tag, attributes = {}, text = '') => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text) element.textContent = text;
    return element;
  };
  const sources = [...document.querySelectorAll('script.table')];
  const tables = sources.map(() => null);
  // A table is read when it is first shown.
  const table = (at) => {
    if (!tables[at]) {
      const data = JSON.parse(sources[at].textContent);
      for (const column of data.columns) {
        if (column.kind === 'number') column.values = Float64Array.from(column.values, (x) => (x === null ? NaN : x));
        if (column.kind === 'choice') column.values = Int32Array.from(column.values);
        if (column.kind === 'text') column.lower = column.values.map((x) => x.toLowerCase());
        if (column.kind === 'attack') {
          column.lists = column.values;
          column.values = Float64Array.from(column.lists, (x) => (x ? x.length / 2 : NaN));
        }
      }
      data.size = data.columns[0].values.length;
      tables[at] = data;
    }
    return tables[at];
  };

  const state = { at: 0, sort: -1, falling: false, page: 0, filters: new Map(), found: new Uint32Array(0) };

  // '> 5', '<= 3', '3-7', '3..7', '12', '?' (not known) as a test; null if it is none of them.
  const number = '(-?\\d+(?:\\.\\d+)?(?:e-?\\d+)?)';
  const compare = new RegExp(`^(<=|>=|<|>|=)?\\s*${number}$`, 'i');
  const between = new RegExp(`^${number}\\s*(?:-|\\.\\.)\\s*${number}$`, 'i');
  const tests = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b, '=': (a, b) => a === b };
  const numeric = (text) => {
    if (text === '?') return (x) => Number.isNaN(x);
    let match = compare.exec(text.replace('≤', '<=').replace('≥', '>='));
    if (match) {
      const test = tests[match[1] || '='];
      const bound = Number(match[2]);
      return (x) => test(x, bound);
    }
    match = between.exec(text);
    if (!match) return null;
    const [low, high] = [Number(match[1]), Number(match[2])];
    return (x) => x >= low && x <= high;
  };

  // An attack in words; null if none is known.
  const told = (data, column, row) => {
    const list = column.lists[row];
    if (!list) return null;
    const own = data.columns[0].values[row];
    const words = [];
    for (let i = 0; i < list.length; i += 2) {
      const [node, code] = [list[i], list[i + 1]];
      const attribute = Math.floor(code / 3);
      const name = data.words[attribute] || `word ${attribute}`;
      const [verb, preposition] = [['remove', 'from'], ['add', 'to'], ['flip', 'of']][code % 3];
      words.push(`${verb} ${name} ${preposition} ${node === own ? 'the node itself' : `node ${node}`}`);
    }
    return words;
  };

  const predicates = (data) => {
    const list = [];
    for (const [at, text] of state.filters) {
      const column = data.columns[at];
      if (column.kind === 'choice') {
        const wanted = Number(text);
        list.push((row) => column.values[row] === wanted);
      } else if (column.kind === 'text') {
        const wanted = text.toLowerCase();
        list.push((row) => column.lower[row].includes(wanted));
      } else if (column.kind === 'attack') {
        const wanted = text.toLowerCase();
        list.push((row) => { const words = told(data, column, row); return !!words && words.join(', ').toLowerCase().includes(wanted); });
      } else {
        const test = numeric(text.trim());
        if (test) list.push((row) => test(column.values[row]));
      }
    }
    return list;
  };

  const refresh = () => {
    const data = table(state.at);
    const wanted = predicates(data);
    const found = [];
    for (let row = 0; row < data.size; row++) {
      let keep = true;
      for (let i = 0; keep && i < wanted.length; i++) keep = wanted[i](row);
      if (keep) found.push(row);
    }
    const column = data.columns[state.sort];
    if (column) {
      const values = column.values;
      const sign = state.falling ? -1 : 1;
      // What is not known comes last either way; equal rows keep their order.
      const unknown = (x) => (column.kind === 'choice' ? x < 0 : column.kind === 'text' ? x === '' : Number.isNaN(x));
      found.sort((a, b) => {
        const [x, y] = [values[a], values[b]];
        const [no, nor] = [unknown(x), unknown(y)];
        if (no || nor) return no - nor || a - b;
        return x < y ? -sign : x > y ? sign : a - b;
      });
    }
    state.found = Uint32Array.from(found);
    state.page = 0;
    draw();
  };

  const shown = (column, row) => {
    const x = column.values[row];
    if (column.kind === 'number') return Number.isNaN(x) ? '–' : String(x);
    if (column.kind === 'choice') return x < 0 ? '–' : column.names[x];
    return x;
  };

  const attack = (cell, words) => {
    cell.className = 'attack';
    if (words === null) cell.textContent = 'none known';
    else if (words.length === 0) cell.textContent = 'no flip is needed: it ties already';
    else if (words.length <= 3) cell.textContent = words.join(', ');
    else {
      const details = make('details');
      details.append(make('summary', {}, `${words[0]}, ${words[1]}, … (${words.length} flips)`), words.slice(2).join(', '));
      cell.append(details);
    }
  };

  const draw = () => {
    const data = table(state.at);
    const body = document.createDocumentFragment();
    const first = state.page * ROWS;
    for (const row of state.found.subarray(first, first + ROWS)) {
      const line = make('tr');
      for (const column of data.columns) {
        const cell = make('td');
        if (column.kind === 'attack') attack(cell, told(data, column, row));
        else cell.textContent = shown(column, row);
        if (column.kind === 'number') cell.className = 'n';
        if (column.key === 'verdict') cell.className = `v-${cell.textContent}`;
        line.append(cell);
      }
      body.append(line);
    }
    const count = state.found.length;
    if (count === 0) {
      const line = make('tr');
      line.append(make('td', { colspan: data.columns.length }, 'No node fits these filters.'));
      body.append(line);
    }
    root.querySelector('tbody').replaceChildren(body);
    const pages = Math.max(1, Math.ceil(count / ROWS));
    root.querySelector('.count').textContent =
      `${count.toLocaleString('en')} of ${data.size.toLocaleString('en')} nodes, page ${state.page + 1} of ${pages}`;
    root.querySelector('.back').disabled = state.page === 0;
    root.querySelector('.next').disabled = state.page + 1 >= pages;
    root.querySelectorAll('thead tr:first-child th').forEach((head, at) => {
      const order = at !== state.sort ? 'none' : state.falling ? 'descending' : 'ascending';
      head.setAttribute('aria-sort', order);
    });
  };

  const filter = (at, control) => {
    const text = control.value;
    if (text === '') state.filters.delete(at);
    else state.filters.set(at, text);
    const column = table(state.at).columns[at];
    const wrong = column && column.kind === 'number' && text !== '' && !numeric(text.trim());
    if (wrong) state.filters.delete(at);
    control.setAttribute('aria-invalid', String(!!wrong));
    refresh();
  };

  const heads = () => {
    const data = table(state.at);
    const [titles, filters] = [make('tr'), make('tr', { class: 'filters' })];
    data.columns.forEach((column, at) => {
      const head = make('th', { scope: 'col', title: column.about || '', class: column.kind === 'number' ? 'n' : '' });
      const button = make('button', { type: 'button', 'data-key': column.key }, column.title);
      button.addEventListener('click', () => {
        state.falling = state.sort === at ? !state.falling : false;
        state.sort = at;
        refresh();
      });
      head.append(button);
      titles.append(head);
      const cell = make('th');
      let control;
      if (column.kind === 'choice') {
        control = make('select', { 'aria-label': `filter ${column.title}`, 'data-filter': column.key });
        control.append(make('option', { value: '' }, 'all'));
        column.names.forEach((name, value) => control.append(make('option', { value }, name)));
      } else {
        const hint = column.kind === 'number' ? '> 5' : 'contains';
        control = make('input', { placeholder: hint, 'aria-label': `filter ${column.title}`, 'data-filter': column.key });
      }
      control.addEventListener('input', () => filter(at, control));
      cell.append(control);
      filters.append(cell);
    });
    root.querySelector('thead').replaceChildren(titles, filters);
    root.querySelector('.about').textContent = data.about;
  };

  const show = (at) => {
    Object.assign(state, { at, sort: -1, falling: false, page: 0 });
    state.filters.clear();
    heads();
    refresh();
  };

  const turn = (by) => { state.page += by; draw(); };
  root.querySelector('.back').addEventListener('click', () => turn(-1));
  root.querySelector('.next').addEventListener('click', () => turn(1));
  root.querySelector('.clear').addEventListener('click', () => show(state.at));
  const choose = root.querySelector('.model');
  if (choose) choose.addEventListener('input', () => show(Number(choose.value)));
  show(0);
})();
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
