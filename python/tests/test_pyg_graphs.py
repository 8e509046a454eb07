"""Modules that classify graphs: what is read, what is refused by name, and that witnesses break the module itself."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import gcnproof
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

D, H, C = 4, 5, 3


def graph(nodes: int, label: int, seed: int) -> Data:
    """A tree with a few more edges, one or two attributes in a node."""
    random = np.random.default_rng(seed)
    ends = [(random.integers(0, at), at) for at in range(1, nodes)] + [tuple(random.integers(0, nodes, 2)) for _ in range(nodes // 2)]
    ends = sorted({pair for a, b in ends if a != b for pair in ((int(a), int(b)), (int(b), int(a)))})
    edges = torch.tensor(ends, dtype=torch.long).reshape(-1, 2).T.contiguous()
    x = (torch.from_numpy(random.random((nodes, D))) < 0.4).float()
    return Data(x=x, edge_index=edges, y=torch.tensor([label]))


def graphs() -> list[Data]:
    return [graph(nodes, at % C, at) for at, nodes in enumerate([5, 1, 4, 7, 3, 6])]


def shaken(model: nn.Module, seed: int = 0) -> nn.Module:
    """With statistics and biases that are not those of an untrained module."""
    torch.manual_seed(seed)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d):
            nn.init.normal_(part.running_mean, 0, 0.3)
            nn.init.uniform_(part.running_var, 0.5, 2)
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model.eval()


class GIN(nn.Module):
    """Two convolutions with BatchNorm, pooled side by side, and an MLP."""

    def __init__(self, pool):
        super().__init__()
        self.pool = pool

        def convolution(inputs):
            return pyg.GINConv(nn.Sequential(nn.Linear(inputs, H), nn.BatchNorm1d(H), nn.ReLU(), nn.Linear(H, H)), train_eps=True)

        self.first, self.second, self.norm = convolution(D), convolution(H), nn.BatchNorm1d(H)
        self.head = nn.Sequential(nn.Linear(2 * H, H), nn.ReLU(), nn.Linear(H, C))

    def forward(self, x, edge_index, batch):
        first = self.norm(self.first(x, edge_index).relu())
        second = self.second(first, edge_index).relu()
        return self.head(torch.cat([self.pool(first, batch), self.pool(second, batch)], 1))


class Stack(nn.Module):
    """Convolutions, a readout, and a linear layer; called with a Data object."""

    def __init__(self, convolutions, readout, width=H):
        super().__init__()
        self.convolutions, self.readout = nn.ModuleList(convolutions), readout
        self.last = nn.Linear(width, C)

    def forward(self, data):
        h = data.x
        for convolution in self.convolutions:
            h = convolution(h, data.edge_index).relu()
        return self.last(self.readout(h, data.batch)).log_softmax(-1)


class Ready(nn.Module):
    """A model of PyTorch Geometric's own, a readout, dropout and an MLP."""

    def __init__(self, kind, layers, readout, **options):
        super().__init__()
        self.network, self.readout = kind(D, H, layers, dropout=0.5, **options), readout
        self.head = pyg.MLP([self.network.out_channels, H, C], norm="batch_norm", dropout=0.5)

    def forward(self, x, edge_index, batch):
        h = nn.functional.dropout(self.readout(self.network(x, edge_index), batch), 0.5, training=self.training)
        return self.head(h)


def sequential():
    steps = [
        (pyg.GCNConv(D, H), "x, edge_index -> x"),
        nn.ReLU(inplace=True),
        (nn.Dropout(0.5), "x -> x"),
        (pyg.GCNConv(H, H), "x, edge_index -> x"),
        nn.ReLU(inplace=True),
        (pyg.global_mean_pool, "x, batch -> x"),
        nn.Linear(H, C),
    ]
    return pyg.Sequential("x, edge_index, batch", steps)


def sage(count=2):
    return [pyg.SAGEConv(D if at == 0 else H, H) for at in range(count)]


