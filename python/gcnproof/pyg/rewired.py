"""Does what was read of a module hold after edges have changed? It is read again on other edges between the same nodes.

A reading on one graph knows a matrix by its entries alone: where all nodes have as many neighbours, a sum looks like a multiple of a mean, and
what a module computes from the number of edges looks like a constant. On edges drawn at random no two rules agree, so that what is read there
twice, with the same result, is the module's rule; the network is then compared with the module on the graph itself and on changes of it.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse

from ..errors import UnsupportedModel
from ..network import Network, Polynomial, recomputed
from ..scope import UNCHANGED_EDGES
from .inputs import Inputs
from .operators import are_equal, rules_of
from .words import HOPS, RETRAIN_HOPS

if TYPE_CHECKING:
    from ..attack import Edges

_DRAWS = 32
"""How often edges are drawn until no two rules agree on them."""

_CLOSE = 1e-12
"""How far numbers of two readings may lie from each other, relative to them: sums over edges round in their order."""

REMEDY = (
    "edges can be attacked where a module uses `edge_index` in its layers alone (GCNConv, SAGEConv, GINConv, …): leave what else it computes from the edges out of its forward; "
    + UNCHANGED_EDGES
)


def drawn(inputs: Inputs, random: np.random.Generator, isolates: bool) -> Inputs:
    """The inputs with edges drawn at random, on which no two rules agree if the graphs have three nodes or more. `isolates`: may nodes lose all edges?"""
    result = inputs
    for _ in range(_DRAWS):
        result = _with(inputs, _random(inputs, random, isolates), random)
        if _tells_apart(result.adjacency):
            break
    return result


def changed(inputs: Inputs, attack: Edges, count: int, random: np.random.Generator, inserts: bool) -> Inputs | None:
    """The inputs after so many changes, or as many as there are: edges removed that may be, or edges inserted; None if there are none."""
    nodes = inputs.adjacency.shape[0]
    rows, columns = inputs.adjacency.nonzero()
    pairs = {(int(r), int(c)) for r, c in zip(rows, columns)}
    made = 0
    if inserts:
        starts = np.searchsorted(inputs.batch, np.arange(int(inputs.batch[-1]) + 2))
        for _ in range(20 * count):
            row = int(random.integers(nodes))
            graph = int(inputs.batch[row])
            column = int(random.integers(starts[graph], starts[graph + 1]))
            if row == column or (row, column) in pairs or made == count:
                continue
            pairs |= {(row, column)} if inputs.directed else {(row, column), (column, row)}
            made += 1
    else:
        degrees = np.bincount(rows, minlength=nodes)
        for place in random.permutation(len(rows)).tolist():
            row, column = int(rows[place]), int(columns[place])
            ends = [row] if inputs.directed else [row, column]
            if made == count or row == column or (row, column) not in pairs or attack.keep_one_edge and min(degrees[ends]) < 2:
                continue
            pairs -= {(row, column)} if inputs.directed else {(row, column), (column, row)}
            degrees[ends] -= 1
            made += 1
    return _with(inputs, np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T, random) if made else None


def check_same(first: Network, second: Network) -> None:
    """Raises UnsupportedModel where two readings on different edges are not the same network."""
    what = _difference(first, second)
    if what is not None:
        raise UnsupportedModel(f"{what} depends on the edges in a way that is no rule of message passing, and edges are to be attacked. Remedy: {REMEDY}", "edge_index")


def check_hops(network: Network) -> None:
    """Raises UnsupportedModel where a layer has a polynomial that is not recomputed when edges change."""
    for layer, term in ((layer, term) for layer in network.layers for term in layer.terms):
        if not recomputed(term.operator):
            what = "the last layer" if layer.name == "logits" else f"layer {layer.name!r}"
            raise UnsupportedModel(
                f"{what} passes messages by {term.operator}, and edges are to be attacked: {HOPS}. Remedy: {RETRAIN_HOPS}, and with a Linear between two hops over the "
                f"attributes themselves; {UNCHANGED_EDGES}",
                "edge_index",
            )


def holds(first: Network, second: Network) -> bool:
    """Are two readings on different edges the same network?"""
    return _difference(first, second) is None


def _difference(first: Network, second: Network) -> str | None:
    """What differs, or has no rule, in words."""
    if [layer.name for layer in first.layers] != [layer.name for layer in second.layers]:
        return "what the module computes"
    for one, two in zip(first.layers, second.layers):
        if list(one.activation) != list(two.activation) or [term.source for term in one.terms] != [term.source for term in two.terms]:
            return f"what layer {one.name!r} computes"
        for own, other in zip(one.terms, two.terms):
            if _rule(own.operator) is None or _rule(own.operator) != _rule(other.operator):
                return f"the message passing of layer {one.name!r}"
            if not _close(own.weight, other.weight):
                return f"the weight of layer {one.name!r}"
        if not _close(one.bias, two.bias):
            return f"the bias of layer {one.name!r}"
    return None


def _rule(operator: Any) -> Any:
    """The rule of an operator with its coefficients; None if it is a matrix."""
    if isinstance(operator, Polynomial):
        return (operator.base, tuple(operator.coefficients)) if isinstance(operator.base, str) else None
    return operator if isinstance(operator, str) else None


def _close(one: np.ndarray | None, two: np.ndarray | None) -> bool:
    if one is None or two is None:
        return one is two
    one, two = np.asarray(one), np.asarray(two)
    return one.shape == two.shape and bool((np.abs(one - two) <= _CLOSE * np.maximum(np.abs(one), np.abs(two))).all())


def _tells_apart(adjacency: sparse.csr_array) -> bool:
    """Do no two rules have the same matrix?"""
    made = [matrix for _, matrix in rules_of(adjacency)]
    return not any(are_equal(one, two, 1.0, 0.0) for place, one in enumerate(made) for two in made[:place])


def _random(inputs: Inputs, random: np.random.Generator, isolates: bool) -> np.ndarray:
    """Receivers and senders: most edges of the graph, about as many others, and self-loops as they are."""
    nodes, batch = inputs.adjacency.shape[0], inputs.batch
    starts = np.searchsorted(batch, np.arange(int(batch[-1]) + 2))
    rows, columns = inputs.adjacency.nonzero()
    loops = rows == columns
    kept = ~loops & (inputs.directed | (rows < columns))
    kept[kept] = random.random(int(kept.sum())) < 0.7
    # Receivers by the square of a random number: some nodes have many neighbours, most few.
    count = int(random.integers(nodes, 2 * nodes + 2))
    graph = batch[random.integers(0, nodes, count)]
    sizes = starts[graph + 1] - starts[graph]
    one = starts[graph] + (random.random(count) ** 2 * sizes).astype(np.int64)
    two = starts[graph] + (random.random(count) * sizes).astype(np.int64)
    rows_, columns_ = np.r_[rows[kept], one[one != two]], np.r_[columns[kept], two[one != two]]
    if isolates:
        alone = random.random(nodes) < 0.1
        alone[int(random.integers(nodes))] = True
        stays = ~(alone[rows_] | alone[columns_])
        rows_, columns_ = rows_[stays], columns_[stays]
    else:
        # Every node receives something.
        missing = np.setdiff1d(np.arange(nodes), rows_ if inputs.directed else np.r_[rows_, columns_])
        first, last = starts[batch[missing]], starts[batch[missing] + 1]
        other = np.where(missing + 1 < last, missing + 1, first)
        pairs = other != missing
        rows_, columns_ = np.r_[rows_, missing[pairs]], np.r_[columns_, other[pairs]]
    if not inputs.directed:
        rows_, columns_ = np.r_[rows_, columns_], np.r_[columns_, rows_]
    both = np.stack([np.r_[rows_, rows[loops]], np.r_[columns_, columns[loops]]])
    return np.unique(both, axis=1)


def _with(inputs: Inputs, edges: np.ndarray, random: np.random.Generator) -> Inputs:
    """The inputs with other edges, given as receivers and senders."""
    nodes = inputs.adjacency.shape[0]
    data, count = copy.copy(inputs.data), edges.shape[1]
    adjacency = sparse.csr_array(sparse.coo_array((np.ones(count), (edges[0], edges[1])), shape=(nodes, nodes)))
    adjacency.sort_indices()
    known = getattr(data, "edge_index", None)
    index = torch.from_numpy(edges[::-1].copy())
    before = known.shape[1] if isinstance(known, torch.Tensor) and known.layout == torch.strided else None
    for key in list(data.keys()) if callable(getattr(data, "keys", None)) else list(vars(data)):
        item = getattr(data, key, None)
        if not isinstance(item, torch.Tensor):
            continue
        if key == "edge_index" and item.layout == torch.strided:
            setattr(data, key, index.to(item.dtype))
        elif key in ("edge_index", "adj_t"):
            matrix = torch.sparse_coo_tensor(torch.from_numpy(edges.copy()), torch.ones(count, dtype=torch.float64), (nodes, nodes)).coalesce()
            setattr(data, key, matrix if item.layout == torch.sparse_coo else matrix.to_sparse(layout=item.layout))
        elif key.startswith("edge") and before and item.dim() and item.shape[0] == before:
            # What is said of single edges: a module that uses it has no rule, unless it is the same for all.
            setattr(data, key, item[torch.from_numpy(random.integers(0, before, count))])
    return replace(inputs, data=data, adjacency=adjacency)
