"""Arguments in the forms that people have them: nodes as ids, slices and masks; local budgets; models and graphs."""

from __future__ import annotations

import numbers
import os
import warnings
from typing import Any

import numpy as np

from . import _native
from .errors import GcnproofWarning, InputError
from .graph import Graph, _array


def selected(nodes: Any, count: int, what: str = "nodes") -> list[int] | None:
    """Ids of nodes or attributes, of which there are `count`; None for all of them."""
    if nodes is None:
        return None
    if isinstance(nodes, slice):
        return list(range(*nodes.indices(count)))
    if isinstance(nodes, numbers.Integral) and not isinstance(nodes, bool):
        return [int(nodes)]
    found = _array(list(nodes) if isinstance(nodes, (set, frozenset, range)) else nodes)
    if found.size == 0:
        return []
    if found.ndim != 1:
        raise InputError(f"{what}: an array with the sides {found.shape}", "give a list of ids, a slice, or a mask")
    if found.dtype == bool:
        if len(found) != count:
            raise InputError(f"{what}: a mask of {len(found)} entries, but there are {count} {what}", "give one entry for each")
        return np.flatnonzero(found).tolist()
    if found.dtype.kind not in "iu":
        raise InputError(f"{what}: an array of {found.dtype}", "give ids as whole numbers, a slice, or a mask of booleans")
    if len(found) > 2 and ((found == 0) | (found == 1)).all():
        raise InputError(f"{what}: only 0 and 1, more than once: a mask, or ids?", "give a mask as booleans (`mask.astype(bool)`)")
    return found.tolist()


def local(q: Any, nodes: int) -> int | float | np.ndarray:
    """`q`: flips, a share of the attributes, or an array with a number of flips for each node."""
    if isinstance(q, bool):
        raise InputError(f"q={q}", "give a number of flips, a share below 1, or an array with one number for each node")
    if isinstance(q, numbers.Integral):
        if q < 0:
            raise InputError(f"q={q}", "a number of flips is 0 or more")
        return int(q)
    if isinstance(q, numbers.Real):
        if not 0 <= float(q) < 1:
            raise InputError(f"q={q}", "a share of the attributes is a float below 1 (0.01 is 1 %); a number of flips is an int")
        # A share in fewer bits is meant as it is written: float32's 0.7 lies below 0.7.
        return float(str(q)) if isinstance(q, np.floating) else float(q)
    found = _array(q)
    if found.shape != (nodes,) or found.dtype.kind not in "iu":
        raise InputError(
            f"q is an array of {found.dtype} with the sides {found.shape}", f"give one whole number for each of the {nodes} nodes"
        )
    return found.astype(np.int64, copy=False)


def attacker(graph: Graph, q: Any, flips: str, freeze_nodes: Any, freeze_attributes: Any) -> dict[str, Any]:
    """What an attacker may do, as the native module takes it."""
    return {
        "q": local(q, graph.node_count),
        "flips": flips,
        "freeze_nodes": selected(freeze_nodes, graph.node_count) or [],
        "freeze_attributes": selected(freeze_attributes, graph.attribute_count, "attributes") or [],
    }


def remover(graph: Graph, e: Any, keep_one_edge: bool, freeze_nodes: Any, freeze_edges: Any) -> dict[str, Any]:
    """What an attacker may do to edges, as the native module takes it."""
    return {
        "e": None if e is None else _removals(e, graph.node_count),
        "keep_one_edge": bool(keep_one_edge),
        "freeze_nodes": selected(freeze_nodes, graph.node_count) or [],
        "freeze_edges": _pairs(freeze_edges),
    }


def _removals(e: Any, nodes: int) -> int | np.ndarray:
    """`e`: removed edges at each node, or an array with a number for each."""
    if isinstance(e, bool) or (isinstance(e, numbers.Real) and (not isinstance(e, numbers.Integral) or e < 0)):
        raise InputError(f"e={e!r}", "give a whole number of edges, 0 or more, or an array with one number for each node")
    if isinstance(e, numbers.Integral):
        return int(e)
    found = _array(e)
    if found.shape != (nodes,) or found.dtype.kind not in "iu":
        raise InputError(
            f"e is an array of {found.dtype} with the sides {found.shape}", f"give one whole number for each of the {nodes} nodes"
        )
    return found.astype(np.int64, copy=False)


def _pairs(edges: Any) -> list[tuple[int, int]]:
    """Edges as pairs of ids, or as an array with two rows as PyTorch Geometric has them."""
    if edges is None:
        return []
    found = _array(list(edges) if isinstance(edges, (set, frozenset)) else edges)
    if found.size == 0:
        return []
    if found.ndim != 2 or found.dtype.kind not in "iu" or 2 not in found.shape:
        raise InputError(
            f"freeze_edges: an array of {found.dtype} with the sides {found.shape}", "give pairs of ids, one for each edge"
        )
    rows = found if found.shape[1] == 2 else found.T
    return [(int(a), int(b)) for a, b in rows]


