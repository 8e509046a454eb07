"""What a value of a module is while the module is read: a sum of terms over the attributes and over layers, and a bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..network import Layer, Network, Term
from .operators import IDENTITY, Operator, Operators

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
        """Is every number 1?"""
        return bool((self.scale == 1.0).all())


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
    """operator · H(source) · weight."""

    source: Source
    operator: Operator
    weight: Weight


class Form:
    """Σ terms + bias, by rows: nodes, or edges inside a message-passing layer. The bias is None, per unit, or rows × units."""

    def __init__(self, rows: int, width: int, terms: list[FormTerm], bias: np.ndarray | None = None, label: str | None = None):
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

    def linear(self, matrix: np.ndarray, bias: np.ndarray | None = None) -> Form:
        """Times a matrix of inputs × outputs, plus a bias."""
        terms = [FormTerm(term.source, term.operator, _times(term.weight, matrix)) for term in self.terms]
        return Form(self.rows, matrix.shape[1], terms, _plus(None if self.bias is None else self.bias @ matrix, bias), self.label)

    def scaled(self, scale: np.ndarray | float, shift: np.ndarray | None = None) -> Form:
        """Every unit times a number, plus another."""
        scale = np.asarray(scale, np.float64).reshape(-1)
        if (scale == scale[:1]).all():
            # The weights stay the same object, by which sums of powers are known as polynomials.
            terms = [FormTerm(term.source, term.operator.times(float(scale[0])), term.weight) for term in self.terms]
        else:
            terms = [FormTerm(term.source, term.operator, _scaled(term.weight, scale)) for term in self.terms]
        return Form(self.rows, self.width, terms, _plus(None if self.bias is None else self.bias * scale, shift), self.label)

    def shifted(self, shift: np.ndarray) -> Form:
        """Plus a bias."""
        return Form(self.rows, self.width, self.terms, _plus(self.bias, shift), self.label)

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
        return Form(self.rows, self.width, terms, _plus(self.bias, other.bias), self.label or other.label)

    def columns(self, start: int, stop: int) -> Form:
        """Some of the units."""
        if (start, stop) == (0, self.width):
            return self
        terms = [FormTerm(term.source, term.operator, np.ascontiguousarray(dense(term.weight)[:, start:stop])) for term in self.terms]
        return Form(self.rows, stop - start, terms, None if self.bias is None else self.bias[..., start:stop], self.label)

    def passed(self, operator: Operator, operators: Operators) -> Form | None:
        """What an operator makes of it; None where that is better written with a layer between."""
        terms = []
        for term in self.terms:
            joined = operators.joined(operator, term.operator)
            if joined is None and self.rows != operators.nodes:
                joined = operators.of(operator.expanded() @ term.operator.expanded())
            if joined is None:
                return None
            terms.append(FormTerm(term.source, joined, term.weight))
        bias = self.bias
        rows = operator.base.matrix.shape[0] if operator.base else self.rows
        if bias is not None:
            # A bias of all nodes arrives as often as there are messages, weighted with them.
            bias = np.outer(operator.apply(np.ones(self.rows)), bias) if bias.ndim == 1 else operator.apply(bias)
            if len(bias) and (bias == bias[0]).all():
                bias = bias[0].copy()
        return Form(rows, self.width, terms, bias, self.label)


def _merged(first: FormTerm, second: FormTerm) -> FormTerm | None:
    """Two terms of one source as one, if they are one."""
    if first.weight is second.weight and (operator := first.operator.plus(second.operator)) is not None:
        return FormTerm(first.source, operator, first.weight)
    (a, one), (b, two) = first.operator.monomial(), second.operator.monomial()
    if not one.same(two):
        return None
    if isinstance(first.weight, Diagonal) and isinstance(second.weight, Diagonal):
        return FormTerm(first.source, one, Diagonal(a * first.weight.scale + b * second.weight.scale))
    return FormTerm(first.source, one, a * dense(first.weight) + b * dense(second.weight))


def _plus(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    """The sum of two biases, either of which may be missing."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


class Layers:
    """The layers that have been made so far."""

    def __init__(self, nodes: int, attributes: int):
        self.nodes = nodes
        self.attributes = Source("x", attributes)
        self._layers: list[Layer] = []
        self._names: set[str] = {"x", "logits"}

    def relu(self, form: Form) -> Form:
        """What is above zero."""
        if len(form.terms) == 1 and form.bias is None:
            (term,) = form.terms
            local = term.operator.base is None and term.operator.under is None and term.operator.coefficients[0] >= 0
            if local and term.source.is_nonnegative and isinstance(term.weight, Diagonal) and (term.weight.scale >= 0).all():
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
        passed = form.passed(operator, operators) if len(form.terms) <= _LONGEST or form.rows != self.nodes else None
        if passed is None:
            passed = self.own(form).passed(operator, operators)
        assert passed is not None
        return passed

    def network(self, form: Form) -> Network:
        """The network whose logits a form is; layers that it does not depend on are left out."""
        self._layers.append(Layer("logits", _terms(form, self.attributes.width), form.bias, "none"))
        needed, kept = {"logits"}, []
        for layer in reversed(self._layers):
            if layer.name in needed:
                needed.update(term.source for term in layer.terms)
                kept.append(layer)
        return Network(kept[::-1], "logits")

    def _layer(self, form: Form, activation: str) -> Form:
        wanted = form.label or "h"
        name, number = wanted, 1
        while name in self._names:
            number += 1
            name = f"{wanted}.{number}"
        self._names.add(name)
        layer = Layer(name, _terms(form, self.attributes.width), form.bias, activation)
        self._layers.append(layer)
        return Form.of(Source(name, form.width, layer), form.rows)


def _terms(form: Form, attributes: int) -> list[Term]:
    """As a network takes them."""
    if not form.terms:
        return [Term("x", "identity", np.zeros((attributes, form.width)))]
    terms = []
    for term in form.terms:
        factor, operator = term.operator.monomial()
        weight = term.weight if factor == 1.0 else _scaled(term.weight, np.full(form.width, factor))
        if operator.base is None:
            # All coefficients may be 0.
            weight, operator = _scaled(weight, np.full(form.width, operator.coefficients[0])), IDENTITY
        passed_on = isinstance(weight, Diagonal) and weight.is_identity and term.source.layer is not None
        terms.append(Term(term.source.name, operator.described(), None if passed_on else dense(weight)))
    return terms
