"""What an attacker may do, and how the network runs: each is one value, which the short forms of the calls make."""

from __future__ import annotations

import functools
import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np

from .arguments import is_path, switch, whole
from .errors import InputError
from .graph import Graph, _array
from .normalisation import emptied
from .scope import BOTH, EXAMPLES, TAKES
from .selection import selected


T = TypeVar("T")


def _named(**meant: str) -> Callable[[type[T]], type[T]]:
    """Says what is meant by arguments that a class does not have."""

    def decorate(kind: type[T]) -> type[T]:
        made = kind.__init__

        @functools.wraps(made)
        def init(self: Any, *values: Any, **named: Any) -> None:
            for name in named.keys() & meant.keys():
                raise TypeError(f"{kind.__name__}() got an unexpected keyword argument {name!r}: {meant[name]} is meant")
            made(self, *values, **named)

        kind.__init__ = init  # type: ignore[method-assign]
        return kind

    return decorate


@_named(flips="direction", E="Edges(remove=…)", e="Edges(at_node=…)", edges="Edges(remove=…)")
@dataclass(frozen=True, eq=False)
class Flips:
    """Attributes are flipped: at most `Q` in all and at most `q` in each node.

    `q` is an int, a float below 1 as a share of the attributes (rounded down, at least 1; 0.0 is no flip), or an array with one
    number for each node. `direction` is "both", "add" or "remove"; nodes and attributes can be frozen. For `radius`, `Q` is the largest that
    is looked at. `bound` limits the bounds that certify to one of them, and `margins="tight"` evaluates all of them also where
    a node is robust by far; both are for comparisons.
    """

    Q: int | None = None
    q: Any = None
    direction: Literal["both", "add", "remove"] = "both"
    freeze_nodes: Any = None
    freeze_attributes: Any = None
    bound: Literal["best", "paper", "anchored"] = "best"
    margins: Literal["fast", "tight"] = "fast"

    def __post_init__(self) -> None:
        if self.Q is not None:
            whole(self.Q, "Q", "flips")
        if self.q is not None:
            local(self.q)
        for name, known in (("direction", ("both", "add", "remove")), ("bound", ("best", "paper", "anchored")), ("margins", ("fast", "tight"))):
            if getattr(self, name) not in known:
                *others, last = map(repr, known)
                raise InputError(f"{name}={getattr(self, name)!r}", f"give {', '.join(others)} or {last}")

    def _native(self, graph: Graph) -> dict[str, Any]:
        attack = {
            "Q": int(self.Q or 0),
            "q": local(self.q, graph.node_count),
            "direction": self.direction,
            "freeze_nodes": selected(self.freeze_nodes, graph.node_count, name="freeze_nodes") or [],
            "freeze_attributes": selected(self.freeze_attributes, graph.attribute_count, "attributes", "freeze_attributes") or [],
            "ranges": None,
        }
        if graph._division is not None and not graph._division.clamped and self.direction != "add":
            _check_rows(graph, attack)
        return attack


@dataclass(frozen=True, eq=False)
class Categories(Flips):
    """Categories of one-hot attributes are changed: at most `Q` in all and at most `q` in each node.

    `groups` has one list of attributes for each group: `groups=[range(0, 7), range(7, 12)]`. Every row has one attribute of each group, and a change
    puts another in its place; where some rows have none of a group, that is a category as well. Attributes in no group stay as they
    are. A share `q` is one of the groups. A graph that has groups already (`Graph.grouped`, `attr_groups` in a file) needs none here.
    A witness names a change by its number: attribute `D + i` is the `i`-th of `graph.category_changes`.
    """

    groups: Any = None

    def __post_init__(self) -> None:
        for name in ("q", "direction"):
            given = getattr(self, name)
            if isinstance(given, (list, tuple)) and any(np.ndim(group) for group in given):
                raise InputError(f"{name}={given!r}: the groups stand where {name} is expected", f"say groups={given!r}")
        super().__post_init__()
        if self.direction != "both":
            raise InputError(f"Categories with direction={self.direction!r}", "a change takes one category and gives another: leave the direction out")


