"""Attributes that are numbers, moved within ranges: witnesses are replayed, and many moves are tried on small graphs."""

import copy

import numpy as np
import pytest
from scipy import sparse

import gcnproof
from gcnproof import Ranges


def problem(seed: int):
    """A small graph whose attributes are numbers, and a network of two layers."""
    random = np.random.default_rng(seed)
    nodes, attributes = 5, 4
    links = np.triu(random.random((nodes, nodes)) < 0.5, 1)
    x = random.normal(size=(nodes, attributes)).round(2)
    x[random.random(x.shape) < 0.3] = 0
    graph = gcnproof.Graph(sparse.csr_matrix((links | links.T).astype(np.int8)), x, real=True)
    layers = [
        gcnproof.Layer("hidden", [gcnproof.Term("x", "gcn", random.normal(size=(attributes, 4)))], random.normal(size=4)),
        gcnproof.Layer("logits", [gcnproof.Term("hidden", "gcn", random.normal(size=(4, 3)))], 0.1 * random.normal(size=3), "none"),
    ]
    return graph, gcnproof.Network(layers), x


def attacks(x):
    return (
        Ranges(epsilon=0.1),
        Ranges(Q=2, q=1, epsilon=0.5),
        Ranges(Q=1, q=1, observed=True),
        Ranges(Q=2, q=2, low=x.min() - 1, high=x.max(0) + 1),
        Ranges(Q=0, q=1, epsilon=1),
    )


def limits(attack, x):
    """Between which numbers entries may lie."""
    if attack.epsilon is not None:
        return x - attack.epsilon, x + attack.epsilon
    if attack.observed:
        return np.broadcast_to(x.min(0), x.shape), np.broadcast_to(x.max(0), x.shape)
    return np.broadcast_to(attack.low, x.shape), np.broadcast_to(attack.high, x.shape)


def moved(attack, x, random):
    """A random admissible change."""
    low, high = limits(attack, x)
    most = x.size if attack.Q is None else attack.Q
    local = x.shape[1] if attack.q is None else attack.q
    entries = [(n, d) for n in range(len(x)) for d in random.permutation(x.shape[1])[:local]]
    changed = x.copy()
    for n, d in random.permutation(entries)[:most]:
        changed[n, d] = random.choice([low[n, d], high[n, d], random.uniform(low[n, d], high[n, d])])
    return changed


@pytest.mark.parametrize("seed", range(6))
def test_moves_are_tried_and_witnesses_replayed(seed, tmp_path):
    graph, network, x = problem(seed)
    random = np.random.default_rng(seed)
    plain = gcnproof.logits(network, graph)
    verifier = gcnproof.Verifier(network, graph)
    for attack in attacks(x):
        results = verifier.certify(attack)
        assert not (results.verdict == "undecided").any()
        for _ in range(30):
            logits = gcnproof.logits(network, gcnproof.Graph(graph.adjacency, moved(attack, x, random), real=True))
            kept = logits.argmax(1) == plain.argmax(1)
            assert kept[results.robust].all()
        low, high = limits(attack, x)
        for row in results:
            assert (row.witness_values is not None) and len(row.witness_values) == len(row.witness)
            if row.verdict == "non_robust":
                changed = results.apply(row.node).toarray()
                assert (changed != x).sum() <= (x.size if attack.Q is None else attack.Q)
                assert (changed >= low - 1e-12).all() and (changed <= high + 1e-12).all()
                logits = gcnproof.logits(network, gcnproof.Graph(graph.adjacency, changed, real=True))[row.node]
                assert row.reason == "tie" or logits.argmax() != row.predicted
        results.save(tmp_path / "rows.parquet", force=True)
        loaded = gcnproof.load(tmp_path / "rows.parquet", graph=graph)
        assert [row.witness_values for row in loaded] == [row.witness_values for row in results]
        assert "moved" in str(results) and "moved" in repr(loaded)
        # Proofs answer the question, and no larger one.
        proofs = tmp_path / "proofs.jsonl"
        verifier.certify(attack, proofs=proofs, out=tmp_path / "out.parquet", force=True)
        checked = verifier.check(proofs, attack)
        assert checked.proved and checked.verdicts == {row.node: "tie" if row.reason == "tie" else row.verdict for row in results}
        if attack.epsilon is not None and attack.Q != 0:
            larger = verifier.check(proofs, Ranges(Q=attack.Q, q=attack.q, epsilon=2 * attack.epsilon))
            assert larger.success is False or not results.robust.any()
        # A radius and a verdict say the same.
        radii = verifier.radius(attack, max_Q=attack.Q) if attack.Q else None
        if radii is not None:
            assert ((radii.certified >= attack.Q) == results.robust).all()


