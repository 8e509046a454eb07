"""A model that is read once and asked often."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from . import calls, curve, runs
from .arguments import same_file
from .errors import InputError
from .graph import Graph
from .network import Network
from .selection import Subject, is_module

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")


def _bound(function: Callable[Concatenate[Any, Any, P], R]) -> Callable[Concatenate[Verifier, P], R]:
    """A call as a method: the model and its data are the verifier's."""

    @functools.wraps(function)
    def method(self: Verifier, /, *args: P.args, **options: P.kwargs) -> R:
        if options.keys() & {"model", "data"} or any(map(self._has, args[:2])):
            name = function.__name__
            raise InputError(f"{name} of a Verifier is given a model or data, and has both already", f"leave them out: Verifier(model, data).{name}(…)")
        return function(self, None, *args, **options)

    own, *rest = list(inspect.signature(function).parameters.values())[1:]
    kept = [parameter for parameter in rest if parameter.name != "call"]
    method.__signature__ = inspect.Signature([own.replace(name="self", default=own.empty, annotation=own.empty), *kept])  # type: ignore[attr-defined]
    return method


class Verifier:
    """A model and its data, read and compared once: `Verifier(model, data).certify(…)` is `certify(model, data, …)`.

        v = gcnproof.Verifier(model, data)
        v.certify(Q=12, q=0.01)
        v.radius(q=0.01)
        v.explain(163)

    What is done to the module or its data afterwards is not seen: make another one.
    """

    def __init__(self, model: Any, data: Any, *, call: calls.Call = None):
        self._subject = Subject(model, data, call, real=True)

    @property
    def graph(self) -> Graph:
        """The graph that was read."""
        return self._subject.graph

    @property
    def network(self) -> Any:
        """The network that was read, or the path of its file."""
        return self._subject.model

    def _has(self, thing: Any) -> bool:
        """Is it a model or data?"""
        own = self._subject
        known = is_module(thing) or isinstance(thing, (Graph, Network)) or hasattr(thing, "edge_index")
        return known or same_file(thing, own.model) or same_file(thing, own.file)

    def __repr__(self) -> str:
        return f"Verifier({self.graph!r}, {self._subject.network.classes} classes)"

    certify = _bound(calls.certify)
    radius = _bound(calls.radius)
    explain = _bound(calls.explain)
    check = _bound(calls.check)
    logits = _bound(calls.logits)
    collective = _bound(curve.collective)
    validate = _bound(runs.validate)
