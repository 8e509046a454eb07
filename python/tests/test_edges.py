"""Removed edges from Python: against brute force, in every form, with proofs; and what is refused."""

import itertools

import numpy as np
import pytest
from conftest import small
from scipy import sparse
from test_certify import forward

import gcnproof


def edges_of(graph):
    """All edges, the smaller id first."""
    linked = sparse.triu(graph.adjacency, 1).tocoo()
    return sorted(zip(linked.row.tolist(), linked.col.tolist(), strict=True))


def left(graph, removed):
    """The graph without some edges."""
    linked = graph.adjacency.toarray()
    for a, b in removed:
        linked[a, b] = linked[b, a] = 0
    return gcnproof.Graph(sparse.csr_matrix(linked), graph.attributes, graph.labels)


def admissible(graph, E, e, keep):
    """All sets of removals, from the definition."""
    degree = np.asarray(graph.adjacency.sum(1)).ravel()
    for size in range(E + 1):
        for removed in itertools.combinations(edges_of(graph), size):
            lost = np.bincount(np.array(removed, dtype=int).ravel(), minlength=len(degree))
            if (lost <= e).all() and not (keep and ((lost == degree) & (degree > 0)).any()):
                yield removed


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("keep", [True, False])
def test_every_set_of_removals_is_tried(seed, keep):
    graph, network = small(seed, nodes=7, attributes=4)
    x = graph.attributes.toarray().astype(float)
    plain = forward(graph, network, x)
    lowest = np.full(plain.shape, np.inf)
    for removed in admissible(graph, 2, 1 + seed % 2, keep):
        logits = forward(left(graph, removed), network, x)
        kept = plain.argmax(1)
        lowest = np.minimum(lowest, logits[np.arange(len(kept)), kept][:, None] - logits)
    found = gcnproof.certify(network, graph, edges="remove", E=2, e=1 + seed % 2, keep_one_edge=keep, minimize=True, progress=False)
    assert type(found) is gcnproof.Results
    for row in found:
        truth = [lowest[row.node, margin.class_] for margin in row.margins]
        assert np.allclose([margin.lower for margin in row.margins], truth, rtol=0, atol=1e-9)
        assert row.robust == (min(truth) > 0) and row.exact_margins is not None
        if not row.robust:
            assert forward(left(graph, row.witness), network, x)[row.node].argmax() != row.reference


def test_proofs_are_checked_and_runs_resumed(tmp_path):
    graph, network = small(3)
    proofs, out = tmp_path / "proofs.jsonl.zst", tmp_path / "rows.jsonl"
    found = gcnproof.certify(network, graph, edges="remove", E=3, e=2, complete=True, proofs=proofs, out=out, progress=False)
    assert found.proofs is not None and found.proofs["proofs"] == graph.node_count
    checked = gcnproof.check(network, graph, proofs, E=3, e=2, nodes=slice(None), progress=False)
    assert checked and {node: row.verdict for node, row in zip(found.node.tolist(), found, strict=True)} == {
        node: "non_robust" if verdict == "tie" else verdict for node, verdict in checked.verdicts.items()
    }
    assert gcnproof.check(network, graph, proofs, edges="remove", E=3, e=2, exact=True, progress=False)
    assert not gcnproof.check(network, graph, proofs, E=4, keep_one_edge=False, progress=False)
    assert not gcnproof.check(network, graph, proofs, Q=1, progress=False)
    # What a larger budget breaks says nothing of a smaller one, unless the witness fits it.
    smaller = gcnproof.check(network, graph, proofs, E=1, progress=False)
    assert all(verdict == "robust" or len(found[node].witness) <= 1 for node, verdict in smaller.verdicts.items())
    with pytest.raises(gcnproof.InputError, match="together with edges"):
        gcnproof.check(network, graph, proofs, Q=1, E=1, progress=False)
    with pytest.raises(gcnproof.InputError, match="bound together with edges"):
        gcnproof.check(network, graph, proofs, E=1, bound=1, progress=False)
    again = gcnproof.certify(network, graph, edges="remove", E=3, e=2, complete=True, proofs=proofs, out=out, resume=True, progress=False)
    assert (again.verdict == found.verdict).all()
    with pytest.raises(gcnproof.InputError, match="finished run"):
        gcnproof.certify(network, graph, edges="remove", E=3, e=2, complete=True, proofs=proofs, progress=False)
    loaded = gcnproof.load(out, graph=graph)
    assert type(loaded) is gcnproof.Results and [row.witness for row in loaded] == [row.witness for row in found]
    assert "E = 3, e = 2" in repr(loaded)