def test_files_and_copies(tmp_path):
    graph, network, x = problem(1)
    graph.save(tmp_path / "graph.npz")
    with pytest.raises(gcnproof.InputError, match="Ranges"):
        gcnproof.Graph.load(tmp_path / "graph.npz")
    read = gcnproof.Graph.load(tmp_path / "graph.npz", real=True)
    assert read.digest == graph.digest == copy.deepcopy(graph).digest and read.real and (read.attributes.toarray() == x).all()
    network.save(tmp_path / "model.safetensors")
    attack = Ranges(Q=2, q=1, epsilon=0.5)
    rows = gcnproof.certify(tmp_path / "model.safetensors", tmp_path / "graph.npz", attack)
    assert (rows.verdict == gcnproof.certify(network, graph, attack).verdict).all()
    # Attacks on edges leave numbers as they are.
    assert len(gcnproof.certify(network, graph, gcnproof.Edges(remove=1))) == 5


def test_smallest_margins():
    graph, network, _ = problem(1)
    attack = Ranges(Q=2, q=1, epsilon=0.5)
    usual, least = gcnproof.certify(network, graph, attack), gcnproof.certify(network, graph, attack, minimize=True)
    assert (usual.verdict == least.verdict).all()
    for before, row in zip(usual, least):
        for first, margin in zip(before.margins, row.margins):
            assert (first.lower is None or margin.lower >= first.lower) and margin.upper <= first.upper
            assert margin.lower <= margin.upper
    told = gcnproof.explain(network, graph, 0, attack)
    assert told["verdict"] == least[0].verdict and "worst case" in str(told)


@pytest.mark.filterwarnings("ignore:weights or biases:gcnproof.GcnproofWarning")
def test_as_deployed_with_proofs_and_a_page(tmp_path):
    graph, network, _ = problem(2)
    attack, proofs, page = Ranges(Q=2, q=1, epsilon=0.5), tmp_path / "proofs.jsonl", tmp_path / "page.html"
    exact = gcnproof.certify(network, graph, attack)
    results = gcnproof.certify(network, graph, attack, deployed="float32", proofs=proofs, out=tmp_path / "rows.parquet")
    assert (results.verdict == exact.verdict).all() and set(results.deployed) <= {"robust", "non_robust", "rounding_dependent"}
    for row in results:
        assert row.rounding and all(np.float32(value) == value for value in row.witness_values) or row.deployed != "non_robust"
    assert [row.deployed for row in gcnproof.load(tmp_path / "rows.parquet")] == list(results.deployed)
    assert gcnproof.check(network, graph, proofs, attack, deployed="float32").proved
    assert not gcnproof.check(network, graph, proofs, attack, deployed=gcnproof.Execution(operator_error=1000)).proved
    assert "as deployed" in str(gcnproof.explain(network, graph, 0, attack, deployed="float32"))
    gcnproof.report(results, out=page, graph=graph)
    assert "What attackers move" in page.read_text()


def test_what_does_not_fit():
    graph, network, x = problem(0)
    for wrong, words in (
        (lambda: Ranges(), "not to which values"),
        (lambda: Ranges(Q=1, epsilon=1, observed=True), "epsilon and observed"),
        (lambda: Ranges(Q=1, low=1), "low alone"),
        (lambda: Ranges(epsilon=float("nan")), "epsilon=nan"),
        (lambda: Ranges(epsilon="1"), "epsilon='1'"),
        (lambda: Ranges(Q=-1, epsilon=1), "Q"),
        (lambda: gcnproof.certify(network, graph, Ranges(epsilon=-1)), "epsilon=-1"),
        (lambda: gcnproof.certify(network, graph, Ranges(low=[0, 1], high=2)), "one for each of the 4 attributes"),
        (lambda: gcnproof.certify(network, graph, Ranges(low=0, high=0)), "does not contain"),
        (lambda: gcnproof.certify(network, graph, Ranges(low=9, high=-9)), "goes from"),
        (lambda: gcnproof.certify(network, graph, Q=1, q=1), r"Ranges\(epsilon"),
        (lambda: gcnproof.certify(network, graph, Ranges(epsilon=1), Q=1), r"beside Ranges"),
        (lambda: gcnproof.collective(network, graph, 3, Ranges(epsilon=1)), "Ranges"),
        (lambda: gcnproof.logits(network, graph, [(0, 0)]), "numbers"),
        (lambda: gcnproof.Graph(graph.adjacency, x), "Ranges"),
        (lambda: gcnproof.Graph(graph.adjacency, np.where(x > 0, np.nan, x), real=True), "not a finite"),
        (lambda: gcnproof.Graph(graph.adjacency, x * 1e-300, real=True).digest, "out of range"),
        (lambda: graph.grouped([[0, 1]]), "numbers"),
    ):
        with pytest.raises(gcnproof.InputError, match=words):
            wrong()
    with pytest.raises(TypeError, match="Ranges"):
        gcnproof.certify(network, graph, epsilon=0.1)
    # Zeros and ones are numbers as well.
    ones = gcnproof.Graph(graph.adjacency, (x > 0).astype(float))
    assert len(gcnproof.certify(network, ones, Ranges(Q=1, q=1, low=0, high=1))) == 5


