"""From PyTorch Geometric: a module and a Data object become a network and a graph, and the network is compared with the module."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import switch, whole
from ..errors import UnsupportedModel, warn
from ..network import Network
from ..normalisation import Division, note

if TYPE_CHECKING:
    from ..graph import Graph
    from .comparison import Evaluate, Own
    from .inputs import Call, Inputs


@dataclass(eq=False)
class Reading:
    """What was read from a module: the network, and what the module is compared with."""

    network: Network
    inputs: Inputs
    own: Own
    final: str | None
    division: Division | None = None
    """How the module divides the rows of its attributes by their sums, if it does."""
    arrays: dict[str, tuple[list[np.ndarray | None], np.ndarray | None]] = field(default_factory=dict)
    """The weights and the bias of each layer by its name; where the module is read to be trained, they remember how they were made."""

    def compare(self, evaluate: Evaluate, seed: int = 0) -> float:
        """Raises MismatchedLogits where the network's logits are not the module's, on the attributes or on random flips of them; the
        largest difference relative to the largest logit."""
        from .comparison import compare

        return compare(self.own, self.inputs, self.final, evaluate, seed)

    def compared_graph(self, seed: int = 0) -> Graph:
        """The graph, with rows as the module reads them, after the network was compared with the module on it."""
        from .native import evaluator

        graph = self.inputs.graph(self.network.has_readout)
        # A copy in float64 divides in float64.
        compared = graph if self.division is None else graph._divided(Division(64, inside=True))
        self.compare(evaluator(compared, self.network), seed)
        if self.inputs.normalised is not None:
            warn(note("`data.x`", self.inputs.normalised))
        if self.division is not None:
            warn(note("`data.x` in the module", self.division.bits))
            graph = graph._divided(self.division)
        return graph


def read(model: Any, data: Any, call: Call | None = None, traced: bool = False, directed: bool = False, real: bool = False) -> Reading:
    """Reads a module, without comparing. `traced`: its numbers remember how they were made from the parameters."""
    from .comparison import Own
    from .inputs import OWN_ARGUMENTS, call_of, check_call, copied, is_double, read_data, warn_of_caches, warn_of_precision
    from .division import bits_of
    from .precision import running
    from .recorder import Given, Recorder
    from .traced import mark, tracing
    from .values import Beforehand

    if call is not None:
        check_call(call)
    remedy = "if it is called in another way, say how with `call=lambda model, data: …`" if call is None else OWN_ARGUMENTS
    inputs = read_data(data, directed, real)
    warn_of_caches(model)
    warn_of_precision(model)
    way = call or call_of(copied(model), inputs.data)

    known = Given(bits_of(inputs.data.x.dtype), inputs.normalised, is_double(model))

    def recorded(forced: bool, attributes: Given) -> tuple[Network, str | None, Division | None, Any]:
        module = copied(model)
        if traced:
            mark(module)
        recorder = Recorder(module, inputs.adjacency, inputs.attributes.shape[1], attributes, inputs.batch)
        given = inputs.with_attributes(recorder.attributes())
        for key in inputs.beforehand():
            setattr(given, key, Beforehand.of(getattr(given, key), recorder, key))
        with running(forced), tracing(traced):
            return (*recorder.record(lambda: way(module, given), remedy), recorder.division, recorder.layers.arrays)

    network, final, division, arrays = recorded(False, known)
    own = Own(copied(model), way, inputs)
    if own.find_precision(remedy):
        # The module computes something in float32 on its way, and could not be run in float64 otherwise.
        bits = known.bits if division is None else division.bits
        network, final, division, arrays = recorded(True, replace(known, bits=bits, follows_casts=False))
    if division is not None and (inputs.attributes.data != 1).any():
        raise UnsupportedModel(
            "the module divides rows of attributes by their sums, and the attributes are not 0 and 1. Remedy: divide `data.x` before the module, and leave the division out of it", "division"
        )
    if division is not None and not division.clamped:
        own.empties = False
        for node in np.flatnonzero(np.diff(inputs.attributes.indptr) == 0)[:1].tolist():
            raise UnsupportedModel(
                f"node {node} has no attributes, and the module divides its row by its sum: 0 / 0. Remedy: `x / x.sum(-1, keepdim=True).clamp(min=1)`",
                "division",
            )
    return Reading(network, inputs, own, final, division, arrays)


def from_pyg(model: Any, data: Any, *, call: Call | None = None, seed: int = 0, directed: bool = False, real: bool = False) -> tuple[Graph, Network]:
    """The graph of a Data object of PyTorch Geometric, and the network that a module is on it.

    A module that classifies graphs takes a Batch, a list of Data objects or a dataset: then the graph has a `batch`.

    The module is run once in eval mode on tensors that record what is done with them; it stays as it is. Then the network's logits are
    compared with the module's own in float64, on the attributes and on random flips of them (chosen by `seed`).

    `directed=True` keeps edges that have one direction only in the graph, for attacks on directed edges. `real=True` takes attributes as the numbers that they
    are, for Ranges and for attacks on edges.

    `call` says how the module is called, by default by the arguments of its forward:
    `call=lambda model, data: model(data.x, data.edge_index, data.edge_weight)`.

    Raises UnsupportedModel, which names the operation and the line of the module's code, if the module is no network of fixed message
    passing and ReLU; MismatchedLogits if the logits differ; InvalidData if the attributes are neither 0/1 nor 0/1 divided by the row's
    sum, or the data has no edges. Rows that are divided by their sums, in `data.x` or in the first lines of the module, are recognised
    with a warning (`graph.normalised`).
    """
    whole(seed, "seed", "")
    reading = read(model, data, call, directed=switch(directed, "directed"), real=switch(real, "real"))
    return reading.compared_graph(seed), reading.network
