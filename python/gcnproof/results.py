"""Results: what was found, as numpy columns, tables of other libraries, and files."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from . import _native
from .errors import InputError
from .graph import Graph, _array


class Margin(NamedTuple):
    """The worst-case margin of the class that is kept over `class_`: at least `lower`, and some attack within the budget reaches
    `upper`. None where a number is not known."""

    class_: int
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class NodeResult:
    """What is known of a node, whatever the attacker."""

    node: int
    label: int | None
    predicted: int
    reference: int
    """The class that is to be kept."""
    verdict: str
    """`robust`, `non_robust` or `undecided`, in exact arithmetic."""
    reason: str
    """What the verdict rests on."""
    margins: list[Margin]
    witness: list[tuple[int, int]]
    """The flips that break it, as (node, attribute), or the edges without which it changes its class, as pairs of ids; empty unless it is non-robust."""
    degree: int
    relevant: int
    """How much of the graph matters to it: nodes whose attributes its logits depend on, or edges whose removal can change something."""
    seconds: float
    exact_margins: list[str] | None = None
    """With minimize=True, the exact minima as fractions."""
    deployed: str | None = None
    """With deployed="float32": `robust`, `non_robust`, `rounding_dependent` or `undecided`, for every execution."""
    rounding: list[Margin] | None = None
    """With it, between which numbers the difference of computed and exact margin lies, class pair by class pair."""
    prediction_depends: bool | None = None
    """With it: may the class computed without any flip depend on rounding?"""

    @property
    def robust(self) -> bool:
        """Is it certified, as the network runs where that was asked?"""
        return (self.deployed or self.verdict) == "robust"

    @property
    def neighbourhood(self) -> int:
        """The same as `relevant`: nodes whose attributes its logits depend on."""
        return self.relevant


@dataclass(frozen=True)
class Radius:
    """How many changes a node withstands: flips, or removed edges."""

    node: int
    label: int | None
    predicted: int
    certified: int | None
    """The largest Q or E that is certified; None if not even 0 is (a tie)."""
    attacked: int | None
    """The smallest Q or E with a witness; None if none was found."""
    witness: list[tuple[int, int]]
    degree: int
    relevant: int
    """How much of the graph matters to it, as in NodeResult."""
    seconds: float


class Arrow:
    """A table for every library that speaks Arrow's PyCapsule protocol: `polars.DataFrame(table)`, `pyarrow.table(table)`."""

    def __init__(self, rows: _native.Rows):
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


Row = TypeVar("Row")
Own = TypeVar("Own", bound="Table[Any]")


class Table(Generic[Row]):
    """The rows of a run: a column of numpy for each of their parts; `table[key]` is everything that is known of one node or budget.

    `table[0:3]`, `table[mask]` and `table[[3, 17]]` are tables of some of the rows: by their places, by a mask with an entry for each
    row, or by their keys. Tables can be pickled and copied.
    """

    _key = "node"
    """The column that names a row."""

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

    @property
    def _edges(self) -> bool:
        """Is it about removed edges?"""
        return self._rows.kind.endswith("edges")

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def _at(self, key: Any) -> int:
        try:
            return self._places[int(key)]
        except (KeyError, TypeError, ValueError):
            what = "node" if self._key == "node" else f"{self._key} ="
            of = "nodes" if self._key == "node" else "budgets"
            raise KeyError(f"{what} {key!r} is not among the {len(self)} {of} of these results") from None

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
        named: dict[str, Any] = {"witness": self.witness}
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
        if os.path.exists(path) and not force:
            raise InputError(f"{os.fspath(path)}: there is a file already", "say force=True to overwrite it, or choose another name")
        self._rows.save(os.fspath(path), force)

    def apply(self, key: int) -> Any:
        """What a witness leaves of the graph that was certified, so that your own model can be asked.

        For flips, the attributes with them made: a new tensor like `data.x` with a Data object of PyTorch Geometric, otherwise a new scipy
        CSR matrix. For removed edges, the edges that are left: a new `edge_index`, or a scipy CSR matrix.
        """
        at = self._at(key)
        changes = self.witness[at]
        if not changes and not self._broken(at):
            raise InputError(f"node {key} has no witness", "only non-robust nodes have one")
        if self._graph is None:
            raise InputError("these results were loaded without their graph", "give it: gcnproof.load(path, graph=data)")
        certified = self.run.get("input", {}).get("graph")
        if certified is not None and certified != self._graph.digest:
            raise InputError("these results are about another graph", "give the graph that was certified: gcnproof.load(path, graph=data)")
        return _without(self._graph, self._data, changes) if self._edges else _flipped(self._graph, self._data, changes)

    def _broken(self, at: int) -> bool:
        return True