def test_modules_of_torch():
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric")
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self, graphs):
            super().__init__()
            self.one = geometric.nn.GCNConv(6, 8)
            self.two = geometric.nn.GCNConv(8, 3)
            self.graphs = graphs

        def forward(self, x, edge_index, batch=None):
            x = self.two(self.one(x, edge_index).relu(), edge_index)
            return geometric.nn.global_mean_pool(x, batch) if self.graphs else x

    def data(nodes):
        edges = torch.randint(0, nodes, (2, 3 * nodes))
        edges = geometric.utils.to_undirected(geometric.utils.remove_self_loops(edges)[0])
        return geometric.data.Data(x=torch.randn(nodes, 6), edge_index=edges)

    broken = 0
    for graphs in (False, True):
        model = Net(graphs).eval()
        given = geometric.data.Batch.from_data_list([data(5) for _ in range(6)]) if graphs else data(30)
        with pytest.raises(gcnproof.InvalidData, match=r"Ranges\(epsilon"):
            gcnproof.certify(model, given, Q=1, q=1)
        with pytest.raises(gcnproof.InputError, match=r"Ranges\(epsilon"):
            gcnproof.Verifier(model, given).certify(Q=1, q=1)
        for attack in (Ranges(epsilon=0.05), Ranges(Q=1, q=1, observed=True), Ranges(Q=4, q=2, epsilon=1.0)):
            results = gcnproof.certify(model, given, attack)
            with torch.no_grad():
                plain = model(given.x, given.edge_index, given.batch).argmax(1)
                for row in results:
                    if row.verdict == "non_robust":
                        x = results.apply(row.node)
                        assert x.dtype == given.x.dtype and x.shape == given.x.shape
                        assert model(x, given.edge_index, given.batch)[row.node].argmax() != plain[row.node]
                        broken += 1
    assert broken > 10


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_values_in_the_type_of_the_data_stay_in_their_ranges(name):
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric")
    torch.manual_seed(4)
    edges = geometric.utils.to_undirected(torch.randint(0, 12, (2, 20)))
    data = geometric.data.Data(x=torch.randn(12, 5).to(getattr(torch, name)), edge_index=edges)
    model, epsilon = geometric.nn.GCN(5, 4, 2, 3).eval(), 0.7
    results = gcnproof.certify(model, data, Ranges(epsilon=epsilon), progress=False)
    broken = results.node[results.verdict == "non_robust"].tolist()
    assert len(broken) > 3
    for node in broken:
        x, row = results.apply(node), results[node]
        assert x.dtype == data.x.dtype and ((x.double() - data.x.double()).abs() <= epsilon).all()
        places = torch.tensor(row.witness).T
        assert (x[tuple(places)] != data.x[tuple(places)]).all()
        if name in ("float32", "float64"):
            double = model.double()(x.double(), edges)[node].argmax()
            assert double != row.predicted
            model.float()


def test_modules_that_divide_rows():
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = geometric.nn.GCNConv(6, 3)

        def forward(self, x, edge_index):
            return self.one(x / x.sum(-1, keepdim=True).clamp(min=1), edge_index)

    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    with pytest.raises(gcnproof.UnsupportedModel, match="divides rows"):
        gcnproof.certify(Net().eval(), geometric.data.Data(x=torch.rand(3, 6), edge_index=edges), Ranges(epsilon=0.1))
    ones = geometric.data.Data(x=torch.ones(3, 6), edge_index=edges)
    with pytest.warns(gcnproof.GcnproofWarning), pytest.raises(gcnproof.InputError, match="divides their rows"):
        gcnproof.certify(Net().eval(), ones, Ranges(epsilon=0.1))
