// The neighbourhood of a node: the node in the middle, the others on rings by their distance. Colour is the predicted class, shape
// the verdict at Q, a thick edge an attacked node; removed edges are dashed and red, inserted ones dashed and green.
const MOST_DRAWN = 300;
const FARTHEST = 8;

// A small picture of a colour and a shape with its name, for legends.
const key = (name, ink, verdict, extra = {}) => {
  const entry = make('span', { class: 'key' });
  const picture = draw('svg', { width: 14, height: 14, viewBox: '-7 -7 14 14', 'aria-hidden': 'true' });
  picture.append(draw('path', { d: outline(verdict, 4.6), fill: ink, ...extra }));
  entry.append(picture, name);
  return entry;
};

// Nodes by distance, as far as the logits reach, with the node through which each was found. Where the reach is not known: two hops.
const ringsAround = (node, reach) => {
  const seen = new Map([[node, -1]]);
  const rings = [[node]];
  for (let total = 1; rings.length <= FARTHEST; ) {
    if (Number.isNaN(reach) ? rings.length > 2 : total >= reach) break;
    const ring = [];
    for (const from of rings[rings.length - 1]) {
      for (const to of graph.neighbours(from)) {
        if (!seen.has(to)) {
          seen.set(to, from);
          ring.push(to);
        }
      }
    }
    if (ring.length === 0) break;
    rings.push(ring);
    total += ring.length;
  }
  return { rings, parent: seen };
};

