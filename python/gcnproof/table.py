"""Tables of rows: as numpy columns, tables of other libraries, and files; and what a witness leaves of a graph."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from . import _native
from .arguments import new_file
from .errors import InputError
from .graph import Graph, _array
from .normalisation import divided


TABLES = (".parquet", ".jsonl", ".csv")
"""How the names of results files end."""


def content(path: str) -> str | None:
    """What a file holds by its first bytes, where that is neither a graph nor a model; None if they do not say."""
    with open(path, "rb") as file:
        first = file.read(64)
    kinds = {
        b"PAR1": "a table of results (Parquet)",
        b"node,": "a table of results (CSV)",
        b"graph,": "a table of results (CSV)",
        b"q_global,": "a table of results (CSV)",
        b'{"node":{': "proofs",
        b'{"header"': "proofs",
        b'{"collective"': "proofs",
        b'{"gcnproof_training_log"': "a log of training",
        b"\x28\xb5\x2f\xfd": "proofs",
        b"{": "JSON lines",
        b"<": "a page (HTML)",
        b"\x93NUMPY": "an array of numpy",
    }
    # A safetensors file starts with a length of 8 bytes, the last of which is 0.
    known = () if b"\0" in first[:8] and not first.startswith((b"PAR1", b"\x28\xb5\x2f\xfd", b"\x93NUMPY")) else kinds.items()
    return next((kind for start, kind in known if first.startswith(start)), None)


class Arrow:
    """A table for every library that speaks Arrow's PyCapsule protocol: `polars.DataFrame(table)`, `pyarrow.table(table)`."""

    def __init__(self, rows: _native.Rows):
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


Row = TypeVar("Row")
Own = TypeVar("Own", bound="Table[Any]")


ALIASES = {"node": "graph", "degree": "edges"}
"""What columns are called where rows are about graphs."""


def _column(table: Table[Any], name: str) -> np.ndarray:
    """A column, also where rows are about graphs."""
    for known in (name, ALIASES.get(name)):
        if known in table._columns:
            return table._columns[known]
    raise InputError(f"these results are about {table._target}s, and have no column {name}", f"use results.{table._key}")


class Column(property):
    """A column of a table, as an array of numpy."""

    def __init__(self, name: str, doc: str):
        super().__init__(lambda table: _column(table, name), doc=doc)

    if TYPE_CHECKING:

        def __get__(self, table: Any, kind: type | None = None) -> np.ndarray: ...  # type: ignore[override]


