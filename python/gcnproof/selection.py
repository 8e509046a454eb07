"""Arguments in the forms that people have them: nodes as ids, slices and masks; models and graphs."""

from __future__ import annotations

import copy
import numbers
import os
import re
from typing import Any

import numpy as np

from . import _native
from .arguments import is_path, whole
from .errors import InputError, InvalidAttributes, pythonic, warn
from .graph import ONE_WAY, Graph, _array
from .network import Network, _matrix, recomputed
from .scope import TAKES, instead


def in_words(nodes: str, name: str) -> InputError:
    """The error about nodes or attributes that are given as a text, with what is meant in Python."""
    first, _, last = nodes.partition("-")
    if first.isdecimal() and last.isdecimal():
        remedy = f"give range({int(first)}, {int(last) + 1}): a range ends before its last number"
    elif re.fullmatch(r"\d+(\s*,\s*\d+)*", nodes):
        remedy = f"give ids as a list: [{', '.join(part.strip() for part in nodes.split(','))}]"
    elif nodes == "all":
        remedy = "leave nodes out for all of them" if name == "nodes" else "give ids, a slice such as slice(None), or a mask"
    elif nodes in ("train", "val", "test") and name != "freeze_attributes":
        remedy = f"give the mask itself, {name}=data.{nodes}_mask where the data has one, ids, or a slice"
    elif nodes.isidentifier() and re.search("mask|idx|index|ids", nodes):
        remedy = f"give the array itself, such as {name}=data.{nodes}: ids, a slice, or a mask"
    else:
        remedy = "give ids, a slice, or a mask; of a file: np.loadtxt(path, dtype=int) or np.load(path)"
    return InputError(f"{name}={nodes!r}: a text", remedy)


def chosen(nodes: Any, graph: Graph, name: str = "nodes") -> list[int] | None:
    """Ids of at least one node, or of one graph where these are classified; None for all of them."""
    count, what = graph.target_count, graph._targets
    found = selected(nodes, count, what, name)
    if found == []:
        done = "labelled" if name == "labelled" else "selected"
        remedy = f"give at least one id, or leave {name} out"
        if isinstance(nodes, slice):
            shown = ":".join("" if part is None else str(part) for part in (nodes.start, nodes.stop))
            where = "in a graph of" if what == "nodes" else "of"
            raise InputError(f"{name}: no {what[:-1]} is {done}: the slice {shown} is empty {where} {count} {what}", remedy)
        kind = "the mask has no true entry" if _array(nodes).dtype == bool else "the list is empty"
        raise InputError(f"{name}: no {what[:-1]} is {done}: {kind}", remedy)
    return found


def selected(nodes: Any, count: int, what: str = "nodes", name: str | None = None) -> list[int] | None:
    """Ids of nodes, graphs or attributes, of which there are `count`; None for all of them. `name` is the argument, where it is not `what`."""
    name = name or what
    if nodes is None:
        return None
    if isinstance(nodes, slice):
        return list(range(*nodes.indices(count)))
    if isinstance(nodes, numbers.Integral) and not isinstance(nodes, bool):
        return [int(nodes)]
    if isinstance(nodes, str):
        raise in_words(nodes, name)
    found = _array(list(nodes) if isinstance(nodes, (set, frozenset, range)) else nodes, name)
    if found.size == 0:
        return []
    if found.ndim == 0:
        raise InputError(f"{name}: a {type(nodes).__name__} is neither a list of ids nor a mask", "give a list of ids, a slice, or a mask; of a generator, list(…)")
    if found.ndim != 1:
        remedy = "give a list of ids, a slice, or a mask"
        if isinstance(nodes, tuple) and len(nodes) == 1:
            remedy = f"a tuple of one array: give {name}[0], as of np.where(mask)[0], or the mask itself"
        elif found.ndim == 2 and 1 in found.shape and found.dtype.kind in "iu":
            remedy = "nonzero() gives ids with one side too many: give the mask itself, or ids.flatten()"
        raise InputError(f"{name}: an array with the sides {found.shape}", remedy)
    if found.dtype == bool:
        if len(found) != count:
            remedy = "give one entry for each" + (" of the graphs: these are classified, and not their nodes" if what == "graphs" else "")
            raise InputError(f"{name}: a mask of {len(found)} entries, but there are {count} {what}", remedy)
        return np.flatnonzero(found).tolist()
    if found.dtype.kind not in "iu":
        raise InputError(f"{name}: an array of {found.dtype}", "give ids as whole numbers, a slice, or a mask of booleans")
    if len(found) > 2 and ((found == 0) | (found == 1)).all():
        booleans = "`mask.bool()`" if hasattr(nodes, "detach") else "`mask.astype(bool)`" if isinstance(nodes, np.ndarray) else "`np.array(mask, bool)`"
        raise InputError(f"{name}: only 0 and 1, more than once: a mask, or ids?", f"give a mask as booleans ({booleans})")
    if len(found) == count > 2 and len(np.unique(found)) * 2 < count:
        raise InputError(f"{name}: one entry for each of the {count} {what}, and most of them again and again: labels, or ids?", "give ids, each once, a slice, or a mask")
    return found.tolist()


