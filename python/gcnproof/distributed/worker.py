"""The worker of one machine: it holds the graph and the network, and works on batches of nodes with threads inside."""

from __future__ import annotations

import numpy as np

from .. import __version__
from .asked import Parcel, Shared


class Worker:
    """An actor of Ray, one for each machine."""

    def __init__(self, parcel: Parcel, asked: Shared, threads: int):
        graph, network = parcel.open()
        found = (graph.digest, network.digest)
        if found != parcel.digests:
            # Another version may read the same arrays in another way.
            raise RuntimeError(f"gcnproof {__version__} on this machine reads another graph or network: {found} instead of {parcel.digests}")
        self.graph, self.question, self.proofs = graph, asked.question(graph, network), asked.proofs
        self.threads = threads

    def version(self) -> str:
        """The version of the package on this machine."""
        return __version__

    def work(self, nodes: np.ndarray) -> tuple[bytes, bytes]:
        """The rows of these nodes as JSON lines, and the lines of their proofs."""
        return self.question.work(self.graph, nodes.tolist(), self.proofs, self.threads)
