"""Rows of 0/1 attributes divided by their sums, in `data.x` or in the module: certified, replayed, and compared with brute force in fractions."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import gcnproof
from gcnproof.errors import GcnproofWarning, InputError, InvalidData, UnsupportedModel
from gcnproof.normalisation import recognised
from numpy_logits import rule_matrix
from pyg_cases import ATTRIBUTES as D
from pyg_cases import CLASSES as C
from pyg_cases import HIDDEN as H
from pyg_cases import graph, two
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric import transforms
from torch_geometric.data import Data

# The note on every reading, which the tests of notes expect by themselves.
pytestmark = pytest.mark.filterwarnings("ignore:.*divided by their sums")

NOTE = "rows of 0/1 divided by their sums"


def normalised(data):
    """What the transform makes of a graph."""
    return transforms.NormalizeFeatures()(data.clone())


def trained(module, data, steps=15):
    """A module after a few steps of training."""
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(module(data.x, data.edge_index), data.y).backward()
        optimizer.step()
    return module.eval()


def tiny(seed, nodes=5, attributes=4, classes=2):
    """A graph small enough for all attacks; its first row is empty, the second full, the third has one attribute."""
    random = torch.Generator().manual_seed(seed)
    x = (torch.rand(nodes, attributes, generator=random) < 0.6).float()
    x[0], x[1], x[2] = 0.0, 1.0, torch.eye(attributes)[seed % attributes]
    pairs = torch.combinations(torch.arange(nodes))
    pairs = pairs[torch.rand(len(pairs), generator=random) < 0.5].T
    return Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], 1), y=torch.randint(0, classes, (nodes,), generator=random))


class Exact:
    """A network in fractions, made of the floats that it has."""

    def __init__(self, graph, network):
        fractions = np.vectorize(lambda number: Fraction(float(number)), otypes=[object])

        def matrix(operator):
            if isinstance(operator, gcnproof.Polynomial):
                base, power, total = matrix(operator.base), fractions(np.eye(graph.node_count)), 0
                for coefficient in operator.coefficients:
                    total, power = total + Fraction(coefficient) * power, base.dot(power)
                return total
            return fractions((rule_matrix(operator, graph.adjacency) if isinstance(operator, str) else operator).toarray())

        def terms(layer):
            return [(term.source, matrix(term.operator), None if term.weight is None else fractions(term.weight)) for term in layer.terms]

        self.layers = [(layer.name, layer.activation, terms(layer), 0 if layer.bias is None else fractions(layer.bias)) for layer in network.layers]
        self.kind = {32: np.float32, 64: np.float64}[graph.normalised]

    def logits(self, ones):
        counts = np.maximum(ones.sum(1), 1)
        entries = [Fraction(float(self.kind(1) / self.kind(count))) for count in counts]
        known = {"x": np.array([[entry * int(one) for one in row] for entry, row in zip(entries, ones)], dtype=object)}
        for name, activation, terms, bias in self.layers:
            total = bias
            for source, operator, weight in terms:
                read = known[source] if weight is None else known[source].dot(weight)
                total = total + operator.dot(read)
            known[name] = np.where(total > 0, total, Fraction(0)) if activation == "relu" else total
        return known[name]


def attacks(ones, most, local):
    """All sets of at most `most` flips, at most `local` in a node."""
    places = list(itertools.product(range(ones.shape[0]), range(ones.shape[1])))
    for count in range(most + 1):
        for flips in itertools.combinations(places, count):
            if all(sum(node == one for node, _ in flips) <= local for one in {node for node, _ in flips}):
                changed = ones.copy()
                for node, attribute in flips:
                    changed[node, attribute] = 1 - changed[node, attribute]
                yield changed


def worst(exact, ones, most, local):
    """The least margin of every node over every other class; and the classes without an attack."""
    kept = least = None
    for changed in attacks(ones, most, local):
        found = exact.logits(changed)
        if kept is None:
            kept = [int(np.argmax(row)) for row in found]
        margins = [[row[own] - value for value in row] for own, row in zip(kept, found)]
        least = margins if least is None else [[min(a, b) for a, b in zip(old, new)] for old, new in zip(least, margins)]
    return kept, [[value for c, value in enumerate(row) if c != own] for own, row in zip(kept, least)]


def layered(kind):
    return {
        "gcn": lambda d, c: Small(pyg.GCNConv(d, 3), pyg.GCNConv(3, c)),
        "sage": lambda d, c: Small(pyg.SAGEConv(d, 3, aggr="sum"), pyg.SAGEConv(3, c, aggr="sum")),
        "gin": lambda d, c: Small(pyg.GINConv(nn.Sequential(nn.Linear(d, 3), nn.ReLU(), nn.Linear(3, 3))), pyg.GINConv(nn.Linear(3, c))),
    }[kind]


class Small(nn.Module):
    """Two layers with a ReLU between them; `first` makes of the attributes what the first layer reads."""

    def __init__(self, one, two, first=None):
        super().__init__()
        self.one, self.two, self.first = one, two, first

    def forward(self, x, edge_index):
        if self.first is not None:
            x = self.first(x)
        return self.two(F.relu(self.one(x, edge_index)), edge_index)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("kind", ["gcn", "sage", "gin"])
def test_every_attack_on_tiny_graphs(kind, double):
    """Verdicts and margins are those of brute force in exact fractions; witnesses break the module itself."""
    verdicts = []
    for seed in range(3):
        data = tiny(seed)
        if double:
            data.x = data.x.double()
        data = normalised(data)
        torch.manual_seed(seed)
        module = layered(kind)(data.num_features, 2)
        module = trained(module.double() if double else module, data)
        read, network = gcnproof.from_pyg(module, data)
        assert read.normalised == (64 if double else 32)
        exact, ones = Exact(read, network), read.attributes.toarray().astype(int)
        assert np.allclose(gcnproof.logits(network, read), exact.logits(ones).astype(float), rtol=0, atol=1e-9)
        for most, local in ((1, 1), (2, 2)):
            results = gcnproof.certify(module, data, Q=most, q=local, minimize=True, progress=False)
            assert results.verdict.tolist() == gcnproof.certify(module, data, Q=most, q=local, complete=True, progress=False).verdict.tolist()
            kept, least = worst(exact, ones, most, local)
            assert results.predicted.tolist() == kept
            for row in results:
                (margin,) = least[row.node]
                verdicts.append(row.verdict)
                # The last bit of an operator's entry may be another: sums have none.
                assert abs(Fraction(row.exact_margins[0]) - margin) <= (Fraction(1, 10**9) if kind == "gcn" else 0)
                if abs(margin) > 1e-9:
                    assert row.verdict == ("robust" if margin > 0 else "non_robust")
                if row.verdict == "non_robust" and margin < -1e-4:
                    with torch.no_grad():
                        assert module(results.apply(row.node), data.edge_index)[row.node].argmax() != row.predicted
    assert {"robust", "non_robust"} <= set(verdicts) and "undecided" not in verdicts


@pytest.mark.parametrize("make", [lambda: two(pyg.GCNConv), lambda: two(pyg.SAGEConv), lambda: pyg.GIN(D, H, 2, C)])
def test_witnesses_break_the_module(make):
    torch.manual_seed(3)
    data = normalised(graph(seed=3, nodes=40))
    model = trained(make(), data)
    results = gcnproof.certify(model, data, Q=2, q=1, complete=True, progress=False)
    assert "undecided" not in results.verdict and len(set(results.verdict)) == 2
    broken = results.node[results.verdict == "non_robust"].tolist()
    with torch.no_grad():
        before = model(data.x, data.edge_index).argmax(1)
        changed = {node: results.apply(node) for node in broken}
        after = torch.stack([model(changed[node], data.edge_index)[node].argmax() for node in broken])
    assert (after != before[broken]).float().mean() > 0.9
    for node, x in changed.items():
        assert x.dtype == data.x.dtype and recognised(gcnproof.graph._csr(x, "x")) == 32
        assert len(((x > 0) != (data.x > 0)).nonzero()) == len(results[node].witness)


# In the module.

FORMS = {
    "clamped": lambda x: x / x.sum(-1, keepdim=True).clamp(min=1),
    "plain": lambda x: x / x.sum(dim=1, keepdim=True),
    "normalize": lambda x: F.normalize(x, p=1, dim=-1),
    "in place": lambda x: x.clone().div_(x.sum(dim=-1, keepdim=True).clamp_(min=1.0)),
    "functions": lambda x: torch.div(x, torch.clamp(torch.sum(x, dim=1, keepdim=True), min=1e-6)),
    "cast": lambda x: F.normalize(x.float(), p=1.0),
}


def filled(seed, nodes=20):
    """A graph whose rows have at least three attributes."""
    data = graph(seed=seed, nodes=nodes)
    data.x[:, :3] = 1.0
    return data


@pytest.mark.parametrize("form", FORMS)
def test_rows_divided_in_the_module(form):
    """The same graph, network and verdicts as with the transform."""
    torch.manual_seed(5)
    data = filled(5)
    own = trained(Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), FORMS[form]), data)
    bare = Small(own.one, own.two).eval()
    with pytest.warns(GcnproofWarning, match=f"in the module: {NOTE}"):
        inside, network = gcnproof.from_pyg(own, data)
    outside, other = gcnproof.from_pyg(bare, normalised(data))
    assert inside.normalised == outside.normalised == 32 and inside.digest == outside.digest
    assert np.array_equal(gcnproof.logits(network, inside), gcnproof.logits(other, outside))
    results = gcnproof.certify(own, data, Q=2, q=2, complete=True, progress=False)
    same = gcnproof.certify(bare, normalised(data), Q=2, q=2, complete=True, progress=False)
    assert results.verdict.tolist() == same.verdict.tolist() and len(set(results.verdict)) == 2
    # The module divides what it is given: witnesses are 0/1.
    for node in results.node[results.verdict == "non_robust"].tolist():
        x = results.apply(node)
        assert set(x.unique().tolist()) <= {0.0, 1.0}
        if results[node].margins[0].upper is not None and results[node].margins[0].upper < -1e-4:
            with torch.no_grad():
                assert own(x, data.edge_index)[node].argmax() != results[node].predicted


def test_results_of_a_dividing_module_are_loaded_with_its_data(tmp_path):
    data = filled(6)
    torch.manual_seed(6)
    model = trained(Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), FORMS["clamped"]), data)
    results = gcnproof.certify(model, data, Q=3, q=3, complete=True, progress=False)
    results.save(tmp_path / "results.jsonl")
    node = results.node[results.verdict == "non_robust"][0]
    assert torch.equal(gcnproof.load(tmp_path / "results.jsonl", graph=data).apply(node), results.apply(node))


def test_double_data_are_divided_in_float64():
    data = filled(7)
    data.x = data.x.double()
    model = Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), FORMS["clamped"]).double()
    assert gcnproof.from_pyg(model, data)[0].normalised == 64
    model.first = lambda x: FORMS["clamped"](x.float()).double()
    # The copy divides in float32, which is another network in float64.
    with pytest.raises(UnsupportedModel):
        gcnproof.from_pyg(model, data)


def test_an_unknown_precision_is_refused():
    # The weights of the copy are float64, whatever the module's own are.
    class Casting(Small):
        def forward(self, x, edge_index):
            return super().forward(F.normalize(x.to(self.one.bias.dtype), p=1), edge_index)

    with pytest.raises(UnsupportedModel, match="precision that is not known"):
        gcnproof.from_pyg(Casting(pyg.GCNConv(D, H), pyg.GCNConv(H, C)), filled(8))


def test_quotients_are_not_cast_to_a_shorter_type():
    data = filled(8)
    casting = Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), lambda x: x.float())
    with pytest.raises(UnsupportedModel, match=r"divided in float64.*\n?.*`data.x = data.x.float\(\)`"):
        gcnproof.from_pyg(casting, normalised(Data(x=data.x.double(), edge_index=data.edge_index)))
    assert gcnproof.from_pyg(casting, normalised(data))[0].normalised == 32
    data.x = data.x.double()
    casting.first = lambda x: F.normalize(x, p=1).float()
    with pytest.raises(UnsupportedModel, match="divided in float64"):
        gcnproof.from_pyg(casting, data)
    casting.first = lambda x: F.normalize(x.float(), p=1)
    assert gcnproof.from_pyg(casting, data)[0].normalised == 32


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (lambda x: x / x.sum(0, keepdim=True), "over nodes"),
        (lambda x: x / (x.sum(-1, keepdim=True) + 1), "divides by what depends on the attributes"),
        (lambda x: x / x.sum(-1, keepdim=True).clamp(min=2), "divides by what depends on the attributes"),
        (lambda x: x / x.mean(-1, keepdim=True), "divides by what depends on the attributes"),
        (lambda x: (x + 1) / x.sum(-1, keepdim=True), "divides by what depends on the attributes"),
        (lambda x: (2 * x) / x.sum(-1, keepdim=True), "divides by what depends on the attributes"),
        (lambda x: x / (2 * x).sum(-1, keepdim=True), "divides by what depends on the attributes"),
        (lambda x: x[:, :4] / x.sum(-1, keepdim=True), "divides by what depends on the attributes"),
        (lambda x: x / x[:, :4].sum(-1, keepdim=True), "divides by what depends on the attributes"),
        (lambda x: x / x.sum(-1, keepdim=True).clamp(min=1).add_(1), "divides by what depends on the attributes"),
        (lambda x: 1 / x.sum(-1, keepdim=True) * x, "divides by what depends on the attributes"),
        (lambda x: F.normalize(F.normalize(x, p=1), p=1), "divides by what depends on the attributes"),
        (lambda x: F.normalize(x + 1, p=1), "divides by what depends on the attributes"),
        (lambda x: x / x.sum(-1), "keepdim=True"),
        (lambda x: F.normalize(x), "normalize"),
        (lambda x: F.normalize(x, p=1, dim=0), "normalize"),
        (lambda x: x + F.normalize(x, p=1), "both as they are and divided"),
        (lambda x: torch.cat([x, F.normalize(x, p=1)], 1)[:, 2 : 2 + D], "both as they are and divided"),
    ],
)
def test_other_divisions_are_refused(first, words):
    with pytest.raises(UnsupportedModel, match=words):
        gcnproof.from_pyg(Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), first), filled(9))


def test_rows_divided_twice_are_refused():
    data = normalised(filled(9))
    for form in ("clamped", "plain", "normalize"):
        with pytest.raises(UnsupportedModel, match="divided by their sums already"):
            gcnproof.from_pyg(Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), FORMS[form]), data)


def test_a_budget_that_empties_rows_needs_a_clamp():
    data = filled(10)
    model = Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C), FORMS["plain"])
    data.x[4] = 0.0
    data.x[4, :2] = 1.0
    for asked in ({"Q": 2, "q": 2}, {"Q": 9, "q": 0.25}, {"Q": 2, "q": 2, "flips": "remove"}):
        with pytest.raises(InputError, match=r"node 4 has 2.*\n.*\.clamp\(min=1\)"):
            gcnproof.certify(model, data, **asked, progress=False)
    with pytest.raises(InputError, match="node 4 has 2"):
        gcnproof.radius(model, data, q=2, progress=False)
    for asked in ({"Q": 2, "q": 2, "flips": "add"}, {"Q": 1, "q": 2}, {"Q": 4, "q": 1}, {"Q": 2, "q": 2, "freeze_nodes": [4]}, {"Q": 2, "q": 2, "freeze_attributes": [1]}):
        gcnproof.certify(model, data, **asked, nodes=[0], progress=False)
    data.x[4] = 0.0
    with pytest.raises(UnsupportedModel, match="node 4 has no attributes"):
        gcnproof.from_pyg(model, data)
    model.first = FORMS["clamped"]
    gcnproof.certify(model, data, Q=9, q=9, nodes=[0], time_limit=0.1, progress=False)


# What is recognised.


def model():
    torch.manual_seed(1)
    return Small(pyg.GCNConv(D, H), pyg.GCNConv(H, C)).eval()


def test_a_note_says_so():
    data = normalised(graph())
    with pytest.warns(GcnproofWarning, match=f"`data.x`: {NOTE} \\(32 bits\\)"):
        read, _ = gcnproof.from_pyg(model(), data)
    with pytest.warns(GcnproofWarning, match=f"attributes: {NOTE} \\(32 bits\\)"):
        assert gcnproof.Graph.from_data(data).digest == read.digest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gcnproof.from_pyg(model(), graph())[0].normalised is None


def test_sparse_tensors_are_recognised():
    data = normalised(graph())
    digest = gcnproof.from_pyg(model(), data)[0].digest
    data.x = data.x.to_sparse()
    assert gcnproof.Graph.from_data(data).digest == digest


def test_wrong_values_are_named():
    for change, words in (
        (lambda x: torch.nextafter(x, torch.ones(())) * (x > 0), "not to the last bit"),
        (lambda x: torch.where(torch.arange(len(x))[:, None] == 3, (x > 0).float(), x), "weighted"),
        (lambda x: torch.cat([x[:6].double(), x[6:].double() / x[6:].double().sum(-1, keepdim=True).clamp(min=1e-9)]), "not to the last bit|weighted"),
        (lambda x: x.half(), "not to the last bit"),
        (lambda x: x.bfloat16(), "not to the last bit"),
        (lambda x: -x, "weighted|continuous"),
        (lambda x: torch.where(x > 0, torch.full_like(x, float("nan")), x), "not numbers everywhere"),
        (lambda x: torch.rand(x.shape), "continuous"),
        (lambda x: F.normalize(x * (1 + torch.arange(D)), p=1), "entries of a row differ"),
    ):
        data = normalised(graph())
        data.x = change(data.x)
        with pytest.raises(InvalidData, match=words) as error:
            gcnproof.from_pyg(model(), data)
        assert "Remedy" in str(error.value) and "remove `T.Norm" not in str(error.value)
        with pytest.raises(InputError, match="neither 0 nor 1|not a finite number"):
            gcnproof.Graph.from_data(data, symmetrize=True)


def test_what_is_not_decided_for_them_says_so(tmp_path):
    data = normalised(graph())
    with pytest.raises(InputError, match="divided by their sums"):
        gcnproof.collective(model(), data, q=1, budgets=[1], progress=False)


def test_divided_rows_are_decided_as_deployed(tmp_path):
    data, module, proofs = normalised(graph()), model(), tmp_path / "proofs.jsonl"
    results = gcnproof.certify(module, data, Q=1, q=1, complete=True, deployed="float32", proofs=proofs, progress=False)
    assert {"robust", "non_robust"} & set(results.deployed) and "undecided" not in results.deployed
    assert gcnproof.check(module, data, proofs, Q=1, q=1, deployed="float32", progress=False).proved
    clean = module(data.x, data.edge_index).argmax(1)
    for node in results.node[results.deployed == "non_robust"].tolist():
        assert module(results.apply(node), data.edge_index)[node].argmax() != clean[node]


def test_edges_leave_divided_rows_as_they_are(tmp_path):
    data, module, attack = normalised(graph()), model().double(), gcnproof.Edges(remove=1)
    proofs = tmp_path / "proofs.jsonl"
    results = gcnproof.certify(module, data, attack, complete=True, proofs=proofs, progress=False)
    assert gcnproof.check(module, data, proofs, attack, progress=False).proved
    x, edges = data.x.double(), {(int(a), int(b)) for a, b in data.edge_index.T.tolist()}
    clean = module(x, data.edge_index).argmax(1)
    assert "undecided" not in results.verdict
    for node in results.node[results.verdict == "non_robust"].tolist():
        assert module(x, results.apply(node))[node].argmax() != clean[node]
    for node in results.node[results.verdict == "robust"].tolist():
        for a, b in (pair for pair in edges if pair[0] < pair[1]):
            left = edges - {(a, b), (b, a)}
            alone = any(not any(end in pair for pair in left) for end in (a, b))
            changed = torch.tensor(sorted(left), dtype=torch.long).T
            assert alone or module(x, changed)[node].argmax() == clean[node]
