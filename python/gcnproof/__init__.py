"""Exact, proof-producing robustness verification of graph neural networks.

    import gcnproof
    results = gcnproof.certify(model, data, gcnproof.Flips(Q=12, q=0.01))     # a PyTorch Geometric module and its Data object
    print(results)

See docs/python.md. Importing this package imports numpy, and never torch.
"""

from __future__ import annotations

from typing import Any

from . import _native
from .attack import Categories, Edges, Execution, Flips, Ranges
from .calls import Call, certify, check, explain, logits, radius
from .curve import BudgetResult, CollectiveResults, collective
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
from .results import Explanation, Margin, NodeResult, Proofs, Radii, Radius, Results
from .runs import Study, Training, Validation, report, study, train, validate
from .verifier import Verifier

__version__: str = _native.build()["version"]


def __getattr__(name: str) -> Any:
    """`gcnproof.distributed` and `gcnproof.torch` are there without an import of their own; Ray is imported when a run begins."""
    if name in ("distributed", "torch"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def from_pyg(model: Any, data: Any, *, call: Call = None, seed: int = 0, directed: bool = False, real: bool = False) -> tuple[Graph, Network]:
    """The graph and the network of a PyTorch Geometric module and its Data object.

    The network's logits have been compared with the module's own in float64, without flips and on random ones (chosen by `seed`).
    `call=lambda model, data: model(…)` says how the module is called where its arguments leave that open. Raises UnsupportedModel for an operation that cannot be certified, with its name and the line of your code. `directed=True` keeps edges that have one direction only, `real=True` attributes that are numbers.
    """
    from .pyg import from_pyg as read

    return read(model, data, call=call, seed=seed, directed=directed, real=real)


__all__ = [
    "Categories",
    "BudgetResult",
    "CollectiveResults",
    "Edges",
    "Execution",
    "Explanation",
    "Flips",
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
    "Ranges",
    "Results",
    "Study",
    "Term",
    "Training",
    "UnsupportedModel",
    "Validation",
    "Verifier",
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
