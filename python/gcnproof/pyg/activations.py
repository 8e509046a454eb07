"""Activations, softmax and BatchNorm on recorded tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .forms import Bias, Form
from .functions import FUNCTIONS, Unhandled, array, function, side, written
from .values import Recorded, Value


@function("relu")
def _relu(recorder: Any, input: Recorded, inplace: bool = False) -> Recorded:
    return written(recorder, input, recorder.open_value(input).each(recorder.relu), inplace)


@function("relu_")
def _relu_in_place(recorder: Any, input: Recorded) -> Recorded:
    return _relu(recorder, input, True)


@function("clamp", "clip", "clamp_min")
def _clamp(recorder: Any, input: Any, min: Any = None, max: Any = None) -> Recorded:
    if not isinstance(input, Recorded) or max is not None or not isinstance(min, (int, float)):
        raise Unhandled("only a lower limit is a ReLU")
    if min == 0:
        return _relu(recorder, input)
    value = recorder.open_value(input)
    shifted = value.each(lambda form: form.shifted(np.full(form.width, -float(min))))
    result = shifted.each(recorder.relu).each(lambda form: form.shifted(np.full(form.width, float(min))))
    result.row_sums = value.row_sums and value.row_sums.clamped(min)
    return recorder.tensor(result)


@function("clamp_", "clip_", "clamp_min_")
def _clamp_in_place(recorder: Any, input: Recorded, *args: Any, **kwargs: Any) -> Recorded:
    return written(recorder, input, recorder.value(_clamp(recorder, input, *args, **kwargs)), True)


def _leaky(recorder: Any, input: Recorded, slopes: Any, inplace: bool) -> Recorded:
    """a·z + (1 − a)·relu(z), with one slope below zero for all units or one for each."""

    def block(form: Form, start: int, stop: int) -> Form:
        slope = np.broadcast_to(array(slopes), (input.shape[1],))[start:stop]
        if not form.is_local:
            # Both parts read the same sum of messages: it becomes a layer, so that it is followed once.
            label, form = form.label, recorder.layers.own(form)
            form.label = label
        return form.scaled(slope).plus(recorder.relu(form).scaled(1.0 - slope))

    return written(recorder, input, recorder.open_value(input).parts(block), inplace)


@function("leaky_relu")
def _leaky_relu(recorder: Any, input: Recorded, negative_slope: float = 0.01, inplace: bool = False) -> Recorded:
    return _leaky(recorder, input, negative_slope, inplace)


@function("leaky_relu_")
def _leaky_relu_in_place(recorder: Any, input: Recorded, negative_slope: float = 0.01) -> Recorded:
    return _leaky(recorder, input, negative_slope, True)


@function("prelu")
def _prelu(recorder: Any, input: Recorded, weight: Any) -> Recorded:
    return _leaky(recorder, input, array(weight).reshape(-1), False)


def _final(name: str) -> Any:
    """Probabilities keep the order of the classes; which function made them is remembered."""

    def handler(recorder: Any, input: Recorded, dim: Any = None, *args: Any, **kwargs: Any) -> Recorded:
        # Without a side, PyTorch takes the second one of a matrix.
        if dim is not None and side(dim) != 1:
            raise recorder.refuse(f"`{name}` with dim={dim}", "it is taken over the nodes, not over the classes", f"take it over the classes: `{name}` with dim=-1")
        return recorder.tensor(Value(recorder.open_value(input).blocks, name))

    return handler


FUNCTIONS["log_softmax"] = _final("log_softmax")
FUNCTIONS["softmax"] = _final("softmax")


_BATCH_NORM = 12
"""Roundings of a value in a BatchNorm: of the inverse root (2 units in the last place on a GPU), its sum with eps, two products, two sums."""


@function("batch_norm")
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
    mean = array(running_mean) * scale
    shift = Bias(-mean, np.abs(mean), _BATCH_NORM)
    if bias is not None:
        shift = shift.plus(Bias.of(array(bias)))

    def block(form: Form, start: int, stop: int) -> Form:
        part = slice(start, stop)
        return form.scaled(scale[part], _BATCH_NORM).shifted(Bias(shift.values[part], shift.magnitude[part], shift.roundings))

    return recorder.tensor(recorder.open_value(input).parts(block))