class Table(Generic[Row]):
    """The rows of a run: a column of numpy for each of their parts; `table[key]` is everything that is known of one node or budget.

    `table[0:3]`, `table[mask]` and `table[[3, 17]]` are tables of some of the rows: by their places, by a mask with an entry for each
    row, or by their keys. Tables can be pickled and copied.
    """

    @property
    def _key(self) -> str:
        """The column that names a row."""
        return "graph" if "graph" in self._columns else "node"

    @property
    def _target(self) -> str:
        """What rows are about, in a word."""
        return self._key if self._key in ("node", "graph") else "budget"

    def __init__(self, rows: _native.Rows, facts: dict[str, Any] | None = None, graph: Graph | None = None, data: Any = None):
        self._rows = rows
        self._graph, self._data = graph, data
        facts = facts or {}
        self.seconds: float | None = facts.get("seconds")
        """Wall-clock seconds of the call; None for results that were loaded."""
        self.notes: list[str] = facts.get("notes", [])
        """What there is to say of the run."""
        self.proofs: dict[str, Any] | None = facts.get("proofs")
        """What was written of proofs."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("_rows", "_graph", "_data", "seconds", "notes", "proofs")}

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        columns = {name: np.asarray(values) for name, values in self._rows.columns().items()}
        for values in columns.values():
            values.flags.writeable = False
        return columns

    @cached_property
    def _places(self) -> dict[int, int]:
        return {int(key): at for at, key in enumerate(self._columns[self._key])}

    @property
    def run(self) -> dict[str, Any]:
        """What the run was: digests of graph and model, budget, effort, nodes."""
        return self._rows.run() or {}

    @property
    def complete(self) -> bool:
        """Has the run all of its rows?"""
        return len(self) >= self._rows.total

    @property
    def class_names(self) -> list[str] | None:
        """The names of the classes, where the graph has some."""
        return None if self._graph is None else self._graph.class_names

    @cached_property
    def witness(self) -> list[list[tuple[int, int]]]:
        """The flips that break each node, as (node, attribute); or the edges without which it changes its class, as pairs of ids."""
        return self._rows.witnesses()

    @cached_property
    def witness_edges(self) -> list[list[tuple[int, int]]]:
        """With [Flips(…), Edges(…)]: the edges that are changed beside the flips of each witness. Empty for one attacker alone."""
        return self._rows.witness_edges()

    @property
    def _joint(self) -> bool:
        """Is it about flips and changed edges at once?"""
        return self._rows.kind.endswith("joint")

    @property
    def _edges(self) -> bool:
        """Is it about removed edges?"""
        return self._rows.kind.endswith("edges")

    @property
    def _ranges(self) -> bool:
        """Are attributes moved instead of flipped?"""
        return not self._edges and (self.run.get("budget") or {}).get("ranges") is not None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def _at(self, key: Any) -> int:
        try:
            # A number that is no place, 0.5 or True, is not rounded to one.
            return self._places[operator.index(key) if not isinstance(key, bool) else -1]
        except (KeyError, TypeError, ValueError):
            if isinstance(key, str) and key.isidentifier():
                raise KeyError(f"results[{key!r}]: rows have numbers; a column is results.{key}, where there is such a one") from None
            what = f"{self._key} =" if self._target == "budget" else self._target
            raise KeyError(f"{what} {key!r} is not among the {len(self)} {self._target}s of these results") from None

    @overload
    def __getitem__(self, which: int) -> Row: ...
    @overload
    def __getitem__(self: Own, which: slice | Sequence[int] | Sequence[bool] | np.ndarray) -> Own: ...
    def __getitem__(self, which: Any) -> Any:
        """What was found of a node or budget, by its id or number; or some of the rows, as a table."""
        if isinstance(which, slice):
            return self._some(list(range(*which.indices(len(self)))))
        if isinstance(which, (Sequence, np.ndarray)) and not isinstance(which, str) or getattr(which, "ndim", 0) > 0:
            found = _array(which)
            if found.dtype != bool:
                return self._some([self._at(key) for key in found.ravel().tolist()])
            if found.shape != (len(self),):
                raise InputError(f"a mask of {found.size} entries for {len(self)} rows", f"give one entry for each row, such as mask[results.{self._key}]")
            return self._some(np.flatnonzero(found).tolist())
        return self._row(self._rows.row(self._at(which)))

    def _some(self: Own, places: list[int]) -> Own:
        return type(self)(self._rows.select(sorted(places)), {"seconds": self.seconds, "notes": self.notes}, self._graph, self._data)

    def __iter__(self) -> Iterator[Row]:
        return (self._row(self._rows.row(at)) for at in range(len(self)))

    def _row(self, row: dict[str, Any]) -> Row:
        raise NotImplementedError

    def _more_columns(self) -> dict[str, Any]:
        """What `to_pandas` adds to the columns."""
        names = self.class_names
        named: dict[str, Any] = {"witness": self.witness, **({"witness_edges": self.witness_edges} if self._joint else {})}
        for column in ("label", "predicted") if names else ():
            named[f"{column}_name"] = [names[at] if 0 <= at < len(names) else None for at in self._columns[column]]  # type: ignore[index, arg-type]
        return named

    def to_pandas(self) -> Any:
        """A pandas DataFrame, whose index are the nodes or budgets; witnesses are lists, and classes also have their names where the graph has some."""
        import pandas

        return pandas.DataFrame({**self._columns, **self._more_columns()}).set_index(self._key)

    def to_arrow(self) -> Arrow:
        """All columns of the results files, for libraries that speak Arrow: `polars.DataFrame(results.to_arrow())`."""
        return Arrow(self._rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes a results file as `out` would: .parquet, .jsonl or .csv, by its name. What is there is not overwritten unless forced."""
        self._rows.save(new_file(path, force, "results.parquet"), bool(force))

    def apply(self, key: int, graph: None = None) -> Any:
        """What a witness leaves of the graph that was certified, so that your own model can be asked.

        For flips and Ranges, the attributes with them made: a new tensor like `data.x` with a Data object of PyTorch Geometric, otherwise a new scipy
        CSR matrix. Values within ranges are rounded towards the old ones in the type of `data.x`, so that none leaves its range; a margin below 0 by less than such
        roundings may not be reached in that type. Rows of attributes that were divided by their sums are divided again. For edges, those that are left or inserted: a new `edge_index`, or a scipy CSR matrix. For
        [Flips(…), Edges(…)], a pair of both.
        """
        what = self._target
        if graph is not None:
            raise InputError(
                f"apply takes one {what}, and a graph is given: what it changes is the graph that was certified",
                f"of results that were loaded, give it to load: gcnproof.load(path, graph=data).apply({what})",
            )
        if isinstance(key, (slice, list, tuple, set, range)) or getattr(key, "ndim", 0) > 0:
            raise InputError(f"apply takes one {what}, not a {type(key).__name__}", f"call it once for each {what}: [results.apply({what}) for {what} in …]")
        at = self._at(key)
        changes = self.witness[at]
        if not changes and not self._broken(at):
            raise InputError(f"{what} {key} has no witness", f"only non-robust {what}s have one")
        if self._graph is None:
            raise InputError("these results were loaded without their graph", "give it: gcnproof.load(path, graph=data)")
        certified = self.run.get("input", {}).get("graph")
        if certified is not None and certified != self._graph.digest:
            raise InputError("these results are about another graph", "give the graph that was certified: gcnproof.load(path, graph=data)")
        if self._ranges:
            values = self._rows.row(at).get("witness_values")
            if values is None and changes:
                raise InputError("rows of radii do not have the values that attributes are moved to", f"certify has them: certify(model, data, Ranges(Q={len(changes)}, …), nodes=[{key}]).apply({key})")
            return _moved(self._graph, self._data, changes, [float(value) for value in (values or "").split()])
        directed = bool(self.run.get("edges", {}).get("directed", False))
        if self._joint:
            return _flipped(self._graph, self._data, changes), _changed(self._graph, self._data, self.witness_edges[at], directed)
        return _changed(self._graph, self._data, changes, directed) if self._edges else _flipped(self._graph, self._data, changes)

    def _broken(self, at: int) -> bool:
        return True


