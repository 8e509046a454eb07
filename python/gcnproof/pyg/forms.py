"""What a value of a module is while the module is read: a sum of terms over the attributes and over layers, and a bias.

Reading folds: a BatchNorm becomes part of the weights before it, two linear layers become one. What the module *computes* then differs
from the network that is described by its roundings. Every term and bias therefore remembers how large its summands were before they
were added up (`magnitude`) and how many more roundings they pass in the module than in the description (`roundings`); verdicts for the
network as it runs take both into account (docs/math.md §19.5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..network import Layer, Network, Term
from .operators import IDENTITY, Operator, Operators
from .traced import Traced, contiguous, operated

_SCALED = 2
"""Roundings of a product with a number: the product, and the number itself where it is none of the format."""

DIVIDED = "x / sum"
"""The attributes divided by the sums of their rows, while a module is read."""

_LONGEST = 24
"""A sum of more terms than this becomes a layer of its own before it is used further."""


@dataclass(eq=False)
class Source:
    """The attributes, or the units of a layer after their activation."""

    name: str
    width: int
    layer: Layer | None = None

    @property
    def is_nonnegative(self) -> bool:
        """Is no value below zero?"""
        return self.layer is None or self.layer.activation == "relu"


class Diagonal:
    """Weights that pass every unit on, each times a number of its own."""

    def __init__(self, scale: np.ndarray):
        self.scale = scale

    @property
    def is_identity(self) -> bool:
        """Is every number 1, and will be?"""
        return not isinstance(self.scale, Traced) and bool((self.scale == 1.0).all())


Weight = np.ndarray | Diagonal


def dense(weight: Weight) -> np.ndarray:
    """As a matrix."""
    return np.diag(weight.scale) if isinstance(weight, Diagonal) else weight


def _times(weight: Weight, matrix: np.ndarray) -> np.ndarray:
    """The weights, then a matrix."""
    return weight.scale[:, None] * matrix if isinstance(weight, Diagonal) else weight @ matrix


def _scaled(weight: Weight, scale: np.ndarray) -> Weight:
    """The weights, then a number for each unit."""
    return Diagonal(weight.scale * scale) if isinstance(weight, Diagonal) else weight * scale


@dataclass(eq=False)
class FormTerm:
    """operator · H(source) · weight. `magnitude` is None where nothing was added up that could cancel: then it is |weight|."""

    source: Source
    operator: Operator
    weight: Weight
    magnitude: np.ndarray | None = None
    roundings: int = 0

    @property
    def is_plain(self) -> bool:
        """Has no weight been applied yet?"""
        return isinstance(self.weight, Diagonal) and self.weight.is_identity

    @property
    def is_wide(self) -> bool:
        """Does it have a unit for each attribute?"""
        return self.source.layer is None and isinstance(self.weight, Diagonal)

    def size(self) -> np.ndarray:
        """How large the summands of the weights are, as a matrix."""
        return np.abs(dense(self.weight)) if self.magnitude is None else self.magnitude

    def linear(self, matrix: np.ndarray, magnitude: np.ndarray | None = None, exact: bool = False) -> FormTerm:
        """Times a matrix of inputs × outputs, whose own summands may be larger than it (`magnitude`). `exact`: units are only picked."""
        weight = _times(self.weight, matrix)
        if exact:
            picked = None if self.magnitude is None else self.magnitude @ np.abs(matrix)
            return FormTerm(self.source, self.operator, weight, picked, self.roundings)
        if self.is_plain:
            # The product that the description has.
            return FormTerm(self.source, self.operator, weight, magnitude, self.roundings)
        if isinstance(self.weight, Diagonal) and magnitude is None:
            # One summand in each entry: nothing cancels.
            return FormTerm(self.source, self.operator, weight, None, self.roundings + 1)
        # Another sum over the inputs, another product, and a bias between them.
        size = self.size() @ (np.abs(matrix) if magnitude is None else magnitude)
        return FormTerm(self.source, self.operator, weight, size, self.roundings + matrix.shape[0] + 2)

    def scaled(self, scale: np.ndarray, roundings: int) -> FormTerm:
        """Every unit times a number."""
        magnitude = None if self.magnitude is None else self.magnitude * np.abs(scale)
        return FormTerm(self.source, self.operator, _scaled(self.weight, scale), magnitude, self.roundings + roundings)

    def rounded(self, roundings: int) -> FormTerm:
        """The same with more roundings."""
        return replace(self, roundings=self.roundings + roundings) if roundings else self


@dataclass(eq=False)
class Bias:
    """Numbers for each unit, or rows × units, with the size of what was added up in them and the roundings of that."""

    values: np.ndarray
    magnitude: np.ndarray
    roundings: int = 0

    @staticmethod
    def of(values: np.ndarray) -> Bias:
        """A bias as it stands in the module."""
        return Bias(values, np.abs(values))

    def plus(self, other: Bias) -> Bias:
        """The sum of two."""
        return Bias(self.values + other.values, self.magnitude + other.magnitude, max(self.roundings, other.roundings) + 1)


class Form:
    """Σ terms + bias, by rows: nodes, edges inside a message-passing layer, or graphs behind a readout."""

    def __init__(self, rows: int, width: int, terms: list[FormTerm], bias: Bias | None = None, label: str | None = None):
        self.rows = rows
        self.width = width
        self.terms = terms
        self.bias = bias
        # The module that made it: a good name for the layer that it may become.
        self.label = label
        self._own: Form | None = None

    @staticmethod
    def of(source: Source, rows: int) -> Form:
        """The values of a source."""
        return Form(rows, source.width, [FormTerm(source, IDENTITY, Diagonal(np.ones(source.width)))])

    @property
    def is_local(self) -> bool:
        """Does every row depend on its own node only?"""
        return all(term.operator.base is None and term.operator.under is None for term in self.terms)

    def linear(self, matrix: np.ndarray, magnitude: np.ndarray | None = None, exact: bool = False) -> Form:
        """Times a matrix of inputs × outputs. `magnitude`: the size of what was added up in its entries; `exact`: units are only picked."""
        terms = [term.linear(matrix, magnitude, exact) for term in self.terms]
        bias = self.bias
        if bias is not None:
            size = np.abs(matrix) if magnitude is None else magnitude
            bias = Bias(bias.values @ matrix, bias.magnitude @ size, bias.roundings + (0 if exact else matrix.shape[0] + 2))
        return Form(self.rows, matrix.shape[1], terms, bias, self.label)

    def scaled(self, scale: np.ndarray | float, roundings: int = _SCALED) -> Form:
        """Every unit times a number, with so many roundings."""
        scale = scale.reshape(-1) if isinstance(scale, Traced) else np.asarray(scale, np.float64).reshape(-1)
        if roundings == _SCALED and (np.abs(scale) == 1.0).all():
            roundings = 0
        if not isinstance(scale, Traced) and (scale == scale[:1]).all():
            # The weights stay the same object, by which sums of powers are known as polynomials.
            terms = [replace(term, operator=term.operator.times(float(scale[0]))).rounded(roundings) for term in self.terms]
        else:
            terms = [term.scaled(scale, roundings) for term in self.terms]
        bias = self.bias
        if bias is not None:
            bias = Bias(bias.values * scale, bias.magnitude * np.abs(scale), bias.roundings + roundings)
        return Form(self.rows, self.width, terms, bias, self.label)

    def rounded(self, roundings: int) -> Form:
        """The same with more roundings of every term."""
        return Form(self.rows, self.width, [term.rounded(roundings) for term in self.terms], self.bias, self.label)

    def shifted(self, shift: np.ndarray | Bias) -> Form:
        """Plus a bias."""
        bias = shift if isinstance(shift, Bias) else Bias.of(shift)
        if self.bias is None:
            return Form(self.rows, self.width, self.terms, bias, self.label)
        # The description has one addition for the bias, the module two.
        return Form(self.rows, self.width, [term.rounded(1) for term in self.terms], self.bias.plus(bias), self.label)

    def plus(self, other: Form) -> Form:
        """The sum of two forms of the same size."""
        terms = list(self.terms)
        for term in other.terms:
            for place, own in enumerate(terms):
                if own.source is term.source and (both := _merged(own, term)) is not None:
                    terms[place] = both
                    break
            else:
                terms.append(term)
        bias = self.bias or other.bias
        if self.bias is not None and other.bias is not None:
            bias, terms = self.bias.plus(other.bias), [term.rounded(1) for term in terms]
        return Form(self.rows, self.width, terms, bias, self.label or other.label)

    def columns(self, start: int, stop: int) -> Form:
        """Some of the units."""
        if (start, stop) == (0, self.width):
            return self

        def cut(matrix: np.ndarray) -> np.ndarray:
            return contiguous(matrix[..., start:stop])

        terms = [replace(term, weight=cut(dense(term.weight)), magnitude=None if term.magnitude is None else cut(term.magnitude)) for term in self.terms]
        bias = None if self.bias is None else replace(self.bias, values=self.bias.values[..., start:stop], magnitude=self.bias.magnitude[..., start:stop])
        return Form(self.rows, stop - start, terms, bias, self.label)

    def passed(self, operator: Operator, operators: Operators) -> Form | None:
        """What an operator makes of it; None where that is better written with a layer between."""
        terms = []
        for term in self.terms:
            joined = operators.joined(operator, term.operator)
            if joined is None and self.rows != operators.nodes:
                joined = operators.product(operator, term.operator)
            if joined is None:
                return None
            terms.append(replace(term, operator=joined))
        rows = operator.base.matrix.shape[0] if operator.base else self.rows
        return Form(rows, self.width, terms, self.bias and self._passed_bias(self.bias, operator), self.label)

    def _passed_bias(self, bias: Bias, operator: Operator) -> Bias:
        """A bias of all nodes arrives as often as there are messages, weighted with them."""
        sizes = operator.absolute()

        def arrive(step: Operator, values: np.ndarray) -> np.ndarray:
            if values.ndim == 1:
                arriving = step.apply(np.ones(self.rows))
                if len(arriving) and (arriving == arriving[0]).all():
                    return arriving[0] * values
                values, traced = np.outer(arriving, values), isinstance(values, Traced)
            else:
                values, traced = operated(step, values), isinstance(values, Traced)
            return values[0].copy() if not traced and len(values) and (values == values[0]).all() else values

        values, magnitude = arrive(operator, bias.values), arrive(sizes, bias.magnitude)
        if values.ndim != magnitude.ndim:
            values, magnitude = (np.broadcast_to(part, (self.rows, self.width)) for part in (values, magnitude))
        return Bias(values, magnitude, bias.roundings + operator.messages() + 1)


def _merged(first: FormTerm, second: FormTerm) -> FormTerm | None:
    """Two terms of one source as one, if they are one."""
    roundings = max(first.roundings, second.roundings) + 1
    if first.weight is second.weight and (operator := first.operator.plus(second.operator)) is not None:
        magnitude = None if first.magnitude is None and second.magnitude is None else np.maximum(first.size(), second.size())
        return FormTerm(first.source, operator, first.weight, magnitude, roundings)
    (a, one), (b, two) = first.operator.monomial(), second.operator.monomial()
    if not one.same(two):
        return None
    one = one.rounded(max(two.roundings - one.roundings, 0))
    if isinstance(first.weight, Diagonal) and isinstance(second.weight, Diagonal):
        one_scale, two_scale = a * first.weight.scale, b * second.weight.scale
        cancels = first.magnitude is not None or second.magnitude is not None or bool((one_scale * two_scale < 0).any())
        weight: Weight = Diagonal(one_scale + two_scale)
    else:
        cancels, weight = True, a * dense(first.weight) + b * dense(second.weight)
    magnitude = abs(a) * first.size() + abs(b) * second.size() if cancels else None
    return FormTerm(first.source, one, weight, magnitude, roundings)


class Layers:
    """The layers that have been made so far."""

    def __init__(self, nodes: int, attributes: int, rewired: bool = False):
        self.nodes = nodes
        self.attributes = Source("x", attributes)
        # The same where the module has divided each row by its sum: a network reads either of them.
        self.divided = Source(DIVIDED, attributes)
        self._layers: list[Layer] = []
        # The arrays of the layers that a network has, by name: the weights of the terms, and the bias.
        self.arrays: dict[str, tuple[list[np.ndarray | None], np.ndarray | None]] = {}
        self._names: set[str] = {"x", DIVIDED, "logits"}
        # Are edges to be changed? Then a bias does not arrive as often as it does on this graph: what has one is a layer before it is passed on.
        self.rewired = rewired

    def relu(self, form: Form) -> Form:
        """What is above zero."""
        if len(form.terms) == 1 and form.bias is None:
            (term,) = form.terms
            local = term.operator.base is None and term.operator.under is None and term.operator.coefficients[0] >= 0
            scale = term.weight.scale if isinstance(term.weight, Diagonal) else None
            if scale is not None and not isinstance(scale, Traced) and local and term.source.is_nonnegative and (scale >= 0).all():
                return form
        return self._layer(form, "relu")

    def own(self, form: Form) -> Form:
        """The same values as a layer without activation."""
        if form._own is None:
            form._own = self._layer(form, "none")
        return form._own

    def passed(self, form: Form, operator: Operator, operators: Operators) -> Form:
        """What an operator makes of a form, with a layer between where one is needed."""
        if operator.is_identity:
            return form
        if self.rewired and form.rows == self.nodes and operator.base is not None and not operator.is_readout:
            # Layers without activation are no polynomial then, but layers: of these every one has a rule.
            joined = [operators.joined(operator, term.operator) for term in form.terms if term.operator.base is not None and not term.is_wide]
            if form.bias is not None or any(one is not None and len(one.coefficients) > 2 for one in joined):
                form = self.own(form)
        passed = form.passed(operator, operators) if len(form.terms) <= _LONGEST or form.rows != self.nodes else None
        if passed is None:
            passed = self.own(form).passed(operator, operators)
        assert passed is not None
        return passed

    def network(self, form: Form) -> tuple[Network, set[str]]:
        """The network whose logits a form is, and as what it reads the attributes; layers that it does not depend on are left out."""
        self._layers.append(self._described("logits", form, "none"))
        needed, kept = {"logits"}, []
        for layer in reversed(self._layers):
            if layer.name in needed:
                needed.update(term.source for term in layer.terms)
                kept.append(layer)
        terms = [term for layer in kept for term in layer.terms if term.source in ("x", DIVIDED)]
        read = {term.source for term in terms if term.weight is None or term.weight.any()}
        for layer in kept:
            layer.terms = [replace(term, source="x") if term.source == DIVIDED else term for term in layer.terms]
            self.arrays[layer.name] = ([term.weight for term in layer.terms], layer.bias)
        return Network(kept[::-1], "logits"), read

    def _layer(self, form: Form, activation: str) -> Form:
        wanted = form.label or "h"
        name, number = wanted, 1
        while name in self._names:
            number += 1
            name = f"{wanted}.{number}"
        self._names.add(name)
        layer = self._described(name, form, activation)
        self._layers.append(layer)
        return Form.of(Source(name, form.width, layer), form.rows)


    def _described(self, name: str, form: Form, activation: str) -> Layer:
        """A layer as a network takes it."""
        terms = _terms(form, self.attributes.width)
        if (bias := form.bias) is None:
            return Layer(name, terms, None, activation)
        magnitude = self._rows(_above(bias.magnitude, bias.values)) if bias.roundings else None
        return Layer(name, terms, self._rows(bias.values), activation, magnitude, bias.roundings)

    def _rows(self, values: np.ndarray) -> np.ndarray:
        """Numbers by graph with a row for each node: those behind the last graph are 0."""
        if values.ndim == 1 or len(values) == self.nodes:
            return values
        return np.vstack([values, np.zeros((self.nodes - len(values), values.shape[1]))])


def _above(magnitude: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Magnitudes rounded up: they are sums and products in float64, and must not fall below what they belong to."""
    return np.maximum(magnitude, np.abs(values)) * (1 + 2.0**-40)


def _terms(form: Form, attributes: int) -> list[Term]:
    """As a network takes them."""
    if not form.terms:
        return [Term("x", "identity", np.zeros((attributes, form.width)))]
    terms = []
    for term in form.terms:
        factor, operator = term.operator.monomial()
        if operator.base is None:
            # All coefficients may be 0.
            factor, operator = factor * operator.coefficients[0], operator.constant(1.0)
        weight = term.weight if factor == 1.0 else _scaled(term.weight, np.full(form.width, factor))
        roundings = term.roundings + operator.roundings
        if isinstance(weight, Diagonal) and weight.is_identity and term.source.layer is not None:
            terms.append(Term(term.source.name, operator.described(), None, None, roundings))
            continue
        matrix, magnitude = dense(weight), None
        if term.magnitude is not None:
            magnitude = _above(abs(factor) * term.magnitude, matrix)
        terms.append(Term(term.source.name, operator.described(), matrix, magnitude, roundings))
    return terms
