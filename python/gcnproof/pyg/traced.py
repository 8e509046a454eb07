"""Numbers of a module that remember how they were made from its parameters, so that torch can make them again, with a gradient.

Reading folds BatchNorm, scalars and linear layers into the weights of terms by functions of numpy. While a module is read to be
trained, its parameters and buffers carry their names, functions of torch on them are recorded, and the arrays of a reading are of the class
`Traced`, which records the functions of numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

_MADE = "_gcnproof_made"
"""The attribute of a tensor that says how it was made."""


class Made:
    """A function of torch and what it was given: constants, and what was made before."""

    def __init__(self, function: Callable[..., Any] | None, args: Any = (), kwargs: Any = None, name: str = ""):
        self.function = function
        self.args = args
        self.kwargs = kwargs or {}
        # Of what cannot be made again: the function that stands in the way. Of a parameter or buffer: its name.
        self.name = name

    def parts(self) -> list[Made]:
        """What it was made of."""
        return [item for item in flat([*self.args, *self.kwargs.values()]) if isinstance(item, Made)]


class Leaf(Made):
    """A parameter or a buffer, by its name."""

    def __init__(self, name: str):
        super().__init__(None, name=name)


def flat(items: Any) -> Iterator[Any]:
    """What stands in lists and tuples."""
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from flat(item)
        else:
            yield item


def _mapped(item: Any, to: Callable[[Any], Any]) -> Any:
    if isinstance(item, (list, tuple)) and not isinstance(item, torch.Size):
        parts = [_mapped(part, to) for part in item]
        return tuple(parts) if isinstance(item, tuple) else parts
    return to(item)


def _remembered(item: Any) -> Any:
    """An argument as it is remembered: by how it was made, or as a constant."""
    if isinstance(item, Traced):
        return item.made
    if isinstance(item, np.ndarray):
        return torch.from_numpy(np.array(item))
    if _is_plain(item):
        return made_of(item) or item.detach().clone()
    return item


def _is_plain(item: Any) -> bool:
    """Is it a tensor with numbers, none that is recorded?"""
    return type(item) in (torch.Tensor, torch.nn.Parameter)


def made_of(tensor: torch.Tensor) -> Made | None:
    """How a plain tensor was made, if it was made of parameters."""
    return tensor.__dict__.get(_MADE) if _is_plain(tensor) else None


def mark(module: torch.nn.Module) -> None:
    """Gives the parameters of a module, and its buffers with real numbers, their names."""
    for name, tensor in [*module.named_buffers(), *module.named_parameters()]:
        if tensor.is_floating_point():
            setattr(tensor, _MADE, Leaf(name))


class _Tracing(TorchFunctionMode):
    """Records functions of torch on tensors that were made of parameters."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        known = [item for item in flat([*args, *kwargs.values()]) if _is_plain(item) and made_of(item)]
        outputs = [item for item in flat([result]) if _is_plain(item)]
        if not known or not outputs:
            return result
        name = getattr(func, "__name__", str(func))
        written = name.endswith("_") and not name.endswith("__") or name in ("__setitem__", "__set__") or kwargs.get("out") is not None
        remembered = None if written else ([_mapped(item, _remembered) for item in args], {key: _mapped(item, _remembered) for key, item in kwargs.items()})
        for place, output in enumerate(outputs):
            if any(output is item for item in known) and not written:
                continue
            if remembered is None:
                made = Made(None, name=name)
            elif output is result:
                made = Made(func, *remembered)
            else:
                made = Made(_Output(func, place), *remembered)
            setattr(output, _MADE, made)
        return result


class _Output:
    """One output of a function that has several."""

    def __init__(self, function: Any, place: int):
        self.function = function
        self.place = place

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return list(flat([self.function(*args, **kwargs)]))[self.place]


@contextmanager
def tracing(active: bool) -> Iterator[None]:
    """Records how tensors are made, if that is wanted."""
    if not active:
        yield
        return
    with _Tracing():
        yield


