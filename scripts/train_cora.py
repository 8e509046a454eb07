"""Trains networks of PyTorch Geometric on a graph with 0/1 attributes, and writes each as a model file with its description.

    $(scripts/python-env.sh)/bin/python scripts/train_cora.py fixtures/cora.npz FOLDER [NAME …]

Writes FOLDER/NAME.safetensors (docs/model-format.md) and FOLDER/NAME_logits.npy, the module's own logits in float64, for GraphSAGE,
TAG, GCN with jumping knowledge, SGC, APPNP, GraphSAGE with sums in place of means, and a GCN without normalisation. 20 nodes of each class are trained on, 500 others tell which epoch is kept, the rest are
the test.
"""

import copy
import json
import struct
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.nn import models
from torch_geometric.utils import add_self_loops

HIDDEN, EPOCHS = 16, 200


def read(path):
    """Edges, attributes and labels."""
    with np.load(path) as file:
        rows = np.repeat(np.arange(len(file["adj_indptr"]) - 1), np.diff(file["adj_indptr"]))
        x = np.zeros(file["attr_shape"], np.float32)
        x[np.repeat(np.arange(len(x)), np.diff(file["attr_indptr"])), file["attr_indices"]] = 1
        # Row i of the adjacency is who sends to i.
        edges = np.stack([file["adj_indices"].astype(np.int64), rows])
        return torch.from_numpy(x), torch.from_numpy(edges), torch.from_numpy(file["labels"].astype(np.int64))


class Appnp(nn.Module):
    """A network per node, then ten steps of personalised PageRank."""

    def __init__(self, attributes, classes):
        super().__init__()
        self.hidden, self.local = nn.Linear(attributes, HIDDEN), nn.Linear(HIDDEN, classes)
        self.spread = pyg.APPNP(K=10, alpha=0.1)

    def forward(self, x, edge_index):
        """The logits."""
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(self.hidden(x).relu(), 0.5, self.training)
        return self.spread(self.local(x), edge_index)


class Tag(nn.Module):
    """Two layers of TAGConv."""

    def __init__(self, attributes, classes):
        super().__init__()
        self.first, self.second = pyg.TAGConv(attributes, HIDDEN, K=2), pyg.TAGConv(HIDDEN, classes, K=2)

    def forward(self, x, edge_index):
        """The logits."""
        x = F.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        return self.second(x, edge_index)


def weight(linear):
    """The weights of a Linear as inputs × outputs."""
    return linear.weight.T


def describe_sage(model, rule="mean"):
    """Two terms a layer: the mean, or the sum, of the neighbours, and the node itself."""
    first, second = model.convs
    for name, source, layer, activation in [("hidden", "x", first, "relu"), ("logits", "hidden", second, "none")]:
        yield name, [(source, rule, weight(layer.lin_l)), (source, "identity", weight(layer.lin_r))], layer.lin_l.bias, activation


def describe_sums(model):
    """Sums over the neighbours and the node itself."""
    first, second = model.convs
    yield "hidden", [("x", "sum+self", weight(first.lin))], first.bias, "relu"
    yield "logits", [("hidden", "sum+self", weight(second.lin))], second.bias, "none"


class Sums(nn.Module):
    """A GCN of two layers whose messages are not normalised."""

    def __init__(self, attributes, classes):
        super().__init__()
        self.convs = nn.ModuleList([pyg.GCNConv(attributes, HIDDEN, normalize=False), pyg.GCNConv(HIDDEN, classes, normalize=False)])

    def forward(self, x, edge_index):
        """The logits."""
        edge_index, _ = add_self_loops(edge_index, num_nodes=len(x))
        first, second = self.convs
        x = F.dropout(first(F.dropout(x, 0.5, self.training), edge_index).relu(), 0.5, self.training)
        return second(x, edge_index)


def describe_tag(model):
    """Powers of the normalised adjacency without self-loops."""
    rules = ["identity", "gcn-self", "poly(gcn-self;0,0,1)"]
    for name, source, layer, activation in [("hidden", "x", model.first, "relu"), ("logits", "hidden", model.second, "none")]:
        yield name, [(source, rule, weight(linear)) for rule, linear in zip(rules, layer.lins)], layer.bias, activation


