"""Synthetic graphs of the sizes of the ENZYMES collection, and GraphSAGE networks with sums and means that classify them; for measurements (docs/edges.md).

    python scripts/proteins_like.py FOLDER [--graphs 60] [--seed 1] [--steps 400]

Writes graphs.npz, sage_sum.safetensors and sage_mean.safetensors: three hidden layers of 16 units, add pooling behind sums, mean pooling behind means. A graph is
a chain whose nodes have one of three types in runs, and edges between nodes that a random walk in space brings together; classes differ in how the types
alternate and in how compact the walk is. Sizes have a median of 32; the largest graph has 126 nodes. Networks are trained on other graphs of the same kind.
Needs numpy alone.
"""

import argparse
import json
import pathlib
import struct

import numpy as np

CLASSES, TYPES, WIDTH = 6, 3, 16


def one(random, label, size):
    """Edges and types of a graph of a class."""
    runs = [(2, 2), (2, 6), (6, 2), (6, 6), (3, 4), (8, 3)][label]
    types, kind = [], int(random.integers(TYPES))
    while len(types) < size:
        types += [kind] * int(1 + random.poisson(runs[kind % 2]))
        kind = (kind + (1 if random.random() < [0.9, 0.5, 0.7, 0.3, 0.2, 0.6][label] else 2)) % TYPES
    step = [1.0, 1.3, 0.8, 1.1, 1.5, 0.9][label]
    place = np.cumsum(random.normal(size=(size, 3)) * step * 0.6, axis=0)
    near = np.linalg.norm(place[:, None] - place[None], axis=2)
    edges = {(i, i + 1) for i in range(size - 1)}
    for i in range(size):
        others = [j for j in np.argsort(near[i]) if abs(int(j) - i) > 1][: int(random.integers(1, 4))]
        edges |= {(min(i, int(j)), max(i, int(j))) for j in others if near[i, j] < 1.9}
    return np.array(sorted(edges)), np.array(types[:size])


def collection(seed, count, largest):
    """So many graphs as one: edges in both directions, one-hot types, the graph of each node, labels."""
    random = np.random.default_rng(seed)
    sizes = np.clip(np.exp(random.normal(np.log(32), 0.45, count)).astype(int), 6, 126)
    if largest:
        sizes[:2] = 126, 96
    labels = np.arange(count) % CLASSES
    edges, types, batch, first = [], [], [], 0
    for graph, size in enumerate(sizes):
        of, kinds = one(random, labels[graph], int(size))
        edges.append(of + first)
        types.append(kinds)
        batch.append(np.full(size, graph))
        first += size
    edges = np.concatenate(edges)
    edges = np.concatenate([edges, edges[:, ::-1]])
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return edges, np.eye(TYPES)[np.concatenate(types)], np.concatenate(batch), labels


class Passing:
    """Sums or means over neighbours, and over the nodes of a graph, with their transposes."""

    def __init__(self, edges, batch, mean):
        self.to, self.sender, self.batch = edges[:, 0], edges[:, 1], batch
        self.starts = np.searchsorted(self.to, np.arange(len(batch)))
        degree = np.bincount(self.to, minlength=len(batch))
        self.entry = (1 / np.maximum(degree, 1) if mean else np.ones(len(batch)))[:, None]
        self.pools = np.searchsorted(batch, np.arange(batch[-1] + 1))
        self.share = (1 / np.bincount(batch) if mean else np.ones(batch[-1] + 1))[:, None]

    def neighbours(self, h):
        return np.add.reduceat(h[self.sender], self.starts) * self.entry

    def back(self, gradient):
        return np.add.reduceat((gradient * self.entry)[self.sender], self.starts)

    def pool(self, h):
        return np.add.reduceat(h, self.pools) * self.share

    def spread(self, gradient):
        return (gradient * self.share)[self.batch]


def forward(weights, passing, x):
    """Representations, pre-activations, logits."""
    hs, zs = [x], []
    for own, along, bias in weights[:-1]:
        zs.append(hs[-1] @ own + passing.neighbours(hs[-1]) @ along + bias)
        hs.append(np.maximum(zs[-1], 0))
    matrix, bias = weights[-1]
    pooled = passing.pool(hs[-1])
    return hs, zs, pooled, pooled @ matrix + bias