def _flipped(graph: Graph, data: Any, flips: list[tuple[int, int]]) -> Any:
    """The attributes of a graph with flips made: a tensor like `data.x`, or a scipy CSR matrix."""
    x: Any = getattr(data, "x", None)
    if hasattr(x, "detach"):
        import torch

        # The attributes that were certified, even if the tensor was changed since.
        changed = torch.from_numpy(graph.attributes.toarray()).to(dtype=x.dtype, device=x.device)
        for at, attribute in flips:
            changed[at, attribute] = 1 - int(changed[at, attribute])
        return changed
    from scipy import sparse

    attributes = graph.attributes
    if not flips:
        return attributes.copy()
    nodes, columns = np.array(flips).T
    before = np.asarray(attributes[nodes, columns]).ravel().astype(np.int8)
    change = sparse.csr_matrix(((1 - 2 * before), (nodes, columns)), shape=attributes.shape, dtype=np.int8)
    changed = (attributes.astype(np.int8) + change).astype(attributes.dtype)
    changed.eliminate_zeros()
    return changed


def _without(graph: Graph, data: Any, edges: list[tuple[int, int]]) -> Any:
    """The edges of a graph that are left without some: an `edge_index`, or a scipy CSR matrix."""
    gone = {(a, b) for pair in edges for a, b in (pair, pair[::-1])}
    edge_index: Any = getattr(data, "edge_index", None)
    if hasattr(edge_index, "detach"):
        import torch

        kept = [(int(a), int(b)) not in gone for a, b in edge_index.T.tolist()]
        return edge_index[:, torch.tensor(kept, dtype=torch.bool, device=edge_index.device)]
    left = graph.adjacency.tolil(copy=True)
    for a, b in gone:
        left[a, b] = 0
    return left.tocsr()