def test_radii_and_explanations_agree_with_verdicts(tmp_path):
    graph, network = small(5)
    radii = gcnproof.radius(network, graph, edges="remove", e=2, complete=True, max_E=6, progress=False, out=tmp_path / "radii.csv")
    assert type(radii) is gcnproof.Radii and "certified E" in repr(radii)
    for E in range(4):
        robust = gcnproof.certify(network, graph, edges="remove", E=E, e=2, complete=True, progress=False).robust
        assert (robust == (radii.certified >= E)).all()
    assert [row.attacked for row in gcnproof.load(tmp_path / "radii.csv")] == [row.attacked for row in radii]
    told = gcnproof.explain(network, graph, 0, edges="remove", E=2, e=2)
    row = gcnproof.certify(network, graph, edges="remove", E=2, e=2, minimize=True, nodes=[0], progress=False)[0]
    assert told["verdict"] == row.verdict and told["exact_margins"].split(" ") == row.exact_margins
    assert "margin over" in str(told)


@pytest.mark.filterwarnings("ignore:nothing can be attacked")
def test_frozen_edges_nodes_and_budgets_by_node():
    graph, network = small(2)
    ask = {"edges": "remove", "E": 2, "e": 2, "complete": True, "progress": False}
    free = gcnproof.certify(network, graph, **ask)
    frozen = gcnproof.certify(network, graph, freeze_edges=edges_of(graph), **ask)
    as_index = gcnproof.certify(network, graph, freeze_edges=np.array(edges_of(graph)).T, **ask)
    nodes = gcnproof.certify(network, graph, freeze_nodes=slice(None), **ask)
    none = gcnproof.certify(network, graph, edges="remove", E=0, e=2, complete=True, progress=False)
    by_node = gcnproof.certify(network, graph, edges="remove", E=2, e=np.full(graph.node_count, 2), complete=True, progress=False)
    assert (frozen.verdict == none.verdict).all() and (nodes.verdict == none.verdict).all() and (as_index.verdict == none.verdict).all()
    assert (by_node.verdict == free.verdict).all()
    broken = free.node[free.verdict == "non_robust"]
    if len(broken):
        x = graph.attributes.toarray().astype(float)
        changed = gcnproof.Graph(free.apply(broken[0]), graph.attributes)
        assert forward(changed, network, x)[broken[0]].argmax() != free[broken[0]].reference


def test_what_is_not_decided_is_refused():
    graph, network = small(0)

    def refused(match, **options):
        with pytest.raises(gcnproof.InputError, match=match):
            gcnproof.certify(network, graph, progress=False, **options)

    refused("Q is missing")
    refused("q is missing", Q=3)
    refused("E is missing", edges="remove")
    refused("edges='add'", edges="add", E=1)
    refused("candidates beside edges='remove'", edges="remove", E=1, candidates=2)
    with pytest.raises(gcnproof.InputError, match="remove and insert"):
        gcnproof.Edges(remove=1, insert=1)
    with pytest.raises(TypeError, match="insert is meant"):
        gcnproof.Edges(add=1)
    refused("edges='cut'", edges="cut", E=1)
    refused("attributes and edges at once", edges="remove", E=1, Q=3)
    refused("flips together", edges="remove", E=1, flips="add")
    refused("deployed together", edges="remove", E=1, deployed="float32")
    refused("Q together with edges", Q=1, q=1, E=1)
    refused("keep_one_edge without edges", Q=1, q=1, keep_one_edge=False)
    refused("e=-1", edges="remove", E=1, e=-1)
    refused("E=1.5", edges="remove", E=1.5)
    refused("0–0|no edge", edges="remove", E=1, freeze_edges=[(0, 0)])


