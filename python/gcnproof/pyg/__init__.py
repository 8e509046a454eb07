"""From PyTorch Geometric: a module and a Data object become a network and a graph, and the network is compared with the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..network import Network

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

    def compare(self, evaluate: Evaluate, seed: int = 0) -> float:
        """Raises MismatchedLogits where the network's logits are not the module's, on the attributes or on random flips of them; the
        largest difference relative to the largest logit."""
        from .comparison import compare

        return compare(self.own, self.inputs, self.final, evaluate, seed)


def read(model: Any, data: Any, call: Call | None = None) -> Reading:
    """Reads a module, without comparing."""
    from .comparison import Own
    from .inputs import OWN_ARGUMENTS, call_of, check_call, copied, read_data, warn_of_caches, warn_of_precision
    from .precision import running
    from .recorder import Recorder
    from .values import Beforehand

    if call is not None:
        check_call(call)
    remedy = "if it is called in another way, say how with `call=lambda model, data: …`" if call is None else OWN_ARGUMENTS
    inputs = read_data(data)
    warn_of_caches(model)
    warn_of_precision(model)
    way = call or call_of(copied(model), inputs.data)

    def recorded(forced: bool) -> tuple[Network, str | None]:
        module = copied(model)
        recorder = Recorder(module, inputs.adjacency, inputs.attributes.shape[1])
        given = inputs.with_attributes(recorder.attributes())
        for key in inputs.beforehand():
            setattr(given, key, Beforehand.of(getattr(given, key), recorder, key))
        with running(forced):
            return recorder.record(lambda: way(module, given), remedy)

    network, final = recorded(False)
    own = Own(copied(model), way, inputs)
    if own.find_precision(remedy):
        # The module computes something in float32 on its way, and could not be run in float64 otherwise.
        network, final = recorded(True)
    return Reading(network, inputs, own, final)


def from_pyg(model: Any, data: Any, *, call: Call | None = None, seed: int = 0) -> tuple[Graph, Network]:
    """The graph of a Data object of PyTorch Geometric, and the network that a module is on it.

    The module is run once in eval mode on tensors that record what is done with them; it stays as it is. Then the network's logits are
    compared with the module's own in float64, on the attributes and on random flips of them (chosen by `seed`).

    `call` says how the module is called, by default by the arguments of its forward:
    `call=lambda model, data: model(data.x, data.edge_index, data.edge_weight)`.

    Raises UnsupportedModel, which names the operation and the line of the module's code, if the module is no network of fixed message
    passing and ReLU; MismatchedLogits if the logits differ; InvalidData if the attributes are not 0/1 or the data has no edges.
    """
    from ..graph import Graph
    from .native import evaluator

    reading = read(model, data, call)
    inputs = reading.inputs
    graph = Graph(inputs.adjacency, inputs.attributes, inputs.labels)
    reading.compare(evaluator(graph, reading.network), seed)
    return graph, reading.network
