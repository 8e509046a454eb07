"""Networks as sums of terms: what is certified, as plain numpy arrays (docs/model-format.md)."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import new_file
from .errors import InvalidNetwork

RULES = ("gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity")
"""The operators that have a name."""

READOUTS = ("pool-sum", "pool-mean")
"""Operators whose rows are graphs: the sum or mean over the nodes of each."""


@dataclass(eq=False)
class Polynomial:
    """The operator Σ c_k A^k. `base` is a rule or a sparse matrix, `coefficients` are c_0, c_1, …"""

    base: Any
    coefficients: Sequence[float]

    def __repr__(self) -> str:
        return f"Polynomial({_words(self.base)}, {np.ravel(self.coefficients).tolist()})"


def recomputed(operator: Any) -> bool:
    """Is an operator known where edges change? Of polynomials, that is GIN's alone."""
    if not isinstance(operator, Polynomial):
        return isinstance(operator, str)
    return isinstance(operator.base, str) and operator.base == "sum" and [float(c) for c in operator.coefficients][1:] == [1.0]


@dataclass(eq=False)
class Term:
    """A part of a layer: `operator` · H(`source`) · `weight`.

    `source` is `"x"` for the attributes, or the name of a layer. `operator` is a rule, a sparse matrix of nodes × nodes whose row is
    the receiver, or a Polynomial. `weight` is inputs × outputs; None passes on what is read as it is (not for `"x"`).

    Where the program that runs adds up in another way than this network, verdicts about it (`deployed="float32"`) need to know how:
    `magnitude`, of the weight's shape, is the size of what was added up in each weight (None: its absolute value), `roundings` the number of
    roundings that a product passes beyond those of the network.
    """

    source: str
    operator: Any
    weight: np.ndarray | None = None
    magnitude: np.ndarray | None = None
    roundings: int = 0

    def __repr__(self) -> str:
        weight = "" if self.weight is None else ", " + " × ".join(map(str, np.shape(self.weight)))
        return f"Term({self.source!r}, {_words(self.operator)}{weight})"


@dataclass(eq=False)
class Layer:
    """A layer: the sum of its terms and its bias, then the activation.

    `bias` is one number for each unit, or nodes × units (behind a readout row g is that of graph g, and the rows left are 0). `activation` is `"relu"`, `"none"`, or a list with one of them for each unit.
    `bias_magnitude` and `bias_roundings` are for the bias what `magnitude` and `roundings` are for a Term.
    """

    name: str
    terms: Sequence[Term]
    bias: np.ndarray | None = None
    activation: str | Sequence[str] = "relu"
    bias_magnitude: np.ndarray | None = None
    bias_roundings: int = 0

    def __repr__(self) -> str:
        bias = "no bias" if self.bias is None else "bias by node" if np.ndim(self.bias) == 2 else "bias"
        activation = self.activation if isinstance(self.activation, str) else "relu and none"
        return f"Layer({self.name!r}, {list(self.terms) if isinstance(self.terms, Sequence) else self.terms}, {bias}, {activation})"