def budgets(asked: Any) -> str | list[int]:
    """Numbers of flips in all: one, several, or a list in words, which the native module reads."""
    if isinstance(asked, str):
        return asked
    if isinstance(asked, (numbers.Number, bool)):
        return [whole(asked, "budgets", "flips")]
    found = _array(list(asked) if isinstance(asked, (set, frozenset, range)) else asked, "budgets")
    if found.size and (found.ndim != 1 or found.dtype.kind not in "iu" or found.min() < 0):
        raise InputError("budgets are no numbers of flips", "give whole numbers, 0 or more: a list, a range, or a text such as '0-1000:50'")
    return [int(count) for count in found.ravel()]


def is_module(thing: Any) -> bool:
    """Is it a module of torch? Asked without importing torch."""
    return hasattr(thing, "forward") and hasattr(thing, "state_dict")


SWAPPED = "the model comes first, then the graph: (model, data, …)"
"""The remedy where one stands in the other's place."""


def grouped(graph: Graph, attack: Any) -> Graph:
    """The graph with the groups whose categories an attack changes."""
    from .attack import Categories  # They know how nodes are selected.

    groups = getattr(attack, "groups", None)
    if not isinstance(attack, Categories):
        if graph.groups is not None:
            raise InputError("the graph has groups of one-hot attributes, and Flips would flip them one by one", "give Categories(Q=…, q=…), or a graph without groups")
        return graph
    if groups is None and graph.groups is None:
        raise InputError("Categories without groups", "say which attributes are one-hot together: Categories(Q=…, q=…, groups=[range(0, 7)])")
    return graph if groups is None else graph.grouped(groups)