def axes_of(ax: Any) -> Any:
    """The axes to draw on: those that are given, or new ones of matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("plot draws with matplotlib, which is not installed", "pip install matplotlib, or use gcnproof.report") from error
    return pyplot.subplots()[1]


class _Nodes(Table[Row]):
    """Rows about nodes."""

    @property
    def node(self) -> np.ndarray:
        """The nodes, rising."""
        return self._columns["node"]

    @property
    def label(self) -> np.ndarray:
        """Their labels, −1 where there is none."""
        return self._columns["label"]

    @property
    def predicted(self) -> np.ndarray:
        """The classes predicted without changes."""
        return self._columns["predicted"]

    @property
    def degree(self) -> np.ndarray:
        """Neighbours, the node itself not counted."""
        return self._columns["degree"]

    @property
    def _execution(self) -> str:
        """How the network runs, in words; empty where that was not asked."""
        how = self.run.get("deployed")
        return f"every execution in float32's range with {how['precision']} bits" if how and how["precision"] != 24 else "every execution in float32" if how else ""

    def _fields(self, row: dict[str, Any]) -> dict[str, Any]:
        """What rows of all kinds have."""
        edges = self._edges
        return {
            **{name: row[name] for name in ("node", "label", "predicted", "degree", "seconds")},
            "relevant": row["relevant_edges" if edges else "neighbourhood"],
            "witness": [(a, b) for a, b in row["witness_edges" if edges else "witness"]],
        }


VERDICTS = {"robust": "#2a7f3f", "non_robust": "#b3261e", "rounding_dependent": "#6750a4", "undecided": "#8a6d00"}
"""Verdicts and their colours."""


class Results(_Nodes[NodeResult]):
    """The verdicts of `certify`, as columns of numpy; `results[node]` is everything that is known of a node."""

    @property
    def reference(self) -> np.ndarray:
        """The classes that are to be kept."""
        return self._columns["reference"]

    @property
    def verdict(self) -> np.ndarray:
        """`robust`, `non_robust` or `undecided`, in exact arithmetic."""
        return self._columns["verdict"]

    @property
    def deployed(self) -> np.ndarray | None:
        """`robust`, `non_robust`, `rounding_dependent` or `undecided`, for every execution; None where that was not asked."""
        return self._columns.get("deployed")

    @property
    def asked(self) -> np.ndarray:
        """The verdicts that were asked for: `deployed` where that was, otherwise `verdict`."""
        return self.verdict if self.deployed is None else self.deployed

    @property
    def reason(self) -> np.ndarray:
        """What the verdicts rest on."""
        return self._columns["reason"]

    @cached_property
    def robust(self) -> np.ndarray:
        """Which nodes are certified, as the network runs where that was asked."""
        return self.asked == "robust"

    @property
    def margin(self) -> np.ndarray:
        """The smallest lower bound on the worst-case margins of a node, NaN where none is known."""
        return self._columns["margin"]

    @property
    def worst_class(self) -> np.ndarray:
        """The class of that margin."""
        return self._columns["worst_class"]

    def _row(self, row: dict[str, Any]) -> NodeResult:
        exact, rounding = row.get("exact_margins"), row.get("rounding")
        return NodeResult(
            **self._fields(row),
            reference=row["reference"],
            verdict=row["verdict"],
            reason=row["reason"],
            margins=[Margin(margin["class"], margin["lower"], margin["upper"]) for margin in row["margins"]],
            exact_margins=None if exact is None else exact.split(" "),
            deployed=row.get("deployed"),
            rounding=None if rounding is None else [Margin(pair["class"], pair["lower"], pair["upper"]) for pair in rounding],
            prediction_depends=row.get("prediction_depends"),
        )

    def _broken(self, at: int) -> bool:
        return bool(self.verdict[at] == "non_robust")

    def _counts(self, verdicts: np.ndarray) -> dict[str, int]:
        """How many nodes have each verdict; rounding is mentioned only where it was asked about."""
        kinds = [kind for kind in VERDICTS if kind != "rounding_dependent" or verdicts is self.deployed]
        return {kind: int((verdicts == kind).sum()) for kind in kinds}

    def summary(self) -> dict[str, Any]:
        """Counts and means over the nodes. With `deployed` the counts are of that, and those in exact arithmetic are in `exact`."""
        known = self.label >= 0
        margins = self.margin[np.isfinite(self.margin)]
        return {
            "nodes": len(self),
            **self._counts(self.asked),
            **({} if self.deployed is None else {"exact": self._counts(self.verdict)}),
            "accuracy": float((self.label[known] == self.predicted[known]).mean()) if known.any() else None,
            "mean_margin": float(margins.mean()) if len(margins) else None,
            "ties": int((self.reason == "tie").sum()),
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def _budget(self) -> str:
        budget = self.run.get("edges" if self._edges else "budget")
        if not budget:
            return "an unknown budget"
        most = budget.get("local")
        most = "given by node" if isinstance(most, list) else "any" if self._edges and (most is None or most >= 2**32 - 1) else most
        if not self._edges:
            return f"Q = {budget['global']}, q = {most}"
        keep = "" if budget.get("keep_one", True) else ", last edges too"
        return f"removed edges: E = {budget.get('global')}, e = {most}{keep}"

    def _parts(self) -> list[tuple[str, dict[str, int]]]:
        """What was asked, and its verdicts; then those in exact arithmetic, where they are not the same."""
        exact = self._counts(self.verdict)
        return [("", exact)] if self.deployed is None else [(self._execution, self._counts(self.deployed)), ("exact arithmetic", exact)]

    def __repr__(self) -> str:
        open_ = "" if self.complete else f" of {self._rows.total}"
        told = [f"{what}{': ' if what else ''}" + ", ".join(f"{n} {kind.replace('_', '-')}" for kind, n in counts.items()) for what, counts in self._parts()]
        return f"Results({len(self)}{open_} nodes, {self._budget()}: {'; '.join(told)})"

    def __str__(self) -> str:
        found = self.summary()
        total = max(len(self), 1)
        lines = [self._budget()]
        for what, counts in self._parts():
            lines += [f"{what}:"] if what else []
            width = 2 + max(map(len, counts))
            lines += [f"{kind.replace('_', '-'):<{width}}{n:>8}  {100 * n / total:5.1f} %" for kind, n in counts.items()]
        if found["accuracy"] is not None:
            lines.append(f"{'accuracy':<12}{found['accuracy']:>8.3f}")
        if not found["complete"]:
            lines.append(f"{len(self)} of {self._rows.total} nodes: the run was interrupted")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        total, accuracy, names = max(len(self), 1), self.summary()["accuracy"], self.class_names
        bars = ""
        for what, counts in self._parts():
            drawn = "".join(
                f'<div style="width:{100 * n / total:.2f}%;background:{VERDICTS[kind]}" title="{kind.replace("_", "-")}: {n}"></div>' for kind, n in counts.items()
            )
            heads = "".join(f"<th style='text-align:right;padding:2px 12px;color:{VERDICTS[k]}'>{k.replace('_', '-')}</th>" for k in counts)
            cells = "".join(f"<td style='text-align:right;padding:2px 12px'>{n} ({100 * n / total:.1f} %)</td>" for n in counts.values())
            bars += f"<p>{what}</p>" if what else ""
            bars += f"<div style='display:flex;height:10px;width:24em;background:#ccc'>{drawn}</div><table><tr>{heads}</tr><tr>{cells}</tr></table>"

        def cell(verdict: Any) -> str:
            return f"<td style='color:{VERDICTS[str(verdict)]}'>{str(verdict).replace('_', '-')}</td>"

        rows = ""
        for at in range(min(len(self), 8)):
            name = names[self.predicted[at]] if names and self.predicted[at] < len(names) else self.predicted[at]
            deployed = "" if self.deployed is None else cell(self.deployed[at])
            rows += (
                f"<tr><td>{self.node[at]}</td><td>{html.escape(str(name))}</td>{deployed}{cell(self.verdict[at])}"
                f"<td>{html.escape(str(self.reason[at])).replace('_', ' ')}</td><td>{self.margin[at]:.4g}</td></tr>"
            )
        more = f"<p>… and {len(self) - 8} more nodes</p>" if len(self) > 8 else ""
        part = "" if self.complete else f" of {self._rows.total}, interrupted"
        told = "" if accuracy is None else f", accuracy {accuracy:.3f}"
        deployed = "" if self.deployed is None else "<th>as deployed</th>"
        return (
            f"<div><p><b>{len(self)} nodes{part}</b>, {html.escape(self._budget())}{told}</p>{bars}"
            f"<table><tr><th>node</th><th>predicted</th>{deployed}<th>verdict</th><th>by</th><th>margin ≥</th></tr>{rows}</table>{more}</div>"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draws how many nodes have each of the verdicts that were asked for; returns the axes of matplotlib."""
        ax, counts = axes_of(ax), self._counts(self.asked)
        ax.bar([kind.replace("_", "-") for kind in counts], list(counts.values()), color=[VERDICTS[kind] for kind in counts])
        ax.set_ylabel("nodes")
        ax.set_title(self._budget() + (f" ({self._execution})" if self._execution else ""))
        return ax


