"""What a call asks of nodes: checked before a module is read, and in a form that travels to other machines."""

from __future__ import annotations

import difflib
import inspect
import numbers
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from . import _native
from .arguments import path_of, same_file, switch
from .attack import Edges, Execution, Flips, Joint, Ranges
from .errors import InputError, pythonic, warn
from .graph import Graph
from .selection import Subject, chosen, in_words

Path = str | os.PathLike[str]
Deployed = Literal["float32"] | Execution | None
Class = Literal["predicted", "labels"]


class Short(TypedDict, total=False):
    """Short forms: what Flips, Edges and Execution say, as arguments of a call."""

    Q: int | None
    flips: Literal["both", "add", "remove"]
    freeze_nodes: Any
    freeze_attributes: Any
    edges: Literal["remove", "insert", "change"] | None
    E: int | None
    e: Any
    keep_one_edge: bool
    freeze_edges: Any
    directed: bool
    candidates: Any
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

    attack: Flips | Ranges | Edges | Joint
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
            raise in_words(self.nodes, "nodes")
        if self.class_ not in ("predicted", "labels"):
            raise InputError(f"class_={self.class_!r}", "give 'predicted' or 'labels'")
        if self.complete is not None:
            switch(self.complete, "complete", "give True for a search without a limit, False for bounds alone, or leave it out")
        if switch(self.minimize, "minimize") and self.complete is not None and not self.complete:
            raise InputError("complete=False together with minimize=True: exact minima need a search, and complete=False excludes it", "leave one of them out")
        limit = self.time_limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, numbers.Real) or not float(limit) >= 0):
            raise InputError(f"time_limit={limit!r}", "give a number of seconds, 0 or more")

    def native(self, graph: Graph) -> tuple[dict[str, Any], dict[str, Any]]:
        """As the native module takes it: the attacker, and the rest."""
        if self.class_ == "labels" and (graph.labels is None or not (graph.labels >= 0).any()):
            raise InputError("class_='labels', but the graph has no labels", "give some (data.y, or Graph(…, labels)), or say class_='predicted'")
        flips = self.attack if isinstance(self.attack, Flips) else None
        return self.attack._native(graph), {
            "nodes": chosen(self.nodes, graph),
            "class_": self.class_,
            # What one bound certifies is asked without a search, unless `complete` says otherwise.
            "complete": (False if flips and flips.bound != "best" else None) if self.complete is None else bool(self.complete),
            "minimize": bool(self.minimize),
            # Smallest margins of numbers are found up to a gap.
            "fractions": bool(self.minimize) and not isinstance(self.attack, Ranges),
            "time_limit": None if self.time_limit is None else float(self.time_limit),
            "bound": flips.bound if flips else "best",
            "margins": flips.margins if flips and not (self.radii or self.tight) else "tight",
            "deployed": self.execution and self.execution._native(),
            "radii": self.radii,
        }

    def question(self, subject: Subject) -> _native.Question:
        """The same about a network on a graph."""
        if isinstance(self.attack, (Edges, Joint)):
            subject.check_removable()
        return _native.Question(subject.graph._native(), subject.network, *self.native(subject.graph))


def files_of(what: str, proofs: Path | None, out: Path | None, more: dict[str, Any], plots: str | None = None) -> dict[str, Any]:
    """Where rows and proofs go; `resume` and `force` are taken out of the other arguments. `plots` is a folder that is overwritten as well."""
    examples = {"proofs": "proofs.jsonl.zst", "out": "results.parquet"}
    paths = {
        name: None if path is None else path_of(path, name, f"give the path of a file, such as {name}={examples[name]!r}")
        for name, path in (("proofs", proofs), ("out", out))
    }
    if same_file(proofs, out):
        raise InputError(f"out and proofs name the same file, {paths['out']}", "rows and proofs need a file each: choose another name for one of them")
    files = {**paths, **again(more)}
    nothing_left(what, more)
    if out is None and proofs is not None and files["resume"]:
        # Proofs alone do not say which verdicts there are.
        raise InputError(
            f"resume=True with proofs={paths['proofs']!r} alone: proofs are continued together with the rows of their run",
            "give out=, too: the file of rows of that run, or a new one where it had none; proofs that are there are kept",
        )
    for name in ("resume", "force"):
        if files[name] and out is None and proofs is None and (plots is None or name == "resume"):
            raise InputError(f"{name}=True without a file", "say where rows go: out='results.parquet'")
    return files


def again(more: dict[str, Any]) -> dict[str, bool]:
    """What is to happen to files that are there, taken out of the other arguments."""
    said = {name: switch(more.pop(name, False), name) for name in ("resume", "force")}
    if all(said.values()):
        raise InputError("resume=True and force=True contradict each other", "say one of them: resume continues what is there, force overwrites it")
    return said


MEANT = {
    "bounds_only": "complete=False",
    "binarize": "Graph(…, binarize=True)",
    "symmetrize": "Graph(…, symmetrize=True)",
    "local": "q",
    "local_budget": "q",
    "budget": "Q",
    "expect_Q": "Q",
    "exact_margins": "minimize=True",
    "direction": "flips='add' or flips='remove'",
    "timeout": "time_limit",
    "mask": "nodes",
    **dict.fromkeys(("graph", "graphs"), "nodes (ids of graphs, where these are classified)"),
    "overwrite": "force=True",
    "verbose": "progress=True",
    "n_jobs": "threads",
    "lr": "learning_rate",
    "remove": "edges='remove' with E, or Edges(remove=…),",
    "insert": "edges='insert' with E, or Edges(insert=…),",
    "change": "edges='change' with E, or Edges(change=…),",
    "at_node": "e, or Edges(at_node=…),",
    "groups": "Categories(Q=…, q=…, groups=…)",
    "categories": "Categories(Q=…, q=…, groups=…)",
    "candidates_within": "candidates",
    "directed_edges": "directed",
    **dict.fromkeys(("epsilon", "eps", "ranges", "low", "high", "observed"), "Ranges(epsilon=…), Ranges(low=…, high=…) or Ranges(observed=True)"),
}
"""What other tools and our own command line call arguments."""


def nothing_left(what: str, more: dict[str, Any]) -> None:
    """Raises about arguments that nobody has taken."""
    for name in more:
        taken = {call: _names(call) for call in ("certify", "radius", "collective", "explain", "check", "train", "study", "validate")}
        own = taken.pop(what, set().union(*taken.values()))
        near = difflib.get_close_matches(name, sorted(own), 1)
        slip = bool(difflib.get_close_matches(name, sorted(own), 1, 0.85))
        others = [] if slip else [call for call, names in taken.items() if name in names]
        if name in MEANT:
            raise TypeError(f"{what}() got an unexpected keyword argument {name!r}: {MEANT[name]} is meant")
        hint = f": {what} has no {name}; {' and '.join(others[:2])} {'has' if len(others) == 1 else 'have'}" if others else f": is {near[0]} meant?" if near else ""
        raise TypeError(f"{what}() got an unexpected keyword argument {name!r}{hint}")


def _names(call: str) -> set[str]:
    """The names of the arguments of a call, those behind its ** among them."""
    import gcnproof

    function = getattr(gcnproof, call)
    names: set[str] = set()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            names |= set(function.__globals__[parameter.annotation.removeprefix("Unpack[").removesuffix("]")].__annotations__)
        else:
            names.add(parameter.name)
    return names


def tell(facts: dict[str, Any]) -> None:
    """Passes on what a run has noted."""
    for note in facts.get("notes", []):
        if note.startswith(("note: ", "warning: ")):
            warn(pythonic(note.split(": ", 1)[1]))


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
