"""Weights, sums, multiples and concatenation of recorded tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

from . import words
from .division import FORMS, quotient, sums_of
from .forms import Bias, Diagonal, Form
from .functions import FUNCTIONS, Unhandled, array, function, side, written
from .traced import Traced, contiguous
from .values import Recorded, Value


def linear(recorder: Any, value: Value, matrix: np.ndarray, bias: np.ndarray | None = None, magnitude: np.ndarray | None = None) -> Value:
    """Times a matrix of inputs × outputs, plus a bias. `magnitude`: the size of what the module adds up in the matrix."""
    if matrix.ndim != 2 or matrix.shape[0] != value.width:
        if all(term.source.layer is None and isinstance(term.weight, Diagonal) for block in value.blocks for term in block.terms):
            raise recorder.refuse(
                "a model on another number of attributes", f"it takes {matrix.shape[0]} attributes, but `data.x` has {value.width}",
                "give the graph that the model was trained on, with all of its attributes",
            )
        raise Unhandled(f"the weights take {matrix.shape[0]} inputs, but {value.width} are given", "check the sizes of the layers and how they are called")
    result, at = Form(value.rows, matrix.shape[1], []), 0
    for block in value.blocks:
        rows = slice(at, at + block.width)
        result = result.plus(block.linear(matrix[rows], None if magnitude is None else magnitude[rows]))
        at += block.width
    if bias is not None:
        result = result.shifted(bias)
    return Value([result])


@function("linear")
def _linear(recorder: Any, input: Any, weight: Any, bias: Any = None) -> Recorded:
    if isinstance(weight, Recorded) or isinstance(bias, Recorded) or not isinstance(input, Recorded):
        raise Unhandled("its weights depend on the attributes")
    value = linear(recorder, recorder.open_value(input), array(weight).T, None if bias is None else array(bias))
    # The innermost module that has a name is the Linear itself.
    value.blocks[0].label = recorder.label() or value.blocks[0].label
    return recorder.tensor(value)


@function("matmul", "mm", "__matmul__", "__rmatmul__", "spmm", "sparse_mm", "_sparse_mm", "smm", "dsmm", "hspmm")
def _matmul(recorder: Any, a: Any, b: Any, reduce: str = "sum", **kwargs: Any) -> Recorded:
    if isinstance(a, Recorded) and isinstance(b, Recorded):
        raise Unhandled("both factors depend on the attributes")
    if reduce not in ("sum", "add", "mean") or reduce == "mean" and isinstance(a, Recorded):
        raise Unhandled("only sums and means over neighbours are followed")
    if isinstance(a, Recorded):
        return recorder.tensor(linear(recorder, recorder.open_value(a), array(b.to_dense() if b.layout != torch.strided else b)))
    matrix = matrix_of(a)
    if reduce == "mean":
        counts = np.diff(matrix.indptr)
        matrix.data /= np.repeat(np.maximum(counts, 1), counts)
    return recorder.tensor(recorder.passed(recorder.open_value(b), recorder.operators.of(matrix)))


FUNCTIONS["__rmatmul__"] = lambda recorder, a, b: _matmul(recorder, b, a)


@function("addmm")
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
    if a.rows != b.rows and {a.rows, b.rows} == {recorder.nodes, recorder.graphs}:
        raise recorder.refuse("a sum of what each node has and what all nodes have together", words.ALL_NODES, f"{words.RETRAIN_NORM}; leave the sum out, or do it to `data.x` before the module")
    if (a.rows, a.width) != (b.rows, b.width):
        raise Unhandled(f"{a.rows} × {a.width} and {b.rows} × {b.width} values are added")
    a, b = a.aligned(b)
    return Value([first.plus(second) for first, second in zip(a.blocks, b.blocks)])


def _as_bias(values: np.ndarray, value: Value) -> np.ndarray:
    """Plain numbers that are added, as a bias."""
    if values.ndim > 2:
        raise Unhandled("a tensor of more than two sides is added")
    if values.size == 1:
        return values.reshape(-1) * np.ones(value.width)
    spread = np.broadcast_to(values, (value.rows, value.width))
    if values.ndim == 1 or values.shape[0] == 1:
        return contiguous(spread[0])
    return contiguous(spread)


@function("add", "__add__", "__radd__", "add_", "__iadd__")
def _add(recorder: Any, a: Any, b: Any, *, alpha: float = 1, out: Any = None) -> Recorded:
    if not isinstance(a, Recorded):
        if alpha != 1:
            b, alpha = _mul(recorder, b, alpha), 1
        return _add(recorder, b, a)
    first = recorder.open_value(a)
    if isinstance(b, Recorded):
        second = recorder.open_value(b)
        return recorder.tensor(_sum(recorder, first, second.each(lambda form: form.scaled(float(alpha))) if alpha != 1 else second))
    shift = _as_bias(array(b) * float(alpha), first)
    if not isinstance(shift, Traced) and not shift.any():
        return recorder.tensor(first)
    return recorder.tensor(first.parts(lambda form, start, stop: form.shifted(shift[..., start:stop])))


@function("sub", "__sub__", "subtract", "sub_", "__isub__")
def _sub(recorder: Any, a: Any, b: Any, *, alpha: float = 1) -> Recorded:
    return _add(recorder, a, b, alpha=-alpha) if isinstance(b, Recorded) or isinstance(a, Recorded) else NotImplemented


@function("rsub", "__rsub__")
def _rsub(recorder: Any, a: Recorded, b: Any, *, alpha: float = 1) -> Recorded:
    return _add(recorder, _mul(recorder, a, -alpha), b)


@function("neg", "__neg__", "negative")
def _neg(recorder: Any, a: Recorded) -> Recorded:
    return _mul(recorder, a, -1.0)


@function("mul", "__mul__", "__rmul__", "multiply", "mul_", "__imul__")
def _mul(recorder: Any, a: Any, b: Any, *, out: Any = None) -> Recorded:
    if isinstance(a, Recorded) and isinstance(b, Recorded):
        raise recorder.refuse("a product of two values that both depend on the attributes", "it is not a sum of terms",
                              "use fixed weights, sums and concatenation (no gates, no attention)")
    if not isinstance(a, Recorded):
        a, b = b, a
    if a.stack is not None:
        return _stack_times(recorder, a, array(b))
    value, factor = recorder.open_value(a), array(b)
    if factor.size == 1:
        return recorder.tensor(value.each(lambda form: form.scaled(factor.reshape(-1))))
    if factor.ndim > 2:
        raise Unhandled("a tensor of more than two sides is multiplied")
    if value.rows == 0:
        return recorder.tensor(value)
    factor = np.broadcast_to(factor, (value.rows, value.width))
    if (factor == factor[:1]).all():
        return recorder.tensor(value.parts(lambda form, start, stop: form.scaled(factor[0, start:stop])))
    if (factor == factor[:, :1]).all():
        rows = sparse.csr_array(sparse.diags(np.ascontiguousarray(factor[:, 0])))
        return recorder.tensor(recorder.passed(value, recorder.operators.of(rows)))
    raise Unhandled("each node and unit has a factor of its own")


def _stack_times(recorder: Any, stacked: Recorded, factor: np.ndarray) -> Recorded:
    """Every value of a stack times a number of its own."""
    assert stacked.stack is not None
    tensors, at = stacked.stack
    factors = np.moveaxis(np.broadcast_to(factor, tuple(stacked.shape)), at, 0)
    first = factors[:, :1, :1]
    if not (factors == first).all():
        raise Unhandled("the values of a stack are multiplied with more than one number each")
    return _stack(recorder, [_mul(recorder, tensor, first[place, 0]) for place, tensor in enumerate(tensors)], at)


@function("div", "__truediv__", "true_divide", "divide", "div_", "__itruediv__")
def _div(recorder: Any, a: Any, b: Any, *, rounding_mode: Any = None) -> Recorded:
    if isinstance(a, Recorded) and isinstance(b, Recorded) and rounding_mode is None:
        result = quotient(recorder, recorder.open_value(a), recorder.open_value(b).row_sums)
        if result is not None:
            return result
    if isinstance(b, Recorded) or rounding_mode is not None:
        raise Unhandled("it divides by what depends on the attributes", f"rows of 0/1 attributes may be divided by their own sums: {FORMS}, where `x` is `data.x`")
    # A float64 quotient by a power of ten is not the product with its inverse to the last bit; it is to 1e-16.
    return _mul(recorder, a, 1.0 / array(b))


def _in_place(handler: Any) -> Any:
    def in_place(recorder: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
        result = handler(recorder, a, *args, **kwargs)
        if not isinstance(a, Recorded):
            raise Unhandled("what depends on the attributes is written into a plain tensor", "write it without `_` or `+=`")
        return written(recorder, a, recorder.value(result), True)

    return in_place


for _name in ["add_", "__iadd__", "sub_", "__isub__", "mul_", "__imul__", "div_", "__itruediv__"]:
    FUNCTIONS[_name] = _in_place(FUNCTIONS[_name])


# Units side by side, and stacks.


@function("cat", "concat", "concatenate", "hstack")
def _cat(recorder: Any, tensors: Any, dim: int = 0, *, axis: Any = None, out: Any = None) -> Recorded:
    if side(dim if axis is None else axis) != 1:
        raise Unhandled("it puts nodes below each other", "say dim=-1")
    blocks: list[Form] = []
    for tensor in tensors:
        if isinstance(tensor, Recorded):
            blocks.extend(recorder.open_value(tensor).blocks)
        else:
            blocks.append(Form(tensor.shape[0], tensor.shape[1], [], Bias.of(array(tensor))))
    if len({block.rows for block in blocks}) != 1:
        raise Unhandled("the parts have different numbers of rows")
    return recorder.tensor(Value(blocks))


FUNCTIONS["hstack"] = lambda recorder, tensors: _cat(recorder, tensors, 1)


@function("stack")
def _stack(recorder: Any, tensors: Any, dim: int = 0, *, out: Any = None) -> Recorded:
    if not all(isinstance(tensor, Recorded) for tensor in tensors):
        raise Unhandled("plain tensors are among them")
    shape = list(tensors[0].shape)
    at = side(dim, 3)
    shape.insert(at, len(tensors))
    stacked = Recorded(recorder.open_value(tensors[0]), recorder, tuple(shape))
    # Copies, as those of PyTorch: the tensors may be changed afterwards.
    stacked.stack = ([recorder.tensor(recorder.open_value(tensor)) for tensor in tensors], at)
    return stacked


@function("sum", "mean")
def _sum_of_stack(recorder: Any, input: Recorded, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None, _mean: bool = False) -> Recorded:
    dim = axis if dim is None else dim
    dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
    if input.stack is None:
        if dim is not None and isinstance(dim, int) and side(dim) == 1:
            value = recorder.open_value(input)
            result = linear(recorder, value, np.full((value.width, 1), 1.0 / value.width if _mean else 1.0))
            if not keepdim:
                raise Unhandled("all units of a node become one number", "say keepdim=True where rows are divided by their sums")
            result.row_sums = sums_of(recorder, value) if not _mean and dtype is None else None
            return recorder.tensor(result)
        value = recorder.open_value(input)
        if dim is None or not isinstance(dim, int) or value.rows != recorder.nodes:
            if words.is_branch(recorder.names):
                raise recorder.refuse("a choice by a sum or mean of values", words.BRANCH, words.NO_BRANCH)
            whole = "one number for all nodes and units" if dim is None else "a sum or mean over graphs, or over several sides at once,"
            raise recorder.refuse(whole, f"graphs are the sums or means over their own nodes, and {words.ALL_NODES}",
                                  "a readout is global_add_pool(x, batch) or global_mean_pool(x, batch); leave choices by such a number out of forward, and statistics of all nodes, too")
        if recorder.graphs > 1:
            raise recorder.refuse("a sum or mean over the nodes of several graphs", "it compares graphs with each other",
                                  "give the readout its batch: global_add_pool(x, data.batch)")
        if not keepdim:
            raise recorder.refuse(
                f"`{'mean' if _mean else 'sum'}` over all nodes as a vector", "the nodes of the graph become one row",
                "a readout says keepdim=True, or is global_add_pool or global_mean_pool; what is subtracted from nodes or divides them is not followed: "
                f"{words.RETRAIN_NORM}",
            )
        ones = sparse.csr_array(np.full((1, value.rows), 1.0 / value.rows if _mean else 1.0))
        return recorder.tensor(recorder.passed(value, recorder.operators.of(ones)))
    tensors, at = input.stack
    if keepdim or dim is None or side(dim, 3) != at:
        raise Unhandled("a stack is only summed over what was stacked")
    result = recorder.tensor(recorder.value(tensors[0]))
    for tensor in tensors[1:]:
        result = _add(recorder, result, tensor)
    return _mul(recorder, result, 1.0 / len(tensors)) if _mean else result


FUNCTIONS["mean"] = lambda recorder, input, *args, **kwargs: _sum_of_stack(recorder, input, *args, _mean=True, **kwargs)