def logits_of(graph, network, x):
    """The logits of a chain of gcn layers, by numpy alone."""
    linked = graph.adjacency.toarray().astype(float)
    np.fill_diagonal(linked, 1)
    size = linked.sum(1)
    operator = linked / np.sqrt(np.outer(size, size))
    for at, layer in enumerate(network.layers):
        x = operator @ x @ np.asarray(layer.terms[0].weight) + np.asarray(layer.bias)
        x = np.maximum(x, 0) if at + 1 < len(network.layers) else x
    return x


def changed(graph, changes):
    """The graph after removals and insertions."""
    linked = graph.adjacency.toarray().astype(float)
    for a, b in changes:
        linked[a, b] = linked[b, a] = 1 - linked[a, b]
    return gcnproof.Graph(sparse.csr_matrix(linked), graph.attributes, graph.labels)


@pytest.mark.parametrize("kind", ["insert", "change"])
@pytest.mark.parametrize("candidates", [None, 2, "listed"])
@pytest.mark.parametrize("deep", [False, True])
def test_every_set_of_changes_is_tried(kind, candidates, deep, tmp_path):
    graph, network = small(4, nodes=6, attributes=4)
    if deep:
        network = gcnproof.Network([*network.layers[:1], gcnproof.Layer("more", [gcnproof.Term("hidden", "gcn", np.eye(5))], np.zeros(5)),
                                    gcnproof.Layer("logits", [gcnproof.Term("more", "gcn", network.layers[1].terms[0].weight)], network.layers[1].bias, "none")])
    x = graph.attributes.toarray().astype(float)
    present = edges_of(graph)
    pairs = list(itertools.combinations(range(graph.node_count), 2))
    missing = [pair for pair in pairs if pair not in present]
    near = ((graph.adjacency + graph.adjacency @ graph.adjacency) != 0).toarray()
    if candidates == 2:
        missing = [(a, b) for a, b in missing if near[a, b]]
    elif candidates == "listed":
        candidates = missing = missing[::2]
    free = missing if kind == "insert" else present + missing
    plain = logits_of(graph, network, x)
    kept = plain.argmax(1)
    lowest = np.full(len(kept), np.inf)
    for size in range(3):
        for changes in itertools.combinations(free, size):
            count = np.bincount(np.array(changes, dtype=int).ravel(), minlength=len(kept))
            lost = np.bincount(np.array([pair for pair in changes if pair in present], dtype=int).ravel(), minlength=len(kept))
            degree = np.asarray(graph.adjacency.sum(1)).ravel()
            if (count > 1).any() or (lost > np.maximum(degree - 1, 0)).any():
                continue
            logits = logits_of(changed(graph, changes), network, x)
            others = np.where(np.arange(logits.shape[1]) == kept[:, None], -np.inf, logits)
            lowest = np.minimum(lowest, logits[np.arange(len(kept)), kept] - others.max(1))
    attack = gcnproof.Edges(**{kind: 2}, at_node=1, candidates=candidates)
    proofs = tmp_path / "proofs.jsonl"
    found = gcnproof.certify(network, graph, attack, complete=True, proofs=proofs, progress=False)
    assert [row.robust for row in found] == [bool(low > 0) for low in lowest]
    for row in found:
        if not row.robust:
            assert logits_of(changed(graph, row.witness), network, x)[row.node].argmax() != row.reference
            left = found.apply(row.node)
            assert (left != changed(graph, row.witness).adjacency).nnz == 0


def test_inserted_edges_and_both_attackers_have_pages(tmp_path):
    graph, network = small(3)
    for attack, words in (
        (gcnproof.Edges(insert=1), ["Which edges attackers insert"]),
        ([gcnproof.Flips(Q=2, q=1), gcnproof.Edges(remove=1)], ["What attackers flip", "Which edges attackers remove"]),
    ):
        results = gcnproof.certify(network, graph, attack, complete=True, progress=False)
        page = gcnproof.report(results, graph=graph, out=tmp_path / "page.html", force=True)
        text = open(page, encoding="utf-8").read()
        assert all(part in text for part in words)