@_named(eps="epsilon", lo="low", hi="high", direction="low and high")
@dataclass(frozen=True, eq=False)
class Ranges:
    """Attributes that are numbers are moved: at most `Q` entries in all and at most `q` in each node, each to any value of its range.

        Ranges(epsilon=0.01)                     # all entries at once, each by at most 0.01
        Ranges(Q=3, q=1, low=0, high=1)          # at most 3 entries, 1 in each node, each to any value from 0 to 1
        Ranges(Q=1, q=1, observed=True)          # from the smallest to the largest value that its attribute has somewhere

    `epsilon` is how far an entry may be moved; `low` and `high` are a number each, or one for each attribute, between which all its values lie. `Q` and `q`
    are as in Flips, and None is no limit; for `radius`, `Q` is the largest that is looked at. Nodes and attributes can be frozen.
    """

    Q: int | None = None
    q: Any = None
    epsilon: float | None = None
    low: Any = None
    high: Any = None
    observed: bool = False
    freeze_nodes: Any = None
    freeze_attributes: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.Q, numbers.Real) and not float(self.Q).is_integer() and self.epsilon is None and self.low is None and not self.observed:
            raise InputError(f"Ranges({self.Q}, …): how many entries are moved in all (Q) comes first, and is a whole number", f"say how far they are moved: Ranges(epsilon={self.Q})")
        if self.Q is not None:
            whole(self.Q, "Q", "entries")
        if self.q is not None:
            local(self.q)
        said = [name for name, given in (("epsilon", self.epsilon is not None), ("low and high", self.low is not None or self.high is not None), ("observed", switch(self.observed, "observed"))) if given]
        remedy = "say one of epsilon=0.01, low=… and high=…, and observed=True"
        if len(said) != 1:
            raise InputError(f"Ranges with {said[0]} and {said[1]}" if said else "Ranges, but not to which values attributes may be moved", remedy)
        if (self.low is None) != (self.high is None):
            raise InputError(f"Ranges with {'high' if self.low is None else 'low'} alone", "give both: low=0, high=1")
        if self.epsilon is not None and number(self.epsilon, "epsilon") < 0:
            raise InputError(f"epsilon={self.epsilon}: it is less than 0", "give how far an entry may be moved, up and down: epsilon=0.01")

    def _native(self, graph: Graph) -> dict[str, Any]:
        limits = None if self.low is None else [_limit(self.low, "low", graph.attribute_count), _limit(self.high, "high", graph.attribute_count)]
        return {
            "Q": graph.node_count * graph.attribute_count if self.Q is None else int(self.Q),
            "q": graph.attribute_count if self.q is None else local(self.q, graph.node_count),
            "direction": "both",
            "freeze_nodes": selected(self.freeze_nodes, graph.node_count, name="freeze_nodes") or [],
            "freeze_attributes": selected(self.freeze_attributes, graph.attribute_count, "attributes", "freeze_attributes") or [],
            "ranges": {"epsilon": None if self.epsilon is None else number(self.epsilon, "epsilon"), "limits": limits},
        }