MODELS = {
    "GIN add": lambda: GIN(pyg.global_add_pool),
    "GIN mean": lambda: GIN(pyg.global_mean_pool),
    "SAGE sum": lambda: Stack(sage(), pyg.aggr.SumAggregation()),
    "SAGE mean": lambda: Stack(sage(3), pyg.aggr.MeanAggregation()),
    "GCN": lambda: Stack([pyg.GCNConv(D, H), pyg.GCNConv(H, H), pyg.GCNConv(H, H)], pyg.global_add_pool),
    "models.GIN": lambda: Ready(pyg.models.GIN, 3, pyg.global_add_pool),
    "models.GIN cat": lambda: Ready(pyg.models.GIN, 3, pyg.global_mean_pool, jk="cat", norm="batch_norm"),
    "models.GraphSAGE": lambda: Ready(pyg.models.GraphSAGE, 4, pyg.global_add_pool),
    "models.GCN": lambda: Ready(pyg.models.GCN, 4, pyg.global_mean_pool, jk="last"),
    "Sequential": sequential,
    "both": lambda: Stack(sage(1), pyg.aggr.MultiAggregation(["sum", "mean"]), 2 * H),
}


@pytest.mark.parametrize("name", MODELS)
def test_verdicts_are_those_of_brute_force_and_witnesses_break_the_module(name, tmp_path):
    model, data = shaken(MODELS[name]()), graphs()
    batch = Batch.from_data_list(data)
    proofs = tmp_path / "proofs.jsonl"
    results = gcnproof.certify(model, data, Q=1, q=1, complete=True, proofs=proofs, progress=False)
    assert list(results.graph) == list(range(len(data))) and (results.node == results.graph).all()
    assert not (results.verdict == "undecided").any()
    assert list(results.label) == [int(one.y) for one in data]

    def classes(x):
        other = batch.clone()
        other.x = x
        with torch.no_grad():
            return model.double()(other) if isinstance(model, Stack) else model.double()(x, batch.edge_index, batch.batch)

    clean = classes(batch.x.double())
    assert (clean.argmax(1).numpy() == results.predicted).all()
    broken = torch.zeros(len(data), dtype=torch.bool)
    for node in range(batch.num_nodes):
        for attribute in range(D):
            x = batch.x.double().clone()
            x[node, attribute] = 1 - x[node, attribute]
            broken |= classes(x).argmax(1) != clean.argmax(1)
    assert (results.verdict == np.where(broken, "non_robust", "robust")).all()
    for at in np.flatnonzero(results.verdict == "non_robust").tolist():
        after = classes(results.apply(at).double())
        assert after[at].argmax() != clean[at].argmax() and results[at].graph == at
    assert gcnproof.check(model, data, proofs, Q=1, q=1, progress=False).proved
    assert "graphs" in repr(results) and "graph" in results.to_pandas().index.name


def test_a_batch_a_list_and_a_dataset_are_the_same(tmp_path):
    class Some(torch.utils.data.Dataset):
        def __len__(self):
            return len(graphs())

        def __getitem__(self, at):
            return graphs()[at]

        def __iter__(self):
            return iter(graphs())

    model = shaken(GIN(pyg.global_add_pool))
    found = [gcnproof.certify(model, data, Q=2, q=1, progress=False) for data in (graphs(), Batch.from_data_list(graphs()), Some())]
    assert found[0]._graph.digest == found[1]._graph.digest == found[2]._graph.digest
    assert (found[0].verdict == found[1].verdict).all() and (found[0].verdict == found[2].verdict).all()
    found[0].save(tmp_path / "rows.parquet")
    again = gcnproof.load(tmp_path / "rows.parquet", graph=found[0]._graph)
    assert (again.graph == found[0].graph).all() and again[3].graph == 3
    graph, network = gcnproof.from_pyg(model, graphs())
    graph.save(tmp_path / "graphs.npz")
    network.save(tmp_path / "model.safetensors")
    rows = gcnproof.certify(tmp_path / "model.safetensors", tmp_path / "graphs.npz", Q=2, q=1, nodes=[0, 4], progress=False)
    assert list(rows.graph) == [0, 4] and (rows.verdict == found[0].verdict[[0, 4]]).all()
    assert gcnproof.Graph.load(tmp_path / "graphs.npz").graph_count == 6


