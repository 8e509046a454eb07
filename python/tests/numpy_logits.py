"""The logits of a network in plain numpy and scipy: what the tests compare modules with, independent of the native module."""

import numpy as np
from scipy import sparse

from gcnproof.network import Network, Polynomial


def rule_matrix(rule: str, adjacency):
    """The matrix of a rule (docs/model-format.md)."""
    nodes = adjacency.shape[0]
    matrix = (adjacency.toarray() != 0).astype(float)
    if rule == "identity":
        return sparse.csr_array(np.eye(nodes))
    if rule in ("gcn", "mean+self", "sum+self"):
        np.fill_diagonal(matrix, 1.0)
    degree = np.maximum(matrix.sum(1), 1.0)
    if rule in ("gcn", "gcn-self"):
        matrix = matrix / np.sqrt(np.outer(degree, degree))
    elif rule in ("mean", "mean+self"):
        matrix = matrix / degree[:, None]
    return sparse.csr_array(matrix)


def operator_times(operator, adjacency, values):
    """What an operator makes of some values."""
    if isinstance(operator, Polynomial):
        total, power = 0.0, values
        for place, coefficient in enumerate(operator.coefficients):
            power = values if place == 0 else operator_times(operator.base, adjacency, power)
            total = total + coefficient * power
        return total
    matrix = rule_matrix(operator, adjacency) if isinstance(operator, str) else operator
    return matrix @ values


def logits(network: Network, adjacency, attributes) -> np.ndarray:
    """The logits of a network on a graph."""
    by_name = {layer.name: layer for layer in network.layers}
    known = {"x": np.asarray(attributes.todense() if sparse.issparse(attributes) else attributes, float)}

    def values(name):
        if name not in known:
            layer = by_name[name]
            total = np.zeros((adjacency.shape[0], network.units[name]))
            for term in layer.terms:
                read = values(term.source)
                total = total + operator_times(term.operator, adjacency, read if term.weight is None else read @ term.weight)
            if layer.bias is not None:
                total = total + layer.bias
            each = [layer.activation] * total.shape[1] if isinstance(layer.activation, str) else layer.activation
            known[name] = np.where([activation == "relu" for activation in each], np.maximum(total, 0.0), total)
        return known[name]

    return values(network.output)
