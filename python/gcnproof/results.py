"""Results: what was found, as numpy columns, tables of other libraries, and files."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from . import _native
from .errors import InputError
from .graph import Graph


class Margin(NamedTuple):
    """The worst-case margin of the class that is kept over `class_`: at least `lower`, and some attack within the budget reaches
    `upper`. None where a number is not known."""

    class_: int
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class NodeResult:
    """What is known of a node."""

    node: int
    label: int | None
    predicted: int
    reference: int
    """The class that is to be kept."""
    verdict: str
    """`robust`, `non_robust` or `undecided`."""
    reason: str
    """What the verdict rests on."""
    margins: list[Margin]
    witness: list[tuple[int, int]]
    """The flips that break it, as (node, attribute); empty unless it is non-robust."""
    degree: int
    neighbourhood: int
    """Nodes whose attributes its logits depend on."""
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
        """Is it certified?"""
        return self.verdict == "robust"


@dataclass(frozen=True)
class Radius:
    """How many flips a node withstands."""

    node: int
    label: int | None
    predicted: int
    certified: int | None
    """The largest Q that is certified; None if not even 0 is (a tie)."""
    attacked: int | None
    """The smallest Q with a witness; None if none was found."""
    witness: list[tuple[int, int]]
    degree: int
    neighbourhood: int
    seconds: float


class Arrow:
    """A table for every library that speaks Arrow's PyCapsule protocol: `polars.DataFrame(table)`, `pyarrow.table(table)`."""

    def __init__(self, rows: _native.Rows):
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


Row = TypeVar("Row")


