"""What a run asks, in a form that travels: the graph and the network as arrays, and the rest as plain values."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from ..arguments import is_path
from ..graph import Graph
from ..selection import Subject


@dataclass(frozen=True)
class Shared:
    """What is asked of every node."""

    attack: dict[str, Any]
    asked: dict[str, Any]
    proofs: bool

    def question(self, graph: _native.Graph, network: _native.Network) -> _native.Question:
        """The same for the native module."""
        return _native.Question(graph, network, self.attack, self.asked)


@dataclass(frozen=True)
class Parcel:
    """A graph and a network as arrays: Ray keeps them once for each machine, and workers read them where they lie."""

    graph: Graph
    """What it is pickled as: its matrices, labels, groups and numbers."""
    model: tuple[str, np.ndarray] | tuple[str, dict[str, np.ndarray]]
    """The name of a model file and its bytes, or a description and its tensors."""
    digests: tuple[str, str]
    """Of graph and network, as the driver has them."""

    @classmethod
    def of(cls, subject: Subject) -> Parcel:
        """The parcel of a network on a graph."""
        model: Any
        if is_path(subject.model):
            path = os.fspath(subject.model)
            model = (os.path.basename(path), np.fromfile(path, np.uint8))
        else:
            model = subject.model.describe()
        return cls(subject.graph, model, (subject.graph._native().digest, subject.network.digest))

    def open(self) -> tuple[_native.Graph, _native.Network]:
        """The graph and the network in the native module."""
        graph = self.graph._native()
        name, parts = self.model
        if isinstance(parts, dict):
            return graph, _native.Network(graph, name, parts)
        with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
            path = os.path.join(folder, name)
            parts.tofile(path)
            return graph, _native.Network.read(graph, path)
