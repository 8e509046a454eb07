"""Is the network that was read the module? Its logits are compared with the module's own, also on random flips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..errors import MismatchedLogits, UnsupportedModel
from ..normalisation import divided
from .inputs import Call, Inputs
from .precision import running
from .words import failure

TOLERANCE = 1e-9
"""How far logits may lie from each other, relative to the largest of their class and of their node."""

ROUNDING = 1e-12
"""What rounding may leave of sums that cancel out, relative to what they are made of."""

MOST_ENTRIES = 500_000
"""How many attributes are cleared or filled in at most, whole rows of them, for a comparison."""

ROUNDS = 2
"""How often attributes are flipped at random."""

Evaluate = Callable[[sparse.csr_array], np.ndarray]
"""The logits of the network that was read, for some attributes."""


def compare(own: Own, inputs: Inputs, final: str | None, evaluate: Evaluate, seed: int = 0, edges: bool = False) -> float:
    """Raises MismatchedLogits where they differ; the largest difference relative to the largest logit. `edges`: on changed edges, with the attributes as they are."""
    random = np.random.default_rng(seed)
    largest = 0.0
    points = [(" after random changes of edges", inputs.attributes)] if edges else _points(inputs.attributes, random, own.empties)
    for round, (when, attributes) in enumerate(points):
        theirs = own(attributes)
        # Libraries of linear algebra need not round in the same way twice.
        if round == 0 and np.isfinite(theirs).all() and _differing(own(attributes), theirs).any():
            raise UnsupportedModel(
                "the module gives different results for the same attributes in eval mode: it is random, or it keeps something from one call to the next, such as "
                "a counter. Remedy: make what is random or is kept depend on `self.training` (F.dropout(x, p, training=self.training), `if self.training: self.steps += 1`)"
            )
        ours, theirs = _finished(evaluate(attributes), final), _logarithms(theirs, final)
        if final == "softmax":
            ours = np.maximum(ours, np.log(np.finfo(np.float64).tiny))
        if ours.shape != theirs.shape:
            raise UnsupportedModel(f"the module gives {theirs.shape[0]} × {theirs.shape[1]} values, but {ours.shape[0]} × {ours.shape[1]} were read")
        if not np.isfinite(theirs).all():
            raise UnsupportedModel(f"the module's own result has a value that is not finite, at node {int(np.argwhere(~np.isfinite(theirs))[0][0])}")
        size = float(np.abs(theirs).max(initial=0.0)) or 1.0
        largest = max(largest, float(np.abs(ours - theirs).max(initial=0.0)) / size)
        differing = _differing(ours, theirs)
        if differing.any():
            node = int(np.flatnonzero(differing)[0])
            chosen = "the number of edges" if edges else "the attributes' values"
            raise MismatchedLogits(
                f"the network that was read does not compute what the module computes{when}: at node {node} the module gives "
                f"{_words(theirs[node])}, the network {_words(ours[node])}. The module does something that its reading does not see "
                f"(for example a hook, or a choice by {chosen}); it is not certified.",
                node,
            )
    return largest


def _differing(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The nodes whose logits are not the same but for rounding.

    Each class is measured by its own logits, so that a class with huge ones (a masked class) does not hide the others; then the distances
    to the largest logit of a node by the logits of that node, so that a node with huge ones does not hide the others either.
    """
    if not theirs.size:
        return np.zeros(len(theirs), bool)
    # Sums that cancel out to almost nothing keep the rounding of what they were made of.
    rounding = ROUNDING * min(1.0, float(np.abs(theirs).max()))
    sizes = np.maximum(np.abs(ours).max(axis=0), np.abs(theirs).max(axis=0))
    close = np.abs(ours - theirs) <= TOLERANCE * sizes + rounding
    rows, best = np.arange(len(theirs)), theirs.argmax(axis=1)
    distances = np.abs((ours - ours[rows, best][:, None]) - (theirs - theirs[rows, best][:, None]))
    largest = np.maximum(np.abs(theirs), np.abs(theirs[rows, best])[:, None])
    scale = np.maximum(sizes, sizes[best][:, None])
    close &= distances <= TOLERANCE * largest + ROUNDING * scale + rounding
    return ~close.all(axis=1)


