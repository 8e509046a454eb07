"""What from_pyg is given: the module as a copy of its own, the Data object, and how the one is called with the other."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..errors import InputError, InvalidAttributes, InvalidData, UnsupportedModel, warn
from ..graph import Graph, checked_edges, no_edges
from ..normalisation import Division, recognised
from ..scope import instead

Call = Callable[[Any, Any], Any]
"""How a module is called with a Data object."""


@dataclass(eq=False)
class Inputs:
    """A Data object as plain parts. `data` is a copy in float64 on the CPU; its attributes are not copied."""

    data: Any
    adjacency: sparse.csr_array
    attributes: sparse.csr_array
    """0/1, also where rows are divided by their sums; or any numbers, where these are asked for."""
    labels: np.ndarray | None
    """Of the nodes, or of the graphs, as many as there are."""
    batch: np.ndarray
    """The graph of each node; one graph where the data does not say."""
    normalised: int | None = None
    """Where they are, the bits of the quotients."""
    directed: bool = False
    """Has the adjacency only the directions of the data? Rows are receivers."""

    def graph(self, readout: bool = False) -> Graph:
        """The graph of these parts; with a readout its graphs are classified, and otherwise its nodes."""
        targets = int(self.batch[-1]) + 1 if readout else len(self.batch)
        if self.labels is not None and len(self.labels) != targets:
            what, other = ("graph", "node") if readout else ("node", "graph")
            pools = f"pools the nodes of each graph, and classifies {targets} graph{'s' * (targets != 1)}" if readout else f"does not pool the nodes of each graph, and classifies {targets} nodes"
            raise InvalidData(
                f"`data.y` has {len(self.labels)} labels, one for each {other}, but the module {pools}. Remedy: one class for each {what}, below 0 "
                f"where there is no label, or `data.y = None` for no labels; {'a module without a readout' if readout else 'a readout such as global_add_pool'}, if {other}s "
                "are to be classified"
            )
        graph = Graph(self.adjacency, self.attributes, self.labels, batch=self.batch if readout else None, directed=self.directed, real=True)
        return graph if self.normalised is None else graph._divided(Division(self.normalised))

    def with_attributes(self, x: Any) -> Any:
        """The Data object with other attributes."""
        data = copy.copy(self.data)
        data.x = x
        return data

    def beforehand(self) -> list[str]:
        """The names of other tensors with numbers for each node, which may have been computed from the attributes."""
        nodes, dimension = self.attributes.shape
        names = []
        for key in _keys(self.data):
            item = getattr(self.data, key, None)
            if key in ("x", "y") or key.startswith(("edge", "adj")) or not isinstance(item, torch.Tensor):
                continue
            if item.layout != torch.strided or not item.is_floating_point() or not item.dim() or item.shape[0] != nodes:
                continue
            # A square matrix is about pairs of nodes.
            if tuple(item.shape) != (nodes, nodes) or nodes == dimension:
                names.append(key)
        return names


def batched(data: Any) -> Any:
    """Many graphs as one Batch, where they are a list or a dataset; anything else as it is."""
    if not isinstance(data, (list, tuple, torch.utils.data.Dataset)) or len(data) < 2 and isinstance(data, torch.utils.data.Dataset):
        return data
    from torch_geometric.data import Batch, Data

    graphs = list(data)
    for place, graph in enumerate(graphs):
        if not isinstance(graph, Data):
            raise InvalidData(f"a list of graphs is a list of Data objects, and the one at place {place} is a {type(graph).__name__}")
        if getattr(graph, "x", None) is None:
            raise InvalidData(f"the graph at place {place} has no attributes (`x`). Remedy: give each graph its own, or leave that graph out")
        if not graph.num_nodes:
            raise InvalidData(f"the graph at place {place} has no nodes: leave it out")
    if not graphs:
        raise InvalidData("the list of graphs is empty")
    _check_alike(graphs)
    try:
        return Batch.from_data_list(graphs)
    except Exception as error:
        raise InvalidData(f"the graphs do not fit into one Batch: {type(error).__name__}: {error}. Remedy: graphs with the same parts, each of the same kind (`print(graph)`)") from error


def _check_alike(graphs: list[Any]) -> None:
    """Raises InvalidData about the first graph of a list that has other parts than most of them, or another number of attributes."""
    width = [tuple(graph.x.shape[1:]) for graph in graphs if isinstance(graph.x, torch.Tensor)]
    for place, shape in enumerate(width if len(width) == len(graphs) else ()):
        if shape != width[0]:
            sizes = ["×".join(map(str, one)) or "no" for one in (shape, width[0])]
            raise InvalidData(f"the graph at place {place} has {sizes[0]} attributes, but the first one has {sizes[1]}. Remedy: the same attributes in every graph, 0 where a node lacks one")
    # A Batch has what the first graph has: labels and weights of the others would be lost.
    for key in sorted({*_keys(graphs[0]), "y", "edge_weight", "edge_attr"}):
        without = [place for place, graph in enumerate(graphs) if getattr(graph, key, None) is None]
        if 0 < len(without) < len(graphs):
            none = "; a label below 0 is none: torch.tensor([-1])" if key == "y" else ""
            raise InvalidData(
                f"the graph at place {without[0]} has no `{key}`, but that at place {next(place for place in range(len(graphs)) if place not in without)} has one. "
                f"Remedy: give `{key}` to all graphs or to none{none}"
            )


def _batch(data: Any, adjacency: sparse.csr_array) -> np.ndarray:
    """The graph of each node; raises InvalidData where that is none."""
    batch, nodes = getattr(data, "batch", None), adjacency.shape[0]
    if batch is None:
        return np.zeros(nodes, np.int64)
    if not isinstance(batch, torch.Tensor) or batch.is_floating_point() or tuple(batch.shape) != (nodes,):
        raise InvalidData(f"`data.batch` is no tensor with the number of its graph for each of the {nodes} nodes")
    found = batch.cpu().numpy().astype(np.int64)
    steps = np.diff(found)
    if found[0] != 0 or ((steps != 0) & (steps != 1)).any():
        raise InvalidData("`data.batch` does not number the graphs 0, 1, 2, … in the order of their nodes. Remedy: Batch.from_data_list(graphs), every one with a node")
    rows, columns = adjacency.nonzero()
    for place in np.flatnonzero(found[rows] != found[columns])[:1]:
        row, column = rows[place], columns[place]
        raise InvalidData(f"an edge leads from node {column} of graph {found[column]} to node {row} of graph {found[row]}, but the graphs of a batch have no edges between them. Remedy: `data.batch` has the graph that each node belongs to, as Batch.from_data_list(graphs) makes it")
    return found


def read_data(data: Any, directed: bool = False, real: bool = False) -> Inputs:
    """The parts of a Data object, whose edges keep their directions or not, and attributes may be any numbers or not; raises InvalidData where it has none that can be certified."""
    if isinstance(data, torch.nn.Module):
        raise InvalidData("a module stands where the data is expected: the model comes first, then the data")
    if hasattr(data, "node_types"):
        raise InvalidData("the graph has several types of nodes (HeteroData): only graphs with one type are certified; `data.to_homogeneous()` may help")
    if type(data).__module__.startswith("networkx"):
        raise InvalidData("a networkx graph is no Data object. Remedy: `data = torch_geometric.utils.from_networkx(graph)`, with the attributes of all nodes as `data.x`")
    if isinstance(data, (torch.Tensor, np.ndarray)):
        raise InvalidData(f"{type(data).__name__} is no graph with attributes: give a Data object with `x` and `edge_index`")
    if hasattr(data, "__next__"):
        raise InvalidData(f"a {type(data).__name__} can be read once, and graphs are read several times. Remedy: give a list, `list(…)`")
    data = batched(data)
    if not hasattr(data, "x") and hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        raise InvalidData(f"{type(data).__name__} is a dataset, not a graph: give one of its graphs, `dataset[0]`")
    x = getattr(data, "x", None)
    if x is None:
        raise InvalidData("the data has no attributes: `data.x` must be a tensor of nodes × attributes with 0 and 1")
    if _is_text(x):
        raise InvalidData("`data.x` holds texts or other objects, and a tensor of 0 and 1 is needed. Remedy: one column for each word or category: `data.x[i, j] = 1` where node i has it")
    if not isinstance(x, torch.Tensor):
        raise InvalidData(f"`data.x` is a {type(x).__name__}, and a tensor is needed. Remedy: `data.x = {_as_tensor(x, 'x')}`")
    if x.is_meta:
        raise InvalidData("`data.x` has no numbers (meta device). Remedy: give data on the CPU or a GPU")
    if not x.shape[:1].numel():
        raise InvalidData("the graph has no nodes: `data.x` has no rows")
    attributes, normalised = _attributes(x, real)
    data = _double(data)
    adjacency = adjacency_of(data, attributes.shape[0], directed)
    _check_weights(data)
    batch = _batch(data, adjacency)
    labels = _labels(getattr(data, "y", None), attributes.shape[0], int(batch[-1]) + 1)
    return Inputs(data, adjacency, attributes, labels, batch, normalised, directed)


def _as_tensor(values: Any, name: str) -> str:
    """How a part of a Data object is made a tensor."""
    return f"torch.{'from_numpy' if isinstance(values, np.ndarray) else 'tensor'}(data.{name})"


def _is_text(values: Any) -> bool:
    """Are these texts or other objects, in a list or an array?"""
    try:
        return isinstance(values, (list, tuple, np.ndarray)) and np.asarray(values).dtype.kind in "USO"
    except ValueError:  # Rows of different lengths.
        return False


def _attributes(x: torch.Tensor, real: bool) -> tuple[sparse.csr_array, int | None]:
    """0/1 attributes, or numbers, and the bits of the quotients where rows are divided by their sums."""
    if x.dim() == 1 and not x.is_floating_point():
        raise InvalidData(
            "`data.x` has one number for each node, instead of nodes × attributes. Remedy: numbers of categories become columns, "
            "`data.x = torch.nn.functional.one_hot(data.x).float()`, for a model that reads these; Categories(Q=1, q=1, groups=[range(data.x.shape[1])]) changes them"
        )
    if x.dim() != 2:
        raise InvalidData(f"`data.x` has {x.dim()} sides instead of 2: it must be nodes × attributes")
    x = x.detach().cpu()
    if x.layout != torch.strided:
        coo = x.to_sparse_coo().coalesce()
        places, values = coo.indices().numpy(), coo.values().numpy()
        matrix = sparse.csr_array(sparse.coo_array((values, (places[0], places[1])), shape=tuple(x.shape)))
    else:
        matrix = sparse.csr_array((x if x.dtype not in (torch.float16, torch.bfloat16) else x.float()).numpy())
    matrix.eliminate_zeros()
    matrix.sort_indices()
    normalised = recognised(matrix)
    matrix = sparse.csr_array((matrix.data.astype(np.float64), matrix.indices, matrix.indptr), shape=matrix.shape)
    if normalised is not None:
        matrix.data[:] = 1.0
    odd = np.flatnonzero(matrix.data != 1.0)
    if len(odd) and not (real and np.isfinite(matrix.data).all()):
        odd = np.flatnonzero(~np.isfinite(matrix.data)) if real else odd
        _weighted(matrix, int(odd[0]))
    return matrix, normalised


def _weighted(matrix: sparse.csr_array, first: int) -> None:
    """Raises about attributes that are not 0 and 1, with what they seem to be."""
    node = int(np.searchsorted(matrix.indptr, first, side="right") - 1)
    example = f"node {node} has {matrix.data[first]:.6g} at attribute {matrix.indices[first]}"
    if not np.isfinite(matrix.data[first]):
        raise InvalidData(f"the attributes are not numbers everywhere: {example}. Remedy: mend `data.x`: no verdict about it would mean anything.")
    sums = np.asarray(matrix.sum(axis=1)).reshape(-1)
    filled = np.diff(matrix.indptr) > 0
    if np.isfinite(matrix.data).all() and (matrix.data > 0).all() and np.allclose(sums[filled], 1.0, rtol=0, atol=0.01):
        counts = np.diff(matrix.indptr)
        if np.allclose(matrix.data, np.repeat(1.0 / np.maximum(counts, 1), counts), rtol=0.01, atol=0):
            raise InvalidData(
                f"the rows of `data.x` look like 0/1 divided by their sums, but are not to the last bit of float32 or float64: {_inexact(matrix)}. "
                "Remedy: divide the 0/1 attributes once, in float32 or float64: `data.x = (data.x > 0).float()`, then `data = T.NormalizeFeatures()(data)`."
            )
        problem = f"the attributes are weighted and row-normalised: every row of `data.x` sums to 1 ({example}), but the entries of a row differ from each other"
        raise InvalidAttributes(f"{problem}. Flips are changes of 0 and 1, in rows as they are or divided by their sums", _TRAINED, instead("from_pyg", "numbers"))
    values = np.unique(matrix.data)
    training: str | None = _TRAINED
    if len(values) == 1:
        problem = f"the attributes are 0 and {values[0]:.6g} instead of 0 and 1 ({example}), and the rows do not sum to 1"
        training = f"train the model on `data.x = (data.x != 0).float()`, or give that with the weights that read `data.x` multiplied by {values[0]:.9g}"
    elif len(values) > 2 and ((matrix.data < 0).any() or matrix.nnz > 0.5 * matrix.shape[0] * matrix.shape[1]):
        problem, training = f"the attributes are continuous: {example}, and {len(values)} different numbers in all", None
        problem += ". Flips are changes of 0 and 1, in rows as they are or divided by their sums"
    else:
        problem = f"the attributes are weighted: {example}, but only 0/1 attributes are flipped, and 0/1 attributes divided by the row's sum"
    raise InvalidAttributes(problem, training, instead("from_pyg", "numbers"))


_TRAINED = "train the model on `data.x = (data.x > 0).float()`, with T.NormalizeFeatures() after that or without it"
"""How a model gets attributes that can be flipped."""


def _inexact(matrix: sparse.csr_array) -> str:
    """An entry that is not the quotient that it seems to be, in words."""
    counts = np.repeat(np.diff(matrix.indptr), np.diff(matrix.indptr))
    single, double = (np.float32(1) / counts.astype(np.float32)).astype(np.float64), 1.0 / counts
    # By the precision that most entries have.
    expected = single if (matrix.data == single).sum() >= (matrix.data == double).sum() else double
    at = int(np.flatnonzero(matrix.data != expected)[0])
    node = int(np.searchsorted(matrix.indptr, at, side="right") - 1)
    return f"node {node} has {counts[at]} attributes, and {matrix.data[at]:.17g} at attribute {matrix.indices[at]} instead of {expected[at]:.17g}"


def _keys(data: Any) -> list[str]:
    """The names of what a Data object has."""
    return list(data.keys()) if callable(getattr(data, "keys", None)) else list(vars(data))


def _double(data: Any) -> Any:
    """A copy on the CPU, all floats in float64."""
    data = copy.copy(data)
    for key in _keys(data):
        item = getattr(data, key, None)
        # The attributes are replaced in every run.
        if isinstance(item, torch.Tensor) and key != "x":
            item = item.detach().cpu()
            # Labels and edges of a wrong type are named by the type that they have.
            kept = key in ("y", "edge_index") and item.layout == torch.strided
            setattr(data, key, item.double() if item.is_floating_point() and not kept else item)
    return data


def adjacency_of(data: Any, nodes: int, directed: bool = False) -> sparse.csr_array:
    """Who is linked to whom: in both directions, or receivers in rows."""
    edges, adjacency = getattr(data, "edge_index", None), getattr(data, "adj_t", None)
    if isinstance(edges, torch.Tensor) and edges.layout == torch.strided:
        if edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
            plain = (edges.float() if edges.dtype in (torch.float16, torch.bfloat16) else edges).numpy()
            raise InvalidData(no_edges(plain, "data.edge_index", "data.edge_index = data.edge_index.T.contiguous()", "data.edge_index = data.edge_index.long()"))
        columns, rows = checked_edges(edges.numpy(), nodes, InvalidData)
    elif isinstance(found := adjacency if edges is None else edges, torch.Tensor):
        coo = found.to_sparse_coo().coalesce()
        if tuple(coo.shape) != (nodes, nodes):
            raise InvalidData(f"the adjacency is {' × '.join(map(str, coo.shape))}, but `data.x` has {nodes} rows")
        rows, columns = coo.indices().numpy()
    elif edges is not None and _is_text(edges):
        raise InvalidData(no_edges(np.asarray(edges), "data.edge_index", "", ""))
    elif edges is not None:
        raise InvalidData(f"`data.edge_index` is a {type(edges).__name__}, and a tensor is needed. Remedy: `data.edge_index = {_as_tensor(edges, 'edge_index')}`")
    else:
        raise InvalidData("the data has no edges: `data.edge_index` must be a tensor of 2 × edges (without edges, of 2 × 0)")
    if not directed:
        rows, columns = np.r_[rows, columns], np.r_[columns, rows]
    pattern = sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes)))
    pattern.sum_duplicates()
    pattern.data[:] = 1.0
    return pattern


def _check_weights(data: Any) -> None:
    """Raises InvalidData where the weights of edges are those of other edges."""
    edges, weights = data.edge_index if getattr(data, "edge_index", None) is not None else None, getattr(data, "edge_weight", None)
    if not isinstance(edges, torch.Tensor) or edges.layout != torch.strided or not isinstance(weights, torch.Tensor) or not weights.dim():
        return
    if weights.shape[0] != edges.shape[1]:
        raise InvalidData(
            f"`data.edge_weight` has {weights.shape[0]} entries, but `data.edge_index` has {edges.shape[1]} edges. Remedy: one number for each edge, in the order of their "
            "columns, or `data.edge_weight = None` where the model takes none"
        )


def _labels(y: Any, nodes: int, graphs: int) -> np.ndarray | None:
    """The class of each node or of each graph, where there is one; raises InvalidData about labels that are something else."""
    if y is None:
        return None
    if not isinstance(y, torch.Tensor):
        raise InvalidData(f"`data.y` is a {type(y).__name__}. Remedy: `data.y = torch.tensor(data.y)`, or `data.y = None` for no labels")
    if y.numel() not in (nodes, graphs):
        shape = " × ".join(map(str, y.shape)) or "1"
        raise InvalidData(
            f"`data.y` has {shape} entries, but {'the graph has' if graphs == 1 else f'the {graphs} graphs have'} {nodes} nodes. Remedy: one class for each "
            f"{'node' if graphs == 1 else 'graph, or for each node where nodes are classified'}, below 0 where there is no label; `data.y = None` for no labels"
            + ("; of several graphs, give a list of them or a Batch, which has `data.batch`" if graphs == 1 else "")
        )
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise InvalidData(
            f"`data.y` has the type {y.dtype}, but classes are integers. Remedy: `data.y = data.y.long()` where they are whole numbers, or `data.y = None` for no labels"
        )
    return y.reshape(-1).long().numpy()


def copied(model: Any) -> torch.nn.Module:
    """A copy of a module as it is used after training, in float64 on the CPU and without caches. The module itself stays as it is."""
    if not isinstance(model, torch.nn.Module):
        raise UnsupportedModel(f"a {type(model).__name__} is not a torch.nn.Module: give the model itself")
    if isinstance(model, torch.jit.ScriptModule):
        raise UnsupportedModel("a ScriptModule hides its Python code. Remedy: give the module from before torch.jit", "torch.jit.script")
    model = unwrapped(model)
    for name, parameter in [*model.named_parameters(), *model.named_buffers()]:
        if isinstance(parameter, torch.nn.parameter.UninitializedTensorMixin):
            raise UnsupportedModel(f"the parameter {name} has no size yet (lazy initialisation). Remedy: run the model once, then train it")
        if parameter.is_meta:
            raise UnsupportedModel(f"the parameter {name} has no numbers (meta device). Remedy: `model.to_empty(device='cpu')`, then load its state dict")
    # What layers keep from their last run is not copied: it belongs to other attributes.
    memo: dict[int, Any] = {}
    for part in model.modules():
        for name, value in vars(part).items():
            if name.startswith("_cached") and value is not None:
                memo[id(value)] = None
            else:
                memo.update({id(tensor): tensor.detach().clone() for tensor in _computed(value)})
    copy_of = copy.deepcopy(model, memo)
    for part in copy_of.modules():
        if getattr(part, "cached", False) is True:
            part.cached = False
    return copy_of.cpu().double().eval().requires_grad_(False)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The module inside the wrappers of torch.compile and of data-parallel training."""
    while True:
        inner = model._modules.get("_orig_mod") or (model._modules.get("module") if type(model).__name__.endswith("DataParallel") else None)
        if inner is None:
            return model
        model = inner


