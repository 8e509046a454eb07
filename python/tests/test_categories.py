"""One-hot attributes: categories are changed, and every change is tried on small graphs."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import gcnproof


def problem(seed: int):
    """A small graph with two groups of categories and one attribute beside them, and a network of two layers."""
    random = np.random.default_rng(seed)
    nodes, groups = 5, [[0, 1, 2], [3, 4]]
    links = np.triu(random.random((nodes, nodes)) < 0.5, 1)
    x = np.zeros((nodes, 6))
    for row in x:
        for group in groups:
            row[random.choice(group)] = 1
        row[5] = random.random() < 0.5
    if seed % 2:
        x[0, 3:5] = 0  # None of the second group.
    graph = gcnproof.Graph(sparse.csr_matrix((links | links.T).astype(np.int8)), sparse.csr_matrix(x))
    dtype = np.float32 if seed % 3 else np.float64
    weights = [random.normal(size=size).astype(dtype).astype(float) for size in ((6, 4), (4, 3))]
    layers = [
        gcnproof.Layer("hidden", [gcnproof.Term("x", "gcn", weights[0])], random.normal(size=4)),
        gcnproof.Layer("logits", [gcnproof.Term("hidden", "gcn", weights[1])], 0.1 * random.normal(size=3), "none"),
    ]
    return graph, gcnproof.Network(layers), groups, x


def rows_after(x, groups, changes):
    """The attributes with the category of group `g` of row `n` replaced by `new`."""
    changed = x.copy()
    for (node, group), new in changes:
        changed[node, groups[group]] = 0
        if new is not None:
            changed[node, new] = 1
    return changed


@pytest.mark.parametrize("seed", range(8))
def test_every_change_is_tried(seed, tmp_path):
    graph, network, groups, x = problem(seed)
    places = list(itertools.product(range(5), range(2)))
    spare = [None] if seed % 2 else []
    options = {place: groups[place[1]] + (spare if place[1] == 1 else []) for place in places}
    plain = gcnproof.logits(network, graph)
    lowest = np.full(plain.shape, np.inf)
    for size in range(3):
        for chosen in itertools.combinations(places, size):
            if any(sum(node == other for other, _ in chosen) > 1 for node, _ in chosen):
                continue
            for new in itertools.product(*(options[place] for place in chosen)):
                changed = gcnproof.Graph(graph.adjacency, sparse.csr_matrix(rows_after(x, groups, zip(chosen, new, strict=True))))
                logits = gcnproof.logits(network, changed)
                own = logits[np.arange(5), plain.argmax(1)]
                lowest = np.minimum(lowest, own[:, None] - logits)
    lowest[np.arange(5), plain.argmax(1)] = np.inf
    attack = gcnproof.Categories(Q=2, q=1, groups=groups)
    proofs = tmp_path / "proofs.jsonl"
    results = gcnproof.certify(network, graph, attack, minimize=True, proofs=proofs)
    for result in results:
        margins = {margin.class_: margin for margin in result.margins}
        least = min(lowest[result.node])
        assert result.verdict == ("robust" if least > 0 else "non_robust")
        assert min(margin.lower for margin in margins.values()) == pytest.approx(least, abs=1e-9)
        if result.verdict == "non_robust":
            broken = gcnproof.logits(network, gcnproof.Graph(graph.adjacency, results.apply(result.node)))[result.node]
            assert broken.argmax() != result.predicted
    checked = gcnproof.check(network, graph, proofs, attack)
    assert checked.success and sum(checked.accepted.values()) == 5
    explanation = gcnproof.explain(network, graph, 0, attack)
    assert "0" in str(explanation)


def test_what_does_not_fit():
    graph, network, groups, _ = problem(0)
    for wrong, words in (
        ([[0, 1], [1, 2]], "attribute 1 is in groups 0 and 1"),
        ([[0, 1, 9]], "attribute 9"),
        ([[0, 1, 2, 3, 4]], "has both"),
        ([-1] * 6, "no attribute"),
        ([0, 0, 0], "3 numbers"),
        (5, "groups=5"),
    ):
        with pytest.raises(gcnproof.InputError, match=words):
            gcnproof.certify(network, graph, gcnproof.Categories(Q=1, q=1, groups=wrong))
    with pytest.raises(gcnproof.InputError, match="without groups"):
        gcnproof.certify(network, graph, gcnproof.Categories(Q=1, q=1))
    with pytest.raises(gcnproof.InputError, match="direction"):
        gcnproof.Categories(Q=1, q=1, groups=groups, direction="add")
    with pytest.raises(gcnproof.InputError, match="flip them one by one"):
        gcnproof.certify(network, graph.grouped(groups), Q=1, q=1)
    with pytest.raises(gcnproof.GcnproofError, match="categories"):
        gcnproof.certify(network, graph.grouped(groups), gcnproof.Edges(remove=1))


def test_files_keep_groups(tmp_path):
    graph, network, groups, _ = problem(1)
    grouped = graph.grouped(groups)
    grouped.save(tmp_path / "graph.npz")
    with pytest.warns(gcnproof.GcnproofWarning, match="one-hot"):
        read = gcnproof.Graph.load(tmp_path / "graph.npz")
    assert read.digest == grouped.digest != graph.digest
    assert read.groups == [0, 0, 0, 1, 1, -1] and read.attribute_count == 6
    network.save(tmp_path / "model.safetensors")
    rows = gcnproof.certify(tmp_path / "model.safetensors", read, gcnproof.Categories(Q=2, q=2))
    assert [row.verdict for row in rows] == [row.verdict for row in gcnproof.certify(network, graph, gcnproof.Categories(Q=2, q=2, groups=groups))]


def test_other_groups_than_those_of_the_graph(tmp_path):
    """A network that was read on a graph with groups is widened anew for others."""
    graph, network, groups, _ = problem(0)
    terms = [gcnproof.Term("x", rule, network.layers[0].terms[0].weight) for rule in ("gcn", "identity")]
    network = gcnproof.Network([gcnproof.Layer("hidden", terms), network.layers[1]])
    wanted = gcnproof.certify(network, graph, gcnproof.Categories(Q=2, q=1, groups=groups[:1]), minimize=True)
    found = gcnproof.certify(network, graph.grouped(groups), gcnproof.Categories(Q=2, q=1, groups=groups[:1]), minimize=True)
    assert [row.margins for row in found] == [row.margins for row in wanted]


def test_one_group_of_two_attributes():
    graph = gcnproof.Graph(np.zeros((2, 2)), np.eye(2))
    network = gcnproof.Network([gcnproof.Layer("out", [gcnproof.Term("x", "gcn", np.eye(2))], None, "none")])
    for group in ([0, 1], (0, 1), range(2)):
        results = gcnproof.certify(network, graph, gcnproof.Categories(Q=1, q=1, groups=[group]))
        assert [row.verdict for row in results] == ["non_robust"] * 2


def test_proofs_are_about_the_groups_of_their_run(tmp_path):
    graph, network, groups, _ = problem(2)
    asked = gcnproof.Categories(Q=1, q=1, groups=groups)
    gcnproof.certify(network, graph, asked, proofs=tmp_path / "proofs.jsonl", progress=False)
    for other in (gcnproof.Flips(Q=1, q=1), gcnproof.Categories(Q=1, q=1, groups=groups[:1])):
        found = gcnproof.check(network, graph, tmp_path / "proofs.jsonl", other, progress=False)
        assert not found and "groups of categories are part of a graph" in repr(found) and "Categories(…, groups=…)" in repr(found)
    assert gcnproof.check(network, graph, tmp_path / "proofs.jsonl", asked, progress=False).proved
