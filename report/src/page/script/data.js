// The data of the page: the graph once, a table for each model, and what is known of each node at every Q.
const sources = [...document.querySelectorAll('script.table')];
const tables = sources.map(() => null);

const state = {
  at: 0, q: null, node: null, colour: 'verdict',
  sort: -1, falling: false, page: 0, rows: 50, more: false, filters: new Map(), found: new Uint32Array(0),
};

// The graph with the neighbours of each node, or null if the page has none.
const graph = (() => {
  const source = document.getElementById('graph');
  if (!source) return null;
  const data = JSON.parse(source.textContent);
  const places = unpack(data.places, Uint16Array);
  const edges = unpack(data.edges, Uint32Array);
  const from = new Uint32Array(data.nodes + 1);
  for (const end of edges) from[end + 1]++;
  for (let n = 0; n < data.nodes; n++) from[n + 1] += from[n];
  const next = from.slice();
  const lists = new Uint32Array(edges.length);
  for (let e = 0; e < edges.length; e += 2) {
    lists[next[edges[e]]++] = edges[e + 1];
    lists[next[edges[e + 1]]++] = edges[e];
  }
  return { size: data.size, nodes: data.nodes, places, edges, neighbours: (n) => lists.subarray(from[n], from[n + 1]) };
})();

// A table is read when it is first shown.
const table = (at) => {
  if (tables[at]) return tables[at];
  const data = JSON.parse(sources[at].textContent);
  data.column = {};
  for (const column of data.columns) {
    data.column[column.key] = column;
    if (column.kind === 'number') column.values = Float64Array.from(column.values, (x) => (x === null ? NaN : x));
    if (column.kind === 'choice') column.values = Int32Array.from(column.values);
    if (column.kind === 'text') column.lower = column.values.map((x) => x.toLowerCase());
    if (column.kind === 'attack') {
      column.lists = column.values;
      column.values = Float64Array.from(column.lists, (x, row) => (x ? (x.length + (column.edges ? column.edges[row].length : 0)) / 2 : NaN));
    }
  }
  const nodes = data.column.node.values;
  data.size = nodes.length;
  data.rowOf = new Map();
  nodes.forEach((node, row) => data.rowOf.set(node, row));
  const known = data.explorer;
  known.certified = Int32Array.from(known.certified);
  known.attacked = Int32Array.from(known.attacked);
  if (known.margins) {
    for (const key of ['lower', 'upper', 'clean']) {
      if (known.margins[key]) known.margins[key] = unpack(known.margins[key], Float32Array);
    }
    known.margins.known = new Map(known.margins.exact.map(([row, other, value]) => [`${row},${other}`, value]));
  }
  if (known.effects) {
    known.effects = unpack(known.effects, Float32Array);
    // Where the flips of each row begin among the effects of all rows.
    known.first = new Uint32Array(data.size + 1);
    const lists = data.column.attack.lists;
    for (let row = 0; row < data.size; row++) known.first[row + 1] = known.first[row] + (lists[row] ? lists[row].length / 2 : 0);
  }
  tables[at] = data;
  return data;
};

const NONROBUST = 0, ROBUST = 1, UNDECIDED = 2;
const VERDICTS = ['non-robust', 'robust', 'undecided', 'not asked'];

// A certificate for Q holds below it, a witness of k flips above k. Fills the column of verdicts; returns how many of each.
const judge = (data) => {
  const { certified, attacked, limit } = data.explorer;
  const verdicts = data.column.verdict.values;
  const counts = [0, 0, 0];
  for (let row = 0; row < data.size; row++) {
    if (limit !== null) {
      verdicts[row] = attacked[row] >= 0 && attacked[row] <= state.q ? NONROBUST : certified[row] >= state.q ? ROBUST : UNDECIDED;
    }
    if (verdicts[row] >= 0) counts[verdicts[row]]++;
  }
  return counts;
};

const verdictOf = (data, node) => {
  const row = data.rowOf.get(node);
  return row === undefined || data.column.verdict.values[row] < 0 ? 'not asked' : VERDICTS[data.column.verdict.values[row]];
};

// The number of a node's predicted class, −1 if it is not known.
const classOf = (data, node) => {
  if (data.explorer.classOf) return data.explorer.classOf[node];
  if (!data.classNumbers) data.classNumbers = data.column.predicted.names.map((name) => data.explorer.classes.indexOf(name));
  const row = data.rowOf.get(node);
  return row === undefined ? -1 : data.classNumbers[data.column.predicted.values[row]];
};
const className = (data, at) => data.explorer.classes[at] || 'not known';

// What is done to an edge, by its number in a list.
const EDGE_DEEDS = ['remove the edge', 'insert the edge', 'change the edge'];
// Changed edges by their two ends.
const edgesOf = (list) => {
  const edges = [];
  for (let i = 0; i < list.length; i += 2) edges.push({ node: list[i], other: Math.floor(list[i + 1] / 3), kind: list[i + 1] % 3 });
  return edges;
};

// The changes of an attack, flips before edges; null if none is known.
const flipsOf = (data, row) => {
  const list = data.column.attack.lists[row];
  if (!list) return null;
  if (edged && !both) return edgesOf(list);
  const flips = [];
  for (let i = 0; i < list.length; i += 2) {
    const attribute = Math.floor(list[i + 1] / 3);
    const [old, now] = moves ? data.column.attack.moved[row].slice(i, i + 2) : [null, null];
    flips.push({ node: list[i], word: data.words[attribute] || `${graphs || moves ? 'attribute' : 'word'} ${attribute}`, kind: list[i + 1] % 3, old, now });
  }
  return both ? flips.concat(edgesOf(data.column.attack.edges[row] || [])) : flips;
};
const DEEDS = [['remove', 'from'], ['add', 'to'], ['flip', 'of']];
const SIGNS = ['−', '+', '±'];
// From which value to which an entry is moved, where that is known: four digits, or the value itself where they do not tell it apart.
const span = ({ old, now }, join) => {
  if (now === null) return '';
  const [from, to] = old === null || brief(old) !== brief(now) ? [brief(old), brief(now)] : [String(old), String(now)];
  return old === null ? ` to ${to}` : join ? `: ${from} ${join} ${to}` : ` from ${from} to ${to}`;
};
const told = (data, row) => {
  const flips = flipsOf(data, row);
  const own = data.column.node.values[row];
  const place = (node) => (node === own && !graphs ? 'the node itself' : `node ${node}`);
  if (moves) return flips && flips.map((flip) => `${flip.word}${span(flip)} at ${place(flip.node)}`);
  if (categories) return flips && flips.map(({ node, word }) => `${word} at ${place(node)}`);
  return flips && flips.map(({ node, other, word, kind }) =>
    (other === undefined ? `${DEEDS[kind][0]} ${word} ${DEEDS[kind][1]} ${place(node)}` : `${EDGE_DEEDS[kind]} ${node} – ${other}`));
};