def _points(attributes: sparse.csr_array, random: np.random.Generator, empties: bool) -> Any:
    """The 0/1 attributes that are compared, and the words for them: as they are, flipped at random, none at all, and all of them.

    `empties`: is the module defined where a row has no attributes? If not, every row keeps one.
    """
    yield "", attributes
    for round in range(1, ROUNDS + 1):
        flipped = _flipped(attributes, random, round)
        if not empties:
            lost = sparse.diags_array((np.diff(flipped.indptr) == 0).astype(np.float64))
            flipped = sparse.csr_array(flipped + lost @ attributes)
            flipped.sort_indices()
        yield " after random flips of attributes", flipped
    nodes, dimension = attributes.shape
    if nodes * dimension == 0:
        return
    # On a large graph this is done to some of the nodes, the others stay as they are.
    some = np.sort(random.permutation(nodes)[: max(1, MOST_ENTRIES // dimension)])
    others = np.ones(nodes)
    others[some] = 0.0
    kept = sparse.csr_array(sparse.diags_array(others) @ attributes)
    full = sparse.csr_array((np.ones(len(some) * dimension), (np.repeat(some, dimension), np.tile(np.arange(dimension), len(some)))), shape=attributes.shape)
    for when, result in ((" without attributes", kept), (" with all attributes", sparse.csr_array(kept + full))):
        result.eliminate_zeros()
        result.sort_indices()
        if empties or np.diff(result.indptr).all():
            yield when, result


def _flipped(attributes: sparse.csr_array, random: np.random.Generator, round: int) -> sparse.csr_array:
    """Some entries flipped: few in the first round, more in each that follows."""
    nodes, dimension = attributes.shape
    if attributes.shape[0] * attributes.shape[1] == 0:
        return attributes
    count = max(1, min(nodes * dimension // 2, nodes * 16 ** (round - 1)))
    places = np.unique(random.integers(0, nodes * dimension, count))
    flips = sparse.csr_array((np.ones(len(places)), (places // dimension, places % dimension)), shape=attributes.shape)
    result = sparse.csr_array(attributes + flips)
    result.data[result.data == 2.0] = 0.0
    result.eliminate_zeros()
    result.sort_indices()
    return result


class Own:
    """The module itself, in float64. The first run finds out whether casts in its code must be taken as casts to float64."""

    def __init__(self, module: torch.nn.Module, call: Call, inputs: Inputs):
        self.module, self.call, self.inputs, self.forced = module, call, inputs, False
        self.empties = True
        self._first: np.ndarray | None = None

    def find_precision(self, remedy: str) -> bool:
        """Runs the module once, with a `remedy` where that fails; is float64 to be forced?"""
        try:
            self._first = self._run(self.inputs.attributes)
        except Exception as plain:
            self.forced = True
            try:
                self._first = self._run(self.inputs.attributes)
            except Exception as error:
                where, at, hint = failure(plain)
                raise UnsupportedModel(
                    f"the module does not run on the data in float64: {type(plain).__name__}: {plain}".rstrip(".: ")
                    + f".{at} Remedy: {hint or f'{remedy}; leave out casts to float32 in forward'}",
                    type(plain).__name__,
                    where,
                ) from error
        return self.forced

    def __call__(self, attributes: sparse.csr_array) -> np.ndarray:
        """What the module gives for some attributes."""
        if self._first is not None and attributes is self.inputs.attributes:
            first, self._first = self._first, None
            return first
        return self._run(attributes)

    def _run(self, attributes: sparse.csr_array) -> np.ndarray:
        layout = self.inputs.data.x.layout
        if self.inputs.normalised is not None:
            attributes = divided(attributes, self.inputs.normalised).astype(np.float64)
        if layout == torch.strided:
            x = torch.from_numpy(attributes.toarray())
        else:
            coo = attributes.tocoo()
            x = torch.sparse_coo_tensor(np.stack([coo.row, coo.col]), coo.data, attributes.shape).coalesce().to_sparse(layout=layout)
        with running(self.forced):
            result = self.call(self.module, self.inputs.with_attributes(x))
        if not isinstance(result, torch.Tensor) or result.dim() != 2:
            raise UnsupportedModel("the module does not return one tensor of nodes × classes. Remedy: let its forward return the logits alone, one row for each node")
        return result.detach().double().numpy()


def _finished(logits: np.ndarray, final: str | None) -> np.ndarray:
    """The logits as the module returns them, but for the exponential of softmax."""
    if final is None:
        return logits
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _logarithms(values: np.ndarray, final: str | None) -> np.ndarray:
    """Probabilities by their logarithms: small ones would agree with anything. Those that underflow are told by the smallest float."""
    return np.log(np.maximum(values, np.finfo(np.float64).tiny)) if final == "softmax" else values


def _words(row: Any) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in row[:8]) + (", …]" if len(row) > 8 else "]")
