"""One attack for the whole graph: the call `collective`, and what it finds, one row for each budget."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from .arguments import is_path, keep_inputs, threads as _threads, whole
from .asking import Asked, Class, Path, Written, files_of, keeping, tell
from .attack import Categories, Edges, Flips, Ranges, alone, execution_of
from .calls import Call, _attack
from .errors import LABORATORY, InputError
from .progress import Listener, Progress
from .results import Radii
from .selection import Subject, budgets as _budgets
from .table import Column, Table, axes_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class BudgetResult:
    """What is known of one budget."""

    Q: int
    """Flips in all."""
    counted: int
    """Predictions that count."""
    bound: int
    """Of these, no perturbation breaks more."""
    fractional_bound: float
    """The bound before it was rounded down."""
    robust: int
    """Predictions that no perturbation within the budget breaks, each by itself."""
    broken: int
    """Predictions that the perturbation below breaks."""
    broken_nodes: list[int]
    """Their nodes."""
    flips: list[tuple[int, int]]
    """The perturbation, as (node, attribute)."""
    listed: bool
    """Were all perturbations listed? Then the bound is the truth."""
    bound_seconds: float
    attack_seconds: float

    @property
    def certified(self) -> int:
        """At least so many predictions stay, whatever the attacker does."""
        return self.counted - self.bound

    @property
    def unknown(self) -> int:
        """Predictions between the bound and what the perturbation breaks."""
        return self.bound - self.broken


class CollectiveResults(Table[BudgetResult]):
    """What `collective` found: for every budget a bound on the predictions that one perturbation breaks, and a perturbation.

    Columns are arrays of numpy, one entry for each budget; `results[100]` is everything that is known of the budget of 100 flips.
    """

    _key = "Q"

    Q = Column("Q", "The budgets, rising: flips in all.")
    counted = Column("counted", "Predictions that count.")
    bound = Column("bound", "No perturbation within the budget breaks more predictions.")
    fractional_bound = Column("fractional_bound", "The bounds before they were rounded down.")
    robust = Column("robust", "Predictions that no perturbation within the budget breaks, each by itself.")
    broken = Column("broken", "Predictions that the perturbation in `flips` breaks, replayed exactly.")
    listed = Column("listed", "Where all perturbations were listed: there the bound is the truth.")

    @cached_property
    def certified(self) -> np.ndarray:
        """At least so many predictions stay, whatever the attacker does."""
        return self.counted - self.bound

    @property
    def flips(self) -> list[list[tuple[int, int]]]:
        """The perturbation of each budget, as (node, attribute)."""
        return self.witness

    @cached_property
    def broken_nodes(self) -> list[list[int]]:
        """The nodes that each perturbation breaks."""
        return [row.broken_nodes for row in self]

    def area(self) -> float | None:
        """The area under the share of predictions certified, by trapezoids over Q; None for less than two budgets."""
        if len(self) < 2:
            return None
        share = self.certified / np.maximum(self.counted, 1)
        return float((np.diff(self.Q) * (share[1:] + share[:-1])).sum() / 2)

    def _row(self, row: dict[str, Any]) -> BudgetResult:
        found = {field.name: row[field.name] for field in fields(BudgetResult) if field.name not in ("Q", "flips")}
        return BudgetResult(Q=row["q_global"], flips=[(node, attribute) for node, attribute in row["flips"]], **found)

    def _more_columns(self) -> dict[str, Any]:
        return {"certified": self.certified, "flips": self.flips, "broken_nodes": self.broken_nodes}

    def plot(self, ax: Any = None) -> Any:
        """Draws how many predictions stay for certain, and how many the perturbations found leave, over Q; returns the axes of matplotlib."""
        ax = axes_of(ax)
        ax.plot(self.Q, self.certified, label="certified")
        ax.plot(self.Q, self.counted - self.broken, label="left by the attack found")
        ax.set_xlabel("Q: flips in all")
        ax.set_ylabel("predictions")
        ax.legend()
        return ax

    def summary(self) -> dict[str, Any]:
        """The curve in short."""
        return {
            "budgets": len(self),
            "counted": int(self.counted[0]) if len(self) else None,
            "largest_Q": int(self.Q[-1]) if len(self) else None,
            "certified": int(self.certified[-1]) if len(self) else None,
            "broken": int(self.broken[-1]) if len(self) else None,
            "area": self.area(),
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        if not len(self):
            return f"CollectiveResults(0 of {self._rows.total} budgets)"
        last = self[int(self.Q[-1])]
        open_ = "" if self.complete else f" of {self._rows.total}"
        return (
            f"CollectiveResults({len(self)}{open_} budgets: one attack of Q = {last.Q} breaks at most {last.bound} of {last.counted} "
            f"predictions, one was found that breaks {last.broken})"
        )

    def __str__(self) -> str:
        lines = [f"{'Q':>8}{'certified':>11}{'share':>10}{'unknown':>10}{'broken':>10}{'flips':>8}"]
        for row in self:
            share = row.certified / max(row.counted, 1)
            lines.append(f"{row.Q:>8}{row.certified:>11}{share:>10.4f}{row.unknown:>10}{row.broken:>10}{len(row.flips):>8}")
        if not self.complete:
            lines.append(f"{len(self)} of {self._rows.total} budgets: the run was interrupted")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(f"<th style='text-align:right;padding:2px 12px'>{name}</th>" for name in ("Q", "certified", "unknown", "broken", "flips"))
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:right;padding:2px 12px'>{cell}</td>" for cell in cells) + "</tr>"
            for cells in ((row.Q, row.certified, row.unknown, row.broken, len(row.flips)) for row in self)
        )
        part = "" if self.complete else f" of {self._rows.total}, interrupted"
        counted = int(self.counted[0]) if len(self) else 0
        return f"<div><p><b>{len(self)} budgets{part}</b>, {counted} predictions</p><table><tr>{heads}</tr>{rows}</table></div>"


ONE_BY_ONE = "certify decides such attacks, node by node"


class Curve(Written, total=False):
    """And how the bound is found, for comparisons."""

    q: Any
    rows: Literal["all", "count", "weights"]
    solver: Literal["own", "highs"]
    swaps: int | None


def collective(
    model: Any,
    data: Any,
    budgets: Any = None,
    attack: Flips | Any = None,
    *,
    attacked_nodes: int | None = None,
    nodes: Any = None,
    class_: Class = "predicted",
    radii: Radii | Path | None = None,
    complete: bool | None = None,
    time_limit: float | None = None,
    call: Call = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    proofs: Path | None = None,
    out: Path | None = None,
    **more: Unpack[Curve],
) -> CollectiveResults:
    """How many predictions one perturbation of the whole graph can break: for every budget an upper bound, and a perturbation.

    A verdict of `certify` lets the attacker choose anew for every node; here one perturbation is chosen for all of them.

        curve = gcnproof.collective(model, data, range(0, 201, 20), Flips(q=0.01))
        curve.certified                    # so many predictions stay at each Q, whatever the attacker does
        curve[100].bound, curve[100].broken
        x = curve.apply(100)               # the attributes with the perturbation found for Q = 100

    `budgets` are numbers of flips in all: one, a list, a range, or a text such as "0-1000:50". `attack` is Flips(q=…) without a Q of its own,
    or `q` and the short forms of `certify`; `attacked_nodes` limits in how many nodes the attacker changes attributes. Predictions of `nodes`
    count, or all; with class_="labels" only those that agree with the label.

    The bound starts from what each node withstands by itself: it is searched for, up to a few flips and 5 seconds a node (`time_limit`), with
    `complete=True` up to the largest budget and without a limit, with `complete=False` by bounds alone; or `radii` says it, the result of `radius` on the same graph, model and q, or its file. `rows="count"` uses
    nothing else; by default the bound also uses what every single flip can do to each node. With it `solver="highs"` lets HiGHS propose the multipliers
    of the bound, in a build with the laboratory. `rows="weights"` uses nothing but these effects. `swaps` says how long the search for an attack continues.

    `proofs` is a folder that gets a proof of every bound, one file Q-N.jsonl for each budget, which `check` reads. `out`, `resume` and
    `force` are those of `certify`, with a row for each budget.
    """
    said = dict(more)
    if any(isinstance(one, (Flips, Ranges, Edges)) for one in (budgets if isinstance(budgets, (list, tuple)) else [budgets])):
        raise InputError("the attack stands where the budgets are expected", "the numbers of flips in all come first, then Flips(q=…): collective(model, data, range(0, 201, 20), Flips(q=0.01))")
    Q = said.get("Q") if said.get("Q") is not None else attack.Q if isinstance(attack, Flips) else None
    if Q is not None or budgets is None:
        shown = "0-200:20" if Q is None else Q
        message = "budgets are missing" if Q is None else f"Q={Q}: the numbers of flips in all are the budgets"
        raise InputError(message, f"say budgets={shown!r}, and q for each node: collective(model, data, {shown!r}, q=0.01)")
    found = _attack(said, attack, None, "q", "collective")
    alone(found, "collective")
    if isinstance(found, Edges):
        raise InputError("one attack on the whole graph is bounded for flips of attributes, not for changed edges", f"{ONE_BY_ONE}, or give Flips(q=…) here")
    if isinstance(found, Ranges):
        raise InputError("one attack on the whole graph is bounded for flips of attributes, not for Ranges", ONE_BY_ONE)
    if isinstance(found, Categories):
        raise InputError("one attack on the whole graph is bounded for flips of attributes, not for categories", f"{ONE_BY_ONE}; or give Flips(q=…), and a graph without groups")
    if found is None or found.q is None:
        raise InputError("q is missing", "say how many attributes may be flipped in each node")
    if radii is not None and not isinstance(radii, Radii) and not is_path(radii):
        raise InputError(f"radii: a {type(radii).__name__}", "give what gcnproof.radius returned, or its file")
    if isinstance(radii, Radii) and radii._edges:
        raise InputError("radii: they are numbers of changed edges, and one attack flips attributes", "give what gcnproof.radius(…, Flips(q=…)) returned, or leave radii out")
    swaps = said.pop("swaps", None)
    curve = {
        "budgets": _budgets(budgets),
        "attacked_nodes": None if attacked_nodes is None else whole(attacked_nodes, "attacked_nodes", "nodes"),
        "radii": radii._rows if isinstance(radii, Radii) else None if radii is None else os.fspath(radii),
        "rows": said.pop("rows", "all"),
        "solver": said.pop("solver", "own"),
        "swaps": None if swaps is None else whole(swaps, "swaps", "swaps"),
    }
    asked = Asked(found, nodes, class_, complete, False, time_limit, execution_of(None, found, said), tight=True)
    files, count, bar = files_of("collective", proofs, out, said), _threads(threads), Progress(progress, "collective")
    if files["proofs"] is not None and os.path.isfile(files["proofs"]):
        raise InputError(f"proofs={files['proofs']!r}: is a file, and a folder is meant: it gets one file for each budget", "give the path of a folder, such as proofs='proofs'")
    if curve["solver"] == "highs" and not _native.build()["laboratory"]:
        raise InputError("solver='highs' belongs to the laboratory, which this build of gcnproof does not have", LABORATORY)
    subject = Subject.of(model, data, call, found, "collective")
    keep_inputs(files, model=subject.model, graph=subject.file, radii=radii)
    attacker, rest = asked.native(subject.graph)
    with bar as listener, keeping(CollectiveResults, subject):
        rows, facts = _native.collective(subject.graph._native(), subject.network, attacker, rest, curve, files, count, listener)
    tell(facts)
    return CollectiveResults(rows, facts, subject.graph, subject.data)