def train(seed, mean, steps):
    random = np.random.default_rng(seed)
    edges, x, batch, labels = collection(seed + 1000, 360, False)
    passing = Passing(edges, batch, mean)
    sizes = [TYPES, WIDTH, WIDTH, WIDTH]
    scale = 1.0 if mean else 0.4
    weights = [[random.normal(size=(i, o)) * scale * np.sqrt(2 / (2 * i)), random.normal(size=(i, o)) * scale * np.sqrt(2 / (2 * i)), np.zeros(o)] for i, o in zip(sizes, sizes[1:])]
    weights.append([random.normal(size=(WIDTH, CLASSES)) * (0.3 if mean else 0.02), np.zeros(CLASSES)])
    flat = [array for layer in weights for array in layer]
    first, second = [np.zeros_like(a) for a in flat], [np.zeros_like(a) for a in flat]
    for step in range(1, steps + 1):
        hs, zs, pooled, logits = forward(weights, passing, x)
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        gradient = (p - np.eye(CLASSES)[labels]) / len(labels)
        slopes = [pooled.T @ gradient, gradient.sum(0)]
        h = passing.spread(gradient @ weights[-1][0].T)
        for at in reversed(range(3)):
            z = h * (zs[at] > 0)
            received = passing.back(z)
            slopes = [hs[at].T @ z, hs[at].T @ received, z.sum(0)] + slopes
            h = z @ weights[at][0].T + received @ weights[at][1].T
        for array, slope, m, v in zip(flat, slopes, first, second):
            slope = slope + 1e-4 * array
            m += 0.1 * (slope - m)
            v += 0.001 * (slope * slope - v)
            array -= 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    accuracy = (forward(weights, passing, x)[-1].argmax(1) == labels).mean()
    return weights, accuracy


def write(target, weights, mean):
    """A model file that describes itself (docs/model-format.md)."""
    arrays, layers, before = {}, [], "x"
    along, pool = ("mean", "pool-mean") if mean else ("sum", "pool-sum")
    for at, (own, edge, bias) in enumerate(weights[:-1]):
        arrays |= {f"{at}.own": own, f"{at}.along": edge, f"{at}.bias": bias}
        terms = [{"from": before, "operator": "identity", "weight": f"{at}.own"}, {"from": before, "operator": along, "weight": f"{at}.along"}]
        layers.append({"name": f"h{at}", "activation": "relu", "bias": f"{at}.bias", "terms": terms})
        before = f"h{at}"
    arrays |= {"out.weight": weights[-1][0], "out.bias": weights[-1][1]}
    layers.append({"name": "logits", "activation": "none", "bias": "out.bias", "terms": [{"from": before, "operator": pool, "weight": "out.weight"}]})
    arrays = {name: np.ascontiguousarray(a.astype(np.float32).astype(np.float64)) for name, a in arrays.items()}
    header, at = {"__metadata__": {"gcnproof.network": json.dumps({"version": 1, "output": "logits", "layers": layers})}}, 0
    for name, values in arrays.items():
        header[name] = {"dtype": "F64", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    start = json.dumps(header).encode()
    start += b" " * (-len(start) % 8)
    with open(target, "wb") as out:
        out.write(struct.pack("<Q", len(start)) + start)
        for values in arrays.values():
            out.write(values.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    edges, x, batch, labels = collection(arguments.seed, arguments.graphs, True)
    np.savez_compressed(arguments.folder / "graphs.npz", edge_index=edges.T, x=x.astype(np.int8), y=labels, batch=batch)
    sizes = np.bincount(batch)
    print(f"{len(sizes)} graphs of {sizes.min()} to {sizes.max()} nodes (median {np.median(sizes):.0f}), {len(edges) / len(batch):.1f} neighbours a node")
    for mean in (False, True):
        weights, learnt = train(arguments.seed, mean, arguments.steps)
        name = "sage_mean" if mean else "sage_sum"
        write(arguments.folder / f"{name}.safetensors", weights, mean)
        accuracy = (forward(weights, Passing(edges, batch, mean), x)[-1].argmax(1) == labels).mean()
        print(f"{name}: accuracy {learnt:.2f} on the graphs it was trained on, {accuracy:.2f} on these")


if __name__ == "__main__":
    main()
