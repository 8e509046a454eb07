"""Reads a module by running it: its forward sees recorded tensors instead of attributes, and the edges themselves.

Running the module's own code, rather than guessing from its parameters, takes its control flow, options and names as they are.
Convolutions of PyTorch Geometric are taken as a whole where their formula is known; other layers are followed into their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.overrides import TorchFunctionMode

from ..errors import UnsupportedModel
from ..network import Network
from ..normalisation import Division
from . import activations, arithmetic, indexing, words  # noqa: F401  (they register their functions)
from .changes import change
from .forms import DIVIDED, Form, Layers
from .functions import FUNCTIONS, PROPERTIES, Unhandled
from .layers import LAYERS, has_own_code
from .operators import Operator, Operators
from .values import Recorded, Value


_LONGEST_POWER = 2
"""Layers without activation are joined into one polynomial up to this power; beyond it they stay layers."""


@dataclass(frozen=True)
class Given:
    """What is known of the attributes that a module is given, where it divides them by their sums."""

    bits: int | None
    """The precision of a quotient of them, 32 or 64 bits; None if it is another."""
    divided: int | None
    """Where their rows are divided by their sums already, the bits of the quotients."""
    is_double: bool
    """Are all weights of the module in float64, before it is copied?"""
    follows_casts: bool = True
    """Do casts change the precision? Not where casts to float32 are taken as casts to float64."""


class Recorder:
    """One reading of a module, which must be a copy of its own: its layers are told to record."""

    def __init__(self, module: torch.nn.Module, adjacency: sparse.csr_array, attributes: int, given: Given, batch: np.ndarray, rewired: bool = False, called: str = ""):
        self.module = module
        # In words, what its forward is called with, where that is not said by the user.
        self.called = called
        self.bits, self.given_divided = given.bits, given.divided
        self.follows_casts, self.is_double = given.follows_casts, given.is_double
        # How the module divides the rows of its attributes by their sums, if it does.
        self.division: Division | None = None
        self.names = {id(part): path for path, part in module.named_modules()}
        self.nodes = adjacency.shape[0]
        self.graphs = int(batch[-1]) + 1
        self.operators = Operators(adjacency, batch)
        self.layers = Layers(self.nodes, attributes, rewired)
        self.refused: UnsupportedModel | None = None
        self._prepare()

    def attributes(self) -> Recorded:
        """What stands for the attributes."""
        value = Value([Form.of(self.layers.attributes, self.nodes)])
        value.bits = self.bits
        return self.tensor(value)

    def record(self, call: Callable[[], Any], remedy: str) -> tuple[Network, str | None]:
        """Runs the module by `call`, with a `remedy` where that fails; the network, and the function that turns its logits into probabilities, if there is one."""
        try:
            with _Kept(self):
                result = call()
        except KeyboardInterrupt:
            raise
        except UnsupportedModel as error:
            raise self.refused or error
        except Exception as error:
            if self.refused is not None:
                raise self.refused from error
            self._explain(error, remedy)
        if self.refused is not None:
            raise self.refused
        return self._output(result, remedy)

    def _explain(self, error: Exception, remedy: str) -> None:
        """Raises about an error in the module's own code, with its place."""
        where, at, hint = words.failure(error)
        told = f"{type(error).__name__}: {error}".rstrip(".: ")
        raise UnsupportedModel(
            f"The module's forward failed while it was read: {told}.{at} Remedy: {hint or f'the forward must run on a copy in float64 on the CPU, without the numbers of the attributes; {remedy}'}.",
            type(error).__name__,
            where,
        ) from error

    def _output(self, result: Any, called: str) -> tuple[Network, str | None]:
        remedy = "let its forward return the logits of all nodes, or of all graphs, one row each"
        if not isinstance(result, Recorded):
            kind = type(result).__name__
            if isinstance(result, Mapping):
                key = next((key for key, one in result.items() if isinstance(one, Recorded) and len(one.shape) == 2), "logits")
                raise UnsupportedModel(
                    f"The model returns a {kind}, not the logits alone. Remedy: say which of its entries are the logits: "
                    f"`call=lambda model, data: model(data.x, data.edge_index)[{key!r}]`.",
                    kind,
                )
            if isinstance(result, (tuple, list)):
                fit = [at for at, one in enumerate(result) if isinstance(one, Recorded) and len(one.shape) == 2 and one.shape[0] in (self.nodes, self.graphs)]
                others = "".join(f" or `[{at}]` ({result[at].shape[1]} classes)" for at in fit[1:])
                first = f" ({result[fit[0]].shape[1]} classes)" if others else ""
                raise UnsupportedModel(
                    f"The model returns a {kind} of {len(result)}, not the logits alone. Remedy: say which of them are the logits: "
                    f"`call=lambda model, data: model(data.x, data.edge_index)[{fit[0] if fit else 0}]`{first}{others}.",
                    kind,
                )
            raise UnsupportedModel(
                f"The model returned a {kind} that does not depend on the attributes as rows of logits. Remedy: {remedy}; {called}.", kind
            )
        value = self.value(result)
        rows = value.rows if value.rows in (self.nodes, self.graphs) else self.nodes
        if result.stack is not None or tuple(result.shape) != (rows, value.width) or value.rows != rows:
            raise UnsupportedModel(
                f"The model returned a tensor of {' × '.join(map(str, result.shape))}, but the graph has {self.nodes} nodes: only models that "
                f"give logits for every node, or for every graph of a batch, are certified, not those for some of the nodes. Remedy: {remedy}.",
                "output",
            )
        if value.width < 2:
            raise UnsupportedModel(
                f"The model returned one number per {'node' if rows == self.nodes else 'graph'}. Remedy: certify a classifier with one logit for each class; a single logit z is the "
                "same as the two logits 0 and z.",
                "output",
            )
        value.each(self._pooled)
        network, read = self.layers.network(joined(value))
        if len(read) > 1:
            raise UnsupportedModel(
                "The module reads the attributes both as they are and divided by the sums of their rows: only one of them is certified. Remedy: "
                "use `x` after the division alone, in all layers.",
                "division",
            )
        if DIVIDED not in read:
            self.division = None
        return network, value.final

    # What tensors do.

    def tensor(self, value: Value) -> Recorded:
        """The tensor of a value."""
        return Recorded(value, self)

    def value(self, tensor: Recorded) -> Value:
        """The value of a tensor."""
        with torch._C.DisableTorchFunctionSubclass():
            value = tensor.value
            stacked = tensor.stack is not None
        if stacked:
            raise self.refuse("a stack of values", "only its sum and mean are followed", "use torch.cat along the units instead")
        return value

    def open_value(self, tensor: Recorded) -> Value:
        """The value of a tensor that goes on being computed with: not that of probabilities."""
        value = self.value(tensor)
        if value.final:
            raise self.refuse(f"what follows `{value.final}`", "probabilities may only be returned", "apply it to the logits, at the end")
        return value

    def function(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What a function of PyTorch does to recorded tensors."""
        name = getattr(func, "__name__", str(func))
        if name == "__get__":
            owner = getattr(func, "__self__", None)
            return self._property(getattr(owner, "__name__", ""), func, args)
        if name == "__set__":
            return self.refuse_function("assignment to an attribute of a tensor")
        if kwargs.get("out") is not None:
            raise self.refuse(f"`{name}` with out=", "its result is written into a tensor that is there already", "use what it returns, without out=")
        handler = FUNCTIONS.get(name)
        if handler is None:
            return self.refuse_function(name)
        try:
            return handler(self, *args, **kwargs)
        except Unhandled as unhandled:
            remedy = "write the layer with Linear, ReLU, BatchNorm, sums and concatenation"
            if name == "__getitem__":
                name, remedy = "[…]", "keep all nodes, and pick units by slices or lists: `x[:, :8]`"
            raise self.refuse(f"`{name}`", str(unhandled), unhandled.remedy or remedy) from None

    def _property(self, name: str, func: Any, args: Any) -> Any:
        if name in PROPERTIES:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args)
        if name == "data":
            return args[0]
        return self.refuse_function(f"Tensor.{name}")

    def refuse_function(self, name: str) -> Any:
        """Raises about a function that cannot be followed."""
        if (pooled := words.pooling()) is not None:
            raise self.refuse(*pooled)
        plain = name.strip("_") if name.startswith("__") else name
        why, remedy = words.FUNCTIONS.get(
            plain.removeprefix("Tensor."),
            ("this function is not a sum of terms with ReLU", "write it with Linear, ReLU, BatchNorm, sums and concatenation"),
        )
        raise self.refuse(f"`{plain}`", why, remedy)

    def refuse(self, what: str, why: str, remedy: str, module: Any = None) -> UnsupportedModel:
        """The error about an operation at the place that is being read. The first one is kept: the module's code may catch it."""
        error = words.refuse(what, why, remedy, self.names, module)
        self.refused = self.refused or error
        return error

    # What layers do.

    def is_attributes(self, tensor: Recorded) -> bool:
        """Is a tensor the attributes as they are?"""
        with torch._C.DisableTorchFunctionSubclass():
            forms = tensor.value.blocks
        return len(forms) == 1 and [term.source for term in forms[0].terms] == [self.layers.attributes] and forms[0].is_local and forms[0].terms[0].is_plain

    def relu(self, form: Form) -> Form:
        """What is above zero, as a layer."""
        if form.rows not in (self.nodes, self.graphs):
            raise self.refuse("an activation of every edge", words.PER_EDGE, words.RETRAIN_LAYER)
        return self.layers.relu(self._pooled(form))

    def _pooled(self, form: Form) -> Form:
        """The form itself; raises where rows are graphs, or nodes that read graphs, in another way than by a readout."""
        for operator in [term.operator for term in form.terms if term.operator.base is not None]:
            assert operator.base is not None
            if operator.base.matrix.shape != (self.nodes, self.nodes) and not (operator.is_readout and operator.under is None):
                raise self.refuse("a readout of its own, or what leads from graphs back to nodes", words.READOUT, words.RETRAIN_POOL)
        return form

    def passed(self, value: Value, operator: Operator) -> Value:
        """What an operator makes of a value."""
        if operator.is_readout:
            # Graphs add up what nodes have, and that is a layer unless every node has it by itself.
            value = value.each(lambda form: form if form.is_local else self.layers.own(form))
        return value.each(lambda form: self.layers.passed(form, operator, self.operators))

    def ready(self, value: Value, operators: list[Operator]) -> Value:
        """The value with a layer before it where the operators could not be joined with those that it has already."""

        def form(form: Form) -> Form:
            for operator in operators:
                for term in form.terms:
                    joined = self.operators.joined(operator, term.operator)
                    long = joined is not None and term.operator.base is not None and len(joined.coefficients) > _LONGEST_POWER + 1
                    if joined is None or long and not term.is_wide:
                        return self.layers.own(form)
            return form

        return value.each(form)

    def label(self) -> str | None:
        """The path of the module that is being run."""
        return words.path(self.names)

    def _prepare(self) -> None:
        """Tells the layers of the module to record."""
        for part in self.module.modules():
            known = next((handler for kind, handler in LAYERS if isinstance(part, kind) and not has_own_code(part, kind)), None)
            if known is not None:
                part.forward = _bound(self, known, part)
            elif (refused := words.refused_class(part)) is not None:
                part.forward = _refused(self, refused, part)


class _Kept(TorchFunctionMode):
    """Refuses to put a recorded tensor into a plain one (`self.buffer.data = h`): it has no numbers, and PyTorch would read memory that is not there."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") == "__set__" and not isinstance(args[0], Recorded) and isinstance(args[1], Recorded):
            name = getattr(func.__self__, "__name__", "data")
            raise self.recorder.refuse(
                f"assignment to `.{name}` of a tensor", "what is kept there would have no numbers while the module is read", "assign the tensor itself: self.h = h"
            )
        return func(*args, **(kwargs or {}))


def _bound(recorder: Recorder, handler: Any, part: torch.nn.Module) -> Any:
    original, changed = part.forward, change(part)

    def forward(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(item, Recorded) for item in _flat([*args, *kwargs.values()])):
            return original(*args, **kwargs)
        if changed is not None:
            raise recorder.refuse(
                f"{type(part).__name__} with {changed}",
                "the layer is read by its formula, and hooks, changed methods and changed sublayers are not read",
                "take them off; what they compute can be written in the forward of the model",
                part,
            )
        try:
            result = handler(recorder, part, *args, **kwargs)
        except Unhandled as unhandled:
            raise recorder.refuse(type(part).__name__, str(unhandled), unhandled.remedy or "check the sizes of the layers and how they are called", part) from None
        for block in result.blocks:
            block.label = recorder.names.get(id(part)) or block.label
        return recorder.tensor(result)

    return forward


def _refused(recorder: Recorder, name: str, part: torch.nn.Module) -> Any:
    def forward(*args: Any, **kwargs: Any) -> Any:
        why, remedy = words.MODULES[name]
        raise recorder.refuse(name, why, remedy, part)

    return forward


def _flat(items: Any) -> Any:
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


def joined(value: Value) -> Form:
    """All blocks of a value as one form."""
    if len(value.blocks) == 1:
        return value.blocks[0]
    result, at = Form(value.rows, value.width, []), 0
    for block in value.blocks:
        selection = np.zeros((block.width, value.width))
        selection[np.arange(block.width), at + np.arange(block.width)] = 1.0
        result = result.plus(block.linear(selection, exact=True))
        at += block.width
    return result

