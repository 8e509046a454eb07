"""What PyTorch's functions and methods make of recorded tensors, by name."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import torch
from scipy import sparse

from .forms import Diagonal, Form
from .values import Recorded, Value

PROPERTIES = {"shape", "dtype", "device", "ndim", "requires_grad", "layout", "is_sparse", "is_cuda", "is_meta", "grad", "is_leaf", "names",
              "is_quantized", "is_mkldnn", "is_sparse_csr", "is_nested", "is_cpu", "is_mps", "itemsize", "nbytes", "grad_fn"}
"""Attributes of a tensor that do not depend on its numbers."""


class Unhandled(Exception):
    """Arguments that a function is not followed with; the message says why."""


FUNCTIONS: dict[str, Any] = {}
"""Handlers by the function's name; they take the recorder, then the function's own arguments."""


def _function(*names: str) -> Any:
    def register(handler: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(names, handler))
        return handler

    return register


def array(tensor: Any) -> np.ndarray:
    """The numbers of a plain tensor in float64."""
    return tensor.detach().cpu().to(torch.float64).numpy() if isinstance(tensor, torch.Tensor) else np.asarray(tensor, np.float64)


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


for _name in ["contiguous", "detach", "detach_", "double", "float", "type_as", "cpu", "cuda", "requires_grad_", "alias", "retain_grad"]:
    FUNCTIONS[_name] = _same


@_function("clone", "__deepcopy__")
def _clone(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> Recorded:
    return _like(recorder, tensor)


@_function("_assert", "_assert_async")
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


@_function("is_tensor", "is_storage")
def _is_tensor(recorder: Any, tensor: Any) -> bool:
    return True


@_function("__repr__", "__str__", "__format__")
def _repr(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> str:
    with torch._C.DisableTorchFunctionSubclass():
        return f"Recorded({tuple(tensor.shape)})"


@_function("expand_as")
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
            raise Unhandled("nodes and units change their places; keep tensors of nodes × units")
        return tensor

    return handler


for _name in ["view", "reshape", "flatten", "squeeze", "expand"]:
    FUNCTIONS[_name] = _shaped(_name)


@_function("to", "type")
def _to(recorder: Any, tensor: Recorded, *args: Any, **kwargs: Any) -> Any:
    for item in [*args, *kwargs.values()]:
        if isinstance(item, torch.dtype) and not item.is_floating_point or isinstance(item, str) and item.endswith(("LongTensor", "IntTensor", "BoolTensor")):
            raise Unhandled("what depends on the attributes becomes whole numbers")
    return tensor


@_function("dropout", "dropout_", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "dropout1d", "native_dropout")
def _dropout(recorder: Any, input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training and p:
        raise recorder.refuse(
            "dropout outside training",
            "`training` is true although the model is in eval mode, so its results are random",
            "write F.dropout(x, p, training=self.training), or use torch.nn.Dropout",
        )
    return input


# Activations.


def _in_place(recorder: Any, tensor: Recorded, value: Value, inplace: bool) -> Recorded:
    """The result of a function, written into its argument if that is asked for."""
    if not inplace:
        return recorder.tensor(value)
    if tensor.stack is not None or tuple(tensor.shape) != (value.rows, value.width):
        raise Unhandled("the result is written into a tensor of another shape")
    tensor.value = value
    return tensor


@_function("relu")
def _relu(recorder: Any, input: Recorded, inplace: bool = False) -> Recorded:
    return _in_place(recorder, input, recorder.open_value(input).each(recorder.relu), inplace)


@_function("relu_")
def _relu_in_place(recorder: Any, input: Recorded) -> Recorded:
    return _relu(recorder, input, True)


@_function("clamp", "clip", "clamp_min", "clamp_", "clip_", "clamp_min_")
def _clamp(recorder: Any, input: Any, min: Any = None, max: Any = None) -> Recorded:
    if not isinstance(input, Recorded) or max is not None or not isinstance(min, numbers.Number):
        raise Unhandled("only a lower limit of 0 is a ReLU")
    if min != 0:
        shifted = recorder.open_value(input).each(lambda form: form.shifted(np.full(form.width, -float(min))))
        return recorder.tensor(shifted.each(recorder.relu).each(lambda form: form.shifted(np.full(form.width, float(min)))))
    return _relu(recorder, input)


def _leaky(recorder: Any, input: Recorded, slopes: Any, inplace: bool) -> Recorded:
    """a·z + (1 − a)·relu(z), with one slope below zero for all units or one for each."""

    def block(form: Form, start: int, stop: int) -> Form:
        slope = np.broadcast_to(np.asarray(slopes, np.float64), (input.shape[1],))[start:stop]
        if not form.is_local:
            # Both parts read the same sum of messages: it becomes a layer, so that it is followed once.
            label, form = form.label, recorder.layers.own(form)
            form.label = label
        return form.scaled(slope).plus(recorder.relu(form).scaled(1.0 - slope))

    return _in_place(recorder, input, recorder.open_value(input).parts(block), inplace)


@_function("leaky_relu", "leaky_relu_")
def _leaky_relu(recorder: Any, input: Recorded, negative_slope: float = 0.01, inplace: bool = False) -> Recorded:
    return _leaky(recorder, input, negative_slope, inplace)


@_function("prelu")
def _prelu(recorder: Any, input: Recorded, weight: Any) -> Recorded:
    slopes = array(weight)
    return _leaky(recorder, input, slopes if slopes.size > 1 else float(slopes.reshape(-1)[0]), False)


@_function("log_softmax", "softmax")
def _softmax(recorder: Any, input: Recorded, dim: Any = None, *args: Any, **kwargs: Any) -> Recorded:
    if dim is None or side(dim) != 1:
        raise Unhandled("it is taken over the nodes, not over the classes: say dim=-1")
    # Both keep the order of the classes. Which of them it was is told by the caller's name.
    value = recorder.open_value(input)
    return recorder.tensor(Value(value.blocks, kwargs.pop("_name", "log_softmax")))


FUNCTIONS["softmax"] = lambda recorder, input, dim=None, *args, **kwargs: _softmax(recorder, input, dim, _name="softmax")


@_function("batch_norm")
def _batch_norm(recorder: Any, input: Recorded, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
                momentum: Any = 0.1, eps: float = 1e-5, *args: Any) -> Recorded:
    if training or running_mean is None or running_var is None:
        raise recorder.refuse(
            "BatchNorm without running statistics",
            "it normalises with the statistics of the attributes that it is given, even after training",
            "train with track_running_stats=True",
        )
    scale = 1.0 / np.sqrt(array(running_var) + eps)
    if weight is not None:
        scale = scale * array(weight)
    shift = -array(running_mean) * scale
    if bias is not None:
        shift = shift + array(bias)
    value = recorder.open_value(input)
    return recorder.tensor(value.parts(lambda form, start, stop: form.scaled(scale[start:stop], shift[start:stop])))


# Weights and sums.


def linear(recorder: Any, value: Value, matrix: np.ndarray, bias: np.ndarray | None = None) -> Value:
    """Times a matrix of inputs × outputs, plus a bias."""
    if matrix.ndim != 2 or matrix.shape[0] != value.width:
        if all(term.source.layer is None and isinstance(term.weight, Diagonal) for block in value.blocks for term in block.terms):
            raise recorder.refuse(
                "a model on another number of attributes", f"it takes {matrix.shape[0]} attributes, but `data.x` has {value.width}",
                "give the graph that the model was trained on, with all of its attributes",
            )
        raise Unhandled(f"the weights take {matrix.shape[0]} inputs, but {value.width} are given")
    result, at = None, 0
    for block in value.blocks:
        part = block.linear(matrix[at : at + block.width])
        result = part if result is None else result.plus(part)
        at += block.width
    if bias is not None:
        result = result.shifted(bias)
    return Value([result])


@_function("linear")
def _linear(recorder: Any, input: Any, weight: Any, bias: Any = None) -> Recorded:
    if isinstance(weight, Recorded) or isinstance(bias, Recorded) or not isinstance(input, Recorded):
        raise Unhandled("its weights depend on the attributes")
    value = linear(recorder, recorder.open_value(input), array(weight).T, None if bias is None else array(bias))
    # The innermost module that has a name is the Linear itself.
    value.blocks[0].label = recorder.label() or value.blocks[0].label
    return recorder.tensor(value)


@_function("matmul", "mm", "__matmul__", "__rmatmul__", "spmm", "sparse_mm", "_sparse_mm", "smm", "dsmm", "hspmm")
def _matmul(recorder: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> Recorded:
    if isinstance(a, Recorded) and isinstance(b, Recorded):
        raise Unhandled("both factors depend on the attributes")
    if isinstance(a, Recorded):
        return recorder.tensor(linear(recorder, recorder.open_value(a), array(b.to_dense() if b.layout != torch.strided else b)))
    return recorder.tensor(recorder.passed(recorder.open_value(b), recorder.operators.of(matrix_of(a))))


FUNCTIONS["__rmatmul__"] = lambda recorder, a, b: _matmul(recorder, b, a)


@_function("addmm")
def _addmm(recorder: Any, input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Recorded:
    product = _matmul(recorder, mat1, mat2)
    return _add(recorder, _mul(recorder, product, alpha), input, alpha=beta)


def matrix_of(tensor: torch.Tensor) -> sparse.csr_array:
    """A plain tensor, dense or sparse, as a sparse matrix."""
    tensor = tensor.detach().cpu()
    if tensor.layout == torch.strided:
        return sparse.csr_array(array(tensor))
    coo = tensor.to_sparse_coo().coalesce()
    indices = coo.indices().numpy()
    return sparse.csr_array(sparse.coo_array((array(coo.values()), (indices[0], indices[1])), shape=tuple(coo.shape)))


def _sum(recorder: Any, a: Value, b: Value) -> Value:
    if (a.rows, a.width) != (b.rows, b.width):
        raise Unhandled(f"{a.rows} × {a.width} and {b.rows} × {b.width} values are added")
    a, b = a.aligned(b)
    return Value([first.plus(second) for first, second in zip(a.blocks, b.blocks)])


def _spread(values: np.ndarray, value: Value) -> np.ndarray:
    """Plain numbers that are added, as a bias."""
    if values.ndim > 2:
        raise Unhandled("a tensor of more than two sides is added")
    if values.size == 1:
        return np.full(value.width, float(values.reshape(-1)[0]))
    spread = np.broadcast_to(values, (value.rows, value.width))
    if values.ndim == 1 or values.shape[0] == 1:
        return np.ascontiguousarray(spread[0])
    return np.ascontiguousarray(spread)


@_function("add", "__add__", "__radd__", "add_", "__iadd__")
def _add(recorder: Any, a: Any, b: Any, *, alpha: float = 1, out: Any = None) -> Recorded:
    if not isinstance(a, Recorded):
        if alpha != 1:
            b, alpha = _mul(recorder, b, alpha), 1
        return _add(recorder, b, a)
    first = recorder.open_value(a)
    if isinstance(b, Recorded):
        second = recorder.open_value(b)
        return recorder.tensor(_sum(recorder, first, second.each(lambda form: form.scaled(float(alpha))) if alpha != 1 else second))
    shift = _spread(array(b) * float(alpha), first)
    if not shift.any():
        return recorder.tensor(first)
    return recorder.tensor(first.parts(lambda form, start, stop: form.shifted(shift[..., start:stop])))


@_function("sub", "__sub__", "subtract", "sub_", "__isub__")
def _sub(recorder: Any, a: Any, b: Any, *, alpha: float = 1) -> Recorded:
    return _add(recorder, a, b, alpha=-alpha) if isinstance(b, Recorded) or isinstance(a, Recorded) else NotImplemented


@_function("rsub", "__rsub__")
def _rsub(recorder: Any, a: Recorded, b: Any, *, alpha: float = 1) -> Recorded:
    return _add(recorder, _mul(recorder, a, -alpha), b)


@_function("neg", "__neg__", "negative")
def _neg(recorder: Any, a: Recorded) -> Recorded:
    return _mul(recorder, a, -1.0)


@_function("mul", "__mul__", "__rmul__", "multiply", "mul_", "__imul__")
def _mul(recorder: Any, a: Any, b: Any, *, out: Any = None) -> Recorded:
    if isinstance(a, Recorded) and isinstance(b, Recorded):
        raise recorder.refuse("a product of two values that both depend on the attributes", "it is not a sum of terms",
                              "use fixed weights, sums and concatenation (no gates, no attention)")
    if not isinstance(a, Recorded):
        a, b = b, a
    value, factor = recorder.open_value(a), array(b)
    if factor.size == 1:
        return recorder.tensor(value.each(lambda form: form.scaled(float(factor.reshape(-1)[0]))))
    if factor.ndim > 2:
        raise Unhandled("a tensor of more than two sides is multiplied")
    factor = np.broadcast_to(factor, (value.rows, value.width))
    if (factor == factor[:1]).all():
        return recorder.tensor(value.parts(lambda form, start, stop: form.scaled(factor[0, start:stop])))
    if (factor == factor[:, :1]).all():
        rows = sparse.csr_array(sparse.diags(np.ascontiguousarray(factor[:, 0])))
        return recorder.tensor(recorder.passed(value, recorder.operators.of(rows)))
    raise Unhandled("each node and unit has a factor of its own")


@_function("div", "__truediv__", "true_divide", "divide", "div_", "__itruediv__")
def _div(recorder: Any, a: Any, b: Any, *, rounding_mode: Any = None) -> Recorded:
    if isinstance(b, Recorded) or rounding_mode is not None:
        raise Unhandled("it divides by what depends on the attributes")
    # A float64 quotient by a power of ten is not the product with its inverse to the last bit; it is to 1e-16.
    return _mul(recorder, a, torch.as_tensor(1.0 / array(b)))


def _written(name: str, handler: Any) -> Any:
    def in_place(recorder: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
        result = handler(recorder, a, *args, **kwargs)
        if not isinstance(a, Recorded):
            raise Unhandled("what depends on the attributes is written into a plain tensor: write it without `_` or `+=`")
        return _in_place(recorder, a, recorder.value(result), True)

    return in_place


for _name in ["add_", "__iadd__", "sub_", "__isub__", "mul_", "__imul__", "div_", "__itruediv__", "leaky_relu_", "clamp_", "clip_", "clamp_min_"]:
    FUNCTIONS[_name] = _written(_name, FUNCTIONS[_name])


# Units side by side, and stacks.


@_function("cat", "concat", "concatenate", "hstack")
def _cat(recorder: Any, tensors: Any, dim: int = 0, *, axis: Any = None, out: Any = None) -> Recorded:
    if side(dim if axis is None else axis) != 1:
        raise Unhandled("it puts nodes below each other: say dim=-1")
    blocks: list[Form] = []
    for tensor in tensors:
        if isinstance(tensor, Recorded):
            blocks.extend(recorder.open_value(tensor).blocks)
        else:
            blocks.append(Form(tensor.shape[0], tensor.shape[1], [], array(tensor)))
    if len({block.rows for block in blocks}) != 1:
        raise Unhandled("the parts have different numbers of rows")
    return recorder.tensor(Value(blocks))


FUNCTIONS["hstack"] = lambda recorder, tensors: _cat(recorder, tensors, 1)


@_function("stack")
def _stack(recorder: Any, tensors: Any, dim: int = 0, *, out: Any = None) -> Recorded:
    if not all(isinstance(tensor, Recorded) for tensor in tensors):
        raise Unhandled("plain tensors are among them")
    shape = list(tensors[0].shape)
    at = side(dim, 3)
    shape.insert(at, len(tensors))
    stacked = Recorded(recorder.open_value(tensors[0]), recorder, tuple(shape))
    stacked.stack = (list(tensors), at)
    return stacked


@_function("sum", "mean")
def _sum_of_stack(recorder: Any, input: Recorded, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None, _mean: bool = False) -> Recorded:
    dim = axis if dim is None else dim
    dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
    if input.stack is None:
        if dim is not None and isinstance(dim, int) and side(dim) == 1:
            value = recorder.open_value(input)
            result = linear(recorder, value, np.full((value.width, 1), 1.0 / value.width if _mean else 1.0))
            if keepdim:
                return recorder.tensor(result)
            raise Unhandled("all units of a node become one number")
        raise recorder.refuse("a sum or mean over nodes", "models that give one result for a whole graph, or that compare nodes with each other, are "
                              "not certified", "certify a model for nodes, without global pooling")
    tensors, at = input.stack
    if keepdim or dim is None or side(dim, 3) != at:
        raise Unhandled("a stack is only summed over what was stacked")
    result = tensors[0]
    for tensor in tensors[1:]:
        result = _add(recorder, result, tensor)
    return _mul(recorder, result, 1.0 / len(tensors)) if _mean else result


FUNCTIONS["mean"] = lambda recorder, input, *args, **kwargs: _sum_of_stack(recorder, input, *args, _mean=True, **kwargs)
