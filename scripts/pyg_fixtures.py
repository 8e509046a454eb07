"""Makes fixtures/pyg/: small networks of PyTorch Geometric, each with a description written out by hand and the module's own logits.

    $(scripts/python-env.sh)/bin/python scripts/pyg_fixtures.py [FOLDER]

Every fixture is a folder with graph.npz, model.safetensors (docs/model-format.md) and logits.npy. The logits are what the module of
PyTorch Geometric computes in float64; the descriptions follow the layers' formulas and share no code with the package that reads
modules, so that tests/library/pyg.rs compares two independent readings.
"""

import json
import math
import struct
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.nn import models

HIDDEN, CLASSES = 5, 3


def graph(seed):
    """Edges in both directions without self-loops, 0/1 attributes; the last node is isolated, the one before has one neighbour."""
    random = np.random.default_rng(seed)
    nodes, attributes = int(random.integers(8, 15)), int(random.integers(6, 11))
    edges = set()
    for node in range(1, nodes - 2):
        edges.add((int(random.integers(node)), node))
    while len(edges) < nodes + 2:
        a, b = sorted(int(n) for n in random.choice(nodes - 2, 2, replace=False))
        edges.add((a, b))
    edges.add((0, nodes - 2))
    adjacency = np.zeros((nodes, nodes))
    for a, b in edges:
        adjacency[a, b] = adjacency[b, a] = 1
    return adjacency, (random.random((nodes, attributes)) < 0.4).astype(float), random.integers(0, CLASSES, nodes)


def operators(adjacency):
    """The operators as dense matrices, for biases that are passed along edges."""
    nodes = len(adjacency)
    looped = adjacency + np.eye(nodes)
    degree = looped.sum(1)
    return {"gcn": looped / np.sqrt(np.outer(degree, degree)), "sum": adjacency}


class Fixture:
    """A graph, a module on it, and the description that is being written."""

    def __init__(self, seed):
        self.adjacency, self.x, self.labels = graph(seed)
        torch.manual_seed(seed)
        self.operators = operators(self.adjacency)
        self.attributes = self.x.shape[1]
        self.layers, self.tensors = [], {}

    def layer(self, name, terms, bias=None, activation="relu"):
        """A layer; a term is (from, operator, weight as inputs × outputs or None)."""
        described = []
        for place, (source, operator, weight) in enumerate(terms):
            term = {"from": source, "operator": operator}
            if weight is not None:
                term["weight"] = f"{name}.{place}.weight"
                self.tensors[term["weight"]] = array(weight)
            described.append(term)
        entry = {"name": name, "activation": activation, "terms": described}
        if bias is not None:
            entry["bias"] = f"{name}.bias"
            self.tensors[entry["bias"]] = array(bias)
        self.layers.append(entry)

    def matrix(self, name, dense):
        """An operator of its own; its row is the receiver."""
        rows, columns = np.nonzero(dense)
        self.tensors[f"{name}.indptr"] = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))]).astype(np.int64)
        self.tensors[f"{name}.indices"] = columns.astype(np.int64)
        self.tensors[f"{name}.data"] = array(dense[rows, columns])
        return f"matrix:{name}"

    def logits(self, name, terms, bias=None):
        """The last layer."""
        self.layer(name, terms, bias, "none")

    def write(self, folder, module):
        """Writes the three files."""
        folder.mkdir(parents=True, exist_ok=True)
        receivers, senders = np.nonzero(self.adjacency)
        edge_index = torch.from_numpy(np.stack([senders, receivers]))
        with torch.no_grad():
            logits = module(torch.from_numpy(self.x), edge_index).numpy()
        assert logits.dtype == np.float64 and np.isfinite(logits).all() and logits.shape == (len(self.x), CLASSES)
        np.save(folder / "logits.npy", logits)
        np.savez(folder / "graph.npz", **csr("adj", self.adjacency), **csr("attr", self.x), labels=self.labels)
        description = {"version": 1, "output": self.layers[-1]["name"], "layers": self.layers}
        save(folder / "model.safetensors", self.tensors, {"gcnproof.network": json.dumps(description)})


def csr(name, dense):
    """The parts of a CSR matrix of zeros and ones."""
    rows, columns = np.nonzero(dense)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    parts = {"data": np.ones(len(rows), np.uint8), "indices": columns.astype(np.int32), "indptr": offsets.astype(np.int32)}
    return {f"{name}_{part}": values for part, values in parts.items()} | {f"{name}_shape": np.array(dense.shape)}


