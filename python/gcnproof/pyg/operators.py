"""Operators while a module is read: polynomials of sparse matrices, and the rules by which the matrices are known."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from ..network import READOUTS, Polynomial

UNKNOWN = 1 << 23
"""So many roundings that nothing is claimed about the network as it runs."""

_CLOSE = 1e-12
"""How far the entries of a matrix may lie from those of a rule, relative to them: frameworks round in another order."""


class Base:
    """A sparse matrix whose row is the receiver, and its rule if it has one."""

    def __init__(self, matrix: sparse.csr_array, rule: str | None = None):
        self.matrix = matrix
        self.rule = rule

    @functools.cached_property
    def longest(self) -> int:
        """The entries of its longest row."""
        return int(np.diff(self.matrix.indptr).max(initial=0))

    @property
    def square(self) -> bool:
        """Does it lead from nodes to nodes?"""
        return self.matrix.shape[0] == self.matrix.shape[1]


class Operator:
    """Σ c_k B^k of a base B; without a base the constant c_0 times the identity.

    Inside a message-passing layer the base leads from nodes to edges, and `under` is what was applied to the nodes before. `roundings` is how
    many more roundings a message passes in the module than where the operator is applied as one matrix.
    """

    def __init__(self, base: Base | None, coefficients: tuple[float, ...], under: Operator | None = None, roundings: int = 0):
        while len(coefficients) > 1 and coefficients[-1] == 0.0:
            coefficients = coefficients[:-1]
        self.base = base if len(coefficients) > 1 else None
        self.coefficients = coefficients
        # A constant leads from nodes to nodes; where it is 0, nothing before it matters.
        self.under = under if self.base is not None else None
        self.roundings = roundings

    @property
    def is_identity(self) -> bool:
        """Does every node keep what it has?"""
        return self.base is None and self.under is None and self.coefficients == (1.0,)

    @property
    def is_readout(self) -> bool:
        """Does it pool the nodes of each graph?"""
        return self.base is not None and self.base.rule in READOUTS

    @property
    def is_matrix(self) -> bool:
        """Is it a multiple of its base?"""
        return self.base is not None and len(self.coefficients) == 2 and self.coefficients[0] == 0.0

    @property
    def is_recomputed(self) -> bool:
        """Is it one hop, which is known where edges change, if its base is a rule? A node adds its own value to a sum alone."""
        return self.base is None or self.is_matrix or len(self.coefficients) == 2 and self.base.rule == "sum"

    def times(self, factor: float) -> Operator:
        """A multiple."""
        return self if factor == 1.0 else Operator(self.base, tuple(factor * c for c in self.coefficients), self.under, self.roundings)

    def constant(self, factor: float) -> Operator:
        """A number in place of the operator, with its roundings."""
        return Operator(None, (factor,), None, self.roundings)

    def rounded(self, roundings: int) -> Operator:
        """The same with more roundings."""
        return Operator(self.base, self.coefficients, self.under, self.roundings + roundings) if roundings else self

    def absolute(self) -> Operator:
        """The same with the absolute values of all entries and coefficients."""
        if self.base is None:
            return self.constant(abs(self.coefficients[0]))
        signed = bool((self.base.matrix.data < 0).any())
        base = Base(abs(self.base.matrix)) if signed else self.base
        return Operator(base, tuple(map(abs, self.coefficients)), None if self.under is None else self.under.absolute(), self.roundings)

    def messages(self) -> int:
        """The roundings of a message on its way through all hops, at most."""
        own = 0 if self.base is None else (self.base.longest + 1) * (len(self.coefficients) - 1) + len(self.coefficients)
        return own + (0 if self.under is None else self.under.messages())

    def plus(self, other: Operator) -> Operator | None:
        """The sum; None where that is no polynomial of one matrix."""
        if self.under is not None or other.under is not None or None not in (self.base, other.base) and self.base is not other.base:
            return None
        size = max(len(self.coefficients), len(other.coefficients))
        first, second = (list(operator.coefficients) + [0.0] * (size - len(operator.coefficients)) for operator in (self, other))
        return Operator(self.base or other.base, tuple(a + b for a, b in zip(first, second)), None, max(self.roundings, other.roundings))

    def apply(self, values: np.ndarray) -> np.ndarray:
        """What it makes of some values by node."""
        if self.under is not None:
            values = self.under.apply(values)
        if self.base is None:
            return self.coefficients[0] * values
        if self.is_matrix:
            return self.coefficients[1] * (self.base.matrix @ values)
        # Horner's scheme: no power of the matrix is formed.
        result = self.coefficients[-1] * values
        for coefficient in reversed(self.coefficients[:-1]):
            result = self.base.matrix @ result
            if coefficient:
                result = result + coefficient * values
        return result

    def expanded(self) -> sparse.csr_array:
        """As one matrix."""
        assert self.base is not None
        power, total = sparse.csr_array(sparse.eye(self.base.matrix.shape[1], format="csr")), None
        if self.is_matrix:
            total = self.base.matrix * self.coefficients[1]
        else:
            for coefficient in self.coefficients:
                total = power * coefficient if total is None else total + power * coefficient
                power = self.base.matrix @ power
        return total if self.under is None else total @ self.under.expanded()

    def monomial(self) -> tuple[float, Operator]:
        """A number and an operator whose product it is: the number is 1 where several powers are summed.

        A multiple of the sum over neighbours and a node itself is that number times `poly(sum;a,1)`, as GIN has it: a rule that changed edges determine.
        """
        filled = [place for place, c in enumerate(self.coefficients) if c != 0.0]
        own = self.base is not None and self.base.rule == "sum" and filled == [0, 1]
        if len(filled) != 1 and not own:
            return 1.0, self
        factor = self.coefficients[filled[-1]]
        made = tuple(c / factor for c in self.coefficients)
        # A quotient that is not exact is a rounding of its own.
        inexact = int(own and Fraction(made[0]) * Fraction(factor) != Fraction(self.coefficients[0]))
        return factor, Operator(self.base, made, self.under, self.roundings + inexact)

    def same(self, other: Operator) -> bool:
        """Is it the same polynomial of the same matrix?"""
        return self.base is other.base and self.coefficients == other.coefficients and self.under is None and other.under is None

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

    def __init__(self, adjacency: sparse.csr_array, batch: np.ndarray):
        self.nodes = adjacency.shape[0]
        self._readouts = list(_readouts(batch))
        self._rules = list(rules_of(adjacency))
        self._known: list[Base] = []

    def of(self, matrix: Any, meant: str | None = None) -> Operator:
        """The operator of a matrix: by its rule if it or its negative has one. Where several rules give the same matrix (in a graph
        without edges, or if all nodes have as many neighbours), it is the one that is meant."""
        csr = sparse.csr_array(matrix, dtype=np.float64)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        csr.sort_indices()
        if csr.shape != (self.nodes, self.nodes):
            for rule, made in self._readouts:
                for sign in (1.0, -1.0):
                    if csr.shape == made.shape and are_equal(csr, made, sign, _CLOSE):
                        return Operator(self._base(made, rule), (0.0, sign))
            return Operator(Base(csr), (0.0, 1.0))
        for rule, made in sorted(self._rules, key=lambda known: known[0] != meant):
            for sign in (1.0, -1.0):
                if are_equal(csr, made, sign, _CLOSE):
                    return Operator(None, (sign,)) if rule == "identity" else Operator(self._base(made, rule), (0.0, sign))
        for base in self._known:
            for sign in (1.0, -1.0):
                if base.rule is None and are_equal(csr, base.matrix, sign, 0.0):
                    return Operator(base, (0.0, sign))
        return Operator(self._base(csr), (0.0, 1.0))

    def _base(self, matrix: sparse.csr_array, rule: str | None = None) -> Base:
        """The base of a rule, or a new one."""
        for base in self._known:
            if rule is not None and base.rule == rule:
                return base
        self._known.append(Base(matrix, rule))
        return self._known[-1]

    def polynomial(self, operator: Operator, coefficients: Any) -> Operator:
        """Σ c_k A^k of an operator A."""
        result, power = Operator(None, (0.0,)), Operator(None, (1.0,))
        for coefficient in coefficients:
            added = result.plus(power.times(float(coefficient)))
            assert added is not None
            result, power = added, Operator(operator.base, tuple(map(float, np.convolve(power.coefficients, operator.coefficients))))
        return result

    def joined(self, outer: Operator, inner: Operator) -> Operator | None:
        """`outer` applied to what `inner` gives; None where that is better written with a layer between.

        Matrices with one entry a row, and those between nodes and edges, are multiplied out; powers of one matrix stay a polynomial.
        """
        roundings = outer.roundings + inner.roundings
        if outer.base is None:
            return inner.times(outer.coefficients[0]).rounded(outer.roundings)
        if inner.base is None:
            return outer.times(inner.coefficients[0]).rounded(inner.roundings)
        if outer.base is inner.base and outer.base.square and inner.under is None:
            return Operator(outer.base, tuple(map(float, np.convolve(outer.coefficients, inner.coefficients))), None, roundings)
        if not inner.base.square or inner.under is not None:
            product = self.product(outer, Operator(inner.base, (0.0, 1.0), None, inner.roundings)).times(inner.coefficients[-1])
            if inner.under is None:
                return product
            if product.base is not None and not product.base.square:
                return Operator(product.base, product.coefficients, inner.under, product.roundings)
            joined = self.joined(product, inner.under)
            return self.product(product, inner.under) if joined is None else joined
        if not outer.base.square:
            return Operator(outer.base, outer.coefficients, inner, roundings)
        if outer.is_matrix and inner.is_matrix and min(outer.base.matrix.nnz, inner.base.matrix.nnz) <= self.nodes:
            return self.product(outer, inner)
        return None

    def product(self, outer: Operator, inner: Operator) -> Operator:
        """Two operators multiplied out. The module rounds between them: its sums may be longer, and have another product."""
        first, second = sparse.csr_array(outer.expanded()), sparse.csr_array(inner.expanded())
        result = self.of(first @ second)
        together = sparse.csr_array(first @ second)
        longer = np.diff(first.indptr) + int(np.diff(second.indptr).max(initial=1)) - 1 - np.diff(together.indptr)
        roundings = max(int(longer.max(initial=0)), 0) + (0 if _is_selection(first) or _is_selection(second) else 2)
        if (first.data < 0).any() or (second.data < 0).any():
            sizes = sparse.csr_array(abs(first) @ abs(second))
            if not are_equal(abs(together), sizes, 1.0, _CLOSE):
                # Messages cancel each other before they arrive: nothing is known of the roundings.
                roundings = UNKNOWN
        return result.rounded(roundings + outer.roundings + inner.roundings)


def _is_selection(matrix: sparse.csr_array) -> bool:
    """Are all entries 1 or −1, so that products with them are exact?"""
    return bool((np.abs(matrix.data) == 1.0).all())


def are_equal(a: sparse.csr_array, b: sparse.csr_array, sign: float, tolerance: float) -> bool:
    """Are the entries of `a` those of `sign` times `b`?"""
    if a.nnz != b.nnz or not np.array_equal(a.indptr, b.indptr) or not np.array_equal(a.indices, b.indices):
        return False
    # An entry may be infinite where a rule is not defined: it is equal to nothing.
    with np.errstate(invalid="ignore"):
        return bool((np.abs(a.data - sign * b.data) <= tolerance * np.abs(b.data)).all())


def _readouts(batch: np.ndarray) -> Any:
    """The matrices of graphs × nodes that pool the nodes of each graph."""
    nodes, counts = len(batch), np.bincount(batch)
    summed = sparse.csr_array((np.ones(nodes), (batch, np.arange(nodes))), shape=(len(counts), nodes))
    summed.sort_indices()
    yield "pool-sum", summed
    yield "pool-mean", sparse.csr_array((1.0 / counts[batch], summed.indices, summed.indptr), shape=summed.shape)


def rules_of(adjacency: sparse.csr_array) -> Any:
    """The matrices of all rules on a graph (docs/model-format.md)."""
    nodes = adjacency.shape[0]
    plain = sparse.csr_array(adjacency, dtype=np.float64)
    plain.data[:] = 1.0
    looped = sparse.csr_array(plain.maximum(sparse.eye(nodes, format="csr")))
    yield "identity", sparse.csr_array(sparse.eye(nodes, format="csr"))
    for matrix, normalised, mean, summed in [(looped, "gcn", "mean+self", "sum+self"), (plain, "gcn-self", "mean", "sum")]:
        matrix.sort_indices()
        counts = np.diff(matrix.indptr)
        degree = counts.astype(np.float64)
        rows = np.repeat(np.arange(nodes), counts)

        def filled(values: np.ndarray, matrix: sparse.csr_array = matrix) -> sparse.csr_array:
            return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)

        # Of a directed edge the sender may receive from nobody: then the rule is not known by its matrix.
        with np.errstate(divide="ignore"):
            yield normalised, filled(1.0 / np.sqrt(degree[rows] * degree[matrix.indices]))
        yield mean, filled(1.0 / degree[rows])
        yield summed, matrix
