"""Modules under attacks on edges: what is read on one graph must hold on every other. Each module runs on all graphs that one change leads to."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
g = pytest.importorskip("torch_geometric.nn")

from torch_geometric.data import Data
from torch_geometric.utils import degree

import gcnproof
from gcnproof import Edges, Flips

GRAPHS = {
    "cycle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "matching": [(0, 1), (2, 3)],
    "complete": list(itertools.combinations(range(4), 2)),
    "empty": [],
    "path": [(0, 1), (1, 2), (2, 3)],
    "triangle and a node": [(0, 1), (1, 2), (0, 2)],
}

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])


def both_ways(edges):
    return torch.tensor([*edges, *((b, a) for a, b in edges)], dtype=torch.long).reshape(-1, 2).T.contiguous()


def summed(h, edges):
    return torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])


def degrees(h, edges):
    return degree(edges[1], len(h)).to(h.dtype).view(-1, 1)


def averaged(h, edges):
    return summed(h, edges) / degrees(h, edges).clamp(min=1)


def symmetric(h, edges):
    scale = degrees(h, edges).clamp(min=1) ** -0.5
    return scale * summed(scale * h, edges)


def by_senders(h, edges):
    return summed(h / degrees(h, edges).clamp(min=1), edges)


def by_all_edges(h, edges):
    return summed(h, edges) * (2 * len(h) / max(1, edges.size(1)))


def by_half(h, edges):
    return h + summed(h, edges) * 0.5


def shifted_by_degrees(h, edges):
    return summed(h, edges) + 0.1 * degrees(h, edges)


class Aggregated(torch.nn.Module):
    """A linear layer, then an aggregation by hand."""

    def __init__(self, aggregate):
        super().__init__()
        self.lin, self.aggregate = torch.nn.Linear(2, 2, bias=False), aggregate

    def forward(self, x, edge_index):
        return self.aggregate(self.lin(x), edge_index)


class Shifted(torch.nn.Module):
    """A shift in front of message passing: BatchNorm behind the ReLU."""

    def __init__(self, conv):
        super().__init__()
        self.lin, self.norm, self.conv = torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), conv
        with torch.no_grad():
            self.norm.bias.copy_(torch.tensor([1.0, -2.0, 3.0]))

    def forward(self, x, edge_index):
        return self.conv(self.norm(self.lin(x).relu()), edge_index)


class Twice(torch.nn.Module):
    """Two convolutions with something between them, and the logits times a number."""

    def __init__(self, conv, between, factor=1.0):
        super().__init__()
        self.first, self.second, self.between, self.factor = conv(), conv(), between, factor

    def forward(self, x, edge_index):
        return self.factor * self.second(self.between(self.first(x, edge_index)), edge_index)


def gin():
    return g.GINConv(torch.nn.Linear(2, 2), eps=0.1)


MODULES = {
    **{aggregate.__name__: (lambda aggregate=aggregate: Aggregated(aggregate)) for aggregate in (summed, averaged, symmetric, by_senders, by_all_edges, by_half, shifted_by_degrees)},
    "SimpleConv": lambda: Aggregated(g.SimpleConv(aggr="mean")),
    "SGConv": lambda: g.SGConv(2, 2, K=1),
    "LEConv": lambda: g.LEConv(2, 2),
    "ChebConv": lambda: g.ChebConv(2, 2, K=2, normalization="rw"),
    "GCNConv": lambda: g.GCNConv(2, 2),
    "BatchNorm and SAGEConv": lambda: Shifted(g.SAGEConv(3, 2, aggr="sum")),
    "BatchNorm and GCNConv": lambda: Shifted(g.GCNConv(3, 2)),
    "BatchNorm and GINConv": lambda: Shifted(g.GINConv(torch.nn.Linear(3, 2))),
    "GINConv and leaky ReLU": lambda: Twice(gin, torch.nn.functional.leaky_relu),
    "GINConv and PReLU": lambda: Twice(gin, torch.nn.PReLU()),
    "GINConv and a factor": lambda: Twice(gin, lambda h: 3 * h.relu(), -0.3),
    "GINConv without ReLU": lambda: Twice(lambda: g.GINConv(torch.nn.Linear(2, 2, bias=False)), torch.nn.Identity(), 0.5),
    "GCNConv without ReLU": lambda: Twice(lambda: g.GCNConv(2, 2, bias=False), torch.nn.Identity()),
}

CERTIFIED = (*(name for name in MODULES if "GINConv" in name or "without ReLU" in name), "by_half", "summed", "averaged", "GCNConv", "BatchNorm and SAGEConv", "BatchNorm and GCNConv")
"""These are rules of message passing: they must not be refused."""


def changes(edges, kind):
    """All graphs that one change leads to, and the graph itself."""
    own = {tuple(edge) for edge in edges}
    yield edges
    for pair in itertools.combinations(range(4), 2):
        if (pair in own) if kind == "remove" else (pair not in own) if kind == "insert" else True:
            yield sorted(own ^ {pair})


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_margins_are_those_of_the_module(name, graph):
    torch.manual_seed(3)
    model, edges = MODULES[name]().eval(), GRAPHS[graph]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    data = Data(x=X, edge_index=both_ways(edges))
    for kind in ("remove", "insert", "change"):
        attack = Edges(**{kind: 1}, **({} if kind == "insert" else {"keep_one_edge": False}))
        try:
            results = gcnproof.certify(model, data, attack, minimize=True, threads=1, progress=False)
        except gcnproof.GcnproofError:
            assert name not in CERTIFIED, (name, graph, kind)
            continue
        with torch.no_grad():
            logits = np.stack([model.double()(X.double(), both_ways(made)).numpy() for made in changes(edges, kind)])
        model.float()
        for row in results:
            for margin in row.margins:
                least = (logits[:, row.node, row.predicted] - logits[:, row.node, margin.class_]).min()
                assert margin.lower <= least + 1e-6 and margin.upper >= least - 1e-6, (name, graph, kind, row, least)


def test_a_network_that_was_read_on_one_graph_is_not_attacked_on_others(tmp_path):
    data = Data(x=X, edge_index=both_ways(GRAPHS["cycle"]))
    graph, network = gcnproof.from_pyg(Aggregated(by_all_edges), data)
    assert not network.edges
    with pytest.raises(gcnproof.InputError, match="give the module itself"):
        gcnproof.certify(network, graph, Edges(remove=1))
    network.save(tmp_path / "model.safetensors")
    graph.save(tmp_path / "graph.npz")
    with pytest.raises(gcnproof.InputError, match="give the module itself"):
        gcnproof.certify(tmp_path / "model.safetensors", tmp_path / "graph.npz", Edges(remove=1))
    assert len(gcnproof.certify(network, graph, Flips(Q=1, q=1))) == 4
    _, plain = gcnproof.from_pyg(g.GCNConv(2, 2), data)
    assert plain.edges and len(gcnproof.certify(plain, graph, Edges(remove=1))) == 4


@pytest.mark.parametrize(
    ("make", "kind"), [(lambda k: Twice(lambda: g.SGConv(2, 2, K=k), torch.relu), "SGConv"), (lambda k: Twice(lambda: g.TAGConv(2, 2, K=k), torch.relu), "TAGConv")]
)
def test_several_hops_of_a_layer_are_named(make, kind, tmp_path):
    """The module by its name, a remedy that is one: the same with one hop is decided, and flips take it as it is."""
    data = Data(x=X, edge_index=both_ways(GRAPHS["path"]))
    with pytest.raises(gcnproof.UnsupportedModel, match=rf"Module: first \({kind}\).*Remedy: train with layers of one hop each.*K=1.*Flips\(…\) of 0 and 1") as told:
        gcnproof.certify(make(2), data, Edges(remove=1))
    assert "message_passing" not in str(told.value)
    assert len(gcnproof.certify(make(1), data, Edges(remove=1))) == len(gcnproof.certify(make(2), data, Flips(Q=1, q=1))) == 4
    # The network alone, and from a file: in both the module is asked for.
    graph, network = gcnproof.from_pyg(make(2), data)
    with pytest.raises(gcnproof.InputError, match="give the module itself"):
        gcnproof.certify(network, graph, Edges(remove=1))


def test_hops_over_the_attributes_themselves():
    class Far(torch.nn.Module):
        def __init__(self, between):
            super().__init__()
            self.lin, self.between = torch.nn.Linear(2, 2), between

        def forward(self, x, edge_index):
            return self.lin(summed(self.between(summed(x, edge_index)), edge_index))

    data = Data(x=X, edge_index=both_ways(GRAPHS["path"]))
    with pytest.raises(gcnproof.UnsupportedModel, match=r"the last layer passes messages by Polynomial\(sum, \[0.0, 0.0, 1.0\]\).*with a Linear between two hops"):
        gcnproof.certify(Far(torch.nn.Identity()), data, Edges(remove=1))
    assert len(gcnproof.certify(Far(torch.nn.Linear(2, 2)), data, Edges(remove=1))) == 4


def test_polynomials_of_a_network_are_named_by_their_layer():
    graph = gcnproof.Graph.from_data(Data(x=X, edge_index=both_ways(GRAPHS["path"])))
    weight = np.random.default_rng(0).normal(size=(2, 2))

    def far(operator, *before):
        source = before[-1].name if before else "x"
        return gcnproof.Network([*before, gcnproof.Layer("far", [gcnproof.Term(source, operator, weight)], None, "none")])

    for operator in (gcnproof.Polynomial("gcn", [0, 0, 1]), gcnproof.Polynomial("sum", [2, 2])):
        with pytest.raises(gcnproof.InputError, match=r"layer 'far' passes messages by Polynomial\((gcn|sum), .*\n  help: .*layers one behind the other.*activation='none'.*factor"):
            gcnproof.certify(far(operator), graph, Edges(remove=1))
    hop = gcnproof.Layer("hop", [gcnproof.Term("x", "gcn", np.eye(2))], None, "none")
    for made in (far("gcn", hop), far(gcnproof.Polynomial("sum", [1, 1]))):
        assert len(gcnproof.certify(made, graph, Edges(remove=1))) == 4


def test_an_adjacency_of_the_module_is_refused():
    class Kept(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = g.SAGEConv(2, 2, aggr="sum")
            self.register_buffer("adjacency", torch.zeros(4, 4).index_put((both_ways(GRAPHS["path"])[0], both_ways(GRAPHS["path"])[1]), torch.ones(6)))

        def forward(self, x, edge_index):
            return self.adjacency @ x + self.conv(x, edge_index)

    with pytest.raises(gcnproof.UnsupportedModel, match="depends on the edges"):
        gcnproof.certify(Kept().eval(), Data(x=X, edge_index=both_ways(GRAPHS["path"])), Edges(remove=1))


def test_a_choice_by_the_number_of_edges_is_seen():
    class Chosen(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = g.SAGEConv(2, 2, aggr="sum")

        def forward(self, x, edge_index):
            return self.conv(x, edge_index) * (1 if edge_index.size(1) == 6 else 2)

    with pytest.raises(gcnproof.MismatchedLogits):
        gcnproof.certify(Chosen().eval(), Data(x=X, edge_index=both_ways(GRAPHS["path"])), Edges(remove=1))


def test_pooled_shifts_and_both_attackers():
    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shifted, self.head = Shifted(g.SAGEConv(3, 4, aggr="sum")), torch.nn.Linear(4, 2)

        def forward(self, x, edge_index, batch):
            return self.head(g.global_add_pool(self.shifted(x, edge_index).relu(), batch))

    torch.manual_seed(5)
    model, edges = Pooled().eval(), GRAPHS["path"]
    data = Data(x=X, edge_index=both_ways(edges))
    (row,) = gcnproof.certify(model, [data], Edges(insert=1), minimize=True, threads=1, progress=False)
    with torch.no_grad():
        batch = torch.zeros(4, dtype=torch.long)
        logits = np.stack([model.double()(X.double(), both_ways(made), batch).numpy()[0] for made in changes(edges, "insert")])
    least = (logits[:, row.predicted] - logits[:, 1 - row.predicted]).min()
    assert abs(row.margins[0].lower - least) < 1e-6
    (joint,) = gcnproof.certify(model.float(), [data], [Flips(Q=0, q=1), Edges(insert=1)], threads=1, progress=False)
    assert joint.verdict == row.verdict


def test_graphs_of_one_node_are_no_classifier_of_nodes():
    """A readout of such graphs is no operator that can be told from none, and an edge between two of them would be a change of neither."""

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.lin = g.GINConv(torch.nn.Linear(2, 3)), torch.nn.Linear(3, 2)

        def forward(self, x, edge_index, batch):
            return self.lin(g.global_add_pool(self.conv(x, edge_index).relu(), batch))

    torch.manual_seed(0)
    empty = torch.zeros(2, 0, dtype=torch.long)
    model, alone = Pooled(), [Data(x=X[node : node + 1], edge_index=empty) for node in range(4)]
    with pytest.raises(gcnproof.GcnproofError, match="one node.*graphs with more nodes"):
        gcnproof.certify(model, alone, Edges(insert=1))
    # The remedy: then only edges inside the larger graph are inserted.
    results = gcnproof.certify(model, [*alone, Data(x=X[:2], edge_index=empty)], Edges(insert=1))
    assert set(results.verdict[:4]) == {"robust"}
    # Without edges both are the same.
    assert len(gcnproof.certify(model, alone, Flips(Q=1, q=1))) == 4
