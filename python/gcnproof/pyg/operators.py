"""Operators while a module is read: polynomials of sparse matrices, and the rules by which the matrices are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..network import Polynomial

_CLOSE = 1e-12
"""How far the entries of a matrix may lie from those of a rule, relative to them: frameworks round in another order."""


class Base:
    """A sparse matrix whose row is the receiver, and its rule if it has one."""

    def __init__(self, matrix: sparse.csr_array, rule: str | None = None):
        self.matrix = matrix
        self.rule = rule

    @property
    def square(self) -> bool:
        """Does it lead from nodes to nodes?"""
        return self.matrix.shape[0] == self.matrix.shape[1]


class Operator:
    """Σ c_k B^k of a base B; without a base the constant c_0 times the identity."""

    def __init__(self, base: Base | None, coefficients: tuple[float, ...]):
        self.base = base if len(coefficients) > 1 else None
        self.coefficients = coefficients

    @property
    def is_identity(self) -> bool:
        """Does every node keep what it has?"""
        return self.base is None and self.coefficients == (1.0,)

    def same(self, other: Operator) -> bool:
        """Is it the same polynomial of the same matrix?"""
        return self.base is other.base and self.coefficients == other.coefficients

    def after(self, first: Operator) -> Operator | None:
        """This operator applied to what `first` gives; None where that is no polynomial of one matrix."""
        if self.base is None:
            return Operator(first.base, tuple(self.coefficients[0] * c for c in first.coefficients))
        if first.base is None:
            return Operator(self.base, tuple(first.coefficients[0] * c for c in self.coefficients))
        if self.base is first.base and self.base.square:
            return Operator(self.base, tuple(float(c) for c in np.convolve(self.coefficients, first.coefficients)))
        return None

    def apply(self, values: np.ndarray) -> np.ndarray:
        """What it makes of some values by node."""
        if self.base is None:
            return self.coefficients[0] * values
        # Horner's scheme: no power of the matrix is formed.
        result = self.coefficients[-1] * values
        for coefficient in reversed(self.coefficients[:-1]):
            result = self.base.matrix @ result
            if coefficient:
                result = result + coefficient * values
        return result

    def matrix(self) -> sparse.csr_array:
        """As one matrix; for operators that are a matrix themselves."""
        assert self.base is not None and self.coefficients == (0.0, 1.0)
        return self.base.matrix

    def described(self) -> Any:
        """As a network takes it."""
        if self.base is None:
            assert self.is_identity
            return "identity"
        base = self.base.rule or self.base.matrix
        return base if self.coefficients == (0.0, 1.0) else Polynomial(base, self.coefficients)


IDENTITY = Operator(None, (1.0,))


class Operators:
    """The matrices met on one graph, each kept once."""

    def __init__(self, adjacency: sparse.csr_array):
        self.nodes = adjacency.shape[0]
        self._rules = list(_rules(adjacency))
        self._known: list[tuple[Base, float]] = []

    def of(self, matrix: Any) -> Operator:
        """The operator of a matrix: by its rule if it has one, or if what it takes away has one."""
        csr = sparse.csr_array(matrix, dtype=np.float64)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        csr.sort_indices()
        if csr.shape != (self.nodes, self.nodes):
            return Operator(Base(csr), (0.0, 1.0))
        for base, _ in self._known:
            for sign in (1.0, -1.0):
                if _equal(csr, base.matrix, sign, 0.0):
                    return Operator(base, (0.0, sign))
        for rule, made in self._rules:
            for sign in (1.0, -1.0):
                if _equal(csr, made, sign, _CLOSE):
                    if rule == "identity":
                        return Operator(None, (sign,))
                    base = next((base for base, _ in self._known if base.rule == rule), None)
                    if base is None:
                        base = Base(made, rule)
                        self._known.append((base, sign))
                    return Operator(base, (0.0, sign))
        base = Base(csr)
        self._known.append((base, 1.0))
        return Operator(base, (0.0, 1.0))

    def polynomial(self, operator: Operator, coefficients: Any) -> Operator:
        """Σ c_k A^k of an operator A."""
        result, power = [0.0], [1.0]
        for coefficient in coefficients:
            size = max(len(result), len(power))
            result = [a + float(coefficient) * b for a, b in zip(result + [0.0] * (size - len(result)), power + [0.0] * (size - len(power)))]
            power = list(np.convolve(power, operator.coefficients))
        while len(result) > 1 and result[-1] == 0.0:
            result.pop()
        return Operator(operator.base, tuple(float(c) for c in result))


def _equal(a: sparse.csr_array, b: sparse.csr_array, sign: float, tolerance: float) -> bool:
    """Are the entries of `a` those of `sign` times `b`?"""
    if a.nnz != b.nnz or not np.array_equal(a.indptr, b.indptr) or not np.array_equal(a.indices, b.indices):
        return False
    return bool((np.abs(a.data - sign * b.data) <= tolerance * np.abs(b.data)).all())


def _rules(adjacency: sparse.csr_array) -> Any:
    """The matrices of all rules on a graph (docs/model-format.md)."""
    nodes = adjacency.shape[0]
    plain = sparse.csr_array(adjacency, dtype=np.float64)
    plain.data[:] = 1.0
    looped = sparse.csr_array(plain.maximum(sparse.eye_array(nodes, format="csr")))
    yield "identity", sparse.csr_array(sparse.eye_array(nodes, format="csr"))
    for matrix, normalised, mean, summed in [(looped, "gcn", "mean+self", "sum+self"), (plain, "gcn-self", "mean", "sum")]:
        matrix.sort_indices()
        counts = np.diff(matrix.indptr)
        degree = counts.astype(np.float64)
        rows = np.repeat(np.arange(nodes), counts)

        def filled(values: np.ndarray, matrix: sparse.csr_array = matrix) -> sparse.csr_array:
            return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)

        yield normalised, filled(1.0 / np.sqrt(degree[rows] * degree[matrix.indices]))
        yield mean, filled(1.0 / degree[rows])
        yield summed, matrix
