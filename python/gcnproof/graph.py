"""Graphs: who is linked to whom, which node has which attribute, and labels."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from .arguments import is_path, new_file, path_of, switch
from .errors import InputError, pythonic, warn
from .normalisation import Division, note, recognised


_MATRICES = "a network whose operators are matrices, receivers in rows: Term('x', A, W) with a scipy.sparse matrix A"
ONE_WAY = f"flips of attributes take a module and its Data object as they are, certify(model, data, …) or from_pyg(model, data); else give {_MATRICES}, on a graph read with symmetrize=True"
"""The remedy for a network that was trained on edges with one direction."""
DIRECTED = f"a network that was trained on both directions of every edge: Graph.load(path, symmetrize=True) adds the missing ones; one that was trained on these edges: {ONE_WAY}; for attacks on directed edges: Graph.load(path, directed=True)"
"""The remedy for a directed graph of a file."""
WEIGHTED = f"a network that was trained without the weights: Graph.load(path, unweight=True) takes every one that is not 0 as 1; to keep the weights, say it, too, and give {_MATRICES}, which only flips of attributes leave as they are"
"""The remedy for a weighted one."""


class Graph:
    """A graph with attributes of 0 and 1.

    Rows of attributes may also be 0/1 divided by their sums, to the last bit of float32 or float64, as PyTorch Geometric's
    `T.NormalizeFeatures()` leaves them. They are recognised, with a warning that says so: `normalised` is 32 or 64, `attributes` has the
    0/1 pattern, and the network reads it divided. An attacker flips 0/1 entries, and the row is divided again.

    `adjacency` is nodes × nodes, `attributes` nodes × attributes: scipy sparse matrices, numpy arrays, or torch tensors, sparse or
    dense. Both entries of an edge are given; self-loops are kept. `labels` has one class for each node, or None; a negative one is no
    label. Parts are not copied where they have the right form already: do not change them afterwards.

    Many small graphs are one graph without edges between them: `batch` has the graph of each node, ascending from 0, as PyTorch Geometric's
    Batch has it. Then whole graphs are classified, and `labels` has one class for each graph.

    `directed=True` keeps edges that have one direction only, rows of the adjacency being receivers: such a graph is for attacks on
    directed edges, `Edges(…, directed=True)`. `symmetrize=True` adds the missing direction of every edge, `unweight=True` takes every weight that is not 0 as 1,
    `binarize=True` every attribute that is not 0. `real=True` takes attributes as the numbers that they are: such a graph is for Ranges and for attacks on edges.
    """

    _division: Division | None = None
    _groups: list[int] | None = None
    _batch: np.ndarray | None = None
    _directed: bool = False
    _real: bool = False

    def __init__(
        self,
        adjacency: Any,
        attributes: Any = None,
        labels: Any = None,
        *,
        batch: Any = None,
        node_names: Sequence[str] | None = None,
        attribute_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        symmetrize: bool = False,
        unweight: bool = False,
        binarize: bool = False,
        directed: bool = False,
        real: bool = False,
    ):
        symmetrize, unweight, binarize, directed, real = (
            switch(value, name) for name, value in (("symmetrize", symmetrize), ("unweight", unweight), ("binarize", binarize), ("directed", directed), ("real", real))
        )
        if symmetrize and directed:
            raise InputError("symmetrize=True beside directed=True", "the first adds the missing direction of every edge, the second keeps edges without one: say one of both")
        if is_path(adjacency):
            raise InputError(f"{os.fspath(adjacency)!r} is the path of a file, and the adjacency is a matrix", "of a file: Graph.load(path)")
        if hasattr(adjacency, "edge_index"):
            raise InputError(f"a {type(adjacency).__name__} object is no adjacency, which is a matrix", "of a Data object: Graph.from_data(data)")
        adjacency = _csr(adjacency, "adjacency")
        attributes = _csr(attributes, "attributes")
        nodes, columns = adjacency.shape
        if nodes == columns == 0:
            raise InputError("the graph has no nodes", "give at least one: there is nothing to certify")
        if nodes != columns:
            remedy = "it is nodes × nodes, one row for each node"
            if nodes == 2:
                remedy += "; an edge_index is read with its attributes: Graph.from_data(Data(x=x, edge_index=edge_index))"
            raise InputError(f"the adjacency is {nodes} × {columns}", remedy)
        if attributes.shape[0] != nodes:
            raise InputError(
                f"the attributes have {attributes.shape[0]} rows, but the graph has {nodes} nodes", "give one row for each node"
            )
        remedy = f"say unweight=True to take every weight that is not 0 as 1; to keep the weights, say it, too, and give {_MATRICES}"
        adjacency = _ones(adjacency, "adjacency", unweight, remedy)
        if not binarize and (bits := recognised(attributes)) is not None:
            warn(note("attributes", bits))
            self._division = Division(bits)
            attributes = _ones_at(attributes.indptr, attributes.indices, attributes.shape[1])
        remedy = (
            "flips are changes of 0 and 1, in rows as they are or divided by their sums, to the last bit of float32 or float64 (T.NormalizeFeatures() of 0/1 "
            "attributes): train on these, or say binarize=True if your model takes 0 and 1 as well; numbers are moved: Graph(…, real=True) and Ranges(…)"
        )
        self._real = real and not binarize and bool((attributes.data != 1).any() and np.isfinite(attributes.data).all())
        attributes = attributes.astype(np.float64) if self._real else _ones(attributes, "attributes", binarize, remedy)
        if symmetrize:
            adjacency = _ones(_csr(adjacency + adjacency.T, "adjacency"), "adjacency", True, "")
        self._directed = directed
        self._adjacency: Any = adjacency
        self._attributes: Any = attributes
        self._batch = None if batch is None else _batch(batch, nodes)
        self._labels = None if labels is None else _labels(labels, self.target_count, "nodes" if batch is None else "graphs")
        self._names = (_list(node_names), _list(attribute_names), _list(class_names))
        self._check_names()
        self._handle: _native.Graph | None = None

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        symmetrize: bool = False,
        unweight: bool = False,
        binarize: bool = False,
        directed: bool = False,
        real: bool = False,
    ) -> Graph:
        """Reads an .npz file with adj_*, attr_* and labels, or with edge_index, x and y."""
        said = (("binarize", binarize), ("symmetrize", symmetrize), ("unweight", unweight), ("directed", directed), ("real", real))
        repairs = [switch(value, name) for name, value in said]
        try:
            handle, notes = _native.Graph.read(path_of(path, "path", "give the path of a file, such as 'graph.npz'"), *repairs)
        except InputError as error:
            numbers = "flips are changes of 0 and 1, or of these divided by the sums of their rows: say binarize=True if your model takes 0 and 1; numbers are moved: Graph.load(path, real=True) and Ranges(epsilon=0.1)"
            own = {"attributes are not 1": numbers, "is a model": "give the file of a graph (.npz)", "have no mirror image": DIRECTED, "have a weight other than 1": WEIGHTED}
            for words, remedy in own.items():
                if words in error.message:
                    raise InputError(error.message, remedy) from None
            raise
        for note in notes:
            warn(pythonic(note))
        graph = cls._of(handle)
        graph._directed = repairs[3]
        return graph

    @classmethod
    def from_data(cls, data: Any, *, symmetrize: bool = False, unweight: bool = False, binarize: bool = False, directed: bool = False, real: bool = False) -> Graph:
        """The graph of a PyTorch Geometric Data object: edge_index, x and y, where it has them. Sources are columns, receivers rows."""
        from scipy import sparse

        if hasattr(data, "node_types"):
            raise InputError(
                f"a {type(data).__name__} has several kinds of nodes, and only graphs with one kind are certified",
                "give a Data object; data.to_homogeneous() makes one where all kinds have the same attributes",
            )
        if hasattr(data, "state_dict"):
            raise InputError(f"a {type(data).__name__} is a module, and a graph is meant", "give the Data object that the module is called with")
        if isinstance(data, (list, tuple)):
            raise InputError(f"a {type(data).__name__} is no Data object", "of several graphs: Graph.from_data(torch_geometric.data.Batch.from_data_list(graphs))")
        x, edges = getattr(data, "x", None), getattr(data, "edge_index", None)
        if x is None or edges is None:
            missing = "x" if x is None else "edge_index"
            raise InputError(f"the data has no {missing}", "give an object with edge_index and x, such as PyTorch Geometric's Data")
        x = _csr(x, "x")
        source, receiver = checked_edges(_array(edges, "edge_index"), x.shape[0], InputError)
        if not switch(unweight, "unweight"):
            _check_weights(getattr(data, "edge_weight", None), len(source))
        if getattr(data, "edge_attr", None) is not None and getattr(data, "edge_weight", None) is None:
            warn(
                "data.edge_attr is not used: a Graph has edges without weights or attributes. Where a module reads them, give the module itself, certify(module, data, …); "
                "set data.edge_attr = None if nothing reads them"
            )
        adjacency = sparse.csr_matrix((np.ones(len(source)), (receiver, source)), shape=(x.shape[0], x.shape[0]))
        for at in np.flatnonzero(adjacency.data > 1)[: 0 if unweight else 1].tolist():
            row = int(np.searchsorted(adjacency.indptr, at, side="right")) - 1
            raise InputError(
                f"edge_index lists the edge {int(adjacency.indices[at])} -> {row} {int(adjacency.data[at])} times, and PyTorch Geometric counts it so often",
                "give the module itself, certify(module, data, …), or train on torch_geometric.utils.coalesce(edge_index); where each edge is meant once, give "
                "Graph.from_data(data, unweight=True)",
            )
        adjacency.data[:] = 1
        labels, batch = getattr(data, "y", None), getattr(data, "batch", None)
        return cls(adjacency, x, labels, batch=batch, symmetrize=symmetrize, unweight=unweight, binarize=binarize, directed=directed, real=real)

    def _check_names(self) -> None:
        """Raises where names are too many or too few."""
        nodes, attributes, classes = self._names
        for name, names, count in (("node_names", nodes, self.node_count), ("attribute_names", attributes, self.attribute_count)):
            if names is not None and len(names) != count:
                raise InputError(f"{name} has {len(names)} names, but there are {count} {name.removesuffix('_names')}s", f"give one name for each, or leave {name} out")
        if self._labels is not None and classes is not None:
            for node in np.flatnonzero(self._labels >= len(classes))[:1].tolist():
                raise InputError(
                    f"labels[{node}] is {self._labels[node]} and has no name: class_names names only {len(classes)} classes", "name every class, or leave class_names out"
                )

    @classmethod
    def _of(cls, handle: _native.Graph) -> Graph:
        """A graph that the native module has read; its matrices are made when somebody asks for them."""
        graph = cls.__new__(cls)
        graph._adjacency = graph._attributes = None
        graph._labels, graph._batch = handle.labels(), handle.batch()
        graph._names = handle.names()
        graph._handle = handle
        if handle.normalised is not None:
            graph._division = Division(handle.normalised)
        graph._groups, graph._real = handle.groups, handle.values() is not None
        return graph

    def _divided(self, division: Division | None) -> Graph:
        """The same graph, of whose rows the network reads something else."""
        graph = copy.copy(self)  # What __getstate__ says: the matrices, and no handle.
        graph._division = division
        return graph

    def _valued(self, attributes: Any) -> Graph:
        """The same graph with other numbers as attributes."""
        graph = copy.copy(self)
        graph._attributes, graph._real = attributes, True
        return graph

    def grouped(self, groups: Any) -> Graph:
        """The same graph with one-hot attributes, whose categories an attacker changes.

        `groups` has one list of attributes for each group, or one number for each attribute: that of its group, negative where it is in none. Every row
        has one attribute of each group; where some rows have none, that is a category as well.
        """
        if self._division is not None:
            raise InputError(
                "the rows of the attributes are divided by their sums, and categories are attributes of 0 and 1",
                "leave out the division (T.NormalizeFeatures()), or certify Flips",
            )
        if self.real:
            raise InputError("the attributes are numbers, and categories are attributes of 0 and 1", "give one-hot attributes, or certify Ranges")
        graph = copy.copy(self)
        graph._groups = _groups(groups, self.attribute_count)
        graph._native()  # Raises where rows do not fit the groups.
        return graph

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes an .npz file that the command line reads. What is there is not overwritten unless forced."""
        self._native().save(new_file(path, force, "graph.npz", (".npz",)))

    def __getstate__(self) -> dict[str, Any]:
        parts = {"_adjacency": self.adjacency, "_attributes": self.attributes, "_labels": self._labels, "_names": self._names}
        more = {"_division": self._division, "_groups": self._groups, "_batch": self._batch, "_directed": self._directed, "_real": self._real}
        return {**parts, **more, "_handle": None}

    def _native(self) -> _native.Graph:
        """The same graph in the native module, made when it is first needed."""
        if self._handle is None:
            adjacency, attributes = self._adjacency, self._attributes
            self._handle = _native.Graph(
                (adjacency.indptr, adjacency.indices, adjacency.shape[1]),
                (attributes.indptr, attributes.indices, attributes.shape[1]),
                self._labels,
                self._names,
                self.normalised,
                self._batch,
                self._directed,
                attributes.data.astype(np.float64, copy=False) if self._real else None,
            )
            if self._groups is not None:
                self._handle = self._handle.grouped(self._groups)
        return self._handle

    @property
    def adjacency(self) -> Any:
        """Who is linked to whom: a scipy CSR matrix, rows are receivers."""
        if self._adjacency is None:
            self._adjacency = _ones_at(*self._native().adjacency(), self.node_count)
        return self._adjacency

    @property
    def attributes(self) -> Any:
        """Which node has which attribute: a scipy CSR matrix of ones, also where the network reads rows divided by their sums (`normalised`); of numbers, where they are such (`real`)."""
        if self._attributes is None:
            self._attributes = _ones_at(*self._native().attributes(), self.attribute_count)
            if self._real:
                self._attributes = self._attributes.astype(np.float64)
                self._attributes.data[:] = self._native().values()
        return self._attributes

    @property
    def normalised(self) -> int | None:
        """Where the network reads rows of attributes divided by their sums, the bits of the quotients: 32 or 64. None for 0/1."""
        return None if self._division is None else self._division.bits

    @property
    def real(self) -> bool:
        """Are the attributes numbers other than 0 and 1?"""
        return self._real

    @property
    def groups(self) -> list[int] | None:
        """Where attributes are one-hot, the group of each, negative for one that is in none (`grouped`)."""
        return self._groups

    @property
    def category_changes(self) -> list[tuple[int, int]]:
        """What changes of categories take and give, as pairs of attributes; -1 stands for none. Change `i` is attribute `attribute_count + i` of a witness."""
        return self._native().category_changes

    @property
    def batch(self) -> np.ndarray | None:
        """The graph of each node, where whole graphs are classified."""
        return self._batch

    @property
    def directed(self) -> bool:
        """May edges have one direction only?"""
        return self._directed

    @property
    def graph_count(self) -> int | None:
        """How many graphs there are, where whole graphs are classified."""
        return None if self._batch is None else int(self._batch[-1]) + 1

    @property
    def target_count(self) -> int:
        """How many rows logits have: as many as graphs where these are classified, else as many as nodes."""
        return self.node_count if self._batch is None else int(self._batch[-1]) + 1

    @property
    def _targets(self) -> str:
        """What is classified."""
        return "nodes" if self._batch is None else "graphs"

    @property
    def labels(self) -> np.ndarray | None:
        """The class of each node, or of each graph where these are classified, below 0 where there is none."""
        return self._labels

    @property
    def node_names(self) -> list[str] | None:
        """The names of the nodes."""
        return self._names[0]

    @property
    def attribute_names(self) -> list[str] | None:
        """The names of the attributes."""
        return self._names[1]

    @property
    def class_names(self) -> list[str] | None:
        """The names of the classes."""
        return self._names[2]

    @property
    def _shape(self) -> tuple[int, int]:
        return self._attributes.shape if self._attributes is not None else self._native().shape

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return int(self._shape[0])

    @property
    def attribute_count(self) -> int:
        """How many attributes there are."""
        return int(self._shape[1])

    @property
    def digest(self) -> str:
        """What results and proofs call this graph: a digest of its edges, attributes and labels."""
        return self._native().digest

    def __repr__(self) -> str:
        labels = "no labels" if self._labels is None else f"{int((self._labels >= 0).sum())} labels"
        divided = " (numbers)" if self.real else "" if self.normalised is None else f" (rows divided by their sums in float{self.normalised})"
        graphs = "" if self._batch is None else f"{self.graph_count} graphs, "
        return f"Graph({graphs}{self.node_count} nodes, {self.adjacency.nnz} links, {self.attribute_count} attributes{divided}, {labels})"


