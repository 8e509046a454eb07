// The map of the whole graph on a canvas. Edges are painted once for a view and kept as a picture; a new Q only paints the nodes,
// each as a copy of a small picture of its colour and shape. That keeps tens of thousands of nodes quick.
const map = (() => {
  const canvas = find('canvas');
  if (!canvas || !graph) return null;
  const pen = canvas.getContext('2d');
  const edgeLayer = document.createElement('canvas');
  const sprites = new Map();
  // Pixels per unit of the map, and where its corner is, in pixels of the canvas.
  const view = { scale: 1, x: 0, y: 0, whole: 1 };
  let stale = true;

  const fit = () => {
    const box = canvas.getBoundingClientRect();
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
    const [width, height] = graph.size;
    view.whole = Math.min(canvas.width / Math.max(1, width), canvas.height / Math.max(1, height)) * 0.98;
    view.ratio = ratio;
    view.scale = view.whole;
    view.x = (canvas.width - width * view.scale) / 2;
    view.y = (canvas.height - height * view.scale) / 2;
    stale = true;
  };

  const across = (n) => view.x + view.scale * graph.places[2 * n];
  const down = (n) => view.y + view.scale * graph.places[2 * n + 1];
  const radius = () => {
    const room = Math.sqrt((graph.size[0] * graph.size[1]) / Math.max(1, graph.nodes)) * view.scale;
    return Math.max(1.3 * view.ratio, Math.min(7 * view.ratio, 0.3 * room));
  };

  const paintEdges = () => {
    stale = false;
    edgeLayer.width = canvas.width;
    edgeLayer.height = canvas.height;
    const ink = edgeLayer.getContext('2d');
    ink.strokeStyle = theme('--soft');
    ink.globalAlpha = graph.edges.length > 40000 && view.scale < 3 * view.whole ? 0.13 : 0.3;
    ink.lineWidth = 0.6 * view.ratio;
    // One path for all would make the browser sort all crossings; one for each would be slow for another reason.
    for (let from = 0; from < graph.edges.length; from += 4000) {
      ink.beginPath();
      for (let e = from; e < Math.min(from + 4000, graph.edges.length); e += 2) {
        const [a, b] = [graph.edges[e], graph.edges[e + 1]];
        ink.moveTo(across(a), down(a));
        ink.lineTo(across(b), down(b));
      }
      ink.stroke();
    }
  };

  const sprite = (ink, verdict, r) => {
    const key = `${ink} ${verdict} ${r}`;
    if (!sprites.has(key)) {
      const picture = document.createElement('canvas');
      picture.width = picture.height = 2 * Math.ceil(1.4 * r + 1);
      const brush = picture.getContext('2d');
      brush.translate(picture.width / 2, picture.height / 2);
      brush.fillStyle = ink;
      brush.fill(new Path2D(outline(verdict, r)));
      sprites.set(key, picture);
    }
    return sprites.get(key);
  };

  const paint = () => {
    const data = table(state.at);
    if (stale) paintEdges();
    pen.globalAlpha = 1;
    pen.fillStyle = theme('--paper');
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(edgeLayer, 0, 0);
    const r = radius();
    const fits = new Uint8Array(graph.nodes);
    const nodes = data.column.node.values;
    for (const row of state.found) fits[nodes[row]] = 1;
    const verdicts = new Uint8Array(graph.nodes).fill(3);
    const column = data.column.verdict.values;
    for (let row = 0; row < data.size; row++) if (column[row] >= 0) verdicts[nodes[row]] = column[row];
    const byClass = state.colour === 'class';
    // The pictures of this view by verdict, then colour; the last colour is that of a class that is not known.
    const inks = byClass ? [...data.explorer.classes.map((_, at) => classInk(at)), classInk(-1)] : VERDICTS.map(verdictInk);
    const pictures = VERDICTS.map((name) => inks.map((ink) => sprite(ink, name, r)));
    const { x, y, scale } = view;
    const { places } = graph;
    // Faint ones first, so that those that fit lie above them.
    for (const kept of [0, 1]) {
      pen.globalAlpha = kept || state.found.length === data.size ? 1 : 0.16;
      for (let n = 0; n < graph.nodes; n++) {
        if (fits[n] !== kept) continue;
        const at = byClass ? classOf(data, n) : verdicts[n];
        const picture = pictures[verdicts[n]][at < 0 ? inks.length - 1 : at];
        const half = picture.width / 2;
        const [left, top] = [Math.round(x + scale * places[2 * n] - half), Math.round(y + scale * places[2 * n + 1] - half)];
        if (left > -20 && top > -20 && left < canvas.width && top < canvas.height) pen.drawImage(picture, left, top);
      }
    }
    pen.globalAlpha = 1;
    if (state.node !== null && state.node < graph.nodes) {
      pen.lineWidth = 1.6 * view.ratio;
      const ring = (n, size, ink) => {
        pen.strokeStyle = ink;
        pen.beginPath();
        pen.arc(across(n), down(n), size, 0, 7);
        pen.stroke();
      };
      // A changed edge: dashed, and green if it is inserted.
      const cut = ({ node, other, kind }) => {
        pen.strokeStyle = theme(kind === 1 ? '--green' : '--vermillion');
        pen.lineWidth = 3 * view.ratio;
        pen.setLineDash([5 * view.ratio, 4 * view.ratio]);
        pen.beginPath();
        pen.moveTo(across(node), down(node));
        pen.lineTo(across(other), down(other));
        pen.stroke();
        pen.setLineDash([]);
      };
      const row = data.rowOf.get(state.node);
      const flips = row === undefined ? null : flipsOf(data, row);
      for (const flip of flips || []) {
        if (flip.other !== undefined) cut(flip);
        else if (flip.node !== state.node) ring(flip.node, r + 3 * view.ratio, theme('--ink'));
      }
      pen.lineWidth = 3.5 * view.ratio;
      ring(state.node, r + 6 * view.ratio, theme('--ink'));
    }
  };

  const describe = (counts) => {
    canvas.setAttribute('aria-label',
      `Map of the graph with ${plural(graph.nodes, 'node')}${state.q === null ? '' : say(` at Q = ${state.q}`)}: ${counts[ROBUST]} robust, ` +
      `${counts[NONROBUST]} non-robust, ${counts[UNDECIDED]} undecided. The table below lists the same nodes.`);
  };

  const legend = () => {
    const data = table(state.at);
    const entries = state.colour === 'class'
      ? data.explorer.classes.map((name, at) => [name, classInk(at), 'robust'])
      : VERDICTS.map((name) => [name, verdictInk(name), name]);
    const list = entries.map(([name, ink, verdict]) => key(name, ink, verdict));
    if (state.colour === 'class') for (const name of VERDICTS.slice(0, 3)) list.push(key(name, theme('--ink'), name));
    find('.map .legend').replaceChildren(...list);
  };

  const zoom = (factor, x = canvas.width / 2, y = canvas.height / 2) => {
    const scale = Math.min(60 * view.whole, Math.max(view.whole, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    stale = true;
    paint();
  };
  const move = (x, y) => { view.x += x; view.y += y; stale = true; paint(); };

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * view.ratio, (event.clientY - box.top) * view.ratio];
  };
  const nearest = (x, y) => {
    let [best, least] = [-1, (14 * view.ratio) ** 2];
    for (let n = 0; n < graph.nodes; n++) {
      const distance = (across(n) - x) ** 2 + (down(n) - y) ** 2;
      if (distance < least) [best, least] = [n, distance];
    }
    return best;
  };
  let held = null;
  canvas.addEventListener('pointerdown', (event) => { held = { from: at(event), last: at(event), moved: false }; });
  canvas.addEventListener('pointermove', (event) => {
    if (!held || !(event.buttons & 1)) return;
    const [x, y] = at(event);
    held.moved ||= Math.hypot(x - held.from[0], y - held.from[1]) > 4 * view.ratio;
    if (held.moved) move(x - held.last[0], y - held.last[1]);
    held.last = [x, y];
  });
  canvas.addEventListener('click', (event) => {
    const dragged = held && held.moved;
    held = null;
    const node = dragged ? -1 : nearest(...at(event));
    if (node >= 0) location.hash = `node=${node}`;
  });
  // A plain wheel scrolls the page; with Ctrl, as a pinch of two fingers sends it, it zooms.
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 200), ...at(event));
  }, { passive: false });
  canvas.addEventListener('keydown', (event) => {
    const step = 60 * view.ratio;
    const deeds = {
      ArrowLeft: () => move(step, 0), ArrowRight: () => move(-step, 0), ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
      '+': () => zoom(1.6), '=': () => zoom(1.6), '-': () => zoom(0.625), 0: () => { fit(); paint(); },
    };
    if (deeds[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); deeds[event.key](); }
  });
  root.querySelectorAll('[data-zoom]').forEach((button) => button.addEventListener('click', () => {
    const factor = Number(button.dataset.zoom);
    if (factor) zoom(factor);
    else { fit(); paint(); }
  }));
  find('.colour').addEventListener('input', (event) => { state.colour = event.target.value; paint(); legend(); });
  const renew = () => { sprites.clear(); stale = true; paint(); legend(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', renew);
  let width = 0;
  addEventListener('resize', () => {
    // Phones resize when their bars come and go; only another width is another map.
    if (canvas.clientWidth === width) return;
    width = canvas.clientWidth;
    fit();
    paint();
  });
  fit();
  width = canvas.clientWidth;
  return { paint, describe, legend, renew, place: (n) => [across(n) / view.ratio, down(n) / view.ratio] };
})();