def number(value: Any, name: str) -> float:
    """A number that is finite; of fewer bits it is meant as it is written: float32's 0.1 is 0.1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
        raise InputError(f"{name}={value!r}", f"give a finite number, such as {name}=0.01")
    return float(str(value)) if isinstance(value, np.floating) else float(value)


def _limit(values: Any, name: str, count: int) -> list[float]:
    """Limits of all attributes, of one number or of one for each."""
    found = _array(values, name)
    if found.dtype.kind not in "iuf" or found.shape not in ((), (count,)):
        raise InputError(f"{name} is an array of {found.dtype} with the sides {found.shape}", f"give a number, or one for each of the {count} attributes")
    return [float(value) for value in np.broadcast_to(found, (count,)).tolist()]


@_named(E="remove", e="at_node", Q="Flips(Q=…)", q="Flips(q=…)", add="insert", both="change")
@dataclass(frozen=True, eq=False)
class Edges:
    """Edges are removed, inserted, or both: at most so many in all and at most `at_node` at each node.

    Say one of `remove`, `insert` and `change`: how many edges may be removed, inserted, or either. `at_node` is an int, an array with one number for
    each node, or None for no limit of its own; a change counts at both ends, and operators are recomputed from the edges that are there. With
    `directed=True` each direction of an edge is an edge of its own, from sender to receiver, and counts at its receiver. Edges of `freeze_nodes` stay;
    with `directed=True` those are the edges that such a node receives from. `candidates` limits what may be
    inserted: pairs of ids, or an int for edges between nodes at most so many edges apart (directed: from nodes whose messages already arrive by so many edges); None for all that the graph does not have.
    `keep_one_edge` says whether every node that has edges keeps one of them; `freeze_edges` are pairs of ids that cannot be removed. For `radius`, the
    number is the largest that is looked at.
    """

    remove: int | None = None
    at_node: Any = None
    keep_one_edge: bool = True
    freeze_nodes: Any = None
    freeze_edges: Any = None
    insert: int | None = None
    change: int | None = None
    directed: bool = False
    candidates: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.remove, str) and self.remove in ("remove", "insert", "change"):
            raise InputError(f"Edges({self.remove!r}, …)", f"say how many: Edges({self.remove}={self.at_node or 1})")
        said = [name for name in ("remove", "insert", "change") if getattr(self, name) is not None]
        for name in said:
            whole(getattr(self, name), name, "edges")
        if len(said) > 1:
            raise InputError(f"{said[0]} and {said[1]}", "say one of remove, insert and change; change=5 is five edges, removed or inserted")
        if self.at_node is not None:
            local(self.at_node, name="at_node")
        switch(self.keep_one_edge, "keep_one_edge")
        switch(self.directed, "directed")
        if self.candidates is not None and self._kind == "remove":
            raise InputError("candidates beside remove" if self.remove is not None else "candidates, but not how many edges", "candidates are edges that may be inserted: say insert=… or change=…")
        for name, given in (("freeze_edges", self.freeze_edges is not None), ("keep_one_edge=False", not self.keep_one_edge)):
            if given and self._kind == "insert":
                raise InputError(f"{name} beside insert: no edge is removed", f"leave {name.removesuffix('=False')} out, or say remove=… or change=…")
        if isinstance(self.candidates, numbers.Number) and (isinstance(self.candidates, bool) or not isinstance(self.candidates, numbers.Integral)):
            raise InputError(f"candidates={self.candidates!r}", "give a whole number of edges apart, 2 or more, or pairs of ids")
        if isinstance(self.candidates, numbers.Integral) and whole(self.candidates, "candidates", "edges apart") < 2:
            raise InputError(
                f"candidates={self.candidates}: nodes at most {self.candidates} edges apart are the same or have an edge, and none can be inserted",
                "give 2 or more, pairs of ids, or leave candidates out for all edges that the graph does not have",
            )

    @property
    def _kind(self) -> str:
        return next((name for name in ("insert", "change") if getattr(self, name) is not None), "remove")

    @property
    def _most(self) -> int | None:
        """How many edges in all; None if nothing is said."""
        return getattr(self, self._kind)

    def _native(self, graph: Graph) -> dict[str, Any]:
        near = isinstance(self.candidates, numbers.Integral) and not isinstance(self.candidates, bool)
        listed = self.candidates is not None and not near
        return {
            "E": int(self._most or 0),
            "e": None if self.at_node is None else local(self.at_node, graph.node_count, "at_node (e)"),
            "keep_one": bool(self.keep_one_edge),
            "freeze_nodes": selected(self.freeze_nodes, graph.node_count, name="freeze_nodes") or [],
            "freeze_edges": _pairs(self.freeze_edges, graph),
            "kind": self._kind,
            "directed": bool(self.directed),
            "within": int(self.candidates) if near else None,
            "candidates": _candidates(self.candidates, graph) if listed else None,
        }


@dataclass(frozen=True, eq=False)
class Joint:
    """Attributes are flipped and edges changed by one attacker with both budgets: the list [Flips(…), Edges(…)] says it."""

    flips: Flips
    edges: Edges

    def _native(self, graph: Graph) -> dict[str, Any]:
        return {"flips": self.flips._native(graph), "edges": self.edges._native(graph)}


def joint_of(given: Any) -> Joint:
    """Both attackers of a list, in any order."""
    kinds = [type(attack).__name__ for attack in given]
    if len(kinds) == 1:
        raise InputError(f"[{kinds[0]}]: a list of one attack", f"give {kinds[0]}(…) itself, or one of Flips and one of Edges for an attacker who does both")
    if sorted(kinds) != ["Edges", "Flips"]:
        raise InputError(f"[{', '.join(kinds)}] is no attack", "a list has one of Flips and one of Edges, [Flips(Q=3, q=1), Edges(change=2)]: one attacker who does both; all others are asked about alone")
    flips, edges = sorted(given, key=lambda attack: not isinstance(attack, Flips))
    for name, usual in (("bound", "best"), ("margins", "fast")):
        if getattr(flips, name) != usual:
            raise InputError(f"{name} together with edges: only flips alone have several bounds", "leave it out")
    return Joint(flips, edges)


def alone(attack: Any, what: str) -> None:
    """Raises about two attackers at once where only one is decided."""
    if isinstance(attack, Joint):
        taken = " or ".join(f"{kind}(…)" for kind in ("Flips", "Edges") if kind in TAKES[what])
        raise InputError(f"{what} asks about one attacker, and two are given", f"give {taken} alone; certify decides both at once")


@dataclass(frozen=True)
class Execution:
    """How the network runs where `deployed` is asked about: any order of sums in a format with float32's range.

    `unit_roundoff` is 2**-24 for float32 and 2**-8 for bfloat16. `operator_error` says how far message-passing entries may be from ours, in
    units of the last place (8 for rules such as gcn and mean by default), `flush_subnormals` that subnormal numbers may be taken for zero.
    """

    unit_roundoff: float | None = None
    operator_error: int | None = None
    flush_subnormals: bool = False

    def __post_init__(self) -> None:
        switch(self.flush_subnormals, "flush_subnormals")
        unit = self.unit_roundoff
        if unit is not None and (isinstance(unit, bool) or not isinstance(unit, numbers.Real) or math.frexp(unit)[0] != 0.5):
            raise InputError(f"unit_roundoff={unit!r}", "give a power of two: 2**-24 is float32, 2**-8 bfloat16")
        if self.operator_error is not None and whole(self.operator_error, "operator_error", "units of the last place") >= 2**32:
            raise InputError(f"operator_error={self.operator_error}", "give fewer than 2**32 units of the last place")

    def _native(self) -> dict[str, Any]:
        unit = None if self.unit_roundoff is None else float(self.unit_roundoff)
        return {"unit_roundoff": unit, "operator_error": self.operator_error, "flush_subnormals": bool(self.flush_subnormals)}


def local(most: Any, nodes: int | None = None, name: str = "q") -> int | float | np.ndarray:
    """Changes at a node: a number, a share of the attributes (not of edges), or an array with a number for each node."""
    share = "a share below 1, " if name == "q" else ""
    if name == "q" and isinstance(most, str) and re.fullmatch(r"\d+(\.\d+)?\s*%", most):
        raise InputError(f"q={most!r}: a text", f"say q={float(most.rstrip('% ')) / 100:.12g}, which is the same share")
    if isinstance(most, bool) or is_path(most):
        raise InputError(f"{name}={most!r}", f"give a whole number, {share}or an array with one number for each node")
    if isinstance(most, numbers.Integral):
        if most < 0:
            raise InputError(f"{name}={most}", "give a whole number, 0 or more")
        return whole(most, name, "changes")
    if isinstance(most, numbers.Real):
        if name != "q":
            raise InputError(f"{name}={most}", "give a whole number of edges, 0 or more, or an array with one number for each node")
        if not 0 <= float(most) < 1:
            kind = "it is less than 0" if float(most) < 0 else "a share of the attributes is a float below 1 (0.01 is 1 %); a number of flips is an int"
            remedy = f"say q={int(float(most))}" if float(most) >= 1 and float(most).is_integer() else "give a float of 0 or more and below 1, such as 0.01 for 1 %, or an int"
            raise InputError(f"q={most}: {kind}", remedy)
        # A share in fewer bits is meant as it is written: float32's 0.7 lies below 0.7.
        return float(str(most)) if isinstance(most, np.floating) else float(most)
    found = _array(most, name)
    if found.ndim == 0:
        raise InputError(f"{name}={most!r}", f"give a whole number, {share}or an array with one number for each node")
    if found.ndim != 1 or found.dtype.kind not in "iu" or nodes not in (None, len(found)):
        of = "the" if nodes is None else f"the {nodes}"
        cast = ""
        if found.dtype.kind == "f" and (found == np.floor(found)).all():
            cast = f": {name}.long()" if hasattr(most, "detach") else ": array.astype(int)"
        elif name == "q" and found.dtype.kind == "f" and ((0 <= found) & (found < 1)).all():
            cast = "; shares of n attributes (of n groups for Categories) are np.where(q > 0, np.maximum(1, q * n), 0).astype(int) of an array q"
        raise InputError(f"{name} is an array of {found.dtype} with the sides {found.shape}", f"give one whole number for each of {of} nodes{cast}")
    return found.astype(np.int64, copy=False)


def _check_rows(graph: Graph, attack: dict[str, Any]) -> None:
    """Raises where a module that divides rows by their sums would divide 0 by 0 after an attack."""
    q = attack["q"]
    if isinstance(q, float):
        # As the native module rounds a share, or one more.
        q = max(1, int(q * graph.attribute_count + 1e-6)) if q > 0 else 0
    most = np.minimum(np.broadcast_to(q, graph.node_count), attack["Q"])
    node = emptied(graph.attributes, most, attack["freeze_nodes"], attack["freeze_attributes"])
    if node is not None:
        row = graph.attributes.indptr
        count = int(row[node + 1] - row[node])
        raise InputError(
            f"the module divides rows of attributes by their sums, and 0 by 0 where all attributes of a row are removed: node {node} has {count}, and the budget "
            f"allows to remove {int(most[node])}",
            "write x / x.sum(-1, keepdim=True).clamp(min=1) in forward, with the same weights; or ask for a smaller budget, or for flips='add'",
        )


_FILE = "of a file: np.loadtxt(path, dtype=int, ndmin=2).tolist()"
"""How pairs of ids come from a file."""


def _pairs(edges: Any, graph: Graph, name: str = "freeze_edges") -> list[tuple[int, int]]:
    """Edges as pairs of ids, or as an array with two rows as PyTorch Geometric has them. Two by two, lists are pairs, and of an array nobody knows."""
    if edges is None:
        return []
    if is_path(edges):
        raise InputError(f"{name}={edges!r}: a text", f"give pairs of ids, {name}=[(0, 1), (1, 2)]; {_FILE}")
    found = _array(list(edges) if isinstance(edges, (set, frozenset)) else edges, name)
    if found.size == 0:
        return []
    if found.ndim != 2 or found.dtype.kind not in "iu" or 2 not in found.shape:
        raise InputError(f"{name}: an array of {found.dtype} with the sides {found.shape}", f"give pairs of ids, one for each edge: {name}=[(0, 1), (1, 2)]")
    if found.shape == (2, 2) and (hasattr(edges, "shape") or any(hasattr(part, "shape") for part in edges)):
        given = name if hasattr(edges, "shape") else f"numpy.array({name})"
        raise InputError(
            f"{name} is 2 × 2: an edge_index, or two pairs?",
            f"give a list of pairs: {given}.T.tolist() of an edge_index, whose columns are edges, {given}.tolist() of pairs in rows",
        )
    rows = found if found.shape[1] == 2 else found.T
    if name == "freeze_edges" and found.shape == (2, 2) and _are_edges(found.T, graph) and not _are_edges(found, graph):
        raise InputError(
            "freeze_edges: two by two, and its columns are edges of the graph, not its rows",
            "rows are pairs of ids (m × 2): give columns of edge_index transposed, edge_index[:, :2].T",
        )
    return [(int(a), int(b)) for a, b in rows]


def _candidates(edges: Any, graph: Graph) -> list[tuple[int, int]]:
    """Edges that may be inserted; there is at least one."""
    if is_path(edges):
        raise InputError(f"candidates={edges!r}: a text", f"give pairs of ids, candidates=[(0, 5), (1, 7)], or the number of edges that their ends are apart at most, candidates=2; {_FILE}")
    found = _pairs(edges, graph, "candidates")
    if not found:
        raise InputError("candidates: the list is empty, and no edge can be inserted", "give pairs of ids, or leave candidates out for all edges that the graph does not have")
    return found


def _are_edges(pairs: np.ndarray, graph: Graph) -> bool:
    """Are all pairs edges of the graph?"""
    return all(0 <= a < graph.node_count and 0 <= b < graph.node_count and graph.adjacency[int(a), int(b)] != 0 for a, b in pairs.tolist())


#: Short forms that speak of attributes alone, and of edges alone: what each is called in Flips or Edges.
_OF_FLIPS = {"Q": "Q", "q": "q", "flips": "direction", "freeze_attributes": "freeze_attributes", "bound": "bound", "margins": "margins"}
_OF_EDGES = {
    "E": "remove",
    "e": "at_node",
    "keep_one_edge": "keep_one_edge",
    "freeze_edges": "freeze_edges",
    "directed": "directed",
    "candidates": "candidates",
}
_OF_EXECUTION = ("operator_error", "flush_subnormals", "unit_roundoff")


def attack_of(given: Any, short: dict[str, Any]) -> Flips | Ranges | Edges | Joint | None:
    """The attacker: as one value, or from the short forms, which are taken out. None if nothing is said.

    Refuses what is not decided, and short forms that contradict each other.
    """
    edges = short.pop("edges", None)
    said = {name: short.pop(name) for name in (*_OF_FLIPS, *_OF_EDGES, "freeze_nodes") if name in short}
    said = {name: value for name, value in said.items() if value is not None and value is not {"keep_one_edge": True}.get(name)}
    if isinstance(given, (Flips, Ranges, Edges, Joint)):
        for name in ["edges"] * (edges is not None) + list(said):
            kind = "Flips" if isinstance(given, Joint) and name in _OF_FLIPS else "Edges" if isinstance(given, Joint) else type(given).__name__
            known = {"E": "remove", "e": "at_node", "flips": "direction"}.get(name, name)
            kinds: dict[str, Any] = {"Flips": Flips, "Categories": Categories, "Ranges": Ranges, "Edges": Edges}
            if known not in (field.name for field in fields(kinds[kind])):
                both = kind == "Edges" and name in ("Q", "q") or kind == "Flips" and name in ("edges", "E", "e")
                remedy = f"{EXAMPLES[BOTH]} is one attacker who does both; else leave {name} out" if both else f"leave it out: help(gcnproof.{kind})"
                raise InputError(f"{name} beside {kind}(…), which has none", remedy)
            raise InputError(f"{name} beside {kind}(…)", f"say all of the attack inside {kind}(…): help(gcnproof.{kind})")
        return given
    if isinstance(given, type):
        raise InputError(f"{given.__name__} is a class, and an attack is one of its objects", f"give gcnproof.{EXAMPLES.get(given.__name__, EXAMPLES['Flips'])}")
    if given is not None:
        *others, last = [f"gcnproof.{example}" for kind, example in EXAMPLES.items() if kind != BOTH]
        raise InputError(f"a {type(given).__name__} is no attack", f"give {', '.join(others)} or {last}; or say Q=12, q=0.01")
    if edges not in (None, "remove", "insert", "change"):
        raise InputError(f"edges={edges!r}", "say edges='remove', edges='insert' or edges='change'")
    of_flips = [name for name in said if name in _OF_FLIPS and (name, said[name]) not in (("flips", "both"), ("bound", "best"), ("margins", "fast"))]
    if edges or "E" in said or "e" in said:
        for name in of_flips:
            if name in ("bound", "margins"):
                raise InputError(f"{name} together with edges: only flips of attributes have several bounds", "leave it out")
            raise InputError(
                f"{name} together with edges: an attack on attributes and edges at once is a list of both",
                "give [Flips(Q=3, q=1), Edges(change=2)]; or say E and e for edges alone, Q and q for flips of attributes alone",
            )
        if "candidates" in said and edges in (None, "remove"):
            raise InputError("candidates beside edges='remove'" if edges else "candidates, but edges are removed", "candidates are edges that may be inserted: say edges='insert' or edges='change'")
        names = {**_OF_EDGES, "E": edges or "remove"}
        return _made(Edges, {name: value for name, value in said.items() if name not in _OF_FLIPS}, names)
    for name in said.keys() & _OF_EDGES:
        known = "edges='insert' or edges='change'" if "candidates" in said else "edges='remove', edges='insert' or edges='change'"
        raise InputError(f"{name} without edges", f"say {known} with E and e, or leave it out")
    return _made(Flips, said, _OF_FLIPS) if said else None


def _made(kind: Any, short: dict[str, Any], names: dict[str, str]) -> Any:
    """An attack from short forms; what is wrong with one of them is said by the name under which it was given."""
    try:
        return kind(**{names.get(name, name): value for name, value in short.items()})
    except InputError as error:
        for name, own in names.items():
            if name in short and error.message.startswith((f"{own}=", f"{own} ")):
                raise InputError(name + error.message.removeprefix(own), error.help) from None
        raise


def execution_of(deployed: Any, attack: Any, short: dict[str, Any]) -> Execution | None:
    """How the network runs: as one value, or from the short forms, which are taken out. None for exact arithmetic."""
    said = {name: short.pop(name) for name in _OF_EXECUTION if name in short}
    said = {name: value for name, value in said.items() if value is not None and value is not False}
    if isinstance(attack, (Edges, Joint)) and (deployed is not None or said):
        name = "deployed" if deployed is not None else next(iter(said))
        raise InputError(f"{name} together with edges: verdicts about changed edges are those of the exact network", "leave it out")
    if deployed is None or isinstance(deployed, Execution):
        for name in said:
            raise InputError(
                f"{name} speaks of a network that is deployed",
                "say deployed='float32', or leave it out" if deployed is None else "say it inside Execution(…)",
            )
        return deployed
    if deployed == "float32":
        return Execution(**said)
    if deployed == "bfloat16":
        raise InputError("deployed='bfloat16'", "say deployed=gcnproof.Execution(unit_roundoff=2**-8): float32's range with 8 bits is bfloat16")
    raise InputError(
        f"deployed={deployed!r}",
        "give 'float32', or gcnproof.Execution(unit_roundoff=…) for another format with float32's range; float16 and float64 have another range, which is not decided",
    )
