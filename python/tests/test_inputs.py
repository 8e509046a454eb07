"""Graphs from every form, and what is refused."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from conftest import small
from numpy_logits import logits
from scipy import sparse

import gcnproof
from gcnproof.attack import local
from gcnproof.selection import selected


def test_a_graph_is_the_same_from_every_form(problem, tmp_path):
    graph, _ = problem
    adjacency, attributes, labels = graph.adjacency, graph.attributes, graph.labels
    unsorted = sparse.csr_matrix(adjacency)
    unsorted.indices = unsorted.indices.copy()
    forms = [
        gcnproof.Graph(adjacency.toarray(), attributes.toarray(), labels),
        gcnproof.Graph(adjacency.tocoo(), attributes.tocsc(), labels.astype(np.int32)),
        gcnproof.Graph(adjacency.astype(float), attributes.astype(bool), labels.tolist()),
        gcnproof.Graph(sparse.csr_array(adjacency), sparse.coo_array(attributes), labels.astype(float)),
        gcnproof.Graph(sparse.triu(adjacency), attributes, labels, symmetrize=True),
        gcnproof.Graph(3 * adjacency, 2 * attributes, labels, unweight=True, binarize=True),
    ]
    assert {form.digest for form in forms} == {graph.digest}
    graph.save(tmp_path / "graph.npz")
    loaded = gcnproof.load(tmp_path / "graph.npz")
    assert loaded.digest == graph.digest
    assert (loaded.adjacency != adjacency).nnz == 0 and (loaded.attributes != attributes).nnz == 0
    assert (loaded.labels == labels).all()


def test_arrays_are_not_copied(problem):
    graph, _ = problem
    again = gcnproof.Graph(graph.adjacency, graph.attributes, graph.labels)
    assert again.attributes.indices is graph.attributes.indices
    assert again.adjacency.indptr is graph.adjacency.indptr
    assert again.labels is graph.labels


def test_a_data_object_without_torch(problem):
    graph, _ = problem

    class Data:
        receiver, source = graph.adjacency.nonzero()
        edge_index = np.stack([source, receiver])
        x = graph.attributes.toarray().astype(np.float32)
        y = graph.labels

    assert gcnproof.Graph.from_data(Data).digest == graph.digest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, x: (a[:-1], x), "nodes × nodes"),
        (lambda a, x: (a, x[:-1]), "one row for each node"),
        (lambda a, x: (a, x / 3), "NormalizeFeatures"),
        (lambda a, x: (a, np.nextafter(x / np.maximum(x.sum(1, keepdims=True), 1), 2) * x), "to the last bit"),
        (lambda a, x: (a, np.where(np.arange(len(x))[:, None] % 2, x, x / np.maximum(x.sum(1, keepdims=True), 1))), "neither 0 nor 1"),
        (lambda a, x: (a, np.where(x, np.nan, 0.0)), "nan, which is not a finite number"),
        (lambda a, x: (a, -(x / np.maximum(x.sum(1, keepdims=True), 1))), "neither 0 nor 1"),
        (lambda a, x: (a * 2.5, x), "unweight=True"),
        (lambda a, x: (np.triu(a), x), "symmetrize=True"),
        (lambda a, x: (a, x.astype(object)), "a matrix of numbers"),
        (lambda a, x: (a, x[:, 0]), "a matrix of numbers"),
    ],
)
def test_what_is_no_graph_is_refused(change, words):
    graph, _ = small()
    adjacency, attributes = change(graph.adjacency.toarray(), graph.attributes.toarray())
    with pytest.raises(gcnproof.InputError, match=words.replace("(", r"\(")):
        gcnproof.Graph(adjacency, attributes).digest  # noqa: B018


@pytest.mark.parametrize("labels", [[0, 1], [0.5] * 9, [float("nan")] * 9, ["a"] * 9])
def test_wrong_labels_are_refused(labels):
    graph, _ = small()
    with pytest.raises(gcnproof.InputError, match="labels"):
        gcnproof.Graph(graph.adjacency, graph.attributes, labels)


def test_nodes_in_every_form():
    mask = np.array([False, True, False, True])
    for form in (mask, mask.tolist(), [1, 3], (3, 1), np.array([1, 3], np.uint8), slice(1, None, 2), {1, 3}, range(1, 4, 2)):
        assert sorted(selected(form, 4)) == [1, 3]
    assert selected(None, 4) is None and selected(2, 4) == [2] and selected(np.int64(2), 4) == [2] and selected(slice(None), 2) == [0, 1]
    assert selected([0, 1], 4) == [0, 1]


@pytest.mark.parametrize("wrong", [[True], [0.5], [[1]], [0, 1, 1, 0], "abc"])
def test_what_are_no_nodes_is_refused(wrong):
    with pytest.raises(gcnproof.InputError, match="help"):
        selected(wrong, 4)


def test_local_budgets_in_every_form():
    assert local(3, 5) == 3 and local(np.int32(3), 5) == 3 and local(0.01, 5) == 0.01 and local(0, 5) == 0
    assert (local([1, 2, 3], 3) == [1, 2, 3]).all()
    for wrong in (-1, 1.0, 2.5, -0.5, True, [1, 2], [0.5, 0.5, 0.5], "1%", float("nan")):
        with pytest.raises(gcnproof.InputError):
            local(wrong, 3)


def test_models_and_graphs_in_the_wrong_place(problem, fixtures):
    graph, network = problem
    for model, data in ((graph, network), (graph, graph), (network, network), (3, graph), (network, 3)):
        with pytest.raises(gcnproof.InputError, match="help"):
            gcnproof.certify(model, data, 1, 1)
    with pytest.raises(gcnproof.InputError, match="no such|cannot be read|not found"):
        gcnproof.certify(fixtures / "nothing.safetensors", fixtures / "cora.npz", 1, 1)
    with pytest.raises(gcnproof.InputError, match="attributes"):
        gcnproof.certify(network, fixtures / "cora.npz", 1, 1)


def test_a_described_network_is_refused_by_name(problem):
    graph, network = problem
    text, tensors = network.describe()

    class Wrong:
        def describe(self):
            return text, {name: values for name, values in tensors.items() if "bias" not in name}

    with pytest.raises(gcnproof.InputError, match=r"the tensor `hidden.bias` is not in the file"):
        gcnproof.logits(Wrong(), graph)


def test_files_that_are_neither_are_told_as_graphs(tmp_path, problem):
    np.savez(tmp_path / "odd.npz", something=np.zeros(3))
    with pytest.raises(gcnproof.InputError, match="odd.npz"):
        gcnproof.load(tmp_path / "odd.npz")
    graph, network = problem
    weights = {f"W{at + 1}": layer.terms[0].weight for at, layer in enumerate(network.layers)}
    biases = {f"b{at + 1}": layer.bias for at, layer in enumerate(network.layers)}
    np.savez(tmp_path / "model.npz", **weights, **biases)
    model = gcnproof.load(tmp_path / "model.npz")
    assert isinstance(model, gcnproof.Network)
    assert (gcnproof.logits(model, graph) == gcnproof.logits(network, graph)).all()


def test_networks_come_back_from_their_files(tmp_path, problem):
    graph, _ = problem
    draw = np.random.default_rng(3)
    matrix = sparse.random(9, 9, 0.3, random_state=1, format="csr")
    layers = [
        gcnproof.Layer(
            "first",
            [gcnproof.Term("x", "mean", draw.normal(size=(6, 4))), gcnproof.Term("x", matrix, draw.normal(size=(4, 6)).T)],
            draw.normal(size=(9, 4)),
        ),
        gcnproof.Layer("second", [gcnproof.Term("first", gcnproof.Polynomial(matrix, [0.5, 1.0]), draw.normal(size=(4, 3)).astype(np.float32))]),
        gcnproof.Layer(
            "third", [gcnproof.Term("second", "identity"), gcnproof.Term("first", "gcn", draw.normal(size=(4, 3)))], activation="none"
        ),
    ]
    network = gcnproof.Network(layers)
    logits = gcnproof.logits(network, graph)
    x = graph.attributes.toarray()
    linked = graph.adjacency.toarray().astype(float)
    mean = linked / np.maximum(linked.sum(1, keepdims=True), 1)
    np.fill_diagonal(linked, 1)
    gcn = linked / np.sqrt(np.outer(linked.sum(1), linked.sum(1)))
    first = np.maximum(mean @ x @ layers[0].terms[0].weight + matrix @ x @ layers[0].terms[1].weight + layers[0].bias, 0)
    second = np.maximum((0.5 * np.eye(9) + matrix.toarray()) @ first @ layers[1].terms[0].weight.astype(float), 0)
    assert np.allclose(logits, second + gcn @ first @ layers[2].terms[1].weight, rtol=0, atol=1e-12)
    network.save(tmp_path / "network.safetensors")
    again = gcnproof.load(tmp_path / "network.safetensors")
    assert (gcnproof.logits(again, graph) == logits).all()
    assert (gcnproof.logits(tmp_path / "network.safetensors", graph) == logits).all()
    results = gcnproof.certify(network, graph, 2, 1, complete=True, progress=False, proofs=tmp_path / "proofs.jsonl")
    assert (results.verdict != "undecided").all()
    assert gcnproof.check(network, graph, tmp_path / "proofs.jsonl", Q=2, q=1, progress=False)
    assert gcnproof.check(tmp_path / "network.safetensors", graph, tmp_path / "proofs.jsonl", Q=2, q=1, progress=False)


def test_graphs_can_be_pickled(cora, problem):
    for graph in (cora, problem[0]):
        again = pickle.loads(pickle.dumps(graph))
        assert again.digest == graph.digest and repr(again) == repr(graph)


def test_a_part_of_a_graph_is_no_graph(fixtures, program, tmp_path):
    program("partition", fixtures / "cora.npz", "--hops", 2, "--parts", 2, "--out", tmp_path)
    with pytest.raises(gcnproof.InputError, match="part 1 of 2") as caught:
        gcnproof.Graph.load(tmp_path / "part-0.npz")
    assert "whole graph" in str(caught.value)


@pytest.mark.parametrize("bits", [32, 64])
def test_rows_divided_by_their_sums(bits, tmp_path):
    """Recognised with a note, kept as 0/1, and the same after files, pickles and copies; the network reads them divided."""
    plain, network = small()
    kind = {32: np.float32, 64: np.float64}[bits]
    ones = plain.attributes.toarray().astype(kind)
    x = ones / np.maximum(ones.sum(1, keepdims=True), 1)
    with pytest.warns(gcnproof.GcnproofWarning, match=rf"attributes: rows of 0/1 divided by their sums \({bits} bits\)"):
        graph = gcnproof.Graph(plain.adjacency, x, plain.labels)
    assert graph.normalised == bits and plain.normalised is None and f"float{bits}" in repr(graph)
    assert (graph.attributes.toarray() == ones).all() and graph.attributes.data.max() == 1
    graph.save(tmp_path / "graph.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = gcnproof.Graph.load(tmp_path / "graph.npz")
    for same in (loaded, pickle.loads(pickle.dumps(graph)), pickle.loads(pickle.dumps(loaded)), copy.deepcopy(graph)):
        assert same.normalised == bits and same.digest == graph.digest != plain.digest
        assert (same.attributes.toarray() == ones).all()
    for flips in ([], [(0, 1), (0, 2), (3, 5)]):
        changed = ones.copy()
        for node, attribute in flips:
            changed[node, attribute] = 1 - changed[node, attribute]
        rows = (changed / np.maximum(changed.sum(1, keepdims=True), 1)).astype(np.float64)
        expected = logits(network, plain.adjacency, rows)
        assert np.allclose(gcnproof.logits(network, graph, flips), expected, rtol=0, atol=1e-12)
    results = gcnproof.certify(network, graph, Q=3, q=2, complete=True, progress=False)
    node = results.node[results.verdict == "non_robust"][0]
    assert results.apply(node).dtype == kind
    after = logits(network, plain.adjacency, results.apply(node).toarray().astype(np.float64))
    assert after[node].argmax() != results[node].predicted
    # Those of other entries are no rows of ones: 0/1 are meant if that is said.
    assert gcnproof.Graph(plain.adjacency, x, plain.labels, binarize=True).digest == plain.digest


def test_rows_of_at_most_one_attribute_are_binary():
    graph = gcnproof.Graph(np.zeros((3, 3)), np.eye(3, 4))
    assert graph.normalised is None
    with pytest.warns(gcnproof.GcnproofWarning, match="64 bits"):
        # Halves are the same in both: the type of the array is meant.
        assert gcnproof.Graph(np.zeros((2, 2)), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])).normalised == 64
