"""Exact, proof-producing robustness verification of graph neural networks.

    import gcnproof
    results = gcnproof.certify(model, data, Q=12, q=0.01)     # a PyTorch Geometric module and its Data object
    print(results)

See docs/python.md. Importing this package imports numpy, and never torch.
"""

from __future__ import annotations

from typing import Any

from . import _native
from .attacks import BudgetResult, CollectiveResults, collective
from .calls import certify, check, explain, logits, radius
from .errors import (
    GcnproofError,
    GcnproofWarning,
    InputError,
    InvalidData,
    InvalidNetwork,
    MismatchedLogits,
    UnsupportedModel,
)
from .files import load
from .graph import Graph
from .network import Layer, Network, Polynomial, Term
from .results import EdgeNodeResult, EdgeRadii, EdgeRadius, EdgeResults, Explanation, Margin, NodeResult, Proofs, Radii, Radius, Results
from .runs import Study, Training, Validation, report, study, train, validate

__version__: str = _native.build()["version"]


def from_pyg(model: Any, data: Any, **options: Any) -> tuple[Graph, Network]:
    """The graph and the network of a PyTorch Geometric module and its Data object.

    The network's logits have been compared with the module's own in float64, without flips and on random ones. Raises
    UnsupportedModel for an operation that cannot be certified, with its name and the line of your code.
    """
    from .pyg import from_pyg as read

    return read(model, data, **options)


__all__ = [
    "BudgetResult",
    "CollectiveResults",
    "EdgeNodeResult",
    "EdgeRadii",
    "EdgeRadius",
    "EdgeResults",
    "Explanation",
    "GcnproofError",
    "GcnproofWarning",
    "Graph",
    "InputError",
    "InvalidData",
    "InvalidNetwork",
    "Layer",
    "Margin",
    "MismatchedLogits",
    "Network",
    "NodeResult",
    "Polynomial",
    "Proofs",
    "Radii",
    "Radius",
    "Results",
    "Study",
    "Term",
    "Training",
    "UnsupportedModel",
    "Validation",
    "certify",
    "check",
    "collective",
    "explain",
    "from_pyg",
    "load",
    "logits",
    "radius",
    "report",
    "study",
    "train",
    "validate",
]