def test_what_a_list_of_graphs_may_be():
    model, data = shaken(Ready(pyg.models.GCN, 2, pyg.global_add_pool)), graphs()
    expected = gcnproof.certify(model, data, Q=1, q=1, progress=False)
    for kind in (torch.long, torch.float64, torch.bool):
        other = [Data(x=one.x.to(kind), edge_index=one.edge_index) for one in data]
        found = gcnproof.certify(model, tuple(other), Q=1, q=1, progress=False)
        assert (found.verdict == expected.verdict).all() and (found.label == -1).all()
    with pytest.raises(gcnproof.InputError, match="loader.dataset"):
        gcnproof.certify(model, DataLoader(data, batch_size=2), Q=1, q=1, progress=False)
    with pytest.raises(gcnproof.InvalidData, match="list"):
        gcnproof.certify(model, iter(data), Q=1, q=1, progress=False)


def test_categories_of_a_molecule(tmp_path):
    """Every exchange of one node's type, tried on the module itself."""
    random = np.random.default_rng(5)
    data = [Data(x=torch.eye(D)[random.integers(0, D, one.num_nodes)], edge_index=one.edge_index) for one in graphs()]
    model, batch = shaken(GIN(pyg.global_add_pool)).double(), Batch.from_data_list(data)
    attack, proofs = gcnproof.Categories(Q=1, q=1, groups=[range(D)]), tmp_path / "proofs.jsonl"
    results = gcnproof.certify(model, data, attack, complete=True, proofs=proofs, progress=False)

    def classes(x):
        with torch.no_grad():
            return model(x.double(), batch.edge_index, batch.batch).argmax(1)

    clean = classes(batch.x)
    broken = torch.zeros(len(data), dtype=torch.bool)
    for node in range(batch.num_nodes):
        for kind in range(D):
            x = batch.x.clone()
            x[node] = torch.eye(D)[kind]
            broken |= classes(x) != clean
    assert (results.verdict == np.where(broken, "non_robust", "robust")).all()
    for at in np.flatnonzero(broken.numpy()).tolist():
        changed = results.apply(at)
        assert (changed.sum(1) == 1).all() and classes(changed)[at] != clean[at]
    assert gcnproof.check(model, data, proofs, attack, progress=False).proved


def test_one_graph_needs_no_batch():
    model, one = shaken(Stack(sage(), pyg.global_mean_pool)), graph(6, 1, 3)
    results = gcnproof.certify(model, one, Q=1, q=1, progress=False)
    assert len(results) == 1 and results.label[0] == 1
    radius = gcnproof.radius(model, one, q=1, max_Q=2, progress=False)
    assert (radius.certified[0] >= 1) == (results.verdict[0] == "robust")
    told = gcnproof.explain(model, one, 0, Q=1, q=1)
    assert told["graph"] == 0 and told["nodes"] <= 6 and "graph 0" in str(told)


@pytest.mark.parametrize(
    "readout, word",
    [
        (lambda: pyg.global_max_pool, "global_max_pool is not supported: .*maximum.*train with global_add_pool or global_mean_pool"),
        (lambda: pyg.aggr.MaxAggregation(), "MaxAggregation is not supported: .*maximum.*train with global_add_pool or global_mean_pool"),
        (lambda: lambda h, batch: pyg.aggr.SoftmaxAggregation()(h, batch), "SoftmaxAggregation is not supported: its weights.*train with global_add_pool"),
        (lambda: lambda h, batch: pyg.aggr.SortAggregation(1)(h, batch), "SortAggregation is not supported: .*train with global_add_pool"),
        (lambda: pyg.aggr.SortAggregation(1), "SortAggregation"),
        (lambda: pyg.aggr.AttentionalAggregation(nn.Linear(H, 1)), "AttentionalAggregation"),
        (lambda: lambda h, batch: h.sum(0, keepdim=True), "several graphs"),
        (lambda: lambda h, batch: pyg.global_add_pool(h, batch).relu()[batch].relu(), "back to nodes"),
    ],
)
def test_other_readouts_are_refused_by_name(readout, word):
    with pytest.raises(gcnproof.UnsupportedModel, match=word):
        gcnproof.from_pyg(shaken(Stack(sage(), readout())), graphs())


def test_other_attackers_are_refused_by_name():
    model, data = shaken(Stack(sage(1), pyg.global_add_pool)), graphs()
    with pytest.raises(gcnproof.InputError, match="classifies graphs"):
        gcnproof.collective(model, data, q=1, budgets=[1], progress=False)