@dataclass(eq=False, repr=False)
class Network:
    """Layers, each of which reads the attributes or other layers; `output` names the one with the logits, by default the last.

    Raises InvalidNetwork if they do not fit each other.
    """

    layers: Sequence[Layer]
    output: str | None = None
    edges: bool = True
    """Do rules and biases hold for other edges than those of the graph? Not where they were read from a module that computes something from its edges."""
    units: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if hasattr(self.layers, "state_dict"):
            raise InvalidNetwork("a module of torch is no list of layers: gcnproof.from_pyg(model, data) reads it, and certify(model, data, …) takes it as it is")
        if isinstance(self.layers, Layer) or not hasattr(self.layers, "__iter__") or not all(isinstance(layer, Layer) for layer in self.layers):
            raise InvalidNetwork("layers are a list of Layer objects, such as [Layer('h', [Term('x', 'gcn', W1)], b1), Layer('out', [Term('h', 'gcn', W2)], b2, 'none')]")
        if not self.layers:
            raise InvalidNetwork("a network has at least one layer")
        for layer in self.layers:
            if isinstance(layer.terms, Term) or not all(isinstance(term, Term) for term in layer.terms):
                raise InvalidNetwork(f"layer {layer.name}: its terms are a list of Term objects, such as [Term('x', 'gcn', W)]")
            if layer.activation is None or callable(layer.activation):
                raise InvalidNetwork(f"layer {layer.name}: its activation is 'relu', 'none', or a list with one of them for each unit")
        if self.output is None:
            self.output = self.layers[-1].name
        self.units = {}
        self._check()

    def __repr__(self) -> str:
        layers = "".join(f"\n  {layer}" for layer in self.layers)
        return f"Network({self.attribute_count} attributes, {self.class_count} classes:{layers})"

    @property
    def attribute_count(self) -> int:
        """The number of attributes that the network takes."""
        weights = (term.weight for layer in self.layers for term in layer.terms if term.source == "x")
        return next(weight.shape[0] for weight in weights if weight is not None)

    @property
    def class_count(self) -> int:
        """The number of classes."""
        return self.units[self._output]

    @property
    def node_count(self) -> int | None:
        """The number of nodes, where matrices or biases by node fix it."""
        for layer in self.layers:
            for term in layer.terms:
                if (matrix := _matrix(term.operator)) is not None:
                    return matrix.shape[0]
            if layer.bias is not None and layer.bias.ndim == 2:
                return layer.bias.shape[0]
        return None

    @property
    def has_matrices(self) -> bool:
        """Does it pass messages by matrices of its own, which do not follow from the edges?"""
        return any(_matrix(term.operator) is not None for layer in self.layers for term in layer.terms)

    @property
    def has_rules(self) -> bool:
        """Does it pass messages along edges by rules?"""
        rules = [term.operator.base if isinstance(term.operator, Polynomial) else term.operator for layer in self.layers for term in layer.terms]
        return any(isinstance(rule, str) and rule not in ("identity", *READOUTS) for rule in rules)

    @property
    def has_readout(self) -> bool:
        """Does it classify graphs?"""
        return any(isinstance(term.operator, str) and term.operator in READOUTS for layer in self.layers for term in layer.terms)

    @property
    def _output(self) -> str:
        return self.layers[-1].name if self.output is None else self.output

    def _check(self) -> None:
        """Raises if something does not fit."""
        names = [layer.name for layer in self.layers]
        for name in names:
            if not isinstance(name, str) or name == "x" or names.count(name) > 1:
                raise InvalidNetwork(f"layer {name!r}: a name is a string other than 'x', and each is used once")
        if self.output not in names:
            raise InvalidNetwork(f"the output {self.output!r} is none of the layers {', '.join(names)}")
        attributes = nodes = None
        for layer in self._sorted():
            at = f"layer {layer.name!r}"
            outputs = None
            for place, term in enumerate(layer.terms):
                here = f"{at}, term {place}"
                rows = _check_operator(here, term.operator)
                if rows is not None:
                    if nodes not in (None, rows):
                        raise InvalidNetwork(f"{here}: the matrix has {rows} nodes, but others have {nodes}")
                    nodes = rows
                inputs = attributes if term.source == "x" else self.units[term.source]
                if term.weight is None:
                    if term.source == "x":
                        raise InvalidNetwork(f"{here}: a term that reads the attributes needs a weight")
                    width = inputs
                else:
                    term.weight = _array(here, "weight", term.weight, (2,))
                    found, width = term.weight.shape
                    if inputs not in (None, found):
                        turned = " (is it stored as outputs × inputs? then transpose it)" if width == inputs else ""
                        raise InvalidNetwork(f"{here}: the weight takes {found} inputs, but {term.source!r} has {inputs}{turned}")
                    if term.source == "x":
                        attributes = found
                term.magnitude = _check_folding(here, "weight", term.weight, term.magnitude, term.roundings)
                if outputs not in (None, width):
                    raise InvalidNetwork(f"{at}: its terms have {outputs} and {width} units and cannot be added")
                outputs = width
            if outputs is None:
                raise InvalidNetwork(f"{at}: it has no terms")
            if layer.bias is not None:
                layer.bias = _array(at, "bias", layer.bias, (1, 2))
                if layer.bias.shape[-1] != outputs:
                    taken = [term.weight.shape[0] for term in layer.terms if term.weight is not None]
                    turned = " (are the weights stored as outputs × inputs? then transpose them)" if layer.bias.shape[-1] in taken else ""
                    raise InvalidNetwork(f"{at}: the bias has {layer.bias.shape[-1]} numbers for {outputs} units{turned}")
                if layer.bias.ndim == 2:
                    if nodes not in (None, layer.bias.shape[0]):
                        raise InvalidNetwork(f"{at}: the bias has {layer.bias.shape[0]} rows, but there are {nodes} nodes")
                    nodes = layer.bias.shape[0]
            layer.bias_magnitude = _check_folding(at, "bias", layer.bias, layer.bias_magnitude, layer.bias_roundings)
            each = [layer.activation] if isinstance(layer.activation, str) else list(layer.activation)
            if not set(each) <= {"relu", "none"}:
                raise InvalidNetwork(f"{at}: an activation is 'relu' or 'none', not {layer.activation!r}")
            if not isinstance(layer.activation, str) and len(each) != outputs:
                raise InvalidNetwork(f"{at}: {len(each)} activations are given for {outputs} units")
            if layer.name == self.output and set(each) != {"none"}:
                raise InvalidNetwork(f"{at}: the logits have no activation: say activation='none'")
            self.units[layer.name] = outputs
        if attributes is None:
            raise InvalidNetwork("no layer reads the attributes 'x'")
        unused = [name for name in names if name not in self.units]
        if unused:
            raise InvalidNetwork(f"layer {unused[0]!r}: the output does not depend on it; leave it out")

    def _sorted(self) -> list[Layer]:
        """The layers that the output depends on, each behind those that it reads."""
        by_name = {layer.name: layer for layer in self.layers}
        order: list[Layer] = []
        state: dict[str, int] = {self._output: 1}
        stack = [(by_name[self._output], iter(by_name[self._output].terms))]
        while stack:
            layer, terms = stack[-1]
            term = next(terms, None)
            if term is None:
                stack.pop()
                state[layer.name] = 2
                order.append(layer)
            elif term.source != "x":
                if term.source not in by_name:
                    raise InvalidNetwork(f"layer {layer.name!r}: it reads {term.source!r}, which is no layer")
                if state.get(term.source) == 1:
                    raise InvalidNetwork(f"layer {layer.name!r}: it reads {term.source!r}, which depends on it")
                if term.source not in state:
                    state[term.source] = 1
                    stack.append((by_name[term.source], iter(by_name[term.source].terms)))
        return order

    def describe(self) -> tuple[str, dict[str, np.ndarray]]:
        """The description of docs/model-format.md as JSON, and its tensors by name. Arrays are not copied."""
        tensors: dict[str, np.ndarray] = {}
        matrices: dict[int, str] = {}
        layers = []
        for layer in self.layers:
            terms = []
            for place, term in enumerate(layer.terms):
                described: dict[str, Any] = {"from": term.source, "operator": _name(term.operator, matrices, tensors)}
                if term.weight is not None:
                    # PyTorch keeps weights as outputs × inputs: such a view is handed on as it lies in memory.
                    turned = not term.weight.flags.c_contiguous and term.weight.T.flags.c_contiguous
                    described["weight"] = f"{layer.name}.{place}.weight"
                    tensors[described["weight"]] = term.weight.T if turned else np.ascontiguousarray(term.weight)
                    if turned:
                        described["transposed"] = True
                    if term.magnitude is not None:
                        described["magnitude"] = f"{layer.name}.{place}.magnitude"
                        tensors[described["magnitude"]] = np.ascontiguousarray(term.magnitude.T if turned else term.magnitude)
                if term.roundings:
                    described["roundings"] = int(term.roundings)
                terms.append(described)
            activation = layer.activation if isinstance(layer.activation, str) else list(layer.activation)
            entry: dict[str, Any] = {"name": layer.name, "activation": activation, "terms": terms}
            if layer.bias is not None:
                entry["bias"] = f"{layer.name}.bias"
                tensors[entry["bias"]] = np.ascontiguousarray(layer.bias)
                if layer.bias_magnitude is not None:
                    entry["bias_magnitude"] = f"{layer.name}.bias_magnitude"
                    tensors[entry["bias_magnitude"]] = np.ascontiguousarray(layer.bias_magnitude)
                if layer.bias_roundings:
                    entry["bias_roundings"] = int(layer.bias_roundings)
            layers.append(entry)
        fixed = {} if self.edges else {"edges": False}
        return json.dumps({"version": 1, "output": self.output, **fixed, "layers": layers}), tensors

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes a .safetensors file that describes the network. What is there is not overwritten unless forced."""
        target = new_file(path, force, "model.safetensors", (".safetensors",))
        text, tensors = self.describe()
        header: dict[str, Any] = {"__metadata__": {"gcnproof.network": text}}
        at = 0
        for name, values in tensors.items():
            header[name] = {"dtype": _TYPES[values.dtype], "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
            at += values.nbytes
        start = json.dumps(header).encode()
        start += b" " * (-len(start) % 8)
        with open(target, "wb") as file:
            file.write(struct.pack("<Q", len(start)) + start)
            for values in tensors.values():
                file.write(values.data if values.size else b"")


_TYPES = {np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.int64): "I64"}


def _array(at: str, what: str, values: Any, dimensions: tuple[int, ...]) -> np.ndarray:
    """A finite array of float32 or float64, not copied if it is one."""
    if hasattr(values, "detach"):  # A tensor of torch, perhaps with a gradient, on a GPU or in 16 bits.
        values = values.detach().cpu()
        values = (values if str(values.dtype) != "torch.bfloat16" else values.float()).numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidNetwork(f"{at}: the rows of the {what} have different lengths") from None
    if array.dtype not in (np.float64, np.float32):
        if array.dtype.kind not in "fiub":
            raise InvalidNetwork(f"{at}: the {what} is an array of {array.dtype}, not of real numbers")
        array = array.astype(np.float64)
    if array.ndim not in dimensions:
        raise InvalidNetwork(f"{at}: the {what} has {array.ndim} sides instead of {' or '.join(map(str, dimensions))}")
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InvalidNetwork(
            f"{at}: the {what} at [{', '.join(map(str, place))}] is {array[tuple(place)]}, which is not a finite number. Remedy: load the weights again, or train "
            "again with a smaller learning rate: no verdict about them would mean anything"
        )
    return array


def _check_folding(at: str, what: str, values: np.ndarray | None, magnitude: Any, roundings: Any) -> np.ndarray | None:
    """Raises if magnitude or roundings are none of such values; the magnitude as an array."""
    if not isinstance(roundings, (int, np.integer)) or roundings < 0:
        raise InvalidNetwork(f"{at}: the roundings of the {what} are {roundings!r}, not a whole number from 0")
    if magnitude is None:
        return None
    if values is None:
        raise InvalidNetwork(f"{at}: a magnitude is given, but no {what}")
    array = _array(at, f"magnitude of the {what}", magnitude, (values.ndim,))
    if array.shape != values.shape or (array < np.abs(values)).any():
        raise InvalidNetwork(f"{at}: the magnitude of the {what} must have its shape, and no entry below the {what}'s absolute value")
    return array


def _matrix(operator: Any) -> Any:
    """The sparse matrix of an operator, if it has one."""
    base = operator.base if isinstance(operator, Polynomial) else operator
    return None if isinstance(base, str) else base


def _words(operator: Any) -> str:
    """An operator in a few words."""
    if isinstance(operator, Polynomial):
        return f"polynomial of degree {np.size(operator.coefficients) - 1} of {_words(operator.base)}"
    return f"matrix with {operator.nnz} entries" if hasattr(operator, "nnz") else str(operator)


def _check_operator(at: str, operator: Any) -> int | None:
    """Raises if it is no operator; the number of nodes, if it fixes that."""
    if isinstance(operator, Polynomial):
        try:
            coefficients = np.asarray(operator.coefficients, np.float64)
        except (TypeError, ValueError):
            coefficients = np.zeros(0)
        if coefficients.ndim != 1 or not coefficients.size or not np.isfinite(coefficients).all():
            raise InvalidNetwork(f"{at}: a polynomial has at least one coefficient, and they are finite numbers: Polynomial('gcn', [0.5, 0.5])")
        if isinstance(operator.base, Polynomial):
            raise InvalidNetwork(f"{at}: a polynomial of a polynomial: multiply it out")
    base = operator.base if isinstance(operator, Polynomial) else operator
    if isinstance(base, str):
        if base in READOUTS and isinstance(operator, Polynomial):
            raise InvalidNetwork(f"{at}: a polynomial of {base}, which leads from nodes to graphs and has no powers")
        if base not in RULES + READOUTS and not base.startswith("poly("):
            raise InvalidNetwork(f"{at}: the operator {base!r} is none of {', '.join(RULES + READOUTS)}, poly(RULE;c0,c1,…) or a sparse matrix")
        return None
    if not hasattr(base, "tocsr"):
        if base is None:
            remedy = "'identity' reads each node by itself, 'gcn' passes messages"
        else:
            dense = "" if str(getattr(base, "layout", "torch.strided")) == "torch.strided" else ".to_dense()"
            values = f"A{dense}.detach().cpu().numpy()" if hasattr(base, "detach") else "A"
            remedy = f"`scipy.sparse.csr_array({values})` makes one of a dense matrix A"
        raise InvalidNetwork(f"{at}: an operator is a rule or a scipy.sparse matrix, not a {type(base).__name__}: {remedy}")
    rows, columns = base.shape
    if rows != columns:
        raise InvalidNetwork(f"{at}: the matrix is {rows} by {columns}, not nodes × nodes")
    entries = base.tocsr().data
    if entries.dtype.kind not in "fiub":
        raise InvalidNetwork(f"{at}: the matrix is of type {entries.dtype}, and message passing needs real numbers")
    if not np.isfinite(entries).all():
        wrong = base.tocoo()
        place = int(np.flatnonzero(~np.isfinite(wrong.data))[0])
        raise InvalidNetwork(
            f"{at}: the matrix at [{wrong.row[place]}, {wrong.col[place]}] is {wrong.data[place]}, which is not a finite number. Remedy: set entries of nodes "
            "without edges to 0: a degree of 0 gives 1 / 0"
        )
    return int(rows)


def _name(operator: Any, matrices: dict[int, str], tensors: dict[str, np.ndarray]) -> str:
    """How the description names an operator; the tensors of a matrix are added when it is met first."""
    if isinstance(operator, Polynomial):
        numbers = ",".join(repr(float(c)) for c in operator.coefficients)
        return f"poly({_name(operator.base, matrices, tensors)};{numbers})"
    if isinstance(operator, str):
        return operator
    if id(operator) not in matrices:
        name = f"matrix{len(matrices)}"
        matrices[id(operator)] = name
        csr = operator.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        tensors[f"{name}.indptr"] = csr.indptr.astype(np.int64, copy=False)
        tensors[f"{name}.indices"] = csr.indices.astype(np.int64, copy=False)
        tensors[f"{name}.data"] = csr.data.astype(np.float64, copy=False)
    return f"matrix:{matrices[id(operator)]}"
