"""Networks by hand: what they compute, how they are described and saved, and what is wrong with wrong ones."""

import json

import numpy as np
import pytest
from numpy_logits import logits
from scipy import sparse

import gcnproof
from gcnproof import InvalidNetwork, Layer, Network, Polynomial, Term
from gcnproof.network import RULES

NODES, ATTRIBUTES = 10, 7


def drawn(seed):
    """A graph and a network of several layers and terms, drawn at random; operators are rules, matrices and polynomials of both."""
    draw = np.random.default_rng(seed)
    linked = np.triu(draw.random((NODES, NODES)) < 0.25, 1)
    adjacency = sparse.csr_matrix((linked | linked.T).astype(np.int8))
    owned = sparse.csr_matrix((draw.random((NODES, ATTRIBUTES)) < 0.4).astype(np.int8))
    matrices = [sparse.csr_array(draw.normal(size=(NODES, NODES)) * (draw.random((NODES, NODES)) < 0.3)) for _ in range(2)]

    def operator():
        base = draw.choice(RULES) if draw.random() < 0.6 else matrices[draw.integers(2)]
        return str(base) if isinstance(base, str) and draw.random() < 0.7 else Polynomial(base if not isinstance(base, str) else str(base), list(draw.normal(size=3)))

    layers, widths = [], {"x": ATTRIBUTES}
    depth = int(draw.integers(1, 4))
    for place in range(depth + 1):
        name, last = f"layer {place}", place == depth
        units = 3 if last else int(draw.integers(2, 6))
        terms = []
        # Every layer is read by the next one, so that none is left over.
        sources = [f"layer {place - 1}" if place else "x"] + [str(source) for source in draw.choice(list(widths), int(draw.integers(0, 3)))]
        for source in sources:
            weight = draw.normal(size=(widths[source], units))
            terms.append(Term(source, operator(), np.asfortranarray(weight) if draw.random() < 0.5 else weight))
        bias = [None, draw.normal(size=units), draw.normal(size=(NODES, units))][draw.integers(3)]
        mixed = [str(draw.choice(["relu", "none"])) for _ in range(units)]
        layers.append(Layer(name, terms, bias, "none" if last else [mixed, "relu", "none"][draw.integers(3)]))
        widths[name] = units
    return gcnproof.Graph(adjacency, owned), Network(layers)


@pytest.mark.parametrize("seed", range(40))
def test_logits_in_memory_and_from_a_file(seed, tmp_path):
    graph, network = drawn(seed)
    expected = logits(network, graph.adjacency, graph.attributes)
    size = np.abs(expected).max()
    assert np.abs(gcnproof.logits(network, graph) - expected).max() <= 1e-11 * size
    network.save(tmp_path / "network.safetensors")
    read = gcnproof.load(tmp_path / "network.safetensors")
    assert np.abs(gcnproof.logits(read, graph) - expected).max() <= 1e-11 * size
    flips = [(0, 1), (NODES - 1, 0), (3, 3)]
    changed = graph.attributes.toarray()
    for node, attribute in flips:
        changed[node, attribute] ^= 1
    assert np.abs(gcnproof.logits(network, graph, flips) - logits(network, graph.adjacency, changed)).max() <= 1e-11 * size


def test_arrays_are_not_copied():
    weight, turned, bias = np.ones((7, 4)), np.ones((3, 4), np.float32).T, np.zeros(3)
    network = Network([Layer("hidden", [Term("x", "gcn", weight)]), Layer("logits", [Term("hidden", "sum", turned)], bias, "none")])
    text, tensors = network.describe()
    assert all(np.shares_memory(tensors[name], own) for name, own in [("hidden.0.weight", weight), ("logits.0.weight", turned), ("logits.bias", bias)])
    terms = [layer["terms"][0] for layer in json.loads(text)["layers"]]
    assert "transposed" not in terms[0] and terms[1]["transposed"] is True and tensors["logits.0.weight"].shape == (3, 4)