def _flipped(graph: Graph, data: Any, flips: list[tuple[int, int]]) -> Any:
    """The attributes of a graph with flips made: a tensor like `data.x`, or a scipy CSR matrix."""
    from scipy import sparse

    # The attributes that were certified, even if a tensor was changed since.
    changed = graph.attributes.copy()
    if graph.groups is not None:
        taken = [(node, graph.category_changes[d - graph.attribute_count]) for node, d in flips]
        flips = [(node, attribute) for node, change in taken for attribute in change if attribute >= 0]
    if flips:
        nodes, columns = np.array(flips).T
        before = np.asarray(changed[nodes, columns]).ravel().astype(np.int8)
        change = sparse.csr_matrix(((1 - 2 * before), (nodes, columns)), shape=changed.shape, dtype=np.int8)
        changed = sparse.csr_matrix(changed.astype(np.int8) + change).astype(changed.dtype)
        changed.eliminate_zeros()
    if graph._division is not None and not graph._division.inside:
        changed = divided(changed, graph._division.bits)
    return _like(data, changed)


def _moved(graph: Graph, data: Any, entries: list[tuple[int, int]], values: list[float]) -> Any:
    """The attributes of a graph, or their quotients, with some entries moved: a tensor like `data.x`, or a scipy CSR matrix."""
    matrix = graph.attributes.astype(np.float64)
    if graph._division is not None:
        matrix = divided(matrix, graph._division.bits).astype(np.float64)
    changed = matrix.tolil()
    for (node, attribute), value in zip(entries, values, strict=True):
        changed[node, attribute] = _towards(float(matrix[node, attribute]), value, getattr(getattr(data, "x", None), "dtype", None))
    return _like(data, changed.tocsr())


def _towards(old: float, new: float, dtype: Any) -> float:
    """A value in the type that it will have, never farther from the old one: there it would leave its range."""
    if not str(dtype).startswith("torch."):
        return new
    import torch

    made = torch.tensor(new, dtype=torch.float64).to(dtype)
    if abs(made.double().item() - old) <= abs(new - old):
        return made.double().item()
    return float(torch.nextafter(made, torch.tensor(old, dtype=torch.float64).to(dtype)))


def _like(data: Any, changed: Any) -> Any:
    """A CSR matrix, as a tensor like `data.x` if that is one."""
    x: Any = getattr(data, "x", None)
    if not hasattr(x, "detach"):
        return changed
    import torch

    return torch.from_numpy(changed.toarray()).to(dtype=x.dtype, device=x.device)


def _changed(graph: Graph, data: Any, edges: list[tuple[int, int]], directed: bool) -> Any:
    """The edges of a graph after some are removed, or inserted where it has none: an `edge_index`, or a scipy CSR matrix."""
    both = [(int(a), int(b)) for pair in edges for a, b in ([pair] if directed else [pair, pair[::-1]])]
    # Rows of the adjacency hold those whom a node receives from.
    gone = [(a, b) for a, b in both if graph.adjacency[b, a] != 0]
    new = [(a, b) for a, b in both if graph.adjacency[b, a] == 0]
    edge_index: Any = getattr(data, "edge_index", None)
    if hasattr(edge_index, "detach"):
        import torch

        missing = set(gone)
        kept = [(int(a), int(b)) not in missing for a, b in edge_index.T.tolist()]
        left = edge_index[:, torch.tensor(kept, dtype=torch.bool, device=edge_index.device)]
        more = torch.tensor(new, dtype=edge_index.dtype, device=edge_index.device).reshape(-1, 2).T
        return torch.cat([left, more], dim=1) if new else left
    left = graph.adjacency.tolil(copy=True)
    for a, b in gone:
        left[b, a] = 0
    for a, b in new:
        left[b, a] = 1
    return left.tocsr()


def axes_of(ax: Any) -> Any:
    """The axes to draw on: those that are given, or new ones of matplotlib."""
    if ax is not None:
        if not hasattr(ax, "set_xlabel"):
            raise InputError(f"ax: a {type(ax).__name__} is no axes of matplotlib", "give what pyplot.subplots() returns second, or leave ax out")
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("plot draws with matplotlib, which is not installed", "pip install matplotlib, or use gcnproof.report") from error
    return pyplot.subplots()[1]