class Traced(np.ndarray):
    """An array that remembers how it was made. Comparisons give plain arrays: decisions that depend on numbers are not followed."""

    made: Made

    @staticmethod
    def of(values: np.ndarray, made: Made) -> Traced:
        """An array and how it was made."""
        result = np.asarray(values, np.float64).view(Traced)
        result.made = made
        return result

    def __array_finalize__(self, source: Any) -> None:
        # Whatever is not listed below makes an array of which nothing is known.
        self.made = Made(None, name="a function of numpy")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [_plain(item) for item in inputs]
        if (out := kwargs.get("out")) is not None:
            kwargs["out"] = tuple(_plain(item) for item in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if not isinstance(result, np.ndarray | np.floating) or result.dtype != np.float64:
            return result
        function = _UFUNCS.get(ufunc.__name__) if method == "__call__" and not kwargs else None
        return _traced(result, ufunc.__name__, function, inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = func(*_mapped(tuple(args), _plain), **{key: _plain(item) for key, item in kwargs.items()})
        if not isinstance(result, np.ndarray) or result.dtype != np.float64:
            return result
        return _traced(result, func.__name__, _FUNCTIONS.get(func.__name__), args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _traced(_plain(self)[key], "[…]", lambda tensor: tensor[key], (self,))

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """In another shape."""
        result = _plain(self).reshape(*shape, **kwargs)
        return _traced(result, "reshape", lambda tensor: tensor.reshape(result.shape), (self,))

    def copy(self, order: Any = "C") -> Any:
        """The same numbers."""
        return Traced.of(_plain(self).copy(), self.made)

    @property
    def T(self) -> Any:  # type: ignore[override]
        """The transpose."""
        return _traced(_plain(self).T, "T", lambda tensor: tensor.T, (self,))


def _plain(item: Any) -> Any:
    return item.view(np.ndarray) if isinstance(item, Traced) else item


def _traced(values: Any, name: str, function: Callable[..., Any] | None, args: Any, kwargs: Any = None) -> Traced:
    if function is None:
        return Traced.of(values, Made(None, name=name))
    remembered = {key: _mapped(item, _remembered) for key, item in (kwargs or {}).items()}
    return Traced.of(values, Made(function, [_mapped(item, _remembered) for item in args], remembered))


def _tensor(item: Any) -> Any:
    return item if isinstance(item, torch.Tensor) else torch.tensor(item, dtype=torch.float64)


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *items: function(*map(_tensor, items))


_UFUNCS: dict[str, Callable[..., Any]] = {
    name: _of_tensors(function)
    for name, function in {
        "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "true_divide": torch.div, "negative": torch.neg,
        "absolute": torch.abs, "sqrt": torch.sqrt, "matmul": torch.matmul, "maximum": torch.maximum, "minimum": torch.minimum,
    }.items()
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "diag": torch.diag,
    "broadcast_to": lambda item, shape: item.expand(tuple(shape)),
    "outer": lambda a, b: torch.outer(_tensor(a), _tensor(b)),
    "tensordot": lambda a, b, axes=2: torch.tensordot(_tensor(a), _tensor(b), axes),
    "vstack": lambda items: torch.vstack(list(items)),
    "moveaxis": torch.moveaxis,
}


def contiguous(values: np.ndarray) -> np.ndarray:
    """In C order, unless it remembers how it was made."""
    return values if isinstance(values, Traced) else np.ascontiguousarray(values)


def operated(operator: Any, values: Any) -> Any:
    """What an operator makes of values by node, which may be traced."""
    if not isinstance(values, Traced):
        return operator.apply(values)

    def function(tensor: torch.Tensor) -> torch.Tensor:
        return _Applied.apply(operator, tensor)

    return _traced(operator.apply(_plain(values)), "apply", function, (values,))


class _Applied(torch.autograd.Function):
    """An operator on values by node."""

    @staticmethod
    def forward(context: Any, operator: Any, values: torch.Tensor) -> torch.Tensor:
        context.operator = operator
        return torch.from_numpy(np.ascontiguousarray(operator.apply(values.detach().numpy())))

    @staticmethod
    def backward(context: Any, *by: Any) -> Any:
        # A linear map: the transpose of its matrix.
        matrix = context.operator.expanded() if context.operator.base is not None else None
        values = by[0].numpy() * context.operator.coefficients[0] if matrix is None else matrix.T @ by[0].numpy()
        return None, torch.from_numpy(np.ascontiguousarray(values))


def leaves(made: list[Made]) -> set[str]:
    """The names of the parameters and buffers that some numbers were made of."""
    names, waiting, seen = set(), list(made), set()
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Leaf):
            names.add(item.name)
        waiting.extend(item.parts())
    return names


def obstacle(made: list[Made]) -> str | None:
    """A function that cannot be followed, if some numbers depend on one."""
    waiting, seen = list(made), set()
    while waiting:
        item = waiting.pop()
        if id(item) not in seen:
            seen.add(id(item))
            if item.function is None and not isinstance(item, Leaf):
                return item.name
            waiting.extend(item.parts())
    return None


def remade(made: list[Made], tensors: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """The numbers again, from other parameters and buffers by their names."""
    known: dict[int, Any] = {}

    def value(item: Any) -> Any:
        return known[id(item)] if isinstance(item, Made) else item

    waiting = list(made)
    while waiting:
        item = waiting[-1]
        missing = [part for part in item.parts() if id(part) not in known]
        if id(item) in known or missing:
            waiting.extend(missing)
            if not missing:
                waiting.pop()
            continue
        if isinstance(item, Leaf):
            known[id(item)] = tensors[item.name]
        else:
            assert item.function is not None
            args, kwargs = [_mapped(part, value) for part in item.args], {key: _mapped(part, value) for key, part in item.kwargs.items()}
            known[id(item)] = item.function(*args, **kwargs)
        waiting.pop()
    return [known[id(item)] for item in made]
