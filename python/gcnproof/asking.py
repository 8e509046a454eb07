"""What a call asks of nodes: checked before a module is read, and in a form that travels to other machines."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from . import _native
from .attack import Edges, Execution, Flips
from .errors import InputError, warn
from .graph import Graph
from .selection import Subject, selected

Path = str | os.PathLike[str]
Deployed = Literal["float32"] | Execution | None
Class = Literal["predicted", "labels"]


class Short(TypedDict, total=False):
    """Short forms: what Flips, Edges and Execution say, as arguments of a call."""

    Q: int | None
    flips: Literal["both", "add", "remove"]
    freeze_nodes: Any
    freeze_attributes: Any
    edges: Literal["remove"] | None
    E: int | None
    e: Any
    keep_one_edge: bool
    freeze_edges: Any
    operator_error: int | None
    flush_subnormals: bool
    unit_roundoff: float | None


class Written(Short, total=False):
    """And what is to happen to files that are there: `resume` continues an interrupted run, `force` overwrites."""

    resume: bool
    force: bool


class More(Written, total=False):
    """And which bounds certify, for comparisons (see Flips)."""

    bound: Literal["best", "paper", "anchored"]
    margins: Literal["fast", "tight"]


@dataclass(frozen=True)
class Asked:
    """What is asked of nodes."""

    attack: Flips | Edges
    nodes: Any = None
    class_: str = "predicted"
    complete: bool | None = None
    minimize: bool = False
    time_limit: float | None = None
    execution: Execution | None = None
    radii: bool = False
    tight: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.nodes, str):
            raise InputError(f"nodes={self.nodes!r}: a text", f"give the mask itself, such as nodes=data.{self.nodes}, ids, or a slice")
        if self.class_ not in ("predicted", "labels"):
            raise InputError(f"class_={self.class_!r}", "give 'predicted' or 'labels'")
        limit = self.time_limit
        if limit is not None and (isinstance(limit, (bool, str)) or not float(limit) >= 0):
            raise InputError(f"time_limit={limit!r}", "give a number of seconds, 0 or more")

    def native(self, graph: Graph) -> tuple[dict[str, Any], dict[str, Any]]:
        """As the native module takes it: the attacker, and the rest."""
        flips = self.attack if isinstance(self.attack, Flips) else None
        return self.attack._native(graph), {
            "nodes": selected(self.nodes, graph.node_count),
            "class_": self.class_,
            # What one bound certifies is asked without a search, unless `complete` says otherwise.
            "complete": False if self.complete is None and flips and flips.bound != "best" else self.complete,
            "minimize": bool(self.minimize),
            "time_limit": None if self.time_limit is None else float(self.time_limit),
            "bound": flips.bound if flips else "best",
            "margins": flips.margins if flips and not (self.radii or self.tight) else "tight",
            "deployed": self.execution and self.execution._native(),
            "radii": self.radii,
        }

    def question(self, subject: Subject) -> _native.Question:
        """The same about a network on a graph."""
        if isinstance(self.attack, Edges):
            subject.check_removable()
        return _native.Question(subject.graph._native(), subject.network, *self.native(subject.graph))


def files_of(what: str, proofs: Path | None, out: Path | None, more: dict[str, Any]) -> dict[str, Any]:
    """Where rows and proofs go; `resume` and `force` are taken out of the other arguments."""
    paths = {name: None if path is None else os.fspath(path) for name, path in (("proofs", proofs), ("out", out))}
    files = {**paths, "resume": bool(more.pop("resume", False)), "force": bool(more.pop("force", False))}
    nothing_left(what, more)
    return files


def nothing_left(what: str, more: dict[str, Any]) -> None:
    """Raises about arguments that nobody has taken."""
    for name in more:
        known = [*Short.__annotations__, *("resume", "force", "bound", "margins", "complete", "minimize", "nodes", "threads", "progress", "time_limit", "deployed", "call")]
        near = difflib.get_close_matches(name, known, 1)
        raise TypeError(f"{what}() got an unexpected keyword argument {name!r}" + (f": is {near[0]} meant?" if near else ""))


def tell(facts: dict[str, Any]) -> None:
    """Passes on what a run has noted."""
    for note in facts.get("notes", []):
        if note.startswith(("note: ", "warning: ")):
            warn(note.split(": ", 1)[1])


@contextmanager
def keeping(results: Callable[..., Any], subject: Subject) -> Iterator[None]:
    """An exception in the middle of a run carries the rows that are done, as `partial`."""
    try:
        yield
    except BaseException as error:
        rows = getattr(error, "partial", None)
        if isinstance(rows, tuple):
            error.partial = results(*rows, subject.graph, subject.data)  # type: ignore[attr-defined]
        raise
