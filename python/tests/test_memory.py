"""Attributes and weights are copied once on their way in: measured by the largest amount of memory ever held."""

import os
import subprocess
import sys

import pytest

MEASURE = """
import numpy as np
from scipy import sparse
import gcnproof

def peak():
    # Not getrusage: that also counts the memory of the program that has started this one.
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])

{}
"""

ATTRIBUTES = """
nodes, attributes, each = 2000, 40000, 10000
columns = np.tile(np.arange(0, 4 * each, 4, dtype=np.int32), nodes)
offsets = np.arange(nodes + 1, dtype=np.int32) * each
matrix = sparse.csr_matrix((np.ones(len(columns), np.int8), columns, offsets), shape=(nodes, attributes))
graph = gcnproof.Graph(sparse.csr_matrix((nodes, nodes), dtype=np.int8), matrix)
matrix.data.all(), matrix.has_canonical_format, matrix.data != 1
before = peak()
graph._native()
print((peak() - before) / columns.nbytes)
"""

WEIGHTS = """
graph = gcnproof.Graph(sparse.csr_matrix((3, 3), dtype=np.int8), sparse.csr_matrix((3, 200000), dtype=np.int8))
weight = np.ones((64, 200000)).T if {} else np.ones((200000, 64))
second = np.ones((64, 2))
network = gcnproof.Network([
    gcnproof.Layer("h", [gcnproof.Term("x", "gcn", weight)]),
    gcnproof.Layer("y", [gcnproof.Term("h", "gcn", second)], activation="none"),
])
handle = graph._native()
text, tensors = network.describe()
before = peak()
native = gcnproof._native.Network(handle, text, tensors)
print((peak() - before) / weight.nbytes)
"""


def measured(code: str) -> float:
    """How much more memory was held at most, in units of what was handed over."""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("SKIPPED: the largest amount of memory is known on Linux only")
    run = subprocess.run([sys.executable, "-c", MEASURE.format(code)], capture_output=True, text=True, check=True)
    return float(run.stdout)


def test_attributes_are_copied_once():
    # Column ids of 4 bytes, and a byte for each entry.
    assert 0.9 < measured(ATTRIBUTES) < 1.6


@pytest.mark.parametrize("turned", [False, True])
def test_weights_are_copied_once(turned):
    assert 0.9 < measured(WEIGHTS.format(turned)) < 1.3
