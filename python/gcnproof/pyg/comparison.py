"""Is the network that was read the module? Its logits are compared with the module's own, also on random flips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..errors import MismatchedLogits, UnsupportedModel
from .inputs import Call, Inputs

TOLERANCE = 1e-9
"""How far logits may lie from each other, relative to the largest."""

ROUNDS = 4
"""How often attributes are flipped at random."""

Evaluate = Callable[[sparse.csr_array], np.ndarray]
"""The logits of the network that was read, for some attributes."""


def compare(module: torch.nn.Module, call: Call, inputs: Inputs, final: str | None, evaluate: Evaluate, seed: int = 0) -> float:
    """Raises MismatchedLogits where they differ; the largest difference relative to the largest logit."""
    random = np.random.default_rng(seed)
    largest = 0.0
    for round in range(ROUNDS + 1):
        attributes = inputs.attributes if round == 0 else _flipped(inputs.attributes, random, round)
        theirs = _own(module, call, inputs, attributes)
        if round == 0 and not np.array_equal(theirs, _own(module, call, inputs, attributes), equal_nan=True):
            raise UnsupportedModel(
                "the module gives different results for the same attributes in eval mode: it is random. Remedy: make what is random depend on "
                "`self.training` (F.dropout(x, p, training=self.training))"
            )
        ours = _finished(evaluate(attributes), final)
        if ours.shape != theirs.shape:
            raise UnsupportedModel(f"the module gives {theirs.shape[0]} × {theirs.shape[1]} values, but {ours.shape[0]} × {ours.shape[1]} were read")
        if not np.isfinite(theirs).all():
            raise UnsupportedModel(f"the module's own result has a value that is not finite, at node {int(np.argwhere(~np.isfinite(theirs))[0][0])}")
        size = float(np.abs(theirs).max())
        difference = np.abs(ours - theirs).max(axis=1)
        largest = max(largest, float(difference.max()) / size if size else 0.0)
        if not (difference <= TOLERANCE * size).all():
            node = int(np.flatnonzero(~(difference <= TOLERANCE * size))[0])
            when = "" if round == 0 else " after random flips of attributes"
            raise MismatchedLogits(
                f"the network that was read does not compute what the module computes{when}: at node {node} the module gives "
                f"{_words(theirs[node])}, the network {_words(ours[node])}. The module does something that its reading does not see "
                "(for example a hook, or a choice by the attributes' values); it is not certified.",
                node,
            )
    return largest


def _flipped(attributes: sparse.csr_array, random: np.random.Generator, round: int) -> sparse.csr_array:
    """Some entries flipped: few in the first round, more in each that follows."""
    nodes, dimension = attributes.shape
    if attributes.shape[0] * attributes.shape[1] == 0:
        return attributes
    count = max(1, min(nodes * dimension // 2, nodes * 4 ** (round - 1)))
    places = np.unique(random.integers(0, nodes * dimension, count))
    flips = sparse.csr_array((np.ones(len(places)), (places // dimension, places % dimension)), shape=attributes.shape)
    result = sparse.csr_array(attributes + flips)
    result.data[result.data == 2.0] = 0.0
    result.eliminate_zeros()
    result.sort_indices()
    return result


def _own(module: torch.nn.Module, call: Call, inputs: Inputs, attributes: sparse.csr_array) -> np.ndarray:
    """What the module itself gives."""
    x = inputs.data.x
    if x.layout == torch.strided:
        x = torch.from_numpy(attributes.toarray())
    else:
        coo = attributes.tocoo()
        x = torch.sparse_coo_tensor(np.stack([coo.row, coo.col]), coo.data, attributes.shape).coalesce().to_sparse(layout=x.layout)
    try:
        with torch.no_grad():
            result = call(module, inputs.with_attributes(x))
    except Exception as error:
        raise UnsupportedModel(
            f"the module does not run in float64: {type(error).__name__}: {error}. Remedy: leave out casts such as `.float()`, and tensors that are made "
            "in forward with a fixed type; say how the model is called with `call=lambda model, data: …` if it is called in another way"
        ) from error
    if not isinstance(result, torch.Tensor) or result.dim() != 2:
        raise UnsupportedModel("the module does not return one tensor of nodes × classes. Remedy: pick it with `call=lambda model, data: model(…)[0]`")
    return result.detach().double().numpy()


def _finished(logits: np.ndarray, final: str | None) -> np.ndarray:
    """The logits as the module returns them."""
    if final is None:
        return logits
    shifted = logits - logits.max(axis=1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return logarithms if final == "log_softmax" else np.exp(logarithms)


def _words(row: Any) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in row[:8]) + (", …]" if len(row) > 8 else "]")
