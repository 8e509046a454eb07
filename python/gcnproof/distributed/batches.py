"""Batches of nodes that cost about the same."""

from __future__ import annotations

import numpy as np

SHARES = 32
"""Batches for each machine: the last of them to end is waited for, and one that is lost is done again."""

LEAST = 16
"""Nodes of a batch at least, so that there is work for several threads."""

MOST = 4096
"""Nodes of a batch at most, so that little is lost with a machine."""


def weights(offsets: np.ndarray, indices: np.ndarray, hops: int) -> np.ndarray:
    """What each node costs in proportion: walks of at most so many steps that end there, an upper bound of its neighbourhood."""
    nodes = len(offsets) - 1
    weight = np.ones(nodes)
    for _ in range(hops):
        sums = np.concatenate(([0.0], np.cumsum(weight[indices])))
        weight = np.minimum(weight + sums[offsets[1:]] - sums[offsets[:-1]], nodes)
    return weight


def plan(nodes: np.ndarray, weight: np.ndarray, machines: int, most: int | None = None) -> list[np.ndarray]:
    """Cuts nodes into batches of about the same weight, in their order."""
    most = MOST if most is None else most
    total = np.cumsum(weight[nodes])
    batches = []
    start = 0
    while start < len(nodes):
        before = total[start - 1] if start else 0.0
        share = total[-1] / (SHARES * max(machines, 1))
        end = int(np.searchsorted(total, before + share, side="right"))
        end = min(max(end, start + LEAST), start + most, len(nodes))
        batches.append(nodes[start:end])
        start = end
    return batches
