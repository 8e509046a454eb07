// The table of nodes: sorted and filtered here, on typed arrays; only one page of rows is in the document unless all are asked for.

// '> 5', '<= 3', '3-7', '3..7', '12', '?' (not known) as a test; null if it is none of them.
const numberText = '(-?\\d+(?:\\.\\d+)?(?:e-?\\d+)?)';
const compareText = new RegExp(`^(<=|>=|<|>|=)?\\s*${numberText}$`, 'i');
const betweenText = new RegExp(`^${numberText}\\s*(?:-|\\.\\.)\\s*${numberText}$`, 'i');
const tests = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b, '=': (a, b) => a === b };
const numeric = (text) => {
  if (text === '?') return (x) => Number.isNaN(x);
  let match = compareText.exec(text.replace('≤', '<=').replace('≥', '>='));
  if (match) {
    const test = tests[match[1] || '='];
    const bound = Number(match[2]);
    return (x) => test(x, bound);
  }
  match = betweenText.exec(text);
  if (!match) return null;
  const [low, high] = [Number(match[1]), Number(match[2])];
  return (x) => x >= low && x <= high;
};

const predicates = (data) => {
  const list = [];
  for (const [key, text] of state.filters) {
    const column = data.column[key];
    if (column.kind === 'choice') {
      const wanted = Number(text);
      list.push((row) => column.values[row] === wanted);
    } else if (column.kind === 'text') {
      const wanted = text.toLowerCase();
      list.push((row) => column.lower[row].includes(wanted));
    } else if (column.kind === 'attack') {
      const wanted = text.toLowerCase();
      list.push((row) => { const words = told(data, row); return !!words && words.join(', ').toLowerCase().includes(wanted); });
    } else {
      const test = numeric(text.trim());
      if (test) list.push((row) => test(column.values[row]));
    }
  }
  return list;
};

const shownColumns = (data) => data.columns.filter((column) => state.more || !column.more);

