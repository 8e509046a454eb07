"""Results: what was found of nodes, whatever the attacker; explanations, and what the checker says of proofs."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .table import ALIASES, Column, Row, Table, axes_of


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
    witness_edges: list[tuple[int, int]] | None = None
    """With [Flips(…), Edges(…)]: the edges that are changed beside the flips of the witness."""
    exact_margins: list[str] | None = None
    """With minimize=True, the exact minima as fractions."""
    deployed: str | None = None
    """With deployed="float32": `robust`, `non_robust`, `rounding_dependent` or `undecided`, for every execution."""
    rounding: list[Margin] | None = None
    """With it, between which numbers the difference of computed and exact margin lies, class pair by class pair."""
    witness_values: list[float] | None = None
    """With Ranges, the values that the entries of the witness get, in its order."""
    prediction_depends: bool | None = None
    """With it: may the class computed without any flip depend on rounding?"""

    @property
    def robust(self) -> bool:
        """Is it certified, as the network runs where that was asked?"""
        return (self.deployed or self.verdict) == "robust"

    @property
    def graph(self) -> int:
        """The same as `node`: the graph, where graphs are classified."""
        return self.node

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


class _Nodes(Table[Row]):
    """Rows about nodes."""

    node = Column("node", "The nodes, rising; where graphs are classified, the same as `graph`.")
    graph = Column("graph", "The graphs, rising, where these are classified.")
    label = Column("label", "Their labels, −1 where there is none.")
    predicted = Column("predicted", "The classes predicted without changes.")
    degree = Column("degree", "Neighbours, the node itself not counted; of a graph its edges.")

    @property
    def _execution(self) -> str:
        """How the network runs, in words; empty where that was not asked."""
        how = self.run.get("deployed")
        return f"every execution in float32's range with {how['precision']} bits" if how and how["precision"] != 24 else "every execution in float32" if how else ""

    def _fields(self, row: dict[str, Any]) -> dict[str, Any]:
        """What rows of all kinds have."""
        return {
            **{name: row[name if name in row else ALIASES[name]] for name in ("node", "label", "predicted", "degree", "seconds")},
            "relevant": row["relevant_edges" if "relevant_edges" in row else "neighbourhood"],
            "witness": [(a, b) for a, b in row["witness"]],
        }


def _ranges(ranges: dict[str, Any] | None) -> str:
    """To which values attributes are moved, in words; empty where they are flipped."""
    return "" if ranges is None else f"moved by at most {ranges['epsilon']}: " if "epsilon" in ranges else "moved within ranges: "


VERDICTS = {"robust": "#2a7f3f", "non_robust": "#b3261e", "rounding_dependent": "#6750a4", "undecided": "#8a6d00"}
"""Verdicts and their colours."""


class Results(_Nodes[NodeResult]):
    """The verdicts of `certify`, as columns of numpy; `results[node]` is everything that is known of a node."""

    reference = Column("reference", "The classes that are to be kept.")
    verdict = Column("verdict", "`robust`, `non_robust` or `undecided`, in exact arithmetic.")

    @property
    def deployed(self) -> np.ndarray | None:
        """`robust`, `non_robust`, `rounding_dependent` or `undecided`, for every execution; None where that was not asked."""
        return self._columns.get("deployed")

    @property
    def asked(self) -> np.ndarray:
        """The verdicts that were asked for: `deployed` where that was, otherwise `verdict`."""
        return self.verdict if self.deployed is None else self.deployed

    reason = Column("reason", "What the verdicts rest on.")

    @cached_property
    def robust(self) -> np.ndarray:
        """Which nodes are certified, as the network runs where that was asked."""
        return self.asked == "robust"

    margin = Column("margin", "The smallest lower bound on the worst-case margins of a node, NaN where none is known.")
    worst_class = Column("worst_class", "The class of that margin.")

    def _row(self, row: dict[str, Any]) -> NodeResult:
        exact, rounding, values = row.get("exact_margins"), row.get("rounding"), row.get("witness_values")
        return NodeResult(
            **self._fields(row),
            reference=row["reference"],
            verdict=row["verdict"],
            reason=row["reason"],
            margins=[Margin(margin["class"], margin["lower"], margin["upper"]) for margin in row["margins"]],
            witness_edges=[(a, b) for a, b in row["witness_edges"]] if self._joint else None,
            exact_margins=None if exact is None else exact.split(" "),
            deployed=row.get("deployed"),
            rounding=None if rounding is None else [Margin(pair["class"], pair["lower"], pair["upper"]) for pair in rounding],
            prediction_depends=row.get("prediction_depends"),
            witness_values=None if values is None else [float(value) for value in values.split()],
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
            f"{self._target}s": len(self),
            **self._counts(self.asked),
            **({} if self.deployed is None else {"exact": self._counts(self.verdict)}),
            "accuracy": float((self.label[known] == self.predicted[known]).mean()) if known.any() else None,
            "mean_margin": float(margins.mean()) if len(margins) else None,
            "ties": int((self.reason == "tie").sum()),
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def _budget(self) -> str:
        if self._joint:
            return f"{self._budget_of(False)}; {self._budget_of(True)}"
        return self._budget_of(self._edges)

    def _budget_of(self, edges: bool) -> str:
        budget = self.run.get("edges" if edges else "budget")
        if not budget:
            return "an unknown budget"
        most = budget.get("local")
        most = "given by node" if isinstance(most, list) else "any" if edges and (most is None or most >= 2**32 - 1) else most
        if not edges:
            return f"{_ranges(budget.get('ranges'))}Q = {budget['global']}, q = {most}"
        keep = "" if budget.get("keep_one", True) else ", last edges too"
        done = {"insert": "inserted", "change": "removed or inserted"}.get(budget.get("attack"), "removed")
        return f"{done} edges: E = {budget.get('global')}, e = {most}{keep}"

    def _parts(self) -> list[tuple[str, dict[str, int]]]:
        """What was asked, and its verdicts; then those in exact arithmetic, where they are not the same."""
        exact = self._counts(self.verdict)
        return [("", exact)] if self.deployed is None else [(self._execution, self._counts(self.deployed)), ("exact arithmetic", exact)]

    def __repr__(self) -> str:
        open_ = "" if self.complete else f" of {self._rows.total}"
        told = [f"{what}{': ' if what else ''}" + ", ".join(f"{n} {kind.replace('_', '-')}" for kind, n in counts.items()) for what, counts in self._parts()]
        return f"Results({len(self)}{open_} {self._target}s, {self._budget()}: {'; '.join(told)})"

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
            lines.append(f"{len(self)} of {self._rows.total} {self._target}s: the run was interrupted")
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
        more = f"<p>… and {len(self) - 8} more {self._target}s</p>" if len(self) > 8 else ""
        part = "" if self.complete else f" of {self._rows.total}, interrupted"
        told = "" if accuracy is None else f", accuracy {accuracy:.3f}"
        deployed = "" if self.deployed is None else "<th>as deployed</th>"
        return (
            f"<div><p><b>{len(self)} {self._target}s{part}</b>, {html.escape(self._budget())}{told}</p>{bars}"
            f"<table><tr><th>{self._target}</th><th>predicted</th>{deployed}<th>verdict</th><th>by</th><th>margin ≥</th></tr>{rows}</table>{more}</div>"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draws how many nodes have each of the verdicts that were asked for; returns the axes of matplotlib."""
        ax, counts = axes_of(ax), self._counts(self.asked)
        ax.bar([kind.replace("_", "-") for kind in counts], list(counts.values()), color=[VERDICTS[kind] for kind in counts])
        ax.set_ylabel(f"{self._target}s")
        ax.set_title(self._budget() + (f" ({self._execution})" if self._execution else ""))
        return ax