class _Rows:
    """The rows of a run."""

    def __init__(self, rows: _native.Rows, facts: dict[str, Any] | None = None, graph: Graph | None = None, data: Any = None):
        self._rows = rows
        self._graph, self._data = graph, data
        facts = facts or {}
        self.seconds: float | None = facts.get("seconds")
        """Wall-clock seconds of the call; None for results that were loaded."""
        self.notes: list[str] = facts.get("notes", [])
        """What there is to say of the run."""

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        columns = {name: np.asarray(values) for name, values in self._rows.columns().items()}
        for values in columns.values():
            values.flags.writeable = False
        return columns

    @property
    def run(self) -> dict[str, Any]:
        """What the run was: digests of graph and model, budget, effort, nodes."""
        return self._rows.run() or {}

    @property
    def complete(self) -> bool:
        """Has the run all of its rows?"""
        return len(self) >= self._rows.total

    def __len__(self) -> int:
        return len(self._rows)

    def to_arrow(self) -> Arrow:
        """All columns of the results files, for libraries that speak Arrow: `polars.DataFrame(results.to_arrow())`."""
        return Arrow(self._rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes a results file as `out` would: .parquet, .jsonl or .csv, by its name. What is there is not overwritten unless forced."""
        self._rows.save(os.fspath(path), force)


def _flipped(rows: _Rows, flips: list[tuple[int, int]]) -> Any:
    """The attributes that a run was about with flips made: a tensor like `data.x`, or a scipy CSR matrix."""
    x: Any = getattr(rows._data, "x", None)
    if rows._graph is None:
        raise InputError("these results were loaded without their graph", "give it: gcnproof.load(path, graph=graph)")
    certified = rows.run.get("input", {}).get("graph")
    if certified is not None and certified != rows._graph.digest:
        raise InputError("these results are about another graph", "give the graph that was certified: gcnproof.load(path, graph=graph)")
    attributes = rows._graph.attributes
    if hasattr(x, "detach"):
        import torch

        # The attributes that were certified, even if the tensor was changed since.
        changed = torch.from_numpy(attributes.toarray()).to(dtype=x.dtype, device=x.device)
        for at, attribute in flips:
            changed[at, attribute] = 1 - int(changed[at, attribute])
        return changed
    from scipy import sparse

    if not flips:
        return attributes.copy()
    nodes, columns = np.array(flips).T
    before = np.asarray(attributes[nodes, columns]).ravel().astype(np.int8)
    change = sparse.csr_matrix(((1 - 2 * before), (nodes, columns)), shape=attributes.shape, dtype=np.int8)
    changed = (attributes.astype(np.int8) + change).astype(attributes.dtype)
    changed.eliminate_zeros()
    return changed


class _Table(_Rows, Generic[Row]):
    """Rows about nodes."""

    def __init__(self, rows: _native.Rows, facts: dict[str, Any] | None = None, graph: Graph | None = None, data: Any = None):
        super().__init__(rows, facts, graph, data)
        self.proofs: dict[str, Any] | None = (facts or {}).get("proofs")
        """What was written of proofs."""

    @cached_property
    def _places(self) -> dict[int, int]:
        return {int(node): at for at, node in enumerate(self.node)}

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
        """The classes predicted without flips."""
        return self._columns["predicted"]

    @property
    def degree(self) -> np.ndarray:
        """Neighbours, the node itself not counted."""
        return self._columns["degree"]

    @cached_property
    def witness(self) -> list[list[tuple[int, int]]]:
        """The flips that break each node, as (node, attribute); or the edges without which it changes its class, as pairs of ids."""
        return self._rows.witnesses()

    def __contains__(self, node: object) -> bool:
        return node in self._places

    def _at(self, node: Any) -> int:
        try:
            return self._places[int(node)]
        except (KeyError, TypeError, ValueError):
            raise KeyError(f"node {node!r} is not among the {len(self)} nodes of these results") from None

    def __getitem__(self, node: int) -> Row:
        """What was found of a node, by its id."""
        return self._row(self._rows.row(self._at(node)))

    def __iter__(self) -> Iterator[Row]:
        return (self._row(self._rows.row(at)) for at in range(len(self)))

    def _row(self, row: dict[str, Any]) -> Row:
        raise NotImplementedError

    def _record(self, name: str) -> Any:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row for each node; the flips of the witnesses as lists in the column `witness`."""
        import pandas

        frame = pandas.DataFrame(dict(self._columns))
        frame["witness"] = self.witness
        return frame.set_index("node", drop=False)

    def apply(self, node: int) -> Any:
        """The attributes with the flips of the node's witness made, so that your own model can be asked.

        The attributes are those that were certified. With a Data object of PyTorch Geometric they are a new tensor like `data.x`; otherwise a new scipy CSR matrix.
        """
        flips = self.witness[self._at(node)]
        if not flips and not self._broken(self._at(node)):
            raise InputError(f"node {node} has no witness", "only non-robust nodes have one")
        return _flipped(self, flips)

    def _broken(self, at: int) -> bool:
        raise NotImplementedError


class Results(_Table[NodeResult]):
    """The verdicts of `certify`, as columns of numpy; `results[node]` is everything that is known of a node."""

    @property
    def reference(self) -> np.ndarray:
        """The classes that are to be kept."""
        return self._columns["reference"]

    @property
    def verdict(self) -> np.ndarray:
        """`robust`, `non_robust` or `undecided`."""
        return self._columns["verdict"]

    @property
    def reason(self) -> np.ndarray:
        """What each verdict rests on."""
        return self._columns["reason"]

    @cached_property
    def robust(self) -> np.ndarray:
        """Which nodes are certified."""
        return self.verdict == "robust"

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
            node=row["node"],
            label=row["label"],
            predicted=row["predicted"],
            reference=row["reference"],
            verdict=row["verdict"],
            reason=row["reason"],
            margins=[Margin(margin["class"], margin["lower"], margin["upper"]) for margin in row["margins"]],
            witness=[(node, attribute) for node, attribute in row["witness"]],
            degree=row["degree"],
            neighbourhood=row["neighbourhood"],
            seconds=row["seconds"],
            exact_margins=None if exact is None else exact.split(" "),
            deployed=row.get("deployed"),
            rounding=None if rounding is None else [Margin(pair["class"], pair["lower"], pair["upper"]) for pair in rounding],
            prediction_depends=row.get("prediction_depends"),
        )

    def _broken(self, at: int) -> bool:
        return bool(self.verdict[at] == "non_robust")

    def summary(self) -> dict[str, Any]:
        """Counts and means over the nodes."""
        known = self.label >= 0
        margins = self.margin[np.isfinite(self.margin)]
        return {
            "nodes": len(self),
            "robust": int(self.robust.sum()),
            "non_robust": int((self.verdict == "non_robust").sum()),
            "undecided": int((self.verdict == "undecided").sum()),
            "accuracy": float((self.label[known] == self.predicted[known]).mean()) if known.any() else None,
            "mean_margin": float(margins.mean()) if len(margins) else None,
            "ties": int((self.reason == "tie").sum()),
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def _budget(self) -> str:
        budget = self.run.get("budget", {})
        local = budget.get("local")
        q = "given by node" if isinstance(local, list) else local
        return f"Q = {budget['global']}, q = {q}" if budget else "an unknown budget"

    def __repr__(self) -> str:
        found = self.summary()
        open_ = "" if found["complete"] else f" of {self._rows.total}"
        return (
            f"Results({found['nodes']}{open_} nodes, {self._budget()}: {found['robust']} robust, "
            f"{found['non_robust']} non-robust, {found['undecided']} undecided)"
        )

    def __str__(self) -> str:
        found = self.summary()
        total = max(found["nodes"], 1)
        lines = [self._budget()]
        for name, key in (("robust", "robust"), ("non-robust", "non_robust"), ("undecided", "undecided")):
            lines.append(f"{name:<12}{found[key]:>8}  {100 * found[key] / total:5.1f} %")
        if found["accuracy"] is not None:
            lines.append(f"{'accuracy':<12}{found['accuracy']:>8.3f}")
        if not found["complete"]:
            lines.append(f"{len(self)} of {self._rows.total} nodes: the run was interrupted")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        found = self.summary()
        total = max(found["nodes"], 1)
        colours = {"robust": "#2a7f3f", "non_robust": "#b3261e", "undecided": "#8a6d00"}
        bars = "".join(
            f'<div style="width:{100 * found[key] / total:.2f}%;background:{colour}" title="{key.replace("_", "-")}: {found[key]}"></div>'
            for key, colour in colours.items()
        )
        cells = "".join(
            f"<td style='text-align:right;padding:2px 12px'>{found[key]} ({100 * found[key] / total:.1f} %)</td>" for key in colours
        )
        heads = "".join(f"<th style='text-align:right;padding:2px 12px;color:{c}'>{k.replace('_', '-')}</th>" for k, c in colours.items())
        accuracy = "" if found["accuracy"] is None else f", accuracy {found['accuracy']:.3f}"
        rows = "".join(
            f"<tr><td>{self.node[at]}</td><td>{self.predicted[at]}</td>"
            f"<td style='color:{colours[str(self.verdict[at])]}'>{html.escape(str(self.verdict[at])).replace('_', '-')}</td>"
            f"<td>{html.escape(str(self.reason[at])).replace('_', ' ')}</td><td>{self.margin[at]:.4g}</td></tr>"
            for at in range(min(len(self), 8))
        )
        more = f"<p>… and {len(self) - 8} more nodes</p>" if len(self) > 8 else ""
        part = "" if found["complete"] else f" of {self._rows.total}, interrupted"
        return (
            f"<div><p><b>{found['nodes']} nodes{part}</b>, {html.escape(self._budget())}{accuracy}</p>"
            f"<div style='display:flex;height:10px;width:24em;background:#ccc'>{bars}</div>"
            f"<table><tr>{heads}</tr><tr>{cells}</tr></table>"
            f"<table><tr><th>node</th><th>predicted</th><th>verdict</th><th>by</th><th>margin ≥</th></tr>{rows}</table>{more}</div>"
        )


class Radii(_Table[Radius]):
    """What `radius` found: for every node the largest Q that is certified and the smallest Q with a witness."""

    _letter = "Q"
    """The letter of the global budget."""

    @property
    def certified(self) -> np.ndarray:
        """The largest Q that is certified, −1 if none is."""
        return self._columns["certified"]

    @property
    def attacked(self) -> np.ndarray:
        """The smallest Q with a witness, −1 if none was found."""
        return self._columns["attacked"]

    @cached_property
    def exact(self) -> np.ndarray:
        """Where both are known and nothing lies between."""
        return (self.attacked >= 0) & (self.attacked == self.certified + 1)

    def _row(self, row: dict[str, Any]) -> Radius:
        return Radius(
            node=row["node"],
            label=row["label"],
            predicted=row["predicted"],
            certified=row["certified"],
            attacked=row["attacked"],
            witness=[(node, attribute) for node, attribute in row["witness"]],
            degree=row["degree"],
            neighbourhood=row["neighbourhood"],
            seconds=row["seconds"],
        )

    def _broken(self, at: int) -> bool:
        return bool(self.attacked[at] >= 0)

    def summary(self) -> dict[str, Any]:
        """Counts and means over the nodes."""
        known = self.certified[self.certified >= 0]
        return {
            "nodes": len(self),
            "mean_certified": float(known.mean()) if len(known) else None,
            "median_certified": float(np.median(known)) if len(known) else None,
            "exact": int(self.exact.sum()),
            "not_attacked": int((self.attacked < 0).sum()),
            "limit": self.run.get("max_global"),
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        found = self.summary()
        certified = found["mean_certified"]
        mean = "none certified" if certified is None else f"mean certified {self._letter} {certified:.2f}"
        return f"{type(self).__name__}({found['nodes']} nodes: {mean}, exact for {found['exact']})"

    def _repr_html_(self) -> str:
        found = self.summary()
        cells = "".join(f"<tr><th style='text-align:left'>{key.replace('_', ' ')}</th><td>{value}</td></tr>" for key, value in found.items())
        return f"<table>{cells}</table>"


@dataclass(frozen=True)
class EdgeNodeResult:
    """What is known of a node against removed edges."""

    node: int
    label: int | None
    predicted: int
    reference: int
    """The class that is to be kept."""
    verdict: str
    """`robust`, `non_robust` or `undecided`."""
    reason: str
    """What the verdict rests on."""
    margins: list[Margin]
    witness: list[tuple[int, int]]
    """The edges without which it changes its class, as pairs of ids; empty unless it is non-robust."""
    degree: int
    relevant_edges: int
    """Edges whose removal can change something about it."""
    seconds: float
    exact_margins: list[str] | None = None
    """With minimize=True, the exact minima as fractions."""

    @property
    def robust(self) -> bool:
        """Is it certified?"""
        return self.verdict == "robust"


@dataclass(frozen=True)
class EdgeRadius:
    """How many removed edges a node withstands."""

    node: int
    label: int | None
    predicted: int
    certified: int | None
    """The largest E that is certified; None if not even 0 is (a tie)."""
    attacked: int | None
    """The smallest E with a witness; None if none was found."""
    witness: list[tuple[int, int]]
    degree: int
    relevant_edges: int
    seconds: float


def _without(table: _Table[Any], node: int) -> Any:
    """The edges that are left without those of the node's witness."""
    at = table._at(node)
    edges = table.witness[at]
    if not edges and not table._broken(at):
        raise InputError(f"node {node} has no witness", "only non-robust nodes have one")
    if table._graph is None:
        raise InputError("these results were loaded without their graph", "give it: gcnproof.load(path, graph=graph)")
    certified = table.run.get("input", {}).get("graph")
    if certified is not None and certified != table._graph.digest:
        raise InputError("these results are about another graph", "give the graph that was certified: gcnproof.load(path, graph=graph)")
    gone = {(a, b) for pair in edges for a, b in (pair, pair[::-1])}
    edge_index: Any = getattr(table._data, "edge_index", None)
    if hasattr(edge_index, "detach"):
        import torch

        kept = [(int(a), int(b)) not in gone for a, b in edge_index.T.tolist()]
        return edge_index[:, torch.tensor(kept, dtype=torch.bool, device=edge_index.device)]
    left = table._graph.adjacency.tolil(copy=True)
    for a, b in gone:
        left[a, b] = 0
    return left.tocsr()


class EdgeResults(Results):
    """The verdicts of `certify` with edges="remove"; witnesses are edges, as pairs of ids."""

    def _row(self, row: dict[str, Any]) -> EdgeNodeResult:  # type: ignore[override]
        exact = row.get("exact_margins")
        return EdgeNodeResult(
            node=row["node"],
            label=row["label"],
            predicted=row["predicted"],
            reference=row["reference"],
            verdict=row["verdict"],
            reason=row["reason"],
            margins=[Margin(margin["class"], margin["lower"], margin["upper"]) for margin in row["margins"]],
            witness=[(a, b) for a, b in row["witness"]],
            degree=row["degree"],
            relevant_edges=row["relevant_edges"],
            seconds=row["seconds"],
            exact_margins=None if exact is None else exact.split(" "),
        )

    def apply(self, node: int) -> Any:
        """The edges that are left without those of the node's witness, so that your own model can be asked.

        With a Data object of PyTorch Geometric they are a new `edge_index`; otherwise a new scipy CSR matrix.
        """
        return _without(self, node)

    def _budget(self) -> str:
        return _edge_budget(self.run.get("edges", {}))


def _edge_budget(budget: dict[str, Any]) -> str:
    local = budget.get("local")
    e = "given by node" if isinstance(local, list) else "any" if local is not None and local >= 2**32 - 1 else local
    keep = "" if budget.get("keep_one", True) else ", last edges too"
    return f"removed edges: E = {budget.get('global')}, e = {e}{keep}" if budget else "an unknown budget"


class EdgeRadii(Radii):
    """What `radius` with edges="remove" found: for every node the largest E that is certified and the smallest E with a witness."""

    _letter = "E"

    def _row(self, row: dict[str, Any]) -> EdgeRadius:  # type: ignore[override]
        return EdgeRadius(
            node=row["node"],
            label=row["label"],
            predicted=row["predicted"],
            certified=row["certified"],
            attacked=row["attacked"],
            witness=[(a, b) for a, b in row["witness"]],
            degree=row["degree"],
            relevant_edges=row["relevant_edges"],
            seconds=row["seconds"],
        )

    def apply(self, node: int) -> Any:
        """The edges that are left without those of the node's witness: a new `edge_index`, or a scipy CSR matrix."""
        return _without(self, node)


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
