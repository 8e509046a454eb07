"""Recorded tensors by rows and units: slices, and the gathering and scattering of messages along edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

from .forms import Form
from .functions import FUNCTIONS, Unhandled, function, side, writable
from .values import Recorded, Value

_PICKED = ("some of the nodes are picked", "give logits for all nodes, and pick rows after the model")


@function("__getitem__")
def _item(recorder: Any, tensor: Any, key: Any) -> Any:
    if not isinstance(tensor, Recorded):
        raise Unhandled("a tensor is indexed with what depends on the attributes")
    value = recorder.open_value(tensor)
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [item for item in keys if not isinstance(item, torch.Tensor)]:
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (3 - len(keys))
    keys += [slice(None)] * (2 - len(keys))
    if len(keys) > 2 or any(item is None or isinstance(item, int) for item in keys):
        raise Unhandled("single nodes or units are picked, or sides are added")
    rows, units = keys
    # Slices share the numbers of the tensor, other picks are copies.
    share = tensor.share if isinstance(rows, slice) and isinstance(units, slice) else lambda part: part
    if isinstance(units, slice):
        start, stop, step = units.indices(value.width)
        if step != 1 or stop <= start:
            raise Unhandled("units are picked in steps")
        value = value.columns(start, stop)
    else:
        picked = np.arange(value.width)[units.cpu().numpy() if isinstance(units, torch.Tensor) else np.asarray(units)]
        value = Value([joined_columns(value, picked)])
    if isinstance(rows, slice):
        start, stop, step = rows.indices(value.rows)
        if (start, stop, step) == (0, value.rows, 1):
            return share(recorder.tensor(value))
        rows = torch.arange(start, stop, step)
    return share(recorder.tensor(_gathered(recorder, value, torch.as_tensor(rows))))


def joined_columns(value: Value, picked: np.ndarray) -> Form:
    """Some units in an order of their own."""
    result, at = Form(value.rows, len(picked), []), 0
    for block in value.blocks:
        selection = np.zeros((block.width, len(picked)))
        for place, unit in enumerate(picked):
            if at <= unit < at + block.width:
                selection[unit - at, place] = 1.0
        result = result.plus(block.linear(selection, exact=True))
        at += block.width
    return result


def _gathered(recorder: Any, value: Value, index: torch.Tensor) -> Value:
    """The rows that an index names."""
    index = index.detach().cpu()
    if index.dtype == torch.bool:
        index = index.nonzero().reshape(-1)
    if index.dim() != 1:
        raise Unhandled("rows are picked by a table of indices")
    rows = index.numpy() % value.rows
    matrix = sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), value.rows))
    if len(rows) == value.rows and (rows == np.arange(value.rows)).all():
        return value
    return recorder.passed(value, recorder.operators.of(matrix))


@function("index_select")
def _index_select(recorder: Any, input: Any, dim: int, index: Any) -> Any:
    if not isinstance(input, Recorded) or isinstance(index, Recorded):
        raise Unhandled("the index depends on the attributes")
    value = recorder.open_value(input)
    if side(dim) == 1:
        return recorder.tensor(Value([joined_columns(value, index.cpu().numpy())]))
    return recorder.tensor(_gathered(recorder, value, index))


@function("scatter_add", "scatter_add_", "index_add", "index_add_")
def _scattered(recorder: Any, base: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    if not isinstance(source, Recorded) or isinstance(index, Recorded) or side(dim) != 0:
        raise Unhandled("only rows are added up along edges")
    index = index.detach().cpu()
    if index.dim() == 2:
        if not (index == index[:, :1]).all():
            raise Unhandled("units of one message go to different nodes")
        index = index[:, 0]
    value = recorder.open_value(source)
    rows = base.shape[0]
    matrix = sparse.coo_array((np.full(len(index), float(alpha)), (index.numpy(), np.arange(len(index)))), shape=(rows, value.rows))
    result = recorder.passed(value, recorder.operators.of(matrix))
    if isinstance(base, Recorded):
        result = recorder.value(FUNCTIONS["add"](recorder, base, recorder.tensor(result)))
    elif base.any():
        result = recorder.value(FUNCTIONS["add"](recorder, recorder.tensor(result), base))
    return recorder.tensor(result)


def _in_place(name: str) -> Any:
    plain = FUNCTIONS[name.rstrip("_")]

    def handler(recorder: Any, base: Any, *args: Any, **kwargs: Any) -> Any:
        result = plain(recorder, base, *args, **kwargs)
        if isinstance(base, Recorded):
            writable(base)
            base.value = result.value
            return base
        raise Unhandled("what depends on the attributes is written into a plain tensor", "make it with x.new_zeros or torch.zeros_like(x)")

    return handler


FUNCTIONS["scatter_add_"] = _in_place("scatter_add_")
FUNCTIONS["index_add_"] = _in_place("index_add_")


def _shape(size: Any) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list, torch.Size)) else tuple(size)


@function("new_zeros")
def _new_zeros(recorder: Any, like: Any, *size: Any, **kwargs: Any) -> Any:
    shape = _shape(size or (kwargs["size"],))
    if len(shape) == 2 and kwargs.get("dtype", torch.float64).is_floating_point:
        return recorder.tensor(Value([Form(shape[0], shape[1], [])]))
    return torch.zeros(shape, dtype=kwargs.get("dtype", torch.float64))


@function("zeros_like")
def _zeros_like(recorder: Any, input: Any, **kwargs: Any) -> Any:
    return _new_zeros(recorder, input, tuple(input.shape), **{key: value for key, value in kwargs.items() if key == "dtype" and value is not None})


@function("new_ones")
def _new_ones(recorder: Any, like: Any, *size: Any, **kwargs: Any) -> Any:
    return torch.ones(_shape(size or (kwargs["size"],)), dtype=kwargs.get("dtype") or torch.float64)


@function("ones_like")
def _ones_like(recorder: Any, input: Any, **kwargs: Any) -> Any:
    return torch.ones(tuple(input.shape), dtype=kwargs.get("dtype") or torch.float64)


@function("chunk", "tensor_split")
def _chunk(recorder: Any, input: Recorded, chunks: int, dim: int = 0) -> tuple[Recorded, ...]:
    if side(dim) != 1 or not isinstance(chunks, int):
        raise Unhandled(*_PICKED)
    size = -(-input.shape[1] // chunks)
    return _split(recorder, input, size, 1)


@function("split", "split_with_sizes")
def _split(recorder: Any, input: Recorded, split_size_or_sections: Any, dim: int = 0) -> tuple[Recorded, ...]:
    if side(dim) != 1:
        raise Unhandled(*_PICKED)
    value, sizes = recorder.open_value(input), split_size_or_sections
    if isinstance(sizes, int):
        sizes = [min(sizes, value.width - at) for at in range(0, value.width, sizes)]
    parts, at = [], 0
    for size in sizes:
        parts.append(input.share(recorder.tensor(value.columns(at, at + size))))
        at += size
    return tuple(parts)
