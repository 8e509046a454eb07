"""The convolutions of PyTorch Geometric whose formulas are known."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, degree, remove_self_loops

from ..scope import UNCHANGED_EDGES
from . import words
from .arithmetic import linear
from .edges import Edges, aggregation
from .functions import array
from .operators import IDENTITY, Operator
from .values import Recorded, Value

LAYERS: list[tuple[type, Any]] = []
"""Classes and what reads them: a function of the recorder, the layer and the arguments of its forward."""


def _layer(kind: type) -> Any:
    def register(handler: Any) -> Any:
        LAYERS.append((kind, handler))
        return handler

    return register


def has_own_code(part: torch.nn.Module, kind: type) -> bool:
    """Does a subclass compute something else than its class?"""
    parts = ["forward", "message", "aggregate", "update", "message_and_aggregate", "edge_update", "__norm__"]
    if any(getattr(type(part), name, None) is not getattr(kind, name, None) for name in parts):
        return True
    # PyTorch Geometric writes `propagate` anew for every class, and keeps what was there.
    return not getattr(getattr(type(part), "_orig_propagate", None), "__module__", "torch_geometric.").startswith("torch_geometric.")


def _pair(recorder: Any, x: Any) -> tuple[Value, Value | None]:
    """What senders and receivers have."""
    first, second = x if isinstance(x, (tuple, list)) else (x, x)
    for part in (first, second):
        if part is not None and (not isinstance(part, Recorded) or part.shape[0] != recorder.nodes):
            raise recorder.refuse("message passing between two sets of nodes", "all nodes of one graph are certified", "give the layer x, not a pair")
    return recorder.open_value(first), None if second is None else recorder.open_value(second)


def _one(recorder: Any, x: Any) -> Value:
    return _pair(recorder, x)[0]


def _weights(module: Any) -> np.ndarray:
    """The weights of a Linear as inputs × outputs."""
    return array(module.weight).T


def _bias(module: Any) -> np.ndarray | None:
    return None if module.bias is None else array(module.bias)


def _plus(first: Value, second: Value) -> Value:
    first, second = first.aligned(second)
    return Value([a.plus(b) for a, b in zip(first.blocks, second.blocks)])


def _shifted(value: Value, bias: np.ndarray | None) -> Value:
    if bias is None:
        return value
    return value.parts(lambda form, start, stop: form.shifted(bias[start:stop]))


def _spread(recorder: Any, x: Value, terms: list[tuple[Operator, np.ndarray | None]], bias: np.ndarray | None = None,
            magnitudes: list[np.ndarray] | None = None) -> Value:
    """Σ operator · x · weight + bias."""
    if recorder.layers.rewired and not all(operator.is_recomputed for operator, _ in terms):
        raise recorder.refuse("a polynomial of hops, where edges are attacked,", words.HOPS, f"{words.RETRAIN_HOPS}; {UNCHANGED_EDGES}")
    x = recorder.ready(x, [operator for operator, _ in terms])
    sizes: Sequence[np.ndarray | None] = [None] * len(terms) if magnitudes is None else magnitudes
    parts = [
        recorder.passed(x if weight is None else linear(recorder, x, weight, None, size), operator)
        for (operator, weight), size in zip(terms, sizes)
    ]
    return _shifted(functools.reduce(_plus, parts), bias)


@_layer(pyg.GCNConv)
def _gcn(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    edges = Edges(recorder, edge_index, edge_weight, layer.flow)
    how = aggregation(recorder, layer)
    operator = edges.normalised(how, layer.improved, layer.add_self_loops) if layer.normalize else edges.plain(how)
    return _spread(recorder, _one(recorder, x), [(operator, _weights(layer.lin))], _bias(layer))


@_layer(pyg.SAGEConv)
def _sage(recorder: Any, layer: Any, x: Any, edge_index: Any, size: Any = None) -> Value:
    if layer.normalize:
        raise recorder.refuse("SAGEConv with normalize=True", "it divides by the length of what is computed from the attributes",
                              "train with normalize=False", layer)
    senders, receivers = _pair(recorder, x)
    if layer.project and hasattr(layer, "lin"):
        senders = linear(recorder, senders, _weights(layer.lin), _bias(layer.lin)).each(recorder.relu)
    operator = Edges(recorder, edge_index, None, layer.flow).plain(aggregation(recorder, layer))
    return _neighbours_and_root(recorder, senders, receivers if layer.root_weight else None, operator, layer.lin_l, getattr(layer, "lin_r", None))


@_layer(pyg.GraphConv)
def _graphconv(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None, size: Any = None) -> Value:
    senders, receivers = _pair(recorder, x)
    operator = Edges(recorder, edge_index, edge_weight, layer.flow).plain(aggregation(recorder, layer))
    return _neighbours_and_root(recorder, senders, receivers, operator, layer.lin_rel, layer.lin_root)


def _neighbours_and_root(recorder: Any, senders: Value, receivers: Value | None, operator: Operator, neighbours: Any, root: Any) -> Value:
    """operator · senders · W + receivers · V + b."""
    if receivers is senders:
        bias = _bias(neighbours)
        return _spread(recorder, senders, [(operator, _weights(neighbours)), (IDENTITY, _weights(root))], bias)
    result = _spread(recorder, senders, [(operator, _weights(neighbours))], _bias(neighbours))
    return result if receivers is None else _plus(result, linear(recorder, receivers, _weights(root)))


@_layer(pyg.SGConv)
def _sgc(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    step = Edges(recorder, edge_index, edge_weight, layer.flow).normalised(aggregation(recorder, layer), False, layer.add_self_loops)
    operator = recorder.operators.polynomial(step, [0.0] * layer.K + [1.0])
    return _spread(recorder, _one(recorder, x), [(operator, _weights(layer.lin))], _bias(layer.lin))


@_layer(pyg.SSGConv)
def _ssgc(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    step = Edges(recorder, edge_index, edge_weight, layer.flow).normalised(aggregation(recorder, layer), False, layer.add_self_loops)
    operator = recorder.operators.polynomial(step, [layer.alpha] + [(1 - layer.alpha) / layer.K] * layer.K)
    return _spread(recorder, _one(recorder, x), [(operator, _weights(layer.lin))], _bias(layer.lin))


@_layer(pyg.APPNP)
def _appnp(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    edges, how = Edges(recorder, edge_index, edge_weight, layer.flow), aggregation(recorder, layer)
    step = edges.normalised(how, False, layer.add_self_loops) if layer.normalize else edges.plain(how)
    kept = 1 - layer.alpha
    coefficients = [layer.alpha * kept**k for k in range(layer.K)] + [kept**layer.K]
    return _spread(recorder, _one(recorder, x), [(recorder.operators.polynomial(step, coefficients), None)])


@_layer(pyg.TAGConv)
def _tag(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    edges, how = Edges(recorder, edge_index, edge_weight, layer.flow), aggregation(recorder, layer)
    step = edges.normalised(how, False, False) if layer.normalize else edges.plain(how)
    powers = [recorder.operators.polynomial(step, [0.0] * k + [1.0]) for k in range(len(layer.lins))]
    return _spread(recorder, _one(recorder, x), list(zip(powers, map(_weights, layer.lins))), _bias(layer))


@_layer(pyg.ChebConv)
def _cheb(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None, batch: Any = None, lambda_max: Any = None) -> Value:
    edges = Edges(recorder, edge_index, edge_weight, layer.flow)
    if edges.adjacency is not None:
        raise recorder.refuse("ChebConv on a sparse adjacency", "it takes an edge_index", "give data.edge_index", layer)
    if lambda_max is not None and not isinstance(lambda_max, torch.Tensor):
        lambda_max = torch.tensor(lambda_max, dtype=torch.float64)
    weight = None if edges.weight is None else edges.weight
    index, norm = getattr(layer, "__norm__")(edges.index, recorder.nodes, weight, layer.normalization, lambda_max, dtype=torch.float64, batch=batch)
    laplacian = edges.weighted(index, norm, aggregation(recorder, layer), "gcn-self")
    polynomials = [[1.0], [0.0, 1.0]]
    while len(polynomials) < len(layer.lins):
        # T_k = 2 L T_{k−1} − T_{k−2}.
        following = [0.0] + [2.0 * c for c in polynomials[-1]]
        for place, c in enumerate(polynomials[-2]):
            following[place] -= c
        polynomials.append(following)
    operators = [recorder.operators.polynomial(laplacian, coefficients) for coefficients in polynomials]
    return _spread(recorder, _one(recorder, x), list(zip(operators, map(_weights, layer.lins))), _bias(layer))


@_layer(pyg.GINConv)
def _gin(recorder: Any, layer: Any, x: Any, edge_index: Any, size: Any = None) -> Value:
    senders, receivers = _pair(recorder, x)
    operator = Edges(recorder, edge_index, None, layer.flow).plain(aggregation(recorder, layer))
    senders = recorder.ready(senders, [operator])
    gathered = recorder.passed(senders, operator)
    if receivers is not None:
        eps = array(layer.eps).reshape(-1)[:1]
        # A number that is not trained becomes part of the operator.
        own = 1.0 + (eps if isinstance(layer.eps, torch.nn.Parameter) else float(eps[0]))
        gathered = _plus(gathered, senders.each(lambda form: form.scaled(own)) if isinstance(x, Recorded) else receivers.each(lambda form: form.scaled(own)))
    return recorder.open_value(layer.nn(recorder.tensor(gathered)))


@_layer(pyg.ClusterGCNConv)
def _cluster(recorder: Any, layer: Any, x: Any, edge_index: Any) -> Value:
    edges = Edges(recorder, edge_index, None, layer.flow)
    index = edges.index
    if layer.add_self_loops:
        index, _ = add_self_loops(remove_self_loops(index)[0], num_nodes=recorder.nodes)
    # As the layer does it: neighbours are counted in PyTorch's default type, whatever the type of the weights is.
    inverse = 1.0 / degree(index[1], num_nodes=recorder.nodes).clamp_(1.0)
    weight = inverse[index[1]]
    loops = index[0] == index[1]
    weight[loops] += layer.diag_lambda * inverse[index[1][loops]]
    value = _one(recorder, x)
    operator = edges.weighted(index, weight, aggregation(recorder, layer), "mean+self")
    return _spread(recorder, value, [(operator, _weights(layer.lin_out)), (IDENTITY, _weights(layer.lin_root))], _bias(layer.lin_out))


_MIXED = 6
"""Roundings in a GCN2Conv beyond those of its product: two numbers that are multiplied with, rounded themselves, and two sums."""


@_layer(pyg.GCN2Conv)
def _gcn2(recorder: Any, layer: Any, x: Any, x_0: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    edges, how = Edges(recorder, edge_index, edge_weight, layer.flow), aggregation(recorder, layer)
    operator = edges.normalised(how, False, layer.add_self_loops) if layer.normalize else edges.plain(how)

    def mixed(weight: np.ndarray) -> np.ndarray:
        return (1.0 - layer.beta) * np.eye(layer.channels) + layer.beta * weight

    def weights(share: float, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """share · ((1 − β) I + β W), and the size of what is added up in it."""
        return share * mixed(array(weight)), share * mixed(np.abs(array(weight)))

    first, size = weights(1 - layer.alpha, layer.weight1)
    spread = _spread(recorder, _one(recorder, x), [(operator, first)], None, [size])
    own, size = weights(layer.alpha, layer.weight1 if layer.weight2 is None else layer.weight2)
    return _plus(spread, linear(recorder, _one(recorder, x_0), own, None, size)).each(lambda form: form.rounded(_MIXED))


@_layer(pyg.MixHopConv)
def _mixhop(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    step = Edges(recorder, edge_index, edge_weight, layer.flow).normalised(aggregation(recorder, layer), False, layer.add_self_loops)
    value, blocks = _one(recorder, x), []
    for power in layer.powers:
        operator = recorder.operators.polynomial(step, [0.0] * power + [1.0])
        blocks += _spread(recorder, value, [(operator, _weights(layer.lins[power]))]).blocks
    return _shifted(Value(blocks), _bias(layer))


@_layer(pyg.ARMAConv)
def _arma(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_weight: Any = None) -> Value:
    operator = Edges(recorder, edge_index, edge_weight, layer.flow).normalised(aggregation(recorder, layer), False, False)
    value, shares = _one(recorder, x), []
    first, inner, root = array(layer.init_weight), array(layer.weight), array(layer.root_weight)
    for stack in range(layer.num_stacks):
        out = value
        for step in range(layer.num_layers):
            place = 0 if layer.shared_weights else step
            weight = first[stack] if step == 0 else inner[0 if layer.shared_weights else step - 1, stack]
            out = _plus(_spread(recorder, out, [(operator, weight)]), linear(recorder, value, root[place, stack]))
            if layer.bias is not None:
                out = _shifted(out, array(layer.bias)[place, stack, 0])
            if layer.act is not None:
                out = recorder.open_value(layer.act(recorder.tensor(out)))
        shares.append(out.each(lambda form: form.scaled(1.0 / layer.num_stacks)))
    return functools.reduce(_plus, shares)


def _rgcn(recorder: Any, layer: Any, x: Any, edge_index: Any, edge_type: Any = None) -> Value:
    edges, how = Edges(recorder, edge_index, None, layer.flow), aggregation(recorder, layer)
    if not isinstance(x, (Recorded, tuple)) or edge_type is None or edges.adjacency is not None:
        raise recorder.refuse(f"{type(layer).__name__} without x, edge_index or edge_type", "the attributes must be what it reads",
                              "call it as conv(x, edge_index, edge_type)", layer)
    weight, magnitudes, roundings = array(layer.weight), None, 0
    if layer.num_bases is not None:
        # The module adds up the bases in its own precision.
        magnitudes, roundings = np.tensordot(np.abs(array(layer.comp)), np.abs(weight), 1), layer.num_bases + 1
        weight = np.tensordot(array(layer.comp), weight, 1)
    if layer.num_blocks is not None:
        _, blocks, inputs, outputs = weight.shape
        rows, columns = np.eye(blocks * inputs), np.eye(blocks * outputs)
        # Products with 0 and 1: each block in its place.
        weight = functools.reduce(np.add, [
            rows[:, block * inputs : (block + 1) * inputs] @ weight[:, block] @ columns[block * outputs : (block + 1) * outputs]
            for block in range(blocks)
        ])
    kinds = edge_type.detach().cpu()
    terms = [(edges.masked(kinds == relation, how), weight[relation]) for relation in range(layer.num_relations)]
    senders, receivers = _pair(recorder, x)
    result = _spread(recorder, senders, terms, None, None if magnitudes is None else list(magnitudes))
    result = result.each(lambda form: form.rounded(roundings))
    if layer.root is not None and receivers is not None:
        result = _plus(result, linear(recorder, receivers, array(layer.root)))
    return _shifted(result, _bias(layer))


LAYERS += [(pyg.RGCNConv, _rgcn), (pyg.FastRGCNConv, _rgcn)]