class Radii(_Nodes[Radius]):
    """What `radius` found: for every node the largest Q that is certified and the smallest Q with a witness; or E, for removed edges."""

    @property
    def certified(self) -> np.ndarray:
        """The largest Q or E that is certified, −1 if none is."""
        return self._columns["certified"]

    @property
    def attacked(self) -> np.ndarray:
        """The smallest Q or E with a witness, −1 if none was found."""
        return self._columns["attacked"]

    @cached_property
    def exact(self) -> np.ndarray:
        """Where both are known and nothing lies between."""
        return (self.attacked >= 0) & (self.attacked == self.certified + 1)

    def _row(self, row: dict[str, Any]) -> Radius:
        return Radius(**self._fields(row), certified=row["certified"], attacked=row["attacked"])

    def _broken(self, at: int) -> bool:
        return bool(self.attacked[at] >= 0)

    @property
    def _letter(self) -> str:
        return "E" if self._edges else "Q"

    def summary(self) -> dict[str, Any]:
        """Counts and means over the nodes; `limit` is the largest Q or E that was looked at, and `at_limit` nodes withstand it."""
        known = self.certified[self.certified >= 0]
        limit = self.run.get("max_global")
        return {
            "nodes": len(self),
            "mean_certified": float(known.mean()) if len(known) else None,
            "median_certified": float(np.median(known)) if len(known) else None,
            "exact": int(self.exact.sum()),
            "not_attacked": int((self.attacked < 0).sum()),
            "limit": limit,
            "at_limit": None if limit is None else int((self.certified >= limit).sum()),
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def _unseen(self) -> str:
        """What was not looked at."""
        found = self.summary()
        if not found["at_limit"]:
            return ""
        name = "Edges(remove=…)" if self._edges else "Flips(Q=…)"
        return f"{found['at_limit']} nodes withstand {self._letter} = {found['limit']}, and more was not looked at: {name} says how far"

    def __repr__(self) -> str:
        found = self.summary()
        certified, at_least = found["mean_certified"], "≥ " if found["at_limit"] else ""
        mean = "none certified" if certified is None else f"mean certified {self._letter} {at_least}{certified:.2f}"
        told = "".join(f"; {words}" for words in (self._execution, self._unseen()) if words)
        open_ = "" if self.complete else f" of {self._rows.total}"
        return f"Radii({found['nodes']}{open_} nodes: {mean}, exact for {found['exact']}{told})"

    def _repr_html_(self) -> str:
        found = {**({"deployed": self._execution} if self._execution else {}), **self.summary()}
        cells = "".join(f"<tr><th style='text-align:left'>{key.replace('_', ' ')}</th><td>{value}</td></tr>" for key, value in found.items())
        return f"<table>{cells}</table><p>{self._unseen()}</p>"

    def plot(self, ax: Any = None) -> Any:
        """Draws the share of nodes that is certified, and the share for which no attack is known, over Q or E; returns the axes of matplotlib."""
        ax, limit = axes_of(ax), self.summary()["limit"] or int(max(self.certified.max(initial=0), self.attacked.max(initial=0)))
        most, total = np.arange(limit + 1), max(len(self), 1)
        ax.step(most, [(self.certified >= n).sum() / total for n in most], where="post", label="certified")
        ax.step(most, [((self.attacked < 0) | (self.attacked > n)).sum() / total for n in most], where="post", label="no attack known")
        ax.set_xlabel(self._letter)
        ax.set_ylabel("share of nodes")
        ax.legend()
        return ax


class Explanation(dict):  # type: ignore[type-arg]
    """What the verdict on a node rests on: a dictionary, and a text for people (`print`)."""

    def __init__(self, facts: dict[str, Any], text: str):
        super().__init__(facts)
        self.text = text

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Proofs:
    """What the checker says of a file of proofs. True if the question that it was asked is proved; without a question it is never true."""

    proved: bool | None
    """Is the question proved, for every node asked about? None if nothing was asked: then the file proves what it states itself."""
    success: bool
    """Was everything in the file accepted, is something proved, and is nothing of the question left open?"""
    accepted: dict[str, int]
    """Proofs that were accepted: robust, non_robust and tie."""
    rejected: int
    verdicts: dict[int, str]
    """What is proved of each node asked about; of each node in the file if nothing was asked."""
    unmet: list[str]
    """What was asked and is not answered."""
    facts: dict[str, Any]
    """Everything that `gcnproof check --format json` says."""

    @property
    def bound(self) -> int | None:
        """Of a file about one attack for the whole graph: it breaks at most so many predictions. None if the file is about single nodes, or nothing is proved."""
        claim = self.facts.get("collective")
        return int(claim["claimed"]) if claim and claim["proved"] else None

    def __bool__(self) -> bool:
        return self.proved is True

    def __repr__(self) -> str:
        unmet = "".join(f"; {words}" for words in self.unmet)
        claim = self.facts.get("collective")
        if self.proved is None:
            head = "accepted, but no question was asked" if self.success else "not accepted"
        else:
            head = "proved" if self.proved else "not proved"
        words = f"one attack breaks at most {claim['claimed']} of {claim['counted']} predictions" if claim else str(self.accepted)
        return f"Proofs({head}: {words}, {self.rejected} rejected{unmet})"