// Filters and sorts anew. `keep` stays on the page it was on.
const refresh = (keep = false) => {
  const data = table(state.at);
  const wanted = predicates(data);
  const found = [];
  for (let row = 0; row < data.size; row++) {
    let fits = true;
    for (let i = 0; fits && i < wanted.length; i++) fits = wanted[i](row);
    if (fits) found.push(row);
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
  if (!keep) state.page = 0;
  drawTable();
};

const cellText = (column, row) => {
  const x = column.values[row];
  if (column.kind === 'number') {
    if (Number.isNaN(x)) return '–';
    // Nothing above the cap was tried: the node may be safe beyond it.
    return column.cap !== undefined && x >= column.cap ? `≥ ${x}` : String(x);
  }
  if (column.kind === 'choice') return x < 0 ? '–' : column.names[x];
  return x;
};

const attackCell = (cell, words) => {
  if (words === null) cell.textContent = 'none known';
  else if (words.length === 0) cell.textContent = say('no flip is needed: it ties already');
  else if (words.length <= 3) cell.textContent = words.join(', ');
  else {
    const details = make('details');
    details.append(make('summary', {}, say(`${words[0]}, ${words[1]}, … (${words.length} flips)`)), words.slice(2).join(', '));
    cell.append(details);
  }
};

// Columns that the style leaves out on paper, beside those that are shown on request.
const OFF_PAPER = ['name', 'against'];

const drawTable = () => {
  const data = table(state.at);
  const columns = shownColumns(data);
  const body = document.createDocumentFragment();
  const size = state.rows || Math.max(1, state.found.length);
  const first = state.page * size;
  for (const row of state.found.subarray(first, first + size)) {
    const line = make('tr');
    for (const column of columns) {
      const cell = make('td', { class: `${column.kind === 'number' ? 'n ' : ''}c-${column.key}`, 'data-label': column.title });
      if (column.kind === 'attack') attackCell(cell, told(data, row));
      else if (column.key === 'node') {
        const node = column.values[row];
        cell.append(make('a', { href: `#node=${node}`, ...(node === state.node ? { 'aria-current': 'true' } : {}) }, String(node)));
      } else {
        cell.append(...pieces(String(cellText(column, row))));
      }
      if (column.key === 'verdict') cell.classList.add(`v-${cell.textContent}`);
      line.append(cell);
    }
    body.append(line);
  }
  const count = state.found.length;
  if (count === 0) {
    const line = make('tr');
    line.append(make('td', { colspan: columns.length }, `No ${target} fits these filters.`));
    body.append(line);
  }
  find('.scroll tbody').replaceChildren(body);
  const pages = Math.max(1, Math.ceil(count / size));
  find('.count').textContent = `${grouped(count)} of ${grouped(data.size)} ${target}s, page ${state.page + 1} of ${pages}`;
  find('.back').disabled = state.page === 0;
  find('.next').disabled = state.page + 1 >= pages;
  root.querySelectorAll('.scroll thead tr:first-child th').forEach((head) => {
    const at = data.columns.indexOf(data.column[head.dataset.key]);
    head.setAttribute('aria-sort', at !== state.sort ? 'none' : state.falling ? 'descending' : 'ascending');
  });
  const last = Math.min(first + size, count);
  const sorted = data.columns[state.sort] ? `, sorted by ${data.columns[state.sort].title}${state.falling ? ', falling' : ''}` : '';
  const filtered = count < data.size ? ` that fit the filters (of ${grouped(data.size)})` : '';
  const rest = last - first < count ? ' Choose “rows: all” before printing to have all of them; the result files hold every row.' : '';
  const away = data.columns.filter((column) => column.more || OFF_PAPER.includes(column.key)).map((column) => column.title).join(', ');
  find('.printed').textContent =
    `This table shows ${last - first === count ? `all ${grouped(count)} ${target}s` : `${target}s ${grouped(first + 1)} to ${grouped(last)} of ${grouped(count)}`}` +
    `${filtered}${sorted}, with verdicts at ${say(state.q === null ? 'a Q that is not known' : `Q = ${state.q}`)}.${rest}` +
    (away ? ` Left out on paper: ${away}.` : '');
  cue();
};

// A table that is wider than its place says so.
const cue = () => {
  const box = find('.scroll');
  find('.cue').hidden = box.scrollWidth <= box.clientWidth + 1;
};
addEventListener('resize', cue);

const sortBy = (at, falling) => {
  Object.assign(state, { sort: at, falling });
  find('.sort').value = at < 0 ? '' : `${at},${falling ? 1 : 0}`;
  refresh();
};

const options = (select, column) => {
  select.replaceChildren(make('option', { value: '' }, 'all'), ...column.names.map((name, value) => make('option', { value }, name)));
};

// Headings that sort, and below each a filter.
const heads = () => {
  const data = table(state.at);
  const [titles, filters] = [make('tr'), make('tr', { class: 'filters' })];
  for (const column of shownColumns(data)) {
    const at = data.columns.indexOf(column);
    const kind = `${column.kind === 'number' ? 'n ' : ''}c-${column.key}`;
    const head = make('th', { scope: 'col', title: column.about || '', class: kind, 'data-key': column.key });
    const button = make('button', { type: 'button', 'data-key': column.key }, column.title);
    button.addEventListener('click', () => sortBy(at, state.sort === at && !state.falling));
    head.append(button);
    titles.append(head);
    const cell = make('th', { class: kind });
    let control;
    if (column.kind === 'choice') {
      control = make('select', { 'aria-label': `filter ${column.title}`, 'data-filter': column.key });
      options(control, column);
    } else {
      const hint = column.kind === 'number' ? '> 5' : 'contains';
      control = make('input', { placeholder: hint, 'aria-label': `filter ${column.title}`, 'data-filter': column.key });
    }
    control.value = state.filters.get(column.key) || '';
    control.addEventListener('input', () => filterBy(column.key, control));
    cell.append(control);
    filters.append(cell);
  }
  find('.scroll thead').replaceChildren(titles, filters);
  find('.about').textContent = data.about;
  const orders = data.columns.flatMap((column, at) => [[`${at},0`, `${column.title} ▲`], [`${at},1`, `${column.title} ▼`]]);
  find('.sort').replaceChildren(make('option', { value: '' }, target), ...orders.map(([value, text]) => make('option', { value }, text)));
  cue();
};

find('.sort').addEventListener('input', (event) => {
  const [at, falling] = event.target.value.split(',').map(Number);
  sortBy(event.target.value === '' ? -1 : at, falling === 1);
});
const turn = (by) => { state.page += by; drawTable(); };
find('.back').addEventListener('click', () => turn(-1));
find('.next').addEventListener('click', () => turn(1));
find('.rows').addEventListener('input', (event) => { Object.assign(state, { rows: Number(event.target.value), page: 0 }); drawTable(); });
find('.more').addEventListener('input', (event) => { state.more = event.target.checked; heads(); drawTable(); });
