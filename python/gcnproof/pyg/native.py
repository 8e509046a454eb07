"""The logits of a network as the native module computes them: what is compared with a module is what is certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from .. import _native
from ..network import Network

if TYPE_CHECKING:
    from ..graph import Graph
    from .comparison import Evaluate


def evaluator(graph: Graph, network: Network) -> Evaluate:
    """A function that gives the logits of a network for some attributes of a graph."""
    handle = _native.Network(graph._native(), *network.describe())

    def logits(attributes: sparse.csr_array) -> np.ndarray:
        if graph.real:
            changed = graph._valued(attributes)._native()
            return _native.Network(changed, *network.describe()).logits(changed)
        flips = sparse.coo_array(attributes != sparse.csr_array(graph.attributes))
        return handle.logits(graph._native(), list(zip(flips.row.tolist(), flips.col.tolist())))

    return logits
