"""Values of a module that is being read: blocks of units side by side, as tensors that remember how they were made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .forms import Form

if TYPE_CHECKING:
    from .division import RowSums


class Value:
    """Forms side by side. `final` names the function that turned logits into probabilities: nothing may follow it."""

    def __init__(self, blocks: list[Form], final: str | None = None):
        self.blocks = blocks
        self.final = final
        # Of the attributes: the precision that the module has them in, 32 or 64 bits, where that is known.
        self.bits: int | None = None
        # Whether it is the sums of their rows (division.py).
        self.row_sums: RowSums | None = None

    @property
    def rows(self) -> int:
        """The number of nodes, or of edges inside a message-passing layer."""
        return self.blocks[0].rows

    @property
    def width(self) -> int:
        """The number of units."""
        return sum(block.width for block in self.blocks)

    def each(self, make: Callable[[Form], Form]) -> Value:
        """The same on every block."""
        return Value([make(block) for block in self.blocks])

    def parts(self, make: Callable[[Form, int, int], Form]) -> Value:
        """The same on every block, which is told where it starts and stops."""
        blocks, at = [], 0
        for block in self.blocks:
            blocks.append(make(block, at, at + block.width))
            at += block.width
        return Value(blocks)

    def columns(self, start: int, stop: int) -> Value:
        """Some of the units."""
        blocks, at = [], 0
        for block in self.blocks:
            low, high = max(start, at), min(stop, at + block.width)
            if low < high:
                blocks.append(block.columns(low - at, high - at))
            at += block.width
        return Value(blocks)

    def aligned(self, other: Value) -> tuple[Value, Value]:
        """Both, cut at the same places."""
        if [block.width for block in self.blocks] == [block.width for block in other.blocks]:
            return self, other
        cuts = {0}
        for value in (self, other):
            at = 0
            for block in value.blocks:
                at += block.width
                cuts.add(at)
        edges = sorted(cuts)
        pairs = list(zip(edges, edges[1:]))
        first, second = (Value([value.columns(*pair).blocks[0] for pair in pairs]) for value in (self, other))
        return first, second


class Recorded(torch.Tensor):
    """A tensor without numbers: PyTorch's functions and methods on it are recorded instead of computed."""

    # A stack of several values: they, and the side along which they lie.
    stack: tuple[list[Recorded], int] | None
    # What shares its numbers with others: the tensor that parts were taken of, and these parts, have the same list of one flag.
    shared: list[bool]

    @staticmethod
    def __new__(cls, value: Value, recorder: Any, shape: tuple[int, ...] | None = None) -> Recorded:
        return torch.Tensor._make_wrapper_subclass(cls, shape or (value.rows, value.width), dtype=torch.float64)

    def __init__(self, value: Value, recorder: Any, shape: tuple[int, ...] | None = None):
        self.value = value
        self.recorder = recorder
        self.stack = None
        self.shared = [False]

    def share(self, part: Recorded) -> Recorded:
        """Tells that another tensor is a part of this one: writing into one would change the other."""
        with torch._C.DisableTorchFunctionSubclass():
            self.shared[0] = True
            part.shared = self.shared
        return part

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        recorder = _recorder(args, kwargs or {})
        return recorder.function(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _recorder(args, kwargs or {}).refuse_function(str(func))

    def __repr__(self, **_: Any) -> str:
        return f"Recorded({tuple(self.shape)})"


class Beforehand(torch.Tensor):
    """Another tensor of the Data object with one row for each node. Whoever computes with it is told that flips would not change it."""

    recorder: Any
    key: str

    @classmethod
    def of(cls, tensor: torch.Tensor, recorder: Any, key: str) -> Beforehand:
        """A tensor under the name that it has in the Data object."""
        result = tensor.as_subclass(cls)
        result.recorder, result.key = recorder, key
        return result

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        own = next((item for item in args if isinstance(item, Beforehand)), None)
        if own is not None and name in _MOVED:
            return own
        with torch._C.DisableTorchFunctionSubclass():
            if name == "__get__" and getattr(getattr(func, "__self__", None), "__name__", "") in _LOOKED_AT or name in _LOOKED_AT:
                return func(*args, **(kwargs or {}))
            own = own if own is not None else next(item for item in _flat([*args, *(kwargs or {}).values()]) if isinstance(item, Beforehand))
        raise own.recorder.refuse(
            f"`data.{own.key}` beside `data.x`",
            "it has a row for each node, and if it was computed from the attributes beforehand, flips of attributes would not change it",
            "compute it in forward from x; if it does not depend on the attributes, register it as a buffer of the model and read it there",
        )


_MOVED = {"to", "cpu", "cuda", "double", "float", "contiguous", "detach", "clone", "type", "requires_grad_", "pin_memory", "share_memory_", "record_stream"}
"""What a Data object does to all of its tensors when it is moved or copied."""

_LOOKED_AT = {"size", "dim", "numel", "__len__", "shape", "dtype", "device", "ndim", "layout", "is_sparse", "is_cuda", "requires_grad", "__hash__",
              "is_floating_point", "is_sparse_csr", "is_nested", "__repr__", "element_size", "nelement"}
"""What does not depend on the numbers of a tensor."""


def _flat(items: Any) -> Any:
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        elif isinstance(item, dict):
            yield from _flat(item.values())
        else:
            yield item


def _recorder(args: Any, kwargs: Any) -> Any:
    """The recorder of the first recorded tensor among some arguments."""
    waiting = [*args, *kwargs.values()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Recorded):
            with torch._C.DisableTorchFunctionSubclass():
                return item.recorder
        if isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
    raise AssertionError("no recorded tensor among the arguments")