def _array(values: Any, name: str = "the array") -> np.ndarray:
    """An array of numpy, of what may be a torch tensor; `name` is what errors call it."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name}: a list whose rows have different lengths is no array", "give rows of one length") from None


def checked_edges(edges: np.ndarray, nodes: int, error: type[Exception]) -> np.ndarray:
    """Edges as sources and receivers; raises about what are none."""
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise error(no_edges(edges, "edge_index", "edge_index.T", "edge_index.astype(np.int64)"))
    wrong = np.argwhere((edges < 0) | (edges >= nodes))
    if len(wrong):
        row, column = wrong[0].tolist()
        remedy = "give `x` a row for every node, or leave that edge out"
        if edges[row, column] < 0:
            remedy = "ids start at 0; leave out edges that are padding: `edge_index[:, (edge_index >= 0).all(0)]`"
        elif edges.min() > 0 and edges.max() == nodes:
            remedy = "ids start at 0, and these seem to start at 1: use `edge_index - 1`"
        raise error(f"`edge_index[{row}, {column}]` is {edges[row, column]}, but `x` has {nodes} rows: nodes 0 to {nodes - 1}. Remedy: {remedy}")
    return edges


def no_edges(edges: np.ndarray, name: str, turned: str, cast: str) -> str:
    """Why an array is no list of edges, with a remedy that neither rounds nor renumbers: `turned` and `cast` are how it is transposed and made integers."""
    shape, is_pair = " × ".join(map(str, edges.shape)), edges.ndim == 2 and edges.shape[0] == 2
    kind = edges.dtype.kind
    if kind in "USO":
        return (
            f"`{name}` is an array of {shape or 'no sides'} ({edges.dtype}): texts, and ids of nodes are numbers of rows of `x`. Remedy: "
            "`ids = {node: row for row, node in enumerate(nodes)}` of the nodes in the order of these rows, then `[[ids[node] for node in ends] for ends in edge_index]`"
        )
    if kind == "f":
        for at in np.argwhere(edges != np.floor(edges))[:1].tolist():
            place = ", ".join(map(str, at))
            return f"`{name}[{place}]` is {edges[tuple(at)]}, and ids of nodes are whole numbers. Remedy: correct it; no rounding of it is sure to be what was meant"
    remedy = cast if is_pair and kind in "fb" else turned if edges.ndim == 2 and edges.shape[1] == 2 and kind in "iu" else None
    return f"`{name}` is an array of {shape or 'no sides'} ({edges.dtype}) instead of 2 × edges with integers. Remedy: " + (
        f"`{remedy}`" if remedy else "sources in the first row, receivers in the second"
    )


def _groups(groups: Any, count: int) -> list[int]:
    """The group of each attribute, by lists of attributes or by numbers."""
    remedy = "give one list of attributes for each group: groups=[range(0, 7), range(7, 12)]"
    kinds = {_array(group).dtype.kind for group in groups} if isinstance(groups, (list, tuple, np.ndarray)) and len(groups) else set()
    if isinstance(groups, (list, tuple)) and not groups or "b" in kinds:
        raise InputError(f"groups={groups!r}", remedy)
    if isinstance(groups, range):
        raise InputError(f"groups={groups!r}: one group, and a list of groups is meant", f"give groups=[{groups!r}]")
    _check_limits(groups, count)
    try:
        listed = [[int(d) for d in _array(group).ravel()] for group in groups] if any(np.ndim(group) for group in groups) else None
        found = [-1] * count if listed is not None else [int(group) for group in _array(groups).ravel()]
    except (TypeError, ValueError):
        raise InputError(f"groups={groups!r}", remedy) from None
    fractions = [value for value in np.concatenate([_array(group).ravel() for group in groups]).tolist() if value != int(value)]
    if fractions:
        raise InputError(f"groups have {fractions[0]}, which is no whole number", remedy)
    for group, attributes in enumerate(listed or ()):
        for attribute in attributes:
            if not 0 <= attribute < count:
                raise InputError(f"group {group} has attribute {attribute}", f"attributes are numbered from 0 to {count - 1}")
            if found[attribute] >= 0:
                raise InputError(f"attribute {attribute} is in groups {found[attribute]} and {group}", "put it into one of them")
            found[attribute] = group
    kinds_of = [group for group in found if group >= 0]
    if len(kinds_of) > 1 and len(set(kinds_of)) == len(kinds_of):
        raise InputError(
            "every group has one attribute, so that there is no other category to change to",
            f"one group of them all is groups=[range({count})]; attributes that a row has or has not are flipped: Flips(…)",
        )
    return found


def _check_limits(groups: Any, count: int) -> None:
    """Raises about pairs that are not the attributes of groups, but the first and the last of each."""
    if not isinstance(groups, (list, tuple, np.ndarray)) or any(np.shape(group) != (2,) or isinstance(group, range) for group in groups):
        return
    pairs = [(int(a), int(b)) for a, b in groups]
    first, last = pairs[0][0], pairs[-1][1]
    for past in (0, 1):
        follow = all(after[0] == before[1] + 1 - past for before, after in zip(pairs, pairs[1:]))
        if first == 0 and last == count - 1 + past and follow and any(b - a > 1 for a, b in pairs):
            ranges = ", ".join(f"range({a}, {b + 1 - past})" for a, b in pairs)
            raise InputError(f"groups={groups!r}: limits, and not the attributes of each group", f"give groups=[{ranges}]")


def _check_weights(weights: Any, edges: int) -> None:
    """Raises about edges of a Data object that have weights: a Graph has none."""
    if weights is None:
        return
    found = _array(weights).reshape(-1)
    if len(found) != edges:
        raise InputError(f"data.edge_weight has {len(found)} numbers, but there are {edges} edges", "give one weight for each edge, or set data.edge_weight = None")
    for at in np.flatnonzero(found != 1)[:1].tolist():
        raise InputError(
            f"data.edge_weight[{at}] is {found[at]:.6g}: a Graph has edges without weights, which belong to the network",
            "give the module itself, certify(module, data, …), or graph and network as gcnproof.from_pyg(module, data) returns them; if the network was trained without "
            "the weights, or has them in operators that are matrices, give Graph.from_data(data, unweight=True) in the place of data",
        )


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]


def _csr(matrix: Any, what: str) -> Any:
    """A CSR matrix with sorted, distinct columns in each row; the same arrays where they are that already."""
    from scipy import sparse

    if hasattr(matrix, "to_torch_sparse_csr_tensor"):  # torch_sparse.SparseTensor
        matrix = matrix.to_torch_sparse_csr_tensor()
    if hasattr(matrix, "detach"):
        tensor = matrix.detach().cpu()
        if str(tensor.dtype) in ("torch.float16", "torch.bfloat16"):  # Not known to scipy.
            tensor = tensor.float()
        layout = str(tensor.layout)
        if layout == "torch.strided":
            found = sparse.csr_matrix(tensor.numpy())
        elif layout == "torch.sparse_csr":
            parts = (tensor.values().numpy(), tensor.col_indices().numpy(), tensor.crow_indices().numpy())
            found = sparse.csr_matrix(parts, shape=tuple(tensor.shape))
        else:
            tensor = tensor.to_sparse_coo().coalesce()
            rows, columns = tensor.indices().numpy()
            found = sparse.csr_matrix((tensor.values().numpy(), (rows, columns)), shape=tuple(tensor.shape))
    elif sparse.issparse(matrix):
        found = matrix.tocsr()
    else:
        if matrix is None:
            raise InputError(f"the {what}: None is no matrix", "give a matrix of numbers: scipy sparse, numpy, or a torch tensor")
        dense = _array(matrix, f"the {what}")
        if dense.dtype.kind in "US":
            raise InputError(f"the {what} is an array of texts ({dense.dtype})", "give 0 and 1, one column for each word or category; array.astype(float) if the texts are numbers")
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise InputError(
                f"the {what} is an array of {dense.dtype} with {dense.ndim} sides",
                "give a matrix of numbers: scipy sparse, numpy, or a torch tensor",
            )
        found = sparse.csr_matrix(dense if dense.dtype != np.float16 else dense.astype(np.float32))
    if not found.has_canonical_format:
        found = found.copy() if found is matrix else found
        found.sum_duplicates()
    if found.nnz and not found.data.all():
        found = found.copy() if found is matrix else found
        found.eliminate_zeros()
    return found


def _ones_at(offsets: np.ndarray, indices: np.ndarray, columns: int) -> Any:
    """A CSR matrix of ones."""
    from scipy import sparse

    return sparse.csr_matrix((np.ones(len(indices), np.int8), indices, offsets), shape=(len(offsets) - 1, columns))


def _ones(matrix: Any, what: str, changed: bool, remedy: str) -> Any:
    """The same matrix if all of its entries are 1, or are to be taken as 1."""
    wrong = np.flatnonzero(matrix.data != 1)
    if not len(wrong):
        return matrix
    for at in np.flatnonzero(~np.isfinite(matrix.data))[:1].tolist():
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise InputError(f"the {what} at ({row}, {int(matrix.indices[at])}) is {matrix.data[at]}, which is not a finite number", "correct it: no verdict about it would mean anything")
    if changed:
        same = matrix.copy()
        same.data[:] = 1
        return same
    at = int(wrong[0])
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    raise InputError(f"the {what} at ({row}, {int(matrix.indices[at])}) is {matrix.data[at]}, neither 0 nor 1", remedy)


def _batch(batch: Any, nodes: int) -> np.ndarray:
    """The graph of each node as integers: ascending from 0 without gaps."""
    found = _array(batch)
    remedy = "give the number of its graph for each node, ascending from 0 without gaps, as PyTorch Geometric's Batch has it"
    if found.shape != (nodes,) or found.dtype.kind not in "iu":
        raise InputError(f"the batch is an array of {found.dtype} with the sides {found.shape}, and there are {nodes} nodes", remedy)
    steps = np.diff(found)
    if found[0] != 0 or ((steps != 0) & (steps != 1)).any():
        at = 0 if found[0] != 0 else int(np.flatnonzero((steps != 0) & (steps != 1))[0]) + 1
        raise InputError(f"batch[{at}] is {found[at]}" + (f", after {found[at - 1]}" if at else ""), remedy)
    return np.ascontiguousarray(found, np.int64)


def _labels(labels: Any, nodes: int, targets: str = "nodes") -> np.ndarray:
    """Labels as integers."""
    found = _array(labels)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (nodes,):
        onehot = "; labels.argmax(axis=1), if they are one-hot" if found.ndim == 2 and len(found) == nodes else ""
        graphs = "; of graphs, give batch, the graph of each node, as well" if targets == "nodes" and found.ndim == 1 and len(found) < nodes else ""
        raise InputError(f"the labels have the sides {found.shape}", f"give one class for each of the {nodes} {targets}{onehot}{graphs}")
    if found.dtype.kind not in "iu":
        whole = found.astype(np.int64) if found.dtype.kind in "fb" and np.isfinite(found).all() else None
        if whole is None or (whole != found).any():
            raise InputError(f"the labels are of type {found.dtype}", "give whole numbers 0, 1, 2, …, below 0 where there is no label")
        found = whole
    return found.astype(np.int64, copy=False)
