// One node in detail: facts, its neighbourhood, its margins against every class, and what each flip of its attack does.
const factsOf = (data, node, row) => {
  const text = (k) => (data.column[k] ? cellText(data.column[k], row) : null);
  const parts = [`predicted ${text('predicted')}`];
  if (text('label') !== null) parts.push(`label ${text('label')}`);
  parts.push(graphs ? `${text('degree')} edges` : `degree ${text('degree')}`, `its logits depend on ${plural(Number(text('reach')), 'node')}`);
  if (text('purity') !== null && text('purity') !== '–') parts.push(`${text('purity')} % of the others are predicted like it`);
  return parts.join(' · ');
};

const sentence = (data, node, row) => {
  const verdict = verdictOf(data, node);
  const { certified, attacked, limit } = data.explorer;
  if (limit === null) return say(`Verdict: ${verdict}, at a Q that is not known.`);
  const safe = certified[row] < 0 ? 'no Q is certified' : `it is safe up to Q ${certified[row] >= limit ? '≥' : '='} ${certified[row]}`;
  const broken = attacked[row] < 0 ? 'no attack is known'
    : attacked[row] === 0 ? 'it is broken without a flip' : `the smallest attack known has ${plural(attacked[row], 'flip')}`;
  return sayCounted(`At Q = ${state.q}: ${verdict}. In all, ${safe}, and ${broken}.`);
};

// A row for each class: between the proved bound and the best attack lies the true worst-case margin.
const marginTable = (data, row) => {
  const margins = data.explorer.margins;
  if (!margins) return null;
  const count = data.explorer.classes.length;
  const lines = [];
  for (let k = 0; k < count; k++) {
    const at = row * count + k;
    const [lower, upper] = [margins.lower[at], margins.upper[at]];
    if (Number.isNaN(lower) && Number.isNaN(upper)) continue;
    const exact = margins.known.get(`${row},${k}`);
    lines.push({ k, lower, upper, exact, clean: margins.clean ? margins.clean[at] : NaN });
  }
  if (lines.length === 0) return null;
  const all = lines.flatMap(({ lower, upper, exact, clean }) => [lower, upper, exact, clean, 0]).filter(Number.isFinite);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const place = (x) => 4 + (152 * (x - low)) / (high - low || 1);
  const body = make('tbody');
  for (const { k, lower, upper, exact, clean } of lines) {
    const line = make('tr');
    const picture = draw('svg', { viewBox: '0 0 160 20', class: 'margin', 'aria-hidden': 'true' });
    picture.append(draw('line', { x1: place(0), x2: place(0), y1: 0, y2: 20, class: 'zero' }));
    if (Number.isFinite(lower) && Number.isFinite(upper)) {
      picture.append(draw('rect', { x: place(lower), width: Math.max(1.5, place(upper) - place(lower)), y: 6, height: 8, class: 'between' }));
    }
    if (Number.isFinite(lower)) picture.append(draw('path', { d: `M${place(lower) + 4} 3H${place(lower)}V17H${place(lower) + 4}`, class: 'bound' }));
    if (Number.isFinite(upper)) picture.append(draw('path', { d: `M${place(upper) - 3.5} 6.5l7 7m0 -7l-7 7`, class: 'witness' }));
    if (exact !== undefined) picture.append(draw('path', { d: `M${place(exact)} 5l4 5l-4 5l-4 -5z`, class: 'exact' }));
    if (Number.isFinite(clean)) picture.append(draw('circle', { cx: place(clean), cy: 10, r: 3.2, class: 'clean' }));
    const name = make('th', { scope: 'row' });
    name.append(...pieces(className(data, k)), picture);
    line.append(name, make('td', { class: 'n' }, brief(lower, -1)),
      make('td', { class: 'n' }, exact === undefined ? '–' : brief(exact)), make('td', { class: 'n' }, brief(upper, 1)));
    if (margins.clean) line.append(make('td', { class: 'n' }, brief(clean)));
    body.append(line);
  }
  const head = make('tr');
  for (const [title, kind] of [['class', ''], ['[ bound', 'n'], ['◆ exact', 'n'], ['× attack', 'n'], ...(margins.clean ? [['○ clean', 'n']] : [])]) {
    head.append(make('th', { scope: 'col', class: kind }, title));
  }
  const result = make('table', { class: 'margins' });
  const top = make('thead');
  top.append(head);
  result.append(make('caption', {}, say(`Margins at ${margins.Q === null ? 'the Q of the verdict' : `Q = ${margins.Q}`}, in logits: the worst case lies between ` +
    'the bound and the margin of the best attack found with the whole budget. Exact: where it is known. At zero or below the class is lost. Clean: without an attack.')), top, body);
  return result;
};