def is_double(model: Any) -> bool:
    """Are all weights of a module in float64?"""
    kinds = {parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()} if isinstance(model, torch.nn.Module) else set()
    return kinds == {torch.float64}


def warn_of_caches(model: Any, edges: bool) -> None:
    """Warns of layers that answer from their last run: a witness replayed in them seems to change nothing. `edges`: may edges be attacked?"""
    for path, part in model.named_modules() if isinstance(model, torch.nn.Module) else ():
        attributes = hasattr(part, "_cached_x") or hasattr(part, "_cached_h")
        if getattr(part, "cached", False) is True and (attributes or edges):
            what = "propagated attributes" if attributes else "normalised edges"
            replayed = "a witness is" if attributes else "changed edges are"
            name = f"model.{path}" if path else "model"
            warn(
                f"{name} ({type(part).__name__}) has cached=True: after its first run it computes with the {what} of that run, so that your "
                f"module keeps its class where {replayed} replayed. Verdicts are those of the module without its cache; set {name}.cached = False, and "
                "make the module anew or clear its cache, before you replay"
            )


def warn_of_precision(model: Any) -> None:
    """Warns of weights of 16 bits: a module that computes with them rounds far more than what is certified."""
    short = (torch.float16, torch.bfloat16)
    for name, parameter in model.named_parameters() if isinstance(model, torch.nn.Module) else ():
        if parameter.dtype in short:
            warn(
                f"model.{name} is {parameter.dtype}: unless `deployed` says otherwise, the network has these very weights and computes in exact arithmetic; a module that "
                "computes in 16 bits rounds so coarsely that this says little about it. If it runs in float32, give `model.float()`; what flips do to it in bfloat16 is "
                "decided by certify and radius with deployed=gcnproof.Execution(unit_roundoff=2**-8)"
            )
            return


