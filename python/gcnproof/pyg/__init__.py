"""From PyTorch Geometric: a module and a Data object become a network and a graph, and the network is compared with the module."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import switch, whole
from ..errors import InputError, UnsupportedModel, warn
from ..network import Network
from ..normalisation import Division, note

if TYPE_CHECKING:
    from ..attack import Edges
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

    def compare(self, evaluate: Evaluate, seed: int = 0, edges: bool = False) -> float:
        """Raises MismatchedLogits where the network's logits are not the module's, on the attributes or on random flips of them; the
        largest difference relative to the largest logit. `edges`: the edges are not those of the data, and the attributes are compared as they are."""
        from .comparison import compare

        return compare(self.own, self.inputs, self.final, evaluate, seed, edges)

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


def read(model: Any, data: Any, call: Call | None = None, traced: bool = False, directed: bool = False, real: bool = False, edges: bool = False) -> Reading:
    """Reads a module, without comparing. `traced`: its numbers remember how they were made from the parameters; `edges`: they may be attacked."""
    from .inputs import check_call, read_data, warn_of_caches, warn_of_precision

    if call is not None:
        check_call(call)
    inputs = read_data(data, directed, real)
    warn_of_caches(model, edges)
    warn_of_precision(model)
    return _read(model, inputs, call, traced)


def _read(model: Any, inputs: Inputs, call: Call | None, traced: bool = False, rewired: bool = False) -> Reading:
    """The same of data that has been read. `rewired`: for attacks on edges, which change how often a bias arrives."""
    from .comparison import Own
    from .inputs import OWN_ARGUMENTS, Arguments, call_of, copied, is_double
    from .division import bits_of
    from .precision import running
    from .recorder import Given, Recorder
    from .traced import mark, tracing
    from .values import Beforehand

    way = call or call_of(copied(model), inputs.data)
    called = str(way) if isinstance(way, Arguments) and way.names != way.given else ""
    remedy = f"if it is called in another way{f' ({called})' * bool(called)}, say how with `call=lambda model, data: …`" if call is None else OWN_ARGUMENTS

    known = Given(bits_of(inputs.data.x.dtype), inputs.normalised, is_double(model))

    def recorded(forced: bool, attributes: Given) -> tuple[Network, str | None, Division | None, Any]:
        module = copied(model)
        if traced:
            mark(module)
        recorder = Recorder(module, inputs.adjacency, inputs.attributes.shape[1], attributes, inputs.batch, rewired, called)
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


def read_for_edges(model: Any, data: Any, attack: Edges, call: Call | None = None) -> tuple[Graph, Network]:
    """The graph and the network where edges are attacked: read on other edges, and compared with the module on the graph and on changes of it.

    Raises UnsupportedModel where what the module computes follows from the edges in another way than by the rules of its layers.
    """
    from .comparison import Own
    from .inputs import adjacency_of, copied
    from .native import evaluator
    from .rewired import changed, check_hops, check_same, drawn

    first = read(model, data, call, real=True, edges=True)
    arcs = adjacency_of(first.inputs.data, first.inputs.adjacency.shape[0], directed=True)
    lonely = np.stack((arcs > arcs.T).nonzero(), 1)
    one_way = len(lonely) > 0
    if one_way and first.network.has_rules and not first.network.has_matrices:
        receiver, sender = lonely[0]
        raise InputError(
            f"the module makes its edges undirected by itself, and the data has an edge from node {sender} to node {receiver}, but none back",
            "give it the same with both directions, data = torch_geometric.transforms.ToUndirected()(data)" + ", and leave directed=True out" * attack.directed,
        )
    if one_way and attack.directed:
        first = read(model, data, call, directed=True, real=True)
    if first.network.has_matrices or one_way and not attack.directed:
        # Such edges and operators are refused by their own names.
        return first.compared_graph(), first.network
    if not first.network.has_readout and 1 < len(first.inputs.batch) == int(first.inputs.batch[-1]) + 1:
        raise UnsupportedModel(
            "every graph of the batch has one node, so that a module with a readout cannot be told from one without, and edges are to be attacked. Remedy: give "
            "graphs with more nodes too, or, for a classifier of nodes, data without `batch`",
            "batch",
        )
    # Each direction is changed alone, so that edges may get one.
    base = replace(first.inputs, directed=attack.directed)
    random = np.random.default_rng(0)
    inserts, removes = attack._kind != "remove", attack._kind != "insert"
    isolates = removes and not attack.keep_one_edge
    one, two = (_read(model, drawn(base, random, isolates), call, rewired=True) for _ in range(2))
    check_same(one.network, two.network)
    check_hops(one.network)
    reading = replace(first, network=one.network, arrays=one.arrays)
    graph = reading.compared_graph()
    for count in sorted({1, max(1, int(attack._most or 0))}):
        for inserting in [way for way, asked in ((False, removes), (True, inserts)) if asked]:
            inputs = changed(base, attack, count, random, inserting)
            if inputs is None:
                continue
            own = Own(copied(model), first.own.call, inputs)
            own.forced = first.own.forced
            other = inputs.graph(reading.network.has_readout)
            other = other if reading.division is None else other._divided(Division(64, inside=True))
            replace(reading, inputs=inputs, own=own).compare(evaluator(other, reading.network), edges=True)
    return graph, reading.network


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
    reading = read(model, data, call, directed=switch(directed, "directed"), real=switch(real, "real"), edges=True)
    graph = reading.compared_graph(seed)
    reading.network.edges = _holds(model, reading, call)
    return graph, reading.network


def read_for_attributes(model: Any, data: Any, call: Call | None = None, real: bool = False) -> tuple[Graph, Network]:
    """The same where attributes are attacked, and edges are not."""
    reading = read(model, data, call, real=real)
    reading.network.edges = False
    return reading.compared_graph(), reading.network


def _holds(model: Any, reading: Reading, call: Call | None) -> bool:
    """Is the same network read on other edges? Then it may be attacked by changing them."""
    from .rewired import drawn, holds

    random = np.random.default_rng(0)
    try:
        others = [_read(model, drawn(reading.inputs, random, isolates), call, rewired=True).network for isolates in (False, True)]
    except (UnsupportedModel, ValueError):
        return False
    return all(holds(reading.network, other) for other in others)
