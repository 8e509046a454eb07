"""Loading of files: graphs, models, results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from .curve import CollectiveResults
from .errors import InputError, pythonic, warn
from .graph import Graph
from .network import Layer, Network, Polynomial, Term
from .normalisation import Division
from .results import Radii, Results
from .table import TABLES, content

def load(
    path: str | os.PathLike[str],
    *,
    graph: Any = None,
    message_passing: str | Sequence[str] = "gcn",
    layers: Sequence[str] = (),
) -> Graph | Network | Results | Radii | CollectiveResults:
    """Reads a file: a graph (.npz), a model (.safetensors or .npz), or results (.parquet, .jsonl or .csv).

    A model file that does not describe its network is one of graph convolutions with ReLU between; `message_passing` is one rule for
    all of its layers, or one for each, and `layers` names the beginnings of its tensors' names. `graph` goes with results, so that
    their witnesses can be applied: a Graph, its file, or the Data object that was certified.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"a {type(path).__name__} is no path of a file", "give the name of a file that was saved")
    name = os.fspath(path)
    if not os.path.exists(name):
        raise InputError(f"{name}: there is no such file", "check the path")
    if os.path.isdir(name):
        study = os.path.exists(os.path.join(name, "study.json"))
        raise InputError(f"{name}: is the folder of a study" if study else f"{name}: is a folder", f"make its page: gcnproof.report({name!r}), or load one of its files" if study else "give the path of a file")
    if isinstance(layers, str):
        names = [part.strip() for part in layers.split(",")]
        raise InputError(f"layers={layers!r}: a text", f"give a list: layers={names!r}")
    _check_content(name)
    if name.lower().endswith(TABLES):
        rows = _native.Rows.read(name)
        if rows.kind == "validate":
            raise InputError(f"{name}: holds class pairs of validate", "read it with pandas or polars")
        kinds: dict[str, Any] = {"collective": CollectiveResults, "radius": Radii, "radius edges": Radii}
        of, data = _graph(graph)
        certified = ((rows.run() or {}).get("input") or {}).get("graph")
        if data is not None and of is not None and of.normalised is None:
            # A module may have divided the rows itself.
            inside = (of._divided(Division(bits, inside=True)) for bits in (32, 64))
            of = next((one for one in inside if one.digest == certified), of)
        if of is not None and certified not in (None, of.digest):
            raise InputError(f"{name}: these results were computed on another graph: its edges, attributes or labels differ", "give the graph that was certified, or leave graph out, and nothing can be applied to it")
        return kinds.get(rows.kind, Results)(rows, None, of, data)  # type: ignore[no-any-return]
    rules = [message_passing] if isinstance(message_passing, str) else list(message_passing)
    if not name.lower().endswith(".npz"):
        try:
            return _network(name, rules, list(layers))
        except InputError as error:
            if name.lower().endswith((".safetensors", ".pt", ".pth")) or "this is not a safetensors" not in error.message:
                raise
            raise InputError(f"{name}: is neither a graph, a model nor results", "load reads graphs (.npz), models (.safetensors, .npz) and results (.parquet, .jsonl, .csv)") from None
    try:
        found = Graph.load(name)
    except InputError as no_graph:
        # An archive of arrays may also be a model; if it is neither, it was more likely meant as a graph.
        try:
            return _network(name, rules, list(layers))
        except InputError as no_model:
            # Layers are asked of models alone.
            raise (no_model if layers else no_graph) from None
    if layers or rules != ["gcn"]:
        given = "layers" if layers else "message_passing"
        raise InputError(f"{name}: is a graph, and a graph has no {given}", f"leave {given} out, or give the file of a model")
    return found


def _check_content(name: str) -> None:
    """Raises about a file whose content is not what its name says."""
    found, ending = content(name), os.path.splitext(name)[1].lower()
    if found == "proofs":
        raise InputError(f"{name}: holds proofs, not results", f"check them: gcnproof.check(model, data, {name!r}, …)")
    if found == "a log of training":
        raise InputError(f"{name}: is {found}, not results", f"read it with pandas.read_json({name!r}, lines=True), or draw it: gcnproof.report({name!r})")
    if name.lower().endswith(".run.json"):
        raise InputError(f"{name}: says what run a file of results is of", f"load the results: {name[: -len('.run.json')]!r}")
    if found in ("a page (HTML)", "an array of numpy"):
        remedy = "open it in a browser" if found == "a page (HTML)" else "read it with np.load"
        raise InputError(f"{name}: is {found}: load reads graphs, models and results", remedy)
    own = {"a table of results (Parquet)": ".parquet", "a table of results (CSV)": ".csv", "JSON lines": ".jsonl"}.get(found or "")
    if own is not None and ending != own and ending in TABLES:
        raise InputError(f"{name}: is {found}, whatever its name says", f"rename it so that it ends in {own}")


def _graph(graph: Any) -> tuple[Graph | None, Any]:
    """The graph that results are about, and the Data object if it is one."""
    if graph is None or isinstance(graph, Graph):
        return graph, None
    if isinstance(graph, (str, os.PathLike)):
        return Graph.load(graph, real=True), None
    if hasattr(getattr(graph, "x", None), "detach"):
        from .pyg.inputs import read_data

        return read_data(graph, real=True).graph(), graph
    return Graph.from_data(graph, real=True), graph


def _network(name: str, rules: list[str], prefixes: list[str]) -> Network:
    """The network of a model file."""
    found, parts, notes = _native.read_model(name, prefixes)
    matrices = {rule: _matrix(*of) for rule, of in parts.items()}
    for note in notes:
        warn(pythonic(f"{name}: {note}"))
    if rules != ["gcn"] and any(operators for _, _, operators, _ in found):
        raise InputError(f"{name}: the file says itself how messages are passed", "leave message_passing out")
    if len(rules) not in (1, len(found)):
        raise InputError(f"{len(rules)} rules of message passing for {len(found)} layers", "give one for all, or one for each")
    layers, source = [], "x"
    for at, (weights, bias, operators, linear) in enumerate(found):
        operators = operators or [rules[min(at, len(rules) - 1)]]
        last = at + 1 == len(found)
        activation: Any = "none" if last else ["none" if one else "relu" for one in linear] if any(linear) else "relu"
        terms = [Term(source, _operator(operator, matrices), weight) for operator, weight in zip(operators, weights, strict=True)]
        source = f"h{at + 1}"
        layers.append(Layer(source, terms, bias, activation))
    return Network(layers)


def _matrix(offsets: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Any:
    from scipy import sparse

    nodes = len(offsets) - 1
    return sparse.csr_matrix((values, indices, offsets), shape=(nodes, nodes))


def _operator(rule: str, matrices: dict[str, Any]) -> Any:
    """An operator by its rule; a matrix of the file, alone or in a polynomial, as itself."""
    if rule.startswith("poly(matrix:"):
        base, coefficients = rule.removeprefix("poly(").removesuffix(")").rsplit(";", 1)
        return Polynomial(matrices[base], [float(number) for number in coefficients.split(",")])
    return matrices.get(rule, rule)