const flipTable = (data, node, row, flips) => {
  if (flips === null) return make('p', { class: 'soft' }, say('No attack is known: there are no flips to show.'));
  if (flips.length === 0) return make('p', { class: 'soft' }, say('No flip is needed: it ties or fails already.'));
  const known = data.explorer;
  const weighed = !!known.effects && known.first[row + 1] - known.first[row] === flips.length;
  const against = weighed ? known.against[row] : -1;
  const clean = weighed && known.margins && known.margins.clean ? known.margins.clean[row * known.classes.length + against] : NaN;
  const result = make('table', { class: 'flips' });
  const [top, body, head] = [make('thead'), make('tbody'), make('tr')];
  const titles = weighed ? ['', say('flip'), 'contributes', 'margin then'] : ['', say('flip')];
  titles.forEach((title, at) => head.append(make('th', { scope: 'col', class: at > 1 ? 'n' : '' }, title)));
  top.append(head);
  let margin = clean;
  const words = told(data, row);
  flips.forEach((flip, at) => {
    const line = make('tr');
    const cell = make('td');
    if (flip.other !== undefined && graph) {
      // Both ends can be opened.
      cell.append(`${EDGE_DEEDS[flip.kind]} `, make('a', { href: `#node=${flip.node}` }, String(flip.node)), ' – ', make('a', { href: `#node=${flip.other}` }, String(flip.other)));
    } else if (flip.node === node || !graph) cell.textContent = words[at];
    else {
      // The node of a flip can be opened as well.
      const cut = words[at].lastIndexOf('node ');
      cell.append(words[at].slice(0, cut), make('a', { href: `#node=${flip.node}` }, words[at].slice(cut)));
    }
    line.append(make('td', { class: 'n' }, String(at + 1)), cell);
    if (weighed) {
      const change = known.effects[known.first[row] + at];
      margin += change;
      line.append(make('td', { class: 'n' }, (change > 0 ? '+' : '') + brief(change)), make('td', { class: 'n' }, brief(margin)));
    }
    body.append(line);
  });
  const how = weighed
    ? `The smallest attack known, against ${className(data, against)}${Number.isFinite(clean) ? ` (margin ${brief(clean)} without it)` : ''}. Each flip is the one that lowers ` +
      'the margin most after those above it, as in “gcnproof explain”; “contributes” is by how much. They add up.'
    : both ? 'The smallest attack known: with all of these changes together the class changes or ties.'
    : edged ? 'The smallest attack known: with all of these edges changed the class changes or ties.'
    : moves && flips.every((flip) => flip.now !== null) ? 'The smallest attack known: with these values, all of them, the class changes or ties.'
    : moves ? 'The smallest attack known: with some values of these entries the class changes or ties. “gcnproof certify” has the values.'
    : 'The smallest attack known. What each flip contributes is not known: the model was not given (--model).';
  result.append(make('caption', {}, how), top, body);
  return result;
};

// How changed edges are drawn, where an attack has any of that kind.
const cutKeys = (flips) => [['removed edge', 'cut'], ['inserted edge', 'added'], ['changed edge', 'cut']].flatMap(([name, kind], at) => {
  if (!flips || !flips.some((flip) => flip.other !== undefined && flip.kind === at)) return [];
  const entry = make('span', { class: 'key' });
  const picture = draw('svg', { width: 22, height: 14, viewBox: '0 -7 22 14', 'aria-hidden': 'true' });
  picture.append(draw('line', { x1: 1, x2: 21, y1: 0, y2: 0, class: kind }));
  entry.append(picture, name);
  return [entry];
});

const showNode = () => {
  const panel = find('.one');
  const data = table(state.at);
  const node = state.node;
  if (node === null) {
    panel.replaceChildren(make('h3', {}, `One ${target}`), make('p', { class: 'soft' },
      say(graph ? 'Choose a node on the map or in the table: its neighbourhood, margins and flips appear here.' : `Choose a ${target} in the table: its margins and flips appear here.`)));
    return;
  }
  const row = data.rowOf.get(node);
  const name = row !== undefined && data.column.name ? data.column.name.values[row] : '';
  const parts = [make('h3', { tabindex: '-1' }, `${graphs ? 'Graph' : 'Node'} ${node}${name ? ` (${name})` : ''}`)];
  if (row === undefined && !(graph && node < graph.nodes)) {
    parts.push(make('p', { class: 'notice' }, `There is no ${target} ${node} in these results.`));
    panel.replaceChildren(...parts);
    return;
  }
  const flips = row === undefined ? null : flipsOf(data, row);
  if (row === undefined) parts.push(make('p', {}, `Not asked: these results have no row for it. Predicted ${className(data, classOf(data, node))}.`));
  else parts.push(make('p', { class: 'verdict', 'aria-live': 'polite' }, sentence(data, node, row)), make('p', { class: 'soft' }, factsOf(data, node, row)));
  if (graph && node < graph.nodes) {
    const { picture, total, drawn, hops, rings } = drawNeighbourhood(data, node, flips);
    const legend = make('p', { class: 'legend soft' });
    const met = [...new Set(rings.flat().map((n) => classOf(data, n)))].sort((a, b) => a - b);
    legend.append(...met.map((at) => key(className(data, at), classInk(at), 'robust')), ...VERDICTS.slice(0, 3).map((v) => key(v, theme('--soft'), v)),
      ...cutKeys(flips), ...(edged && !both ? [] : [key('attacked', theme('--paper'), 'robust', { stroke: theme('--ink'), 'stroke-width': 2.4 })]));
    const less = drawn < total ? ` ${grouped(drawn)} of them are drawn: the nearest, and those that are attacked.` : '';
    const size = flips ? flips.length : 0;
    // Of both budgets the slider has that of flips.
    const spent = both && flips ? flips.filter((flip) => flip.other === undefined).length : size;
    const marks = size === 0 ? '' : state.q !== null && state.q < spent
      ? sayCounted(` Marked: the smallest attack known; it needs ${plural(spent, 'flip')}, more than Q = ${state.q}.`) : ' Marked: the smallest attack known.';
    parts.push(picture, legend, make('p', { class: 'soft' },
      `${plural(total, 'node')} within ${plural(hops, 'hop')}, on rings by distance; shapes are verdicts${state.q === null ? '' : say(` at Q = ${state.q}`)}.${less}${marks}`));
  }
  if (row !== undefined) {
    const margins = marginTable(data, row);
    if (margins) parts.push(margins);
    parts.push(flipTable(data, node, row, flips));
  }
  panel.replaceChildren(...parts);
};