class Radii(_Nodes[Radius]):
    """What `radius` found: for every node the largest Q that is certified and the smallest Q with a witness; or E, for removed edges."""

    certified = Column("certified", "The largest Q or E that is certified, −1 if none is.")
    attacked = Column("attacked", "The smallest Q or E with a witness, −1 if none was found.")

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
            f"{self._target}s": len(self),
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
        return f"{found['at_limit']} {self._target}s withstand {self._letter} = {found['limit']}, and more was not looked at: max_{self._letter} says how far, or the attack itself"

    def __repr__(self) -> str:
        found = self.summary()
        certified, at_least = found["mean_certified"], "≥ " if found["at_limit"] else ""
        mean = "none certified" if certified is None else f"mean certified {self._letter} {at_least}{certified:.2f}"
        told = "".join(f"; {words}" for words in (self._execution, self._unseen()) if words)
        open_ = "" if self.complete else f" of {self._rows.total}"
        return f"Radii({len(self)}{open_} {self._target}s: {mean}, exact for {found['exact']}{told})"

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
        ax.set_ylabel(f"share of {self._target}s")
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
        # The first reason for which something was rejected, as the command line prints it.
        why = "".join(f": {rejection['reason']}" for rejection in self.facts.get("rejections", [])[:1])
        claim = self.facts.get("collective")
        if self.proved is None:
            head = "accepted, but no question was asked" if self.success else "not accepted"
        else:
            head = "proved" if self.proved else "not proved"
        words = f"one attack breaks at most {claim['claimed']} of {claim['counted']} predictions" if claim else str(self.accepted)
        return f"Proofs({head}: {words}, {self.rejected} rejected{why}{unmet})"