def removals(count: Any, name: str) -> int:
    """A number of removed edges."""
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 0:
        raise InputError(f"{name}={count!r}", "give a whole number of edges, 0 or more")
    return int(count)


#: What speaks of attributes alone, and of edges alone, with the value that says nothing.
_OF_FLIPS = {"Q": None, "q": None, "flips": "both", "freeze_attributes": None, "bound": "best", "max_Q": 1000}
_OF_EDGES = {"E": None, "e": None, "keep_one_edge": True, "freeze_edges": None, "max_E": 1000}
_DEPLOYED = {"deployed": None, "operator_error": None, "flush_subnormals": False, "unit_roundoff": None}


def attacks_edges(edges: Any, **given: Any) -> bool:
    """Are edges attacked? Refuses what is not decided, and arguments that speak of the other attack."""
    if edges is None:
        for name in _said(given, _OF_EDGES):
            raise InputError(f"{name} without edges", "say edges='remove', or leave it out")
        return False
    if edges in ("add", "both"):
        raise InputError(f"edges={edges!r}: attacks that add edges are not decided", "say edges='remove'")
    if edges != "remove":
        raise InputError(f"edges={edges!r}", "say edges='remove'")
    for name in _said(given, _OF_FLIPS):
        raise InputError(
            f"{name} together with edges: attacks on attributes and edges at once are not decided",
            "say E and e with edges='remove', or Q and q without edges",
        )
    for name in _said(given, _DEPLOYED):
        raise InputError(f"{name} together with edges: verdicts about removed edges are those of the exact network", "leave it out")
    return True


def _said(given: dict[str, Any], defaults: dict[str, Any]) -> list[str]:
    return [name for name, nothing in defaults.items() if name in given and given[name] is not nothing and given[name] != nothing]


def needed(value: Any, name: str, remedy: str) -> Any:
    """An argument that cannot be left out here."""
    if value is None:
        raise InputError(f"{name} is missing", remedy)
    return value


def whole(count: Any, name: str, of: str) -> int:
    """A number of things."""
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 0:
        raise InputError(f"{name}={count!r}", f"give a whole number of {of}, 0 or more")
    return int(count)


def flips(count: Any, name: str) -> int:
    """A number of flips."""
    return whole(count, name, "flips")


def budgets(asked: Any) -> str | list[int]:
    """Numbers of flips in all: one, several, or a list in words, which the native module reads."""
    if isinstance(asked, str):
        return asked
    if isinstance(asked, (numbers.Number, bool)):
        return [flips(asked, "budgets")]
    found = _array(list(asked) if isinstance(asked, (set, frozenset, range)) else asked)
    if found.size and (found.ndim != 1 or found.dtype.kind not in "iu" or found.min() < 0):
        raise InputError("budgets are no numbers of flips", "give whole numbers, 0 or more: a list, a range, or a text such as '0-1000:50'")
    return [int(count) for count in found.ravel()]


#: More threads than any machine has cores; a slip of the keyboard would otherwise start as many.
MOST_THREADS = 1024


def threads(count: Any) -> int | None:
    """A number of threads; None for all cores."""
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or not 1 <= int(count) <= MOST_THREADS:
        raise InputError(f"threads={count!r}", f"give a whole number from 1 to {MOST_THREADS}, or leave it out for all cores")
    return int(count)


def is_path(thing: Any) -> bool:
    """Is it the path of a file?"""
    return isinstance(thing, (str, os.PathLike))


def is_module(thing: Any) -> bool:
    """Is it a module of torch? Asked without importing torch."""
    return hasattr(thing, "state_dict") and hasattr(thing, "forward")


class Subject:
    """A network on a graph, as it was given and as the native module has it."""

    def __init__(self, model: Any, data: Any):
        if isinstance(model, Graph) or (hasattr(data, "describe") and not hasattr(model, "describe")):
            raise InputError("the graph stands where the model is expected", "the model comes first, then the graph")
        self.data = None
        if is_module(model):
            self.data = data
            if isinstance(data, Graph) or is_path(data):
                raise InputError(
                    f"a module of torch with {'a Graph' if isinstance(data, Graph) else 'a file'}",
                    "give the Data object that the module is called with; or read the module first: "
                    "graph, network = gcnproof.from_pyg(model, data)",
                )
            from .pyg import from_pyg

            self.graph, model = from_pyg(model, data)
        elif isinstance(data, Graph):
            self.graph = data
        elif is_path(data):
            self.graph = Graph.load(data)
        else:
            self.data = data
            self.graph = Graph.from_data(data)
        self.model = model
        handle = self.graph._native()
        if is_path(model):
            self.network = _native.Network.read(handle, os.fspath(model))
        elif hasattr(model, "describe"):
            self.network = _native.Network(handle, *model.describe())
        else:
            raise InputError(
                f"a {type(model).__name__} is no model",
                "give a module of torch with its Data object, a gcnproof.Network, or the path of a model file",
            )
        for note in self.network.notes:
            warnings.warn(note, GcnproofWarning, stacklevel=4)
