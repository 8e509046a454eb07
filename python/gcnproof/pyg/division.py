"""Rows of attributes that a module divides by their sums in its forward: `x / x.sum(-1, keepdim=True)`, `F.normalize(x, p=1)`.

The quotients take the place of the attributes: the graph's rows are normalised, and the network reads them. In which precision the
module divides, 32 or 64 bits, follows from the type of `data.x` and from casts on the way (`bits` of a value, None where it is not known).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ..normalisation import Division
from .forms import Form, Source
from .functions import Unhandled, function, side
from .values import Recorded, Value

FORMS = "`x / x.sum(-1, keepdim=True).clamp(min=1)` and `F.normalize(x, p=1, dim=-1)`"
"""How attributes are divided where that is followed."""

_BITS = {torch.float32: 32, torch.float64: 64}


@dataclass(frozen=True)
class RowSums:
    """What a value is that has the sums of all rows of the attributes, or `least` where a sum is below it."""

    bits: int | None
    least: float = 0.0

    def clamped(self, least: float) -> RowSums | None:
        """With another lower limit. Sums are 0 or at least 1, so that limits up to 1 are the same to all rows but empty ones."""
        return replace(self, least=max(self.least, float(least))) if _is_limit(least) else None


def _is_limit(least: float) -> bool:
    return float(np.finfo(np.float32).tiny) <= least <= 1.0


def bits_of(dtype: torch.dtype) -> int | None:
    """The precision of a quotient of tensors of some type; None where it is neither float32 nor float64."""
    return _BITS.get(dtype if dtype.is_floating_point else torch.get_default_dtype())


def cast(recorder: Any, tensor: Recorded, dtype: torch.dtype | None, stated: bool) -> Recorded:
    """A tensor after a cast. `stated`: the type stands in the code. Otherwise it may be that of the copy's weights, which are float64
    whatever the module's own are."""
    value = tensor.value if tensor.stack is None else None
    if dtype is None or value is None or not recorder.follows_casts:
        return tensor
    if (quotients := _quotients(recorder, value)) is not None:
        if quotients > (_BITS.get(dtype, 16) if stated or dtype != torch.float64 or recorder.is_double else 32):
            raise recorder.refuse(
                "a cast of rows that are divided by their sums to a shorter type", f"they are divided in float{quotients}, and verdicts are about these quotients",
                "cast `data.x` before it is divided: `data.x = data.x.float()` where it is divided already",
            )
        return tensor
    if not is_attributes(recorder, value):
        return tensor
    bits = _BITS.get(dtype) if stated or dtype != torch.float64 or recorder.is_double else None
    if bits is None:
        # It may be the same tensor or another one: neither is divided from here on.
        value.bits = None
    if bits == value.bits:
        return tensor
    result = Value(value.blocks)
    result.bits = bits
    return recorder.tensor(result)


def is_attributes(recorder: Any, value: Value) -> bool:
    """Is it the attributes themselves, all of them?"""
    return _is(recorder, value, recorder.layers.attributes)


def _quotients(recorder: Any, value: Value) -> int | None:
    """The bits of a value that is the attributes divided by their sums; None if it is something else."""
    if recorder.division is not None and _is(recorder, value, recorder.layers.divided):
        return int(recorder.division.bits)
    return recorder.given_divided if is_attributes(recorder, value) else None


def _is(recorder: Any, value: Value, source: Source) -> bool:
    """Is it the values of a source, all of them?"""
    if value.final or len(value.blocks) != 1 or value.rows != recorder.nodes or len(value.blocks[0].terms) != 1:
        return False
    (form,) = value.blocks
    (term,) = form.terms
    return form.bias is None and term.source is source and term.is_plain and term.operator.is_identity


def sums_of(recorder: Any, value: Value) -> RowSums | None:
    """What the sums of a value's rows are marked with, if it is the attributes."""
    return RowSums(value.bits) if is_attributes(recorder, value) else None


def quotient(recorder: Any, value: Value, sums: RowSums | None) -> Recorded | None:
    """The attributes divided by the sums of their rows; None where it is another quotient."""
    if sums is None or not is_attributes(recorder, value):
        return None
    if recorder.given_divided:
        raise recorder.refuse(
            "a second division of the attributes by their sums",
            "the rows of `data.x` are divided by their sums already, and sum to 1 but for rounding",
            "leave one of them out: T.NormalizeFeatures() among the transforms, or the division in forward",
        )
    known = recorder.division
    if value.bits is None or value.bits != sums.bits or known is not None and known.bits != value.bits:
        raise recorder.refuse(
            "a division of the attributes by their sums in a precision that is not known",
            "verdicts are about the quotients in float32 or in float64, whichever the module computes",
            "divide `data.x` as it is given, in float32 or float64, before it is cast to another type",
        )
    recorder.division = Division(value.bits, True, sums.least > 0 and (known is None or known.clamped))
    return recorder.tensor(Value([Form.of(recorder.layers.divided, recorder.nodes)]))


@function("normalize")
def _normalize(recorder: Any, input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Recorded:
    if isinstance(input, Recorded) and p == 1 and isinstance(dim, int) and side(dim) == 1:
        value = recorder.open_value(input)
        sums = sums_of(recorder, value)
        result = quotient(recorder, value, sums and sums.clamped(eps))
        if result is not None:
            return result
        raise Unhandled("it divides by what depends on the attributes", f"rows of 0/1 attributes may be divided by their own sums: {FORMS}, where `x` is `data.x`")
    return recorder.refuse_function("normalize")
