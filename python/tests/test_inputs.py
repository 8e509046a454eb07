"""Graphs from every form, and what is refused."""

import numpy as np
import pytest
from conftest import small
from scipy import sparse

import gcnproof
from gcnproof.selection import local, selected


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