def test_graphs_that_do_not_batch_are_named():
    model = shaken(Stack(sage(), pyg.global_add_pool))

    def changed(place, **parts):
        made = graphs()
        for key, part in parts.items():
            setattr(made[place], key, part)
        return made

    for place, parts, words in [
        (2, {"y": None}, r"the graph at place 2 has no `y`, but that at place 0 has one. Remedy: .*torch.tensor\(\[-1\]\)"),
        (0, {"y": None}, "the graph at place 0 has no `y`, but that at place 1 has one"),
        (3, {"x": None}, r"the graph at place 3 has no attributes \(`x`\)"),
        (1, {"x": graphs()[1].x[:, :2]}, "the graph at place 1 has 2 attributes, but the first one has"),
        (0, {"weight": torch.ones(1)}, "the graph at place 1 has no `weight`, but that at place 0 has one"),
    ]:
        with pytest.raises(gcnproof.InvalidData, match=words):
            gcnproof.from_pyg(model, changed(place, **parts))
    _, network = gcnproof.from_pyg(model, changed(2, y=torch.tensor([-1])))
    assert network.has_readout
    # What only later graphs have is not read.
    assert gcnproof.from_pyg(model, changed(2, name="benzene"))[1].has_readout
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'graph': node \(one id; that of a graph"):
        gcnproof.explain(model, graphs(), graph=2, Q=1, q=1)
    with pytest.raises(gcnproof.InputError, match="node is missing"):
        gcnproof.explain(model, graphs(), Q=1, q=1)
    assert gcnproof.explain(model, graphs(), node=2, Q=1, q=1)["graph"] == 2


def test_wrong_batches_are_named():
    batch = Batch.from_data_list(graphs())
    batch.y = torch.zeros(batch.num_nodes, dtype=torch.long)
    with pytest.raises(gcnproof.InvalidData, match="6 graphs"):
        gcnproof.from_pyg(shaken(Stack(sage(), pyg.global_add_pool)), batch)
    batch = Batch.from_data_list(graphs())
    batch.batch = batch.batch.flip(0)
    with pytest.raises(gcnproof.InvalidData, match="0, 1, 2"):
        gcnproof.from_pyg(shaken(Stack(sage(), pyg.global_add_pool)), batch)
    with pytest.raises(gcnproof.InputError, match="batch"):
        gcnproof.Graph(np.zeros((3, 3)), np.zeros((3, 2)), batch=[0, 2, 2])
    with pytest.raises(gcnproof.InputError, match="2 graphs"):
        gcnproof.Graph(np.zeros((3, 3)), np.zeros((3, 2)), [0, 1, 0], batch=[0, 0, 1])


@pytest.mark.parametrize("name", ["SAGE sum", "SAGE mean", "GCN"])
@pytest.mark.parametrize("kind", ["remove", "insert", "change"])
def test_edges_of_graphs_are_changed_one_by_one(name, kind, tmp_path):
    model, data = shaken(MODELS[name]()).double(), graphs()
    batch = Batch.from_data_list(data)
    proofs, attack = tmp_path / "proofs.jsonl", gcnproof.Edges(**{kind: 1}, **({} if kind == "insert" else {"keep_one_edge": False}))
    results = gcnproof.certify(model, data, attack, complete=True, proofs=proofs, progress=False)

    def logits(edge_index):
        other = batch.clone()
        other.x, other.edge_index = batch.x.double(), edge_index
        with torch.no_grad():
            return model(other) if isinstance(model, Stack) else model(other.x, edge_index, batch.batch)

    clean = logits(batch.edge_index).argmax(1)
    there = {(int(a), int(b)) for a, b in batch.edge_index.T.tolist()}
    broken = torch.zeros(len(data), dtype=torch.bool)
    for a in range(batch.num_nodes):
        for b in range(a + 1, batch.num_nodes):
            if batch.batch[a] == batch.batch[b] and kind in ("change", "remove" if (a, b) in there else "insert"):
                edges = sorted(there ^ {(a, b), (b, a)})
                broken |= logits(torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T).argmax(1) != clean
    assert (results.verdict == np.where(broken, "non_robust", "robust")).all()
    for at in np.flatnonzero(results.verdict == "non_robust").tolist():
        assert logits(results.apply(at))[at].argmax() != clean[at]
    assert gcnproof.check(model, data, proofs, attack, progress=False).proved