def test_a_matrix_that_is_used_twice_is_described_once():
    matrix, weight = sparse.csr_array(np.eye(4)), np.ones((2, 2))
    layers = [Layer("h", [Term("x", matrix, weight), Term("x", Polynomial(matrix, [0.5, 1, 2]), weight)]), Layer("out", [Term("h", matrix)], activation="none")]
    text, tensors = Network(layers).describe()
    assert sorted(tensors) == ["h.0.weight", "h.1.weight", "matrix0.data", "matrix0.indices", "matrix0.indptr"]
    described = json.loads(text)["layers"]
    assert [term["operator"] for term in described[0]["terms"]] == ["matrix:matrix0", "poly(matrix:matrix0;0.5,1.0,2.0)"]
    assert "weight" not in described[1]["terms"][0]
    assert Network(layers).node_count == 4


def test_a_network_prints_in_a_few_lines():
    _, network = drawn(3)
    assert len(repr(network)) < 200 * len(network.layers) and repr(network).startswith("Network(7 attributes, 3 classes:")


W = np.ones((7, 4))
V = np.ones((4, 3))
HIDDEN = Layer("h", [Term("x", "gcn", W)])
WRONG = {
    "at least one layer": [],
    "a list of Layer objects": [W, V],
    "a list of Term objects": [Layer("h", Term("x", "gcn", W))],
    "its activation is 'relu', 'none'": [Layer("h", [Term("x", "gcn", W)], activation=None)],
    "then transpose them": [Layer("h", [Term("x", "gcn", W.T)], np.ones(W.shape[1]))],
    "used once": [HIDDEN, HIDDEN],
    "other than 'x'": [Layer("x", [Term("x", "gcn", W)], activation="none")],
    "is no layer": [Layer("out", [Term("g", "gcn", V)], activation="none")],
    "depends on it": [Layer("h", [Term("out", "gcn", V.T)]), Layer("out", [Term("h", "gcn", V)], activation="none")],
    "then transpose it": [HIDDEN, Layer("out", [Term("h", "gcn", V.T)], activation="none")],
    "takes 5 inputs": [HIDDEN, Layer("out", [Term("h", "gcn", np.ones((5, 3)))], activation="none")],
    "needs a weight": [Layer("out", [Term("x", "gcn")], activation="none")],
    "cannot be added": [HIDDEN, Layer("out", [Term("h", "gcn", V), Term("h", "gcn")], activation="none")],
    "no terms": [Layer("out", [], activation="none")],
    "numbers for 4 units": [Layer("out", [Term("x", "gcn", W)], np.ones(3), "none")],
    "the bias has 3 rows, but there are 2 nodes": [Layer("out", [Term("x", sparse.eye(2), W)], np.ones((3, 4)), "none")],
    "no activation": [Layer("out", [Term("x", "gcn", W)])],
    "'relu' or 'none'": [Layer("out", [Term("x", "gcn", W)], activation="elu")],
    "2 activations": [Layer("out", [Term("x", "gcn", W)], activation=["none", "none"])],
    "leave it out": [HIDDEN, Layer("out", [Term("x", "gcn", W)], activation="none")],
    "none of gcn": [Layer("out", [Term("x", "gat", W)], activation="none")],
    "scipy.sparse": [Layer("out", [Term("x", np.eye(3), W)], activation="none")],
    "not nodes × nodes": [Layer("out", [Term("x", sparse.csr_array(np.ones((2, 3))), W)], activation="none")],
    "not a finite number": [Layer("out", [Term("x", "gcn", W * np.nan)], activation="none")],
    "instead of 2": [Layer("out", [Term("x", "gcn", np.ones(7))], activation="none")],
    "not of real numbers": [Layer("out", [Term("x", "gcn", W.astype(str))], activation="none")],
    "multiply it out": [Layer("out", [Term("x", Polynomial(Polynomial("gcn", [1]), [1]), W)], activation="none")],
    "they are finite": [Layer("out", [Term("x", Polynomial("gcn", []), W)], activation="none")],
    "the matrix has 3 nodes, but others have 2": [Layer("out", [Term("x", sparse.eye(2), W), Term("x", sparse.eye(3), W)], activation="none")],
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_networks(words):
    with pytest.raises(InvalidNetwork) as caught:
        Network(WRONG[words])
    assert words in str(caught.value)
