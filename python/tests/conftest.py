"""What the tests share: the embedded graph with its models, and small problems of their own."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import gcnproof

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of the embedded graph."""
    return FIXTURES


@pytest.fixture(scope="session")
def cora() -> gcnproof.Graph:
    """The embedded graph."""
    return gcnproof.Graph.load(FIXTURES / "cora.npz")


@pytest.fixture(scope="session")
def standard() -> gcnproof.Network:
    """A network on it that was trained the usual way."""
    network = gcnproof.load(FIXTURES / "cora_standard.safetensors")
    assert isinstance(network, gcnproof.Network)
    return network


def small(seed: int = 0, nodes: int = 9, attributes: int = 6, classes: int = 3):
    """A graph and a network of two layers, drawn at random."""
    draw = np.random.default_rng(seed)
    linked = np.triu(draw.random((nodes, nodes)) < 0.3, 1)
    adjacency = sparse.csr_matrix((linked | linked.T).astype(np.int8))
    owned = sparse.csr_matrix((draw.random((nodes, attributes)) < 0.4).astype(np.int8))
    graph = gcnproof.Graph(adjacency, owned, draw.integers(0, classes, nodes))
    layers = [
        gcnproof.Layer("hidden", [gcnproof.Term("x", "gcn", draw.normal(size=(attributes, 5)))], draw.normal(size=5)),
        gcnproof.Layer("logits", [gcnproof.Term("hidden", "gcn", draw.normal(size=(5, classes)))], draw.normal(size=classes), "none"),
    ]
    return graph, gcnproof.Network(layers)


@pytest.fixture(scope="session")
def program():
    """Runs a command of the program, which `make build` has made."""
    path = FIXTURES.parent / "target" / "release" / "gcnproof"
    if not path.exists():
        pytest.skip("the program is not built: make build")
    return lambda *words: subprocess.run([path, *map(str, words)], check=True, capture_output=True)


@pytest.fixture
def problem():
    """A small graph and a network on it."""
    return small()
