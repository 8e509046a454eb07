"""The calls that work on a network and a graph in memory: certify, radius, explain, check, logits."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import numpy as np

from . import _native
from .errors import GcnproofWarning, InputError
from .progress import Listener, Progress
from .results import EdgeRadii, EdgeResults, Explanation, Proofs, Radii, Results
from .selection import Subject, attacker, attacks_edges, flips as _flips, needed, removals as _removals, remover, selected
from .selection import threads as _threads, whole

Path = str | os.PathLike[str]
Direction = Literal["both", "add", "remove"]


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _search(
    complete: bool | None,
    minimize: bool,
    time_limit: float | None,
    exact_margins: bool = False,
    margins: str = "tight",
    deployed: str | None = None,
    operator_error: int | None = None,
    flush_subnormals: bool = False,
    unit_roundoff: float | None = None,
) -> dict[str, Any]:
    limit = None if time_limit is None else float(time_limit)
    return {
        "complete": complete, "minimize": minimize, "exact_margins": exact_margins, "time_limit": limit, "margins": margins,
        "deployed": deployed, "operator_error": operator_error, "flush_subnormals": flush_subnormals,
        "unit_roundoff": None if unit_roundoff is None else float(unit_roundoff),
    }


def _without_search(complete: bool | None, bound: str) -> bool | None:
    """What one bound certifies is asked without a search, unless `complete` says otherwise."""
    return False if complete is None and bound != "best" else complete


def _tell(facts: dict[str, Any]) -> None:
    for note in facts.get("notes", []):
        if note.startswith(("note: ", "warning: ")):
            warnings.warn(note.split(": ", 1)[1], GcnproofWarning, stacklevel=3)


def certify(
    model: Any,
    data: Any,
    Q: int | None = None,
    q: Any = None,
    *,
    edges: Literal["remove"] | None = None,
    E: int | None = None,
    e: Any = None,
    keep_one_edge: bool = True,
    freeze_edges: Any = None,
    complete: bool | None = None,
    minimize: bool = False,
    nodes: Any = None,
    flips: Direction = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    class_: Literal["predicted", "labels"] = "predicted",
    bound: Literal["best", "paper", "anchored"] = "best",
    time_limit: float | None = None,
    deployed: Literal["float32"] | None = None,
    operator_error: int | None = None,
    flush_subnormals: bool = False,
    unit_roundoff: float | None = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    proofs: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
    margins: Literal["fast", "tight"] = "fast",
) -> Results:
    """A verdict for every node: no attack within the budget changes its class, or here is one.

    `model` and `data` are a PyTorch Geometric module and its Data object, a gcnproof.Network and a gcnproof.Graph, or the paths of
    files. An attacker flips at most `Q` attributes in all and at most `q` in each node: an int, a float below 1 as a share of the
    attributes (rounded down, at least 1; 0.0 is no flip), or an array with one number for each node.

    `edges="remove"` attacks edges instead: at most `E` are removed in all and at most `e` at each node (an int, an array with one number for
    each node, or None for no limit of its own); a removal counts at both ends, and operators are recomputed from the edges that are
    left. `keep_one_edge` says whether every node that has edges keeps one; `freeze_edges` are pairs of ids that cannot be removed.
    The results are EdgeResults, whose witnesses are edges.

    What bounds leave open is searched, 5 seconds a node; `time_limit` sets another limit, `complete=True` alone sets none, and
    `complete=False` does not search. `minimize=True` goes on until the worst-case margin of every class pair is known exactly.
    `nodes` takes ids, a slice, or a mask. `flips` is "both", "add" or "remove"; nodes and attributes can be frozen. `class_` is the class to be kept: "predicted" or "labels".
    `margins="tight"` evaluates all bounds also where a node is robust by far; by default the first that shows it is enough.

    `deployed="float32"` also decides what holds for every execution in float32, whatever the order of its sums: `deployed` of a node is
    "robust", "non_robust", "rounding_dependent" or "undecided". `operator_error` says how far message-passing entries may be from
    ours, in units of the last place (8 for rules such as gcn and mean by default), `flush_subnormals` that subnormal numbers may
    be taken for zero, `unit_roundoff` speaks of another format with float32's range (2**-8 for bfloat16).

    `out` writes rows to a file (.parquet, .jsonl or .csv) that is valid at every moment: after Ctrl-C, `resume=True` goes on with it;
    `force=True` overwrites it. `proofs` writes a proof of every verdict (.jsonl or .jsonl.zst). Without them no file is touched.
    """
    on_edges = attacks_edges(
        edges, E=E, e=e, keep_one_edge=keep_one_edge, freeze_edges=freeze_edges, Q=Q, q=q, flips=flips, freeze_attributes=freeze_attributes,
        bound=bound, deployed=deployed, operator_error=operator_error, flush_subnormals=flush_subnormals, unit_roundoff=unit_roundoff,
    )
    if on_edges:
        most = _removals(needed(E, "E", "say how many edges may be removed in all: E=5"), "E")
        subject = Subject(model, data)
        with Progress(progress, "certify") as listener:
            rows, facts = _native.certify_edges(
                subject.graph._native(),
                subject.network,
                most,
                remover(subject.graph, e, keep_one_edge, freeze_nodes, freeze_edges),
                _search(complete, minimize, time_limit, minimize),
                selected(nodes, subject.graph.node_count),
                class_,
                _threads(threads),
                listener,
                _path(proofs),
                _path(out),
                resume,
                force,
            )
        _tell(facts)
        return EdgeResults(rows, facts, subject.graph, subject.data)
    Q, q = _needed_flips(Q, q)
    subject = Subject(model, data)
    with Progress(progress, "certify") as listener:
        rows, facts = _native.certify(
            subject.graph._native(),
            subject.network,
            _flips(Q, "Q"),
            attacker(subject.graph, q, flips, freeze_nodes, freeze_attributes),
            _search(
                _without_search(complete, bound), minimize, time_limit, minimize, margins, deployed, operator_error, flush_subnormals,
                unit_roundoff,
            ),
            selected(nodes, subject.graph.node_count),
            class_,
            bound,
            _threads(threads),
            listener,
            _path(proofs),
            _path(out),
            resume,
            force,
        )
    _tell(facts)
    return Results(rows, facts, subject.graph, subject.data)


def _needed_flips(Q: int | None, q: Any) -> tuple[int, Any]:
    remedy = "say how many attributes may be flipped in all (Q) and in each node (q), or edges='remove' with E and e"
    return needed(Q, "Q", remedy), needed(q, "q", remedy)


def radius(
    model: Any,
    data: Any,
    q: Any = None,
    *,
    max_Q: int = 1000,
    edges: Literal["remove"] | None = None,
    e: Any = None,
    max_E: int = 1000,
    keep_one_edge: bool = True,
    freeze_edges: Any = None,
    complete: bool | None = None,
    nodes: Any = None,
    flips: Direction = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    time_limit: float | None = None,
    deployed: Literal["float32"] | None = None,
    operator_error: int | None = None,
    flush_subnormals: bool = False,
    unit_roundoff: float | None = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
) -> Radii:
    """For every node the largest Q that is certified and the smallest Q with a witness, up to `max_Q`. What bounds leave open
    between them is searched, 5 seconds a node and Q; `complete=True` sets no limit, and `complete=False` does not search.

    With `edges="remove"` the same for E, the number of removed edges, up to `max_E`: EdgeRadii. The other arguments are those of `certify`.
    """
    on_edges = attacks_edges(
        edges, e=e, max_E=max_E, keep_one_edge=keep_one_edge, freeze_edges=freeze_edges, q=q, max_Q=max_Q, flips=flips,
        freeze_attributes=freeze_attributes, deployed=deployed, operator_error=operator_error, flush_subnormals=flush_subnormals,
        unit_roundoff=unit_roundoff,
    )
    if on_edges:
        subject = Subject(model, data)
        with Progress(progress, "radius") as listener:
            rows, facts = _native.radius_edges(
                subject.graph._native(),
                subject.network,
                _removals(max_E, "max_E"),
                remover(subject.graph, e, keep_one_edge, freeze_nodes, freeze_edges),
                _search(complete, False, time_limit),
                selected(nodes, subject.graph.node_count),
                _threads(threads),
                listener,
                _path(out),
                resume,
                force,
            )
        _tell(facts)
        return EdgeRadii(rows, facts, subject.graph, subject.data)
    q = needed(q, "q", "say how many attributes may be flipped in each node, or edges='remove'")
    subject = Subject(model, data)
    with Progress(progress, "radius") as listener:
        rows, facts = _native.radius(
            subject.graph._native(),
            subject.network,
            _flips(max_Q, "max_Q"),
            attacker(subject.graph, q, flips, freeze_nodes, freeze_attributes),
            _search(complete, False, time_limit, False, "tight", deployed, operator_error, flush_subnormals, unit_roundoff),
            selected(nodes, subject.graph.node_count),
            _threads(threads),
            listener,
            _path(out),
            resume,
            force,
        )
    _tell(facts)
    return Radii(rows, facts, subject.graph, subject.data)


def explain(
    model: Any,
    data: Any,
    node: int,
    Q: int | None = None,
    q: Any = None,
    *,
    edges: Literal["remove"] | None = None,
    E: int | None = None,
    e: Any = None,
    keep_one_edge: bool = True,
    freeze_edges: Any = None,
    flips: Direction = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    time_limit: float = 30.0,
    deployed: Literal["float32"] | None = None,
    operator_error: int | None = None,
    flush_subnormals: bool = False,
    unit_roundoff: float | None = None,
    threads: int | None = None,
) -> Explanation:
    """What the verdict on one node rests on: its neighbourhood, the worst flips, what its bounds are made of.

    The budget is Q = 12 and q = 0.01 if nothing is said. With `edges="remove"`: the exact worst case of every class pair, with the edges
    that attain it, for E = 5 if nothing is said.
    """
    on_edges = attacks_edges(
        edges, E=E, e=e, keep_one_edge=keep_one_edge, freeze_edges=freeze_edges, Q=Q, q=q, flips=flips, freeze_attributes=freeze_attributes,
        deployed=deployed, operator_error=operator_error, flush_subnormals=flush_subnormals, unit_roundoff=unit_roundoff,
    )
    if on_edges:
        subject = Subject(model, data)
        facts, text = _native.explain_edges(
            subject.graph._native(),
            subject.network,
            int(node),
            _removals(5 if E is None else E, "E"),
            remover(subject.graph, e, keep_one_edge, freeze_nodes, freeze_edges),
            _search(False, True, time_limit),
            _threads(threads),
        )
        return Explanation(facts, text)
    Q, q = 12 if Q is None else Q, 0.01 if q is None else q
    subject = Subject(model, data)
    facts, text = _native.explain(
        subject.graph._native(),
        subject.network,
        int(node),
        _flips(Q, "Q"),
        attacker(subject.graph, q, flips, freeze_nodes, freeze_attributes),
        _search(True, False, time_limit, False, "tight", deployed, operator_error, flush_subnormals, unit_roundoff),
        _threads(threads),
    )
    return Explanation(facts, text)


def check(
    model: Any,
    data: Any,
    proofs: Path,
    Q: int | None = None,
    q: Any = None,
    *,
    edges: Literal["remove"] | None = None,
    E: int | None = None,
    e: Any = None,
    keep_one_edge: bool = True,
    freeze_edges: Any = None,
    bound: int | None = None,
    attacked_nodes: int | None = None,
    nodes: Any = None,
    flips: Direction = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    class_: Literal["predicted", "labels"] = "predicted",
    deployed: Literal["float32", "exact"] | None = None,
    operator_error: int | None = None,
    flush_subnormals: bool = False,
    unit_roundoff: float | None = None,
    exact: bool = False,
    work_limit: int = 1,
    threads: int | None = None,
    progress: bool | Listener = True,
) -> Proofs:
    """Checks a file of proofs, each replayed in exact arithmetic by code that shares none with the certifier, and says whether it
    answers your question.

        proofs = gcnproof.check(model, data, "proofs.jsonl.zst", Q=12, q=0.01, nodes=data.test_mask)
        proofs.proved                      # is the question proved, for every node asked about?
        proofs.verdicts                    # "robust", "non_robust" or "tie" for each node that the file answers for

    The question has the arguments of `certify`, or with `bound` those of `collective`; `E` alone says edges="remove", and
    deployed="exact" the same as None. `exact=True` lets the core alone judge, in exact integers: slow. A file that costs more than any
    honest one is not judged to its end: what was too expensive is in `facts["too_expensive"]`. `work_limit` is how many times the default
    work and memory a check may cost; 0 means no limit.

    What follows is told with the options of the command line, `-Q` for `Q` and `--class` for `class_`.
    """
    if edges is None and (E is not None or e is not None):
        edges = "remove"
    of_execution = None if deployed == "exact" else deployed
    on_edges = attacks_edges(
        edges, E=E, e=e, keep_one_edge=keep_one_edge, freeze_edges=freeze_edges, Q=Q, q=q, flips=flips, freeze_attributes=freeze_attributes,
        deployed=of_execution, operator_error=operator_error, flush_subnormals=flush_subnormals, unit_roundoff=unit_roundoff,
    )
    subject = Subject(model, data)
    asked: dict[str, Any] = {
        "global_": 0, "attacker": None, "remover": None, "bound": None, "attacked_nodes": None, "class_": class_,
        "nodes": selected(nodes, subject.graph.node_count),
        "search": _search(False, False, None, False, "tight", of_execution, operator_error, flush_subnormals, unit_roundoff),
    }
    said = {
        "q": q, "bound": bound, "attacked_nodes": attacked_nodes, "nodes": nodes, "freeze_nodes": freeze_nodes, "deployed": deployed,
        "freeze_attributes": freeze_attributes, "operator_error": operator_error, "unit_roundoff": unit_roundoff,
        "flush_subnormals": flush_subnormals or None, "flips": None if flips == "both" else flips,
        "class_": None if class_ == "predicted" else class_,
    }
    budget = "a question needs a budget: say how many attributes may be flipped in all (Q), or edges='remove' with E"
    if on_edges:
        if bound is not None or attacked_nodes is not None:
            raise InputError("bound together with edges: one attack is bounded for flips of attributes", "say Q instead of E")
        asked["global_"] = _removals(needed(E, "E", "say how many edges may be removed in all: E=5"), "E")
        asked["remover"] = remover(subject.graph, e, keep_one_edge, freeze_nodes, freeze_edges)
    elif Q is not None:
        if attacked_nodes is not None and bound is None:
            raise InputError("attacked_nodes without bound", "say bound, or leave it out")
        asked["global_"] = _flips(Q, "Q")
        asked["attacker"] = attacker(subject.graph, 0.01 if q is None else q, flips, freeze_nodes, freeze_attributes)
        asked["bound"] = None if bound is None else whole(bound, "bound", "predictions")
        asked["attacked_nodes"] = None if attacked_nodes is None else whole(attacked_nodes, "attacked_nodes", "nodes")
    else:
        for name in [name for name, value in said.items() if value is not None]:
            raise InputError(f"{name} without Q", budget)
    with Progress(progress, "check") as listener:
        facts = _native.check(
            subject.graph._native(),
            subject.network,
            os.fspath(proofs),
            asked if on_edges or Q is not None else None,
            exact,
            whole(work_limit, "work_limit", "times the default"),
            _threads(threads),
            listener,
        )
    answers = facts["verdicts"] if facts["answers"] is None else facts["answers"]
    verdicts = {int(node): str(verdict) for node, verdict in answers}
    return Proofs(facts["proved"], facts["success"], facts["accepted"], facts["rejected"], verdicts, list(facts["unmet"]), facts)


check.__doc__ = f"{check.__doc__}\n{_native.RULES}\n"


def logits(model: Any, data: Any, flips: Any = ()) -> np.ndarray:
    """The logits of all nodes in float64, nodes × classes, with the attributes at `flips`, pairs of (node, attribute), flipped."""
    subject = Subject(model, data)
    pairs = [(int(node), int(attribute)) for node, attribute in flips]
    return subject.network.logits(subject.graph._native(), pairs)