def describe_jk(model):
    """The last layer reads both representations."""
    first, second = model.convs
    yield "h1", [("x", "gcn", weight(first.lin))], first.bias, "relu"
    yield "h2", [("h1", "gcn", weight(second.lin))], second.bias, "relu"
    last = weight(model.lin)
    yield "logits", [("h1", "identity", last[:HIDDEN]), ("h2", "identity", last[HIDDEN:])], model.lin.bias, "none"


def describe_sgc(model):
    """One layer without activation."""
    yield "logits", [("x", "poly(gcn;0,0,1)", weight(model.lin))], model.lin.bias, "none"


def describe_appnp(model):
    """The steps as one polynomial."""
    coefficients = [0.1 * 0.9**k for k in range(10)] + [0.9**10]
    yield "hidden", [("x", "identity", weight(model.hidden))], model.hidden.bias, "relu"
    yield "local", [("hidden", "identity", weight(model.local))], model.local.bias, "none"
    yield "logits", [("local", f"poly(gcn;{','.join(map(repr, coefficients))})", None)], None, "none"


NETWORKS = {
    "sage": (lambda d, k: models.GraphSAGE(d, HIDDEN, 2, k, dropout=0.5), describe_sage),
    "tag": (Tag, describe_tag),
    "gcn_jk": (lambda d, k: models.GCN(d, HIDDEN, 2, k, dropout=0.5, jk="cat"), describe_jk),
    "sgc": (lambda d, k: pyg.SGConv(d, k, K=2), describe_sgc),
    "appnp": (Appnp, describe_appnp),
    "sage_sum": (lambda d, k: models.GraphSAGE(d, HIDDEN, 2, k, dropout=0.5, aggr="sum"), lambda model: describe_sage(model, "sum")),
    "gcn_sum": (Sums, describe_sums),
}


def split(labels, classes):
    """20 nodes of each class, 500 others, and the rest."""
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(labels)))
    train = torch.cat([order[labels[order] == label][:20] for label in range(classes)])
    rest = order[~torch.isin(order, train)]
    return train, rest[:500], rest[500:]


def train(model, x, edges, labels, parts):
    """Trains, and keeps the weights of the epoch that does best on the second part."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, kept = -1.0, None
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges)[parts[0]], labels[parts[0]]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = (model(x, edges).argmax(1) == labels).double()
        if (accuracy := right[parts[1]].mean().item()) > best:
            best, kept = accuracy, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return model.eval()


def save(path, layers):
    """Writes the description and its tensors, in the precision of the training."""
    tensors, described = {}, []

    def put(name, values):
        tensors[name] = np.ascontiguousarray(values.detach().numpy())
        return name

    for name, terms, bias, activation in layers:
        entry = {"name": name, "activation": activation, "terms": []}
        for place, (source, operator, values) in enumerate(terms):
            term = {"from": source, "operator": operator}
            if values is not None:
                term["weight"] = put(f"{name}.{place}.weight", values)
            entry["terms"].append(term)
        if bias is not None:
            entry["bias"] = put(f"{name}.bias", bias)
        described.append(entry)
    text = json.dumps({"version": 1, "output": described[-1]["name"], "layers": described})
    header, at = {"__metadata__": {"gcnproof.network": text}}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values()))


def main():
    """Trains all networks, or those named."""
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(NETWORKS):
        sys.exit(f"usage: train_cora.py GRAPH.npz FOLDER [{' '.join(NETWORKS)}]")
    x, edges, labels = read(sys.argv[1])
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    classes = int(labels.max()) + 1
    parts = split(labels, classes)
    for name in sys.argv[3:] or NETWORKS:
        make, describe = NETWORKS[name]
        torch.manual_seed(0)
        start = time.monotonic()
        model = train(make(x.shape[1], classes), x, edges, labels, parts)
        save(folder / f"{name}.safetensors", describe(model))
        with torch.no_grad():
            logits = copy.deepcopy(model).double()(x.double(), edges)
        np.save(folder / f"{name}_logits.npy", logits.numpy())
        right = (logits.argmax(1) == labels).double()
        shares = [right[part].mean().item() for part in parts]
        print(f"{name}: accuracy on training nodes {shares[0]:.3f}, on test nodes {shares[2]:.3f}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