def save(path, tensors, metadata):
    """Writes a safetensors file of float64 and int64 tensors."""
    header, at = {"__metadata__": metadata}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": {"f": "F64", "i": "I64"}[values.dtype.kind], "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values()))


def array(values):
    """As a float64 array by rows."""
    if isinstance(values, torch.Tensor):
        values = values.detach().numpy()
    return np.ascontiguousarray(values, dtype=np.float64)


def ready(module):
    """In float64, with random biases, running statistics that change something, and as it is used after training."""
    module = module.double()
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm1d):
            with torch.no_grad():
                norm.running_mean.normal_(0.0, 0.3)
                norm.running_var.uniform_(0.4, 2.0)
                norm.weight.uniform_(0.5, 1.5)
                norm.bias.normal_(0.0, 0.3)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0.0, 0.2)
    return module.eval()


def affine(norm):
    """What a BatchNorm does to each unit: scale and shift."""
    norm = getattr(norm, "module", norm)
    scale = array(norm.weight) / np.sqrt(array(norm.running_var) + norm.eps)
    return scale, array(norm.bias) - array(norm.running_mean) * scale


def transposed(linear):
    """The weights of a Linear as inputs × outputs."""
    return array(linear.weight).T


class Two(nn.Module):
    """Two layers with a ReLU between them."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


FIXTURES = {}


def fixture(*names):
    """Registers a function that fills a Fixture and returns its module; it is called with each name."""
    def register(make):
        FIXTURES.update({name: make for name in names})
        return make
    return register


@fixture("gcn", "gcn-normalize-false", "gcn-add-self-loops-false")
def gcn(f, name):
    options, rule = {"gcn": ({}, "gcn"), "gcn-normalize-false": ({"normalize": False}, "sum"),
                     "gcn-add-self-loops-false": ({"add_self_loops": False}, "gcn-self")}[name]
    module = ready(models.GCN(f.attributes, HIDDEN, 2, CLASSES, **options))
    first, second = module.convs
    f.layer("hidden", [("x", rule, transposed(first.lin))], first.bias)
    f.logits("logits", [("hidden", rule, transposed(second.lin))], second.bias)
    return module


@fixture("sage-mean", "sage-add", "sage-no-root")
def sage(f, name):
    options, rule = {"sage-mean": ({}, "mean"), "sage-add": ({"aggr": "add"}, "sum"),
                     "sage-no-root": ({"root_weight": False}, "mean")}[name]
    module = ready(Two(pyg.SAGEConv(f.attributes, HIDDEN, **options), pyg.SAGEConv(HIDDEN, CLASSES, **options)))

    def terms(source, layer):
        root = [] if name == "sage-no-root" else [(source, "identity", transposed(layer.lin_r))]
        return [(source, rule, transposed(layer.lin_l))] + root

    f.layer("hidden", terms("x", module.first), module.first.lin_l.bias)
    f.logits("logits", terms("hidden", module.second), module.second.lin_l.bias)
    return module


@fixture("sage-project")
def sage_project(f, name):
    module = ready(pyg.SAGEConv(f.attributes, CLASSES, project=True))
    f.layer("projected", [("x", "identity", transposed(module.lin))], module.lin.bias)
    f.logits("logits", [("projected", "mean", transposed(module.lin_l)), ("x", "identity", transposed(module.lin_r))],
             module.lin_l.bias)
    return module


@fixture("graphconv-add", "graphconv-mean")
def graphconv(f, name):
    aggregation, rule = {"graphconv-add": ("add", "sum"), "graphconv-mean": ("mean", "mean")}[name]
    module = ready(Two(pyg.GraphConv(f.attributes, HIDDEN, aggr=aggregation), pyg.GraphConv(HIDDEN, CLASSES, aggr=aggregation)))

    def terms(source, layer):
        return [(source, rule, transposed(layer.lin_rel)), (source, "identity", transposed(layer.lin_root))]

    f.layer("hidden", terms("x", module.first), module.first.lin_rel.bias)
    f.logits("logits", terms("hidden", module.second), module.second.lin_rel.bias)
    return module


@fixture("sgc")
def sgc(f, name):
    module = ready(pyg.SGConv(f.attributes, CLASSES, K=2))
    f.logits("logits", [("x", "poly(gcn;0,0,1)", transposed(module.lin))], module.lin.bias)
    return module


@fixture("ssgc")
def ssgc(f, name):
    module = ready(pyg.SSGConv(f.attributes, CLASSES, alpha=0.25, K=3))
    f.logits("logits", [("x", f"poly(gcn;0.25{(',' + repr(0.75 / 3)) * 3})", transposed(module.lin))], module.lin.bias)
    return module


@fixture("appnp")
def appnp(f, name):
    class Predict(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.spread = nn.Linear(f.attributes, HIDDEN), nn.Linear(HIDDEN, CLASSES), pyg.APPNP(K=4, alpha=0.2)

        def forward(self, x, edge_index):
            return self.spread(self.two(self.one(x).relu()), edge_index)

    module = ready(Predict())
    coefficients = [0.2 * 0.8**k for k in range(4)] + [0.8**4]
    f.layer("hidden", [("x", "identity", transposed(module.one))], module.one.bias)
    f.layer("local", [("hidden", "identity", transposed(module.two))], module.two.bias, "none")
    f.logits("logits", [("local", f"poly(gcn;{','.join(map(repr, coefficients))})", None)])
    return module


@fixture("tag")
def tag(f, name):
    module = ready(Two(pyg.TAGConv(f.attributes, HIDDEN, K=2), pyg.TAGConv(HIDDEN, CLASSES, K=3)))

    def terms(source, layer):
        rule = lambda k: ["identity", "gcn-self"][k] if k < 2 else f"poly(gcn-self;{'0,' * k}1)"
        return [(source, rule(k), transposed(linear)) for k, linear in enumerate(layer.lins)]

    f.layer("hidden", terms("x", module.first), module.first.bias)
    f.logits("logits", terms("hidden", module.second), module.second.bias)
    return module


@fixture("cheb")
def cheb(f, name):
    module = ready(Two(pyg.ChebConv(f.attributes, HIDDEN, K=4), pyg.ChebConv(HIDDEN, CLASSES, K=2)))
    # T_k(−S): 1, −S, 2 S² − 1, −4 S³ + 3 S.
    rules = ["identity", "poly(gcn-self;0,-1)", "poly(gcn-self;-1,0,2)", "poly(gcn-self;0,3,0,-4)"]

    def terms(source, layer):
        return [(source, rule, transposed(linear)) for rule, linear in zip(rules, layer.lins)]

    f.layer("hidden", terms("x", module.first), module.first.bias)
    f.logits("logits", terms("hidden", module.second), module.second.bias)
    return module


@fixture("gin")
def gin(f, name):
    def part(inputs, outputs):
        inner = nn.Sequential(nn.Linear(inputs, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))
        return pyg.GINConv(inner, eps=0.3, train_eps=True)

    module = ready(Two(part(f.attributes, 4), part(4, CLASSES)))

    def layers(source, layer, name, activation):
        one, norm, _, two = layer.nn
        scale, shift = affine(norm)
        weight = transposed(one) * scale
        terms = [(source, "sum", weight), (source, "identity", (1 + float(layer.eps.detach())) * weight)]
        f.layer(f"{name}.inner", terms, array(one.bias) * scale + shift)
        f.layer(name, [(f"{name}.inner", "identity", transposed(two))], two.bias, activation)

    layers("x", module.first, "hidden", "relu")
    layers("hidden", module.second, "logits", "none")
    return module


@fixture("cluster-gcn")
def cluster(f, name):
    module = ready(Two(pyg.ClusterGCNConv(f.attributes, HIDDEN), pyg.ClusterGCNConv(HIDDEN, CLASSES)))

    def terms(source, layer):
        return [(source, "mean+self", transposed(layer.lin_out)), (source, "identity", transposed(layer.lin_root))]

    f.layer("hidden", terms("x", module.first), module.first.lin_out.bias)
    f.logits("logits", terms("hidden", module.second), module.second.lin_out.bias)
    return module


@fixture("gcn2", "gcn2-two-weights")
def gcn2(f, name):
    shared = name == "gcn2"

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.leave = nn.Linear(f.attributes, HIDDEN), nn.Linear(HIDDEN, CLASSES)
            self.steps = nn.ModuleList(pyg.GCN2Conv(HIDDEN, 0.1, 0.5, place + 1, shared_weights=shared) for place in range(3))

        def forward(self, x, edge_index):
            h = start = self.enter(x).relu()
            for step in self.steps:
                h = step(h, start, edge_index).relu()
            return self.leave(h)

    module = ready(Deep())
    f.layer("start", [("x", "identity", transposed(module.enter))], module.enter.bias)
    below = "start"
    for place, step in enumerate(module.steps):
        beta = math.log(0.5 / (place + 1) + 1)
        one = (1 - beta) * np.eye(HIDDEN) + beta * array(step.weight1)
        two = one if shared else (1 - beta) * np.eye(HIDDEN) + beta * array(step.weight2)
        f.layer(f"step{place}", [(below, "gcn", 0.9 * one), ("start", "identity", 0.1 * two)])
        below = f"step{place}"
    f.logits("logits", [(below, "identity", transposed(module.leave))], module.leave.bias)
    return module


@fixture("norm-before-activation")
def norm_before(f, name):
    module = ready(models.GCN(f.attributes, HIDDEN, 3, CLASSES, norm="batch_norm"))
    below = "x"
    for place, (convolution, norm) in enumerate(zip(module.convs, module.norms)):
        if place < 2:
            scale, shift = affine(norm)
            f.layer(f"h{place}", [(below, "gcn", transposed(convolution.lin) * scale)], array(convolution.bias) * scale + shift)
            below = f"h{place}"
    f.logits("logits", [(below, "gcn", transposed(module.convs[2].lin))], module.convs[2].bias)
    return module


@fixture("norm-after-activation")
def norm_after(f, name):
    module = ready(models.GCN(f.attributes, HIDDEN, 3, CLASSES, norm="batch_norm", act_first=True))
    below, scale, shift = "x", 1.0, None
    for place, convolution in enumerate(module.convs):
        weight, bias = transposed(convolution.lin), array(convolution.bias)
        if place > 0:
            # What the norm adds to every node below is passed along the edges.
            bias = bias + np.outer(f.operators["gcn"].sum(1), shift @ weight)
            weight = scale[:, None] * weight
        if place == 2:
            f.logits("logits", [(below, "gcn", weight)], bias)
        else:
            f.layer(f"h{place}", [(below, "gcn", weight)], bias)
            below = f"h{place}"
            scale, shift = affine(module.norms[place])
    return module


@fixture("jumping-knowledge")
def jumping(f, name):
    module = ready(models.GraphSAGE(f.attributes, HIDDEN, 2, CLASSES, jk="cat"))
    below = "x"
    for place, layer in enumerate(module.convs):
        f.layer(f"h{place}", [(below, "mean", transposed(layer.lin_l)), (below, "identity", transposed(layer.lin_r))], layer.lin_l.bias)
        below = f"h{place}"
    weight = transposed(module.lin)
    f.logits("logits", [("h0", "identity", weight[:HIDDEN]), ("h1", "identity", weight[HIDDEN:])], module.lin.bias)
    return module


@fixture("residual")
def residual(f, name):
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter = pyg.GCNConv(f.attributes, HIDDEN)
            self.first, self.second = pyg.GCNConv(HIDDEN, HIDDEN), pyg.GCNConv(HIDDEN, CLASSES)
            self.skip = nn.Linear(f.attributes, CLASSES, bias=False)

        def forward(self, x, edge_index):
            h = self.enter(x, edge_index).relu()
            h = h + self.first(h, edge_index).relu()
            return self.second(h, edge_index) + self.skip(x)

    module = ready(Residual())
    last = transposed(module.second.lin)
    f.layer("a", [("x", "gcn", transposed(module.enter.lin))], module.enter.bias)
    f.layer("b", [("a", "gcn", transposed(module.first.lin))], module.first.bias)
    f.logits("logits", [("a", "gcn", last), ("b", "gcn", last), ("x", "identity", transposed(module.skip))], module.second.bias)
    return module


@fixture("leaky-relu")
def leaky(f, name):
    class Leaky(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = pyg.GCNConv(f.attributes, HIDDEN), pyg.GCNConv(HIDDEN, CLASSES)

        def forward(self, x, edge_index):
            return self.second(F.leaky_relu(self.first(x, edge_index), 0.25), edge_index)

    module = ready(Leaky())
    first, last = transposed(module.first.lin), transposed(module.second.lin)
    f.layer("above", [("x", "gcn", first)], module.first.bias)
    f.layer("all", [("x", "gcn", first)], module.first.bias, "none")
    f.logits("logits", [("above", "gcn", 0.75 * last), ("all", "gcn", 0.25 * last)], module.second.bias)
    return module


@fixture("mixhop")
def mixhop(f, name):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = pyg.MixHopConv(f.attributes, 2, powers=[0, 1, 2]), pyg.GCNConv(6, CLASSES)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    module = ready(Mixed())
    last, bias = transposed(module.second.lin), array(module.first.bias)
    rules = ["identity", "gcn", "poly(gcn;0,0,1)"]
    for power, rule in enumerate(rules):
        f.layer(f"power{power}", [("x", rule, transposed(module.first.lins[power]))], bias[2 * power:2 * power + 2])
    f.logits("logits", [(f"power{power}", "gcn", last[2 * power:2 * power + 2]) for power in range(3)], module.second.bias)
    return module


@fixture("arma")
def arma(f, name):
    module = ready(Two(pyg.ARMAConv(f.attributes, HIDDEN, num_stacks=2, num_layers=2), pyg.ARMAConv(HIDDEN, CLASSES, act=None)))
    with torch.no_grad():
        module.first.bias.normal_(0.0, 0.2)
    first, second = module.first, module.second
    start, inner, root, bias = (array(first.init_weight), array(first.weight), array(first.root_weight), array(first.bias))
    for stack in range(2):
        f.layer(f"stack{stack}.0", [("x", "gcn-self", start[stack]), ("x", "identity", root[0, stack])], bias[0, stack, 0])
        f.layer(f"stack{stack}.1", [(f"stack{stack}.0", "gcn-self", inner[0, stack]), ("x", "identity", root[1, stack])],
                bias[1, stack, 0])
    f.layer("hidden", [(f"stack{stack}.1", "identity", 0.5 * np.eye(HIDDEN)) for stack in range(2)])
    f.logits("logits", [("hidden", "gcn-self", array(second.init_weight)[0]), ("hidden", "identity", array(second.root_weight)[0, 0])],
             array(second.bias)[0, 0, 0])
    return module


@fixture("rgcn")
def rgcn(f, name):
    class Relations(nn.Module):
        def __init__(self, kinds):
            super().__init__()
            self.first, self.second = pyg.RGCNConv(f.attributes, HIDDEN, 2), pyg.RGCNConv(HIDDEN, CLASSES, 2, num_bases=2)
            self.register_buffer("kinds", kinds)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index, self.kinds).relu(), edge_index, self.kinds)

    receivers, senders = np.nonzero(f.adjacency)
    kinds = (receivers + senders) % 2
    module = ready(Relations(torch.from_numpy(kinds)))
    rules = []
    for kind in range(2):
        of_kind = f.adjacency * ((np.arange(len(f.x))[:, None] + np.arange(len(f.x))) % 2 == kind)
        rules.append(f.matrix(f"relation{kind}", of_kind / np.maximum(of_kind.sum(1), 1)[:, None]))

    def terms(source, layer):
        weight = array(layer.weight)
        if layer.num_bases is not None:
            weight = np.einsum("rb,bio->rio", array(layer.comp), weight)
        return [(source, rule, weight[kind]) for kind, rule in enumerate(rules)] + [(source, "identity", array(layer.root))]

    f.layer("hidden", terms("x", module.first), module.first.bias)
    f.logits("logits", terms("hidden", module.second), module.second.bias)
    return module


@fixture("gcn-edge-weights")
def edge_weights(f, name):
    class Weighted(nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.first, self.second = pyg.GCNConv(f.attributes, HIDDEN), pyg.GCNConv(HIDDEN, CLASSES)
            self.register_buffer("weight", weight)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index, self.weight).relu(), edge_index, self.weight)

    receivers, senders = np.nonzero(f.adjacency)
    # Not symmetric: what is sent and what comes back differ.
    weighted = f.adjacency * np.random.default_rng(7).uniform(0.25, 2.0, f.adjacency.shape)
    module = ready(Weighted(torch.from_numpy(weighted[receivers, senders])))
    looped = weighted + np.eye(len(weighted))
    degree = looped.sum(1)
    rule = f.matrix("weighted", looped / np.sqrt(np.outer(degree, degree)))
    f.layer("hidden", [("x", rule, transposed(module.first.lin))], module.first.bias)
    f.logits("logits", [("hidden", rule, transposed(module.second.lin))], module.second.bias)
    return module


def main():
    """Makes all fixtures, each from a seed of its own."""
    # Some layers (ClusterGCNConv) count neighbours in the default type, whatever the type of their weights.
    torch.set_default_dtype(torch.float64)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "fixtures" / "pyg")
    for seed, (name, make) in enumerate(FIXTURES.items(), 1):
        made = Fixture(seed)
        made.write(folder / name, make(made, name))
    print(f"{len(FIXTURES)} fixtures in {folder}")


if __name__ == "__main__":
    main()
