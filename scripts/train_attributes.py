"""Trains the networks behind the figures about attributes as users have them (docs/benchmarks.md, docs/numbers.md).

    P=$(scripts/python-env.sh)/bin/python
    $P scripts/train_attributes.py rows GRAPH.npz FOLDER        GRAPH's 0/1 rows, and the same rows divided by their sums
    $P scripts/train_attributes.py pubmed PGL FOLDER            PubMed with its TF-IDF values; PGL is the folder pgl/data/pubmed of the package pgl 2.2.6
    $P scripts/train_attributes.py dense FOLDER                 a generated graph with 100 numbers at each node

Each writes graphs and models of one name, `NAME.npz` and `NAME.safetensors`: GCNs with 16 hidden units, trained with PyTorch Geometric as
its examples do (20 nodes of each class, 200 epochs, dropout), the epoch kept that does best on 500 other nodes.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCN
from torch_geometric.transforms import NormalizeFeatures
from train_cora import read, save, split, train, weight

HIDDEN = 16


def describe(model):
    """Two GCN layers."""
    first, second = model.convs
    yield "hidden", [("x", "gcn", weight(first.lin))], first.bias, "relu"
    yield "logits", [("hidden", "gcn", weight(second.lin))], second.bias, "none"


def make(folder, name, x, edges, labels):
    """Trains a network on these attributes, and writes both."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = int(labels.max()) + 1
    parts = split(labels, classes)
    torch.manual_seed(0)
    model = train(GCN(x.shape[1], HIDDEN, 2, classes, dropout=0.5), x, edges, labels, parts)
    with torch.no_grad():
        right = (model(x, edges).argmax(1) == labels).double()
    rows = sp.csr_matrix(x.numpy())
    links = sp.csr_matrix((np.ones(edges.shape[1], np.int8), tuple(edges.numpy()[::-1])), shape=(len(x), len(x)))
    arrays = {"labels": labels.numpy()}
    for kind, matrix in (("adj", links), ("attr", rows)):
        arrays |= {f"{kind}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
    np.savez_compressed(folder / f"{name}.npz", **arrays)
    save(folder / f"{name}.safetensors", describe(model))
    print(f"{name}: {len(x)} nodes, {x.shape[1]} attributes, accuracy on test nodes {right[parts[2]].mean().item():.3f}")


def rows(source, folder):
    """0/1 rows, and the same divided by their sums."""
    x, edges, labels = read(source)
    name = Path(source).stem
    make(folder, f"{name}_plain", x, edges, labels)
    make(folder, f"{name}_rows", NormalizeFeatures()(Data(x=x)).x, edges, labels)


def pubmed(source, folder):
    """The values as published: rows of the test nodes are in another order."""

    def part(end):
        return pickle.loads((Path(source) / f"ind.pubmed.{end}").read_bytes(), encoding="latin1")

    test = [int(line) for line in (Path(source) / "ind.pubmed.test.index").read_text().split()]
    x, y = sp.vstack([part("allx"), part("tx")]).tolil(), np.vstack([part("ally"), part("ty")])
    x[test, :], y[test] = x[sorted(test), :], y[sorted(test)]
    pairs = {pair for a, near in part("graph").items() for b in near if a != b for pair in ((a, b), (b, a))}
    edges = torch.tensor(sorted(pairs)).T
    make(folder, "pubmed_tfidf", torch.from_numpy(x.toarray().astype(np.float32)), edges, torch.from_numpy(y.argmax(1)))


def dense(folder, nodes=2000, attributes=100, classes=4, degree=4):
    """Points around four centres, nodes of one class linked more often."""
    random = np.random.default_rng(0)
    labels = random.integers(classes, size=nodes)
    x = random.normal(size=(classes, attributes))[labels] * 0.35 + random.normal(size=(nodes, attributes))
    ends = random.integers(nodes, size=(2, 40 * nodes))
    kept = np.flatnonzero((labels[ends[0]] == labels[ends[1]]) | (random.random(ends.shape[1]) < 0.1))[: nodes * degree // 2]
    ends = ends[:, kept[ends[0][kept] != ends[1][kept]]]
    edges = np.unique(np.hstack([ends, ends[::-1]]), axis=1)
    make(folder, "dense", torch.from_numpy(x.astype(np.float32)), torch.from_numpy(edges), torch.from_numpy(labels))


if __name__ == "__main__":
    kinds = {"rows": (rows, 2), "pubmed": (pubmed, 2), "dense": (dense, 1)}
    run, count = kinds.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if run is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    run(*sys.argv[2:-1], Path(sys.argv[-1]))
