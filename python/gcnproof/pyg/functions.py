"""Functions of PyTorch on recorded tensors, by name: how they are registered, and those that change nothing.

The others are in `activations`, `arithmetic` and `indexing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .traced import Traced, made_of
from .values import Recorded, Value

PROPERTIES = {"shape", "dtype", "device", "ndim", "requires_grad", "layout", "is_sparse", "is_cuda", "is_meta", "grad", "is_leaf", "names",
              "is_quantized", "is_mkldnn", "is_sparse_csr", "is_nested", "is_cpu", "is_mps", "itemsize", "nbytes", "grad_fn"}
"""Attributes of a tensor that do not depend on its numbers."""


class Unhandled(Exception):
    """Arguments that a function is not followed with: the message says why, and a remedy may be what else to write."""

    def __init__(self, why: str, remedy: str | None = None):
        super().__init__(why)
        self.remedy = remedy


FUNCTIONS: dict[str, Any] = {}
"""Handlers by the function's name; they take the recorder, then the function's own arguments."""


def function(*names: str) -> Any:
    def register(handler: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(names, handler))
        return handler

    return register


def array(tensor: Any) -> np.ndarray:
    """The numbers of a plain tensor in float64, which remember how they were made if the tensor does."""
    if isinstance(tensor, Traced):
        return tensor
    if not isinstance(tensor, torch.Tensor):
        return np.asarray(tensor, np.float64)
    values = tensor.detach().cpu().to(torch.float64).numpy()
    return values if (made := made_of(tensor)) is None else Traced.of(values, made)


def side(dim: Any, dimensions: int = 2) -> int:
    """A side counted from 0."""
    if not isinstance(dim, int):
        raise Unhandled("one side must be named")
    return dim % dimensions


# Functions that change nothing.


def _same(recorder: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(tensor, Recorded):
        raise Unhandled("the attributes are not its first argument")
    return tensor


for _name in ["contiguous", "detach", "detach_", "cpu", "cuda", "requires_grad_", "alias", "retain_grad"]:
    FUNCTIONS[_name] = _same


@function("clone", "__deepcopy__")
def _clone(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> Recorded:
    return _like(recorder, tensor)


@function("_assert", "_assert_async")
def _nothing(recorder: Any, *args: Any, **kwargs: Any) -> None:
    return None


def _like(recorder: Any, tensor: Recorded) -> Recorded:
    """Another tensor of the same value, which may be changed on its own."""
    if tensor.stack is not None:
        return tensor
    return recorder.tensor(recorder.value(tensor))


def _plain(method: str) -> Any:
    def handler(recorder: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return getattr(tensor, method)(*args, **kwargs)

    return handler


for _name in ["size", "dim", "numel", "nelement", "ndimension", "__len__", "is_floating_point", "is_complex", "stride", "element_size",
              "is_contiguous", "get_device", "__hash__", "is_sparse_csr", "is_same_size", "has_names", "is_inference", "storage_offset"]:
    FUNCTIONS[_name] = _plain(_name)


@function("is_tensor", "is_storage")
def _is_tensor(recorder: Any, tensor: Any) -> bool:
    return True


@function("__repr__", "__str__", "__format__")
def _repr(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> str:
    with torch._C.DisableTorchFunctionSubclass():
        return f"Recorded({tuple(tensor.shape)})"


@function("expand_as")
def _expand_as(recorder: Any, tensor: Any, other: Any) -> Any:
    if isinstance(tensor, Recorded):
        if tuple(tensor.shape) != tuple(other.shape):
            raise Unhandled("rows or units are repeated")
        return tensor
    # A plain tensor that takes the shape of a recorded one.
    return tensor.expand(tuple(other.shape))


def _shaped(name: str) -> Any:
    def handler(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> Recorded:
        # A tensor without numbers tells the shape.
        result = getattr(torch.empty(tuple(tensor.shape), device="meta"), name)(*args, **kwargs)
        if tuple(result.shape) != tuple(tensor.shape):
            if tuple(tensor.shape) == (*result.shape, 1):
                raise Unhandled("one output that decides by its sign has no logit for each class", "return `torch.cat([0 * z, z], dim=1)` of it, nodes × 2")
            raise Unhandled("nodes and units change their places", "keep tensors of nodes × units")
        return tensor

    return handler


for _name in ["view", "reshape", "flatten", "squeeze", "expand"]:
    FUNCTIONS[_name] = _shaped(_name)


def _cast(recorder: Any, tensor: Any, dtype: torch.dtype | None, stated: bool) -> Any:
    from .division import cast

    return cast(recorder, _same(recorder, tensor), dtype, stated)


@function("double")
def _double(recorder: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    return _cast(recorder, tensor, torch.float64, True)


@function("float")
def _float(recorder: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    return _cast(recorder, tensor, torch.float32, True)


@function("type_as")
def _type_as(recorder: Any, tensor: Any, other: Any) -> Any:
    return _cast(recorder, tensor, other.dtype, False)


@function("to", "type")
def _to(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> Any:
    dtype = None
    for item in [*args, *kwargs.values()]:
        if isinstance(item, torch.dtype) and not item.is_floating_point or isinstance(item, str) and item.endswith(("LongTensor", "IntTensor", "BoolTensor")):
            raise Unhandled("what depends on the attributes becomes whole numbers")
        if isinstance(item, str) and item.endswith("Tensor"):
            dtype = {"torch.FloatTensor": torch.float32, "torch.DoubleTensor": torch.float64}.get(item, torch.float16)
        elif isinstance(item, (torch.dtype, torch.Tensor)):
            dtype = item if isinstance(item, torch.dtype) else item.dtype
    # Another tensor may take the type of a recorded one.
    return _cast(recorder, tensor, dtype, False) if isinstance(tensor, Recorded) else tensor


@function("dropout", "dropout_", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "dropout1d", "native_dropout")
def _dropout(recorder: Any, input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training and p:
        raise recorder.refuse(
            "dropout outside training",
            "`training` is true although the model is in eval mode, so its results are random",
            "write F.dropout(x, p, training=self.training), or use torch.nn.Dropout",
        )
    return input


def writable(tensor: Recorded) -> None:
    """Raises about writing into a tensor of which there are parts, or into a part."""
    if tensor.shared[0]:
        raise Unhandled("a part of a tensor, or a tensor with parts (slices, chunks), is changed in place", "write it without `_`, `+=` and inplace=True")


def written(recorder: Any, tensor: Recorded, value: Value, inplace: bool) -> Recorded:
    """The result of a function, written into its argument if that is asked for."""
    if not inplace:
        return recorder.tensor(value)
    writable(tensor)
    if tensor.stack is not None or tuple(tensor.shape) != (value.rows, value.width):
        raise Unhandled("the result is written into a tensor of another shape")
    tensor.value = value
    return tensor