class Subject:
    """A network on a graph, as it was given and as the native module has it. `call` says how a module is called with its data."""

    def __init__(self, model: Any, data: Any, call: Any = None, real: bool = False, edges: Any = None):
        self._given = model, data, call
        # A module is read for attacks on attributes, or for those on edges that were asked for before.
        self._rewired: dict[Any, Subject] = {}
        self._edges = edges
        # What `train` returns has the network that it made.
        model = model.network if isinstance(getattr(model, "network", None), Network) else model
        check_places(model, data)
        self.data = None
        if is_module(model):
            from .pyg import read_for_attributes, read_for_edges
            from .pyg.inputs import batched

            self.data = data = batched(data)
            if edges is None:
                self.graph, model = read_for_attributes(model, data, call, real)
            else:
                self.graph, model = read_for_edges(model, data, edges, call)
        elif call is not None:
            raise InputError("call says how a module of torch is called", f"a {type(model).__name__} is not called: leave call out")
        elif isinstance(data, Graph):
            self.graph = data
        elif is_path(data):
            try:
                self.graph = Graph.load(data, real=real)
            except InputError as error:
                raise InputError(error.message, _remedy(error, "is a model", "a graph (.npz)")) from None
        else:
            self.data = data
            self.graph = Graph.from_data(data, real=real)
        self.model = model
        self.file = data if is_path(data) else None
        handle = self.graph._native()
        if is_path(model):
            try:
                self.network = _native.Network.read(handle, os.fspath(model))
            except InputError as error:
                raise InputError(error.message, _remedy(error, "is a graph", "a model (.safetensors)")) from None
        else:
            try:
                self.network = _native.Network(handle, *model.describe())
            except InputError as error:
                # In memory there is no file to be saved again.
                if "no `batch` says" in error.message:
                    raise InputError(error.message, "say which graph each node belongs to: Graph(adjacency, attributes, labels, batch=…)") from None
                if "has a `batch`" in error.message:
                    message = error.message.replace("the file has a `batch`", "the graph has a `batch`")
                    raise InputError(message, "leave batch out of the Graph if nodes are to be classified") from None
                raise
        for note in self.network.notes:
            warn(pythonic(note))

    @classmethod
    def of(cls, model: Any, data: Any, call: Any = None, attack: Any = None, what: str = "certify") -> Subject:
        """The same, or the one that a Verifier has already; as an attack takes it, if one is given. `what` is the call that asks."""
        from .attack import Edges, Joint, Ranges  # They know how nodes are selected.

        bound = getattr(model, "_subject", None)
        if not isinstance(bound, Subject):
            edges = attack.edges if isinstance(attack, Joint) else attack if isinstance(attack, Edges) else None
            try:
                bound = cls(model, data, call, real=isinstance(attack, (Edges, Ranges)), edges=edges if is_module(model) else None)
            except InvalidAttributes as error:
                raise error.of(instead(what, "numbers")) from None
        elif call is not None:
            raise InputError("call beside a Verifier", "say it where the model is bound: gcnproof.Verifier(model, data, call=…)")
        if attack is None and bound.graph.real and what in TAKES and "Ranges" not in TAKES[what]:
            raise InputError(f"the attributes are numbers, and {what} is about 0 and 1", instead(what, "numbers"))
        return bound if attack is None else bound.against(attack, what)

    def against(self, attack: Any, what: str = "certify") -> Subject:
        """The same where categories are changed, if that is what the attack does."""
        from .attack import Categories, Edges, Flips, Joint, Ranges  # They know how nodes are selected.

        division = self.graph._division
        if isinstance(attack, Joint):
            if self.graph.real:
                raise InputError("the attributes are numbers, and Flips is about 0 and 1", instead(what, "numbers"))
            if self.graph.groups is not None:
                raise InputError("the graph has groups of one-hot attributes, and Flips together with Edges would flip them one by one", instead(what, "categories"))
            if division is not None:
                rows = "quotients in the module" if division.inside else "quotients"
                raise InputError("the rows of the attributes are divided by their sums, and Flips together with Edges are not decided for such rows", instead(what, rows))
            attack = attack.edges
        if isinstance(attack, Edges) and is_module(self._given[0]) and self._edges is None:
            asked = attack._kind, attack._most, attack.keep_one_edge, attack.directed
            if asked not in self._rewired:
                self._rewired[asked] = Subject(*self._given, real=True, edges=attack)
            return self._rewired[asked]
        if self.graph.directed and not (isinstance(attack, Edges) and attack.directed):
            remedy = "say Edges(…, directed=True)" if isinstance(attack, Edges) else f"read it without directed=True: {ONE_WAY}"
            raise InputError("the graph was read with directed=True, which is for attacks on directed edges, Edges(…, directed=True)", remedy)

        if isinstance(attack, Flips) and self.graph.real:
            raise InputError(f"the attributes are numbers, and {type(attack).__name__} is about 0 and 1", instead(what, "numbers"))
        if isinstance(attack, (Edges, Ranges)) and self.graph.groups is not None:
            raise InputError(f"the attributes of the graph are categories (it has groups), and {type(attack).__name__} are not decided for such graphs", instead(what, "categories"))
        if isinstance(attack, Ranges) and division is not None and division.inside:
            raise InputError("Ranges move attributes, and the module divides their rows by their sums", "divide `data.x` before the module: T.NormalizeFeatures(); then the quotients are moved")
        if isinstance(attack, Flips) and not isinstance(attack, Categories) and self.graph.groups is not None:
            raise InputError("the graph has groups of one-hot attributes, and Flips would flip them one by one", instead(what, "categories"))
        if not isinstance(attack, Flips) or (graph := grouped(self.graph, attack)) is self.graph:
            return self
        subject = copy.copy(self)
        subject.graph = graph
        subject.network = self.network.on(subject.graph._native())
        return subject

    def _one_way(self) -> tuple[int, int] | None:
        """An edge of the data that has no way back."""
        edges, count = getattr(self.data, "edge_index", None), self.graph.node_count
        if getattr(edges, "ndim", 0) != 2 or getattr(edges, "shape", (0,))[0] != 2:
            return None
        source, receiver = _array(edges)
        alone = np.setdiff1d(source * count + receiver, receiver * count + source)
        return (int(alone[0]) // count, int(alone[0]) % count) if len(alone) else None

    def _refuse_matrix(self, layer: str) -> None:
        """Raises about a layer that passes messages by a matrix, with what makes it one."""
        edges = getattr(self.data, "edge_index", None) if is_module(self._given[0]) else None
        if getattr(edges, "ndim", 0) == 2 and getattr(edges, "shape", (0,))[0] == 2 and not getattr(edges, "is_sparse", False):
            pairs, counts = np.unique(_array(edges), axis=1, return_counts=True)
            for place in np.flatnonzero(counts > 1)[:1]:
                raise InputError(
                    f"the edge {pairs[0, place]} -> {pairs[1, place]} is listed {counts[place]} times in data.edge_index, and an edge is removed or inserted once",
                    "list each once, for a model that is trained on that: data.edge_index = torch_geometric.utils.coalesce(data.edge_index)",
                )
        # Of edges that keep their directions the operators are rules, if they are known.
        one_way = "" if self.graph.directed else ". Of one direction: give the module itself, or from_pyg(model, data, directed=True), and say Edges(…, directed=True)"
        raise InputError(
            f"layer {layer!r} passes messages by a matrix of its own, which removed edges do not change",
            f"give a network whose operators are rules such as gcn, mean or sum: edge weights, repeated edges{'' if self.graph.directed else ', edges of one direction'} and other "
            f"normalisations make matrices{one_way}",
        )

    def check_removable(self) -> None:
        """Raises where edges cannot be removed because they have a direction, or because operators do not depend on them."""
        if not self.graph.directed and (alone := self._one_way()) is not None:
            raise InputError(
                f"the graph is directed: there is an edge from node {alone[0]} to node {alone[1]}, but none back",
                "say directed=True, so that directed edges are changed; or make it undirected with torch_geometric.transforms.ToUndirected(), and train the model on that",
            )
        for layer in self.model.layers if isinstance(self.model, Network) else ():
            if any(_matrix(term.operator) is not None for term in layer.terms):
                self._refuse_matrix(layer.name)
            for term in layer.terms:
                if self.model.edges and not recomputed(term.operator):
                    raise InputError(
                        f"layer {layer.name!r} passes messages by {term.operator}, which cannot be recomputed when edges change",
                        "give a network whose operators are gcn, gcn-self, mean, mean+self, sum, sum+self or Polynomial('sum', [a, 1]); several hops are layers one behind the other, with "
                        "activation='none', and a factor belongs to the weights",
                    )


def _remedy(error: InputError, swapped: str, expected: str) -> str | None:
    """The remedy where a file is something else than what is expected in its place."""
    if swapped in error.message:
        return SWAPPED
    return f"give the file of {expected}" if "expected here" in error.message else error.help


def check_places(model: Any, data: Any) -> None:
    """Raises about a model or data that is something else, or in the other's place."""
    swapped = isinstance(model, Graph) or (hasattr(data, "describe") and not hasattr(model, "describe"))
    if swapped or is_module(data) or (hasattr(model, "edge_index") and not is_module(model)):
        raise InputError("the graph stands where the model is expected", SWAPPED)
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class, and a model is one of its objects", f"make one, load its weights, and give that: model = {model.__name__}(…)")
    if not (is_module(model) or is_path(model) or hasattr(model, "describe")):
        remedy = "give a module of torch with its Data object, a gcnproof.Network, or the path of a model file"
        if isinstance(model, dict):
            remedy = "a state dict has neither activations nor options: give the module itself, model instead of model.state_dict()"
        raise InputError(f"a {type(model).__name__} is no model", remedy)
    name = type(data).__name__
    if data is None:
        raise InputError("no graph is given", "give the Data object of the module" if is_module(model) else "give a gcnproof.Graph, or the path of a graph file")
    if is_module(model) and (isinstance(data, Graph) or is_path(data)):
        raise InputError(
            f"a module of torch with {'a Graph' if isinstance(data, Graph) else 'a file'}",
            "give the Data object that the module is called with; or read the module first: graph, network = gcnproof.from_pyg(model, data)",
        )
    if name == "DataLoader" and len(getattr(data, "dataset", ())) > 1:
        raise InputError("a DataLoader gives one batch after the other, perhaps in another order each time", "give all of its graphs (`loader.dataset`)")
    if name.endswith("Loader"):
        source = "loader.data" if hasattr(data, "data") or not hasattr(data, "dataset") else "loader.dataset[0]"
        raise InputError(f"a {name} gives parts of a graph, and certificates are about the whole", f"give the Data object that the loader was made of (`{source}`)")
    if isinstance(data, (tuple, list)) and is_module(model) and all(hasattr(graph, "edge_index") for graph in data):
        return
    if isinstance(data, (tuple, list, dict)):
        raise InputError(f"a {name} is no graph", "give one object: torch_geometric.data.Data(x=x, edge_index=edge_index), or gcnproof.Graph(adjacency, attributes)")