def _computed(value: Any) -> Any:
    """Tensors with a history among what a module keeps (a hidden representation of the last run): they cannot be copied as they are."""
    if isinstance(value, torch.Tensor):
        if value.grad_fn is not None:
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _computed(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _computed(item)


OWN_ARGUMENTS = (
    "`call` must compute with its two arguments alone: `model`, which is a copy in float64, and `data`, whose `x` stands for all attributes; not with tensors or "
    "modules from outside: `call=lambda model, data: model(data.x, data.edge_index)`"
)
"""The remedy where a `call` that was given fails."""


def check_call(call: Any) -> None:
    """Raises where `call` is no function of a model and its data."""
    remedy = "give a function of the model and its data: call=lambda model, data: model(data.x, data.edge_index)"
    if not callable(call):
        raise InputError(f"call={call!r}: a {type(call).__name__} cannot be called", remedy)
    if isinstance(call, torch.nn.Module) or isinstance(getattr(call, "__self__", None), torch.nn.Module):
        raise InputError("call is the module itself, or a method of it", remedy)
    try:
        inspect.signature(call).bind(None, None)
    except TypeError as error:
        raise InputError(f"call: it is called with two arguments, and cannot take them: {error}", remedy) from None
    except ValueError:
        pass  # Some builtins do not say what they take.


@dataclass(frozen=True)
class Arguments:
    """A call by the arguments of forward: their names, and what the data has for them."""

    names: list[str]
    given: list[str]
    named: list[str]

    def __call__(self, model: Any, data: Any) -> Any:
        return model(*[getattr(data, name) for name in self.given], **{name: getattr(data, name) for name in self.named})

    def __str__(self) -> str:
        return f"forward({', '.join(self.names)}) was called with ({', '.join(self.given)})"


def call_of(model: torch.nn.Module, data: Any) -> Call:
    """How a module is called, by the arguments of its forward; raises UnsupportedModel where that is not plain."""
    remedy = "say how it is called: `call=lambda model, data: model(…)`, an argument of every call"
    signature = list(inspect.signature(model.forward).parameters.values())
    parameters = [parameter for parameter in signature if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    needed = [parameter for parameter in parameters if parameter.default is parameter.empty]
    names = [parameter.name for parameter in needed]
    edges = "edge_index" if getattr(data, "edge_index", None) is not None else "adj_t"
    kind = type(model).__name__
    if kind in ("GAE", "VGAE", "ARGA", "ARGVA"):
        raise UnsupportedModel(
            f"{kind} is an autoencoder: it gives each node a place in space, and no classes. Remedy: certify the classifier that is trained on what it gives, with the "
            "encoder inside its forward",
            kind,
        )
    if kind == "DeepGCNLayer":
        raise UnsupportedModel("a DeepGCNLayer is one layer, and takes whatever its convolution takes. Remedy: give the whole model, whose forward calls it", kind)
    named_batch = any(parameter.name == "batch" for parameter in signature[1:])
    if any(parameter.name == "batch" for parameter in needed[1:]) and getattr(data, "batch", None) is None:
        # One graph, all of whose nodes belong to it.
        data.batch = torch.zeros(data.x.shape[0], dtype=torch.long)
    if not parameters:
        raise UnsupportedModel(f"the model's forward takes no arguments that have names. Remedy: {remedy}")
    if len(needed) <= 1 and (names or [parameters[0].name])[0].lower() in ("data", "batch", "graph", "g", "d", "inputs", "input_data"):
        return lambda model, data: model(data)
    if len(needed) == 1 and parameters[0].annotation not in (parameters[0].empty, torch.Tensor, "Tensor", "torch.Tensor"):
        return lambda model, data: model(data)
    if len(needed) == 1 and (len(parameters) == 1 or "edge" not in parameters[1].name):
        if names[0] in ("x", "input", "features", "feat", "feats", "h") or type(model).__module__.startswith("torch.nn"):
            return lambda model, data: model(data.x)
        return lambda model, data: model(data)
    # Attributes, then edges, unless their names say something else; further arguments by the names that Data has for them.
    for parameter in signature:
        name = parameter.name
        optional = parameter not in needed and name in ("edge_weight", "edge_attr", "edge_type") and getattr(model, f"supports_{name}", True)
        if optional and getattr(data, name, None) is not None:
            raise UnsupportedModel(
                f"the data has `{name}`, and the model's forward takes it or leaves it. Remedy: {remedy}, with "
                f"`model(data.x, data.edge_index, {name}=data.{name})` or without `{name}`"
            )
    single = getattr(data, "edge_attr", None)
    single = isinstance(single, torch.Tensor) and single.dim() and single.numel() == single.shape[0] and bool((single != 1).any())
    if single and getattr(data, "edge_weight", None) is None and getattr(model, "supports_edge_weight", True) and not any(parameter.name == "edge_attr" for parameter in needed) and any(parameter.name == "edge_weight" for parameter in signature):
        raise UnsupportedModel(
            "the data has `edge_attr` with one number for each edge and no `edge_weight`, which the model's forward takes. Remedy: "
            f"{remedy}, with `model(data.x, data.edge_index, edge_weight=data.edge_attr.flatten())` or without weights"
        )
    chosen = []
    for place, parameter in enumerate(parameters):
        name, has = parameter.name, getattr(data, parameter.name, None) is not None
        if place < 2 and parameter in needed:
            if name in ("adj", "A", "adjacency", "adj_matrix", "norm_adj") and not has:
                raise UnsupportedModel(f"the model's forward takes `{name}`, which the data does not have. Remedy: {remedy}")
            swapped = len(needed) > 1 and ("edge" in names[0].lower() or names[1] in ("x", "features", "feat", "feats"))
            chosen.append(name if has else ["x", edges][place != swapped])
        elif parameter in needed:
            if not has:
                raise UnsupportedModel(f"the model's forward takes `{name}`, which the data does not have. Remedy: {remedy}")
            chosen.append(name)
    # A readout that is told nothing takes all nodes for those of one graph.
    more = ["batch"] if named_batch and "batch" not in chosen and getattr(data, "batch", None) is not None else []
    return Arguments([parameter.name for parameter in parameters[: len(chosen)]], chosen, more)
