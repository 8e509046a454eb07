"""Rows of 0/1 attributes that are divided by their sums: how they are recognised, and what their entries are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_KINDS: dict[int, Any] = {32: np.float32, 64: np.float64}


@dataclass(frozen=True)
class Division:
    """How rows become what the network reads: each entry is the float of so many bits that is nearest to 1 / (number of ones)."""

    bits: int
    inside: bool = False
    """Does the module divide them itself? Then it is given 0/1 rows."""
    clamped: bool = True
    """Is a row without any attribute left as it is? Otherwise the module divides 0 by 0 there."""


def note(what: str, bits: int) -> str:
    """What is said of attributes that were recognised, in the words of graph files."""
    return f"{what}: rows of 0/1 divided by their sums ({bits} bits): what flips is 0/1, and the row is divided again; within Ranges the quotients are moved, and Edges leave them as they are"


def _entries(counts: np.ndarray, bits: int) -> np.ndarray:
    """The entries of rows with so many ones; a row without any is divided by 1."""
    kind = _KINDS[bits]
    return kind(1) / np.maximum(counts, 1).astype(kind)


def recognised(matrix: Any) -> int | None:
    """The bits of a CSR matrix without stored zeros that is 0/1 divided by the sums of its rows, to the last bit; None if it is not,
    or if no row has more than one entry, so that it is 0/1 itself.

    Rows of 1, 2, 4, … ones are the same in both: then the type of the matrix says which is meant.
    """
    counts = np.diff(matrix.indptr)
    if matrix.data.dtype.kind != "f" or counts.max(initial=0) < 2:
        return None
    values = matrix.data.astype(np.float64)
    first = 64 if matrix.data.dtype == np.float64 else 32
    for bits in (first, 96 - first):
        if (values == np.repeat(_entries(counts, bits).astype(np.float64), counts)).all():
            return bits
    return None


def divided(matrix: Any, bits: int) -> Any:
    """A CSR matrix of ones with its rows divided by their sums, in floats of so many bits."""
    counts = np.diff(matrix.indptr)
    return type(matrix)((np.repeat(_entries(counts, bits), counts), matrix.indices, matrix.indptr), shape=matrix.shape)


def emptied(matrix: Any, most: np.ndarray, frozen_nodes: list[int], frozen_attributes: list[int]) -> int | None:
    """A node that loses its last attribute where so many of each node's may be removed; None if there is none."""
    counts = np.diff(matrix.indptr)
    kept = np.zeros(matrix.shape[0], bool)
    kept[frozen_nodes] = True
    fixed = np.isin(matrix.indices, frozen_attributes)
    kept[np.repeat(np.arange(matrix.shape[0]), counts)[fixed]] = True
    found = np.flatnonzero((counts <= most) & ~kept)
    return int(found[0]) if len(found) else None