const drawNeighbourhood = (data, node, flips) => {
  const row = data.rowOf.get(node);
  const reach = row === undefined || !data.column.reach ? NaN : data.column.reach.values[row];
  const { rings, parent } = ringsAround(node, reach);
  const attacked = new Map();
  const changed = (flips || []).filter((flip) => flip.other !== undefined);
  for (const flip of flips || []) {
    if (flip.other === undefined) attacked.set(flip.node, [...(attacked.get(flip.node) || []), flip]);
  }
  const isCut = (a, b) => changed.some(({ node: x, other: y }) => (x === a && y === b) || (x === b && y === a));
  // Both ends of a changed edge are drawn, the outer one on a ring of its own.
  for (const { node: a, other: b } of changed) {
    for (const [near, far] of [[a, b], [b, a]]) {
      if (!parent.has(near) || parent.has(far)) continue;
      const at = rings.findIndex((ring) => ring.includes(near)) + 1;
      if (!rings[at]) rings[at] = [];
      parent.set(far, near);
      rings[at].push(far);
    }
  }
  const ends = new Set(changed.flatMap(({ node: a, other: b }) => [a, b]));
  const total = rings.reduce((sum, ring) => sum + ring.length, 0);
  // Too many to be told apart: the nearest, and whoever is attacked.
  let room = MOST_DRAWN;
  const shown = rings.map((ring) => {
    const first = ring.filter((n, at) => at < room || attacked.has(n) || ends.has(n));
    room -= first.length;
    return first;
  }).filter((ring) => ring.length > 0);
  const drawn = new Set(shown.flat());
  // Whoever is drawn hangs on somebody who is.
  for (const n of drawn) {
    for (let up = parent.get(n); up >= 0 && !drawn.has(up); up = parent.get(up)) {
      drawn.add(up);
      shown[rings.findIndex((ring) => ring.includes(up))].push(up);
    }
  }
  // Children share the sector of their parent, in proportion to what hangs on them; equal classes stand together.
  const children = new Map();
  for (const ring of shown.slice(1)) {
    const order = [...ring].sort((a, b) => classOf(data, a) - classOf(data, b) || a - b);
    for (const n of order) children.set(parent.get(n), [...(children.get(parent.get(n)) || []), n]);
  }
  const weight = new Map();
  for (const ring of [...shown].reverse()) {
    for (const n of ring) weight.set(n, Math.max(1, (children.get(n) || []).reduce((sum, child) => sum + weight.get(child), 0)));
  }
  const place = new Map();
  const sectors = new Map([[node, [0, 2 * Math.PI]]]);
  const widest = 185;
  const gap = widest / Math.max(1, shown.length - 1);
  shown.forEach((ring, distance) => {
    ring.forEach((n, at) => {
      const [from, to] = sectors.get(n);
      // Three lines instead of one where a ring is crowded.
      const crowded = ring.length > 40 * distance && distance > 0;
      const r = distance * gap - (crowded ? (at % 3) * 0.16 * gap : 0);
      const angle = (from + to) / 2;
      place.set(n, [r * Math.cos(angle), r * Math.sin(angle)]);
      let start = from;
      for (const child of children.get(n) || []) {
        const width = ((to - from) * weight.get(child)) / weight.get(n);
        sectors.set(child, [start, start + width]);
        start += width;
      }
    });
  });
  const size = drawn.size > 120 ? 3.4 : drawn.size > 40 ? 5 : 7;
  const picture = draw('svg', { viewBox: '-215 -215 430 430', class: drawn.size > 120 ? 'rings many' : 'rings', role: 'group',
    'aria-label': `Neighbourhood of node ${node}: ${plural(total, 'node')} within ${plural(rings.length - 1, 'hop')}, ${[...(changed.length ? [plural(changed.length, say('changed edge'))] : []), ...(attacked.size || !changed.length ? [plural(attacked.size, 'attacked node')] : [])].join(', ')}` });
  for (let distance = 1; distance < shown.length; distance++) picture.append(draw('circle', { r: distance * gap, class: 'orbit' }));
  for (const a of drawn) {
    for (const b of graph.neighbours(a)) {
      if (a < b && drawn.has(b)) {
        const [[x1, y1], [x2, y2]] = [place.get(a), place.get(b)];
        const tree = parent.get(a) === b || parent.get(b) === a;
        const line = draw('line', { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), class: isCut(a, b) ? 'cut' : tree ? 'link' : 'link weak' });
        if (isCut(a, b)) line.append(draw('title', {}, `removed: the edge ${a} – ${b}`));
        picture.append(line);
      }
    }
  }
  // Edges that are not there yet.
  for (const { node: a, other: b } of changed) {
    if (!drawn.has(a) || !drawn.has(b) || graph.neighbours(a).includes(b)) continue;
    const [[x1, y1], [x2, y2]] = [place.get(a), place.get(b)];
    const line = draw('line', { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), class: 'added' });
    line.append(draw('title', {}, `inserted: the edge ${a} – ${b}`));
    picture.append(line);
  }
  // Attacked ones last, so that nothing lies above them.
  const order = [...drawn].sort((a, b) => attacked.has(a) - attacked.has(b));
  for (const n of order) {
    const verdict = verdictOf(data, n);
    const marks = attacked.get(n) || [];
    const words = marks.map((flip) => (moves ? `${flip.word}${span(flip, '→')}` : `${SIGNS[flip.kind]} ${flip.word}`));
    const text = `node ${n}, ${className(data, classOf(data, n))}, ${verdict}${marks.length ? `, attacked: ${words.join(', ')}` : ''}`;
    const link = draw('a', { href: `#node=${n}`, 'aria-label': text, 'data-node': n, 'data-verdict': verdict, class: n === node ? 'own' : '',
      // One stop of the Tab key for the whole drawing; arrows go from node to node.
      tabindex: n === node ? 0 : -1 });
    const [x, y] = place.get(n);
    const mark = draw('path', { d: outline(verdict, n === node ? 1.5 * size : size), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      fill: classInk(classOf(data, n)), class: marks.length ? 'hit' : 'dot' });
    mark.append(draw('title', {}, text));
    link.append(mark);
    if (marks.length && attacked.size <= 12) {
      const label = words.length > 2 ? `${plural(words.length, moves ? 'attribute' : 'word')} ${moves ? 'moved' : 'flipped'}` : words.join(', ');
      const far = x > 90 ? 'end' : x < -90 ? 'start' : 'middle';
      link.append(draw('text', { x: x.toFixed(1), y: (y - (n === node ? 2 : 1.3) * size - 4).toFixed(1), 'text-anchor': far }, label));
    }
    picture.append(link);
  }
  picture.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    // Outward, ring by ring.
    const links = [...drawn].map((n) => picture.querySelector(`a[data-node="${n}"]`));
    links[(links.indexOf(document.activeElement) + step + links.length) % links.length].focus();
  });
  return { picture, total, drawn: drawn.size, hops: rings.length - 1, rings };
};
