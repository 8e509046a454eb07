"""The calls that work on a network and a graph in memory: certify, radius, explain, check, logits."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from .asking import MEANT, Asked, Class, Deployed, More, Path, Short, Written, files_of, keeping, nothing_left, tell
from .arguments import keep_inputs, path_of, switch, threads as _threads, whole
from .attack import Categories, Edges, Execution, Flips, Joint, Ranges, alone, attack_of, execution_of, joint_of
from .errors import InputError
from .graph import _array
from .progress import Listener, Progress
from .results import Explanation, Proofs, Radii, Results
from .scope import EXAMPLES, TAKES, takers
from .selection import Subject

if TYPE_CHECKING:
    from typing_extensions import Unpack

Call = Callable[[Any, Any], Any] | None
Attack = Flips | Ranges | Edges | list[Any]

LIMIT = 40
"""The largest Q or E that `radius` looks at if nothing is said: a notebook waits for it. The command line, which can be interrupted and resumed, goes up to 1000."""


def certify(
    model: Any,
    data: Any,
    attack: Attack | int | None = None,
    q: Any = None,
    *,
    nodes: Any = None,
    class_: Class = "predicted",
    complete: bool | None = None,
    minimize: bool = False,
    time_limit: float | None = None,
    deployed: Deployed = None,
    call: Call = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    proofs: Path | None = None,
    out: Path | None = None,
    **more: Unpack[More],
) -> Results:
    """A verdict for every node: no attack within the budget changes its class, or here is one.

        gcnproof.certify(model, data, Flips(Q=12, q=0.01))           # at most 12 attributes flipped, 1 % of them in each node
        gcnproof.certify(model, data, Q=12, q=0.01)                  # the same in short
        gcnproof.certify(model, data, Edges(remove=5, at_node=3))    # at most 5 edges removed, 3 at each node
        gcnproof.certify(model, data, Edges(insert=1))               # or inserted; Edges(change=2) for both
        gcnproof.certify(model, data, Ranges(epsilon=0.01))          # attributes that are numbers, each moved by at most 0.01
        gcnproof.certify(model, data, [Flips(Q=3, q=1), Edges(change=2)])    # attributes and edges at once

    `model` and `data` are a PyTorch Geometric module and its Data object, a gcnproof.Network and a gcnproof.Graph, or the paths of
    files; `call=lambda model, data: model(…)` says how a module is called where that is not plain. `attack` is what an attacker may
    do: Flips, Categories, Ranges or Edges. The short forms are Q, q, flips (the direction), freeze_nodes, freeze_attributes, bound and margins for Flips;
    edges="remove", "insert" or "change", E, e, keep_one_edge, freeze_nodes, freeze_edges, directed and candidates for Edges.

    What bounds leave open is searched, 5 seconds a node; `time_limit` sets another limit, `complete=True` alone sets none, and
    `complete=False` does not search. `minimize=True` continues until the worst-case margin of every class pair is known exactly. `nodes` takes ids, a slice, or a mask. `class_` is the class to be
    kept: "predicted" or "labels".

    `deployed="float32"` also decides what holds for every execution in float32, whatever the order of its sums: `deployed` of a node is
    "robust", "non_robust", "rounding_dependent" or "undecided", and `robust` of the results speaks of that. An Execution speaks of other
    formats, message passing with larger errors, and subnormal numbers; operator_error, flush_subnormals and unit_roundoff are its short forms.

    `out` writes rows to a file (.parquet, .jsonl or .csv) that is valid at every moment: after Ctrl-C, `resume=True` continues it;
    `force=True` overwrites it. `proofs` writes a proof of every verdict (.jsonl or .jsonl.zst). Without them no file is touched; then
    the KeyboardInterrupt of Ctrl-C has the rows that are done as `partial`.
    """
    said = dict(more)
    asked = verdicts(said, attack, q, nodes=nodes, class_=class_, complete=complete, minimize=minimize, time_limit=time_limit, deployed=deployed)
    return answered("certify", Results, (model, data, call), asked, files_of("certify", proofs, out, said), threads, progress)


def verdicts(more: dict[str, Any], attack: Any, q: Any, *, deployed: Any = None, **asked: Any) -> Asked:
    """What `certify` asks; the short forms are taken out of the other arguments."""
    found = _attack(more, attack, q)
    if found is None or isinstance(found, Flips) and (found.Q is None or found.q is None):
        name = "q" if found is not None and found.Q is not None else "Q"
        changed = "categories may be changed" if isinstance(found, Categories) else "attributes may be flipped"
        remedy = f"say how many {changed} in all (Q) and in each node (q), or Edges(remove=…) for edges"
        raise InputError(f"{name} is missing", remedy)
    if isinstance(found, Joint) and (found.flips.Q is None or found.flips.q is None):
        raise InputError(f"Flips in a list of both: {'Q' if found.flips.Q is None else 'q'} is missing", "say how many attributes may be flipped in all (Q) and in each node (q)")
    edges = found.edges if isinstance(found, Joint) else found
    if isinstance(edges, Edges) and edges._most is None:
        raise InputError("E is missing", "say how many edges may be changed in all: E=5; or Edges(remove=5), Edges(insert=5) or Edges(change=5)")
    return Asked(found, execution=execution_of(deployed, found, more), **asked)


_PARTS = {
    "Edges": ("remove", "insert", "change", "at_node", "candidates_within", "directed_edges"),
    "Categories": ("groups", "categories"),
    "Ranges": ("epsilon", "eps", "ranges", "low", "high", "observed"),
}
"""What is said inside an attack, or under another name."""


def _attack(more: dict[str, Any], attack: Any, q: Any, first: str = "Q", what: str = "certify") -> Any:
    """The attack of a call, of which `first` and q may be said by their places."""
    for kind, names in _PARTS.items():
        for name in more.keys() & set(names):
            if kind not in TAKES[what]:
                raise TypeError(f"{name!r} is no argument of {what}, which is not about {kind}: {takers(kind)} take {EXAMPLES[kind]}")
            raise TypeError(f"{name!r} is no argument of this call: {MEANT[name]} is meant")
    if isinstance(q, (Flips, Ranges, Edges)):
        raise InputError("two attacks are given", "give a list of both, [Flips(…), Edges(…)], for one attacker who does both; else call once for each")
    if hasattr(attack, "edge_index"):
        raise InputError("the data stands where the attack is expected", "the model comes first, then the data, then the attack: (model, data, Flips(…))")
    if isinstance(attack, (list, tuple)) and any(isinstance(one, (Flips, Ranges, Edges)) for one in attack):
        attack = joint_of(attack)
    if getattr(attack, "ndim", 0) > 1:
        raise InputError(
            f"an array with the sides {tuple(attack.shape)} is no attack",
            "the data is one object, such as torch_geometric.data.Data(x=x, edge_index=edge_index); behind it stand Q and q",
        )
    if q is not None:
        more["q"] = q
    if isinstance(attack, str) and attack.strip().isdecimal():
        raise InputError(f"{first}={attack!r}: a text", f"give the number: {int(attack)}")
    if isinstance(attack, (int, float, list, np.ndarray, np.generic)) or hasattr(attack, "detach"):
        if more.get(first) is not None:
            raise TypeError(f"{first} is said twice")
        more[first], attack = attack, None
    return attack_of(attack, more)


def _counted(more: dict[str, Any], attack: Any, most: int) -> None:
    """How many edges, where only is said what is done to them: an attack that inserts is known by its number."""
    if attack is None and more.get("edges") in ("insert", "change") and more.get("E") is None:
        more["E"] = most


def answered(
    what: str, results: Any, bound: tuple[Any, Any, Any], asked: Asked, files: dict[str, Any], threads: int | None, progress: bool | Listener
) -> Any:
    """Reads the model, and asks."""
    count, bar = _threads(threads), Progress(progress, what)
    subject = Subject.of(*bound, asked.attack, what)
    keep_inputs(files, model=subject.model, graph=subject.file)
    question = asked.question(subject)
    with bar as listener, keeping(results, subject):
        rows, facts = question.answer(files, count, listener)
    tell(facts)
    return results(rows, facts, subject.graph, subject.data)


class Limited(Written, total=False):
    """And the largest Q or E that is looked at, which Flips and Edges say as well."""

    max_Q: int
    max_E: int


def radius(
    model: Any,
    data: Any,
    attack: Attack | Any = None,
    *,
    q: Any = None,
    nodes: Any = None,
    complete: bool | None = None,
    time_limit: float | None = None,
    deployed: Deployed = None,
    call: Call = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    **more: Unpack[Limited],
) -> Radii:
    """For every node the largest Q that is certified and the smallest Q with a witness. What bounds leave open between them is searched, 5
    seconds a node and Q; `complete=True` sets no limit, and `complete=False` does not search.

        gcnproof.radius(model, data, Flips(q=0.01, Q=100))           # Q up to 100 is looked at
        gcnproof.radius(model, data, 0.01, max_Q=100)                # the same in short: the budget of a node, and the limit
        gcnproof.radius(model, data, Edges(at_node=3, remove=20))    # the same for E, the number of removed edges

    Without a limit Q and E are looked at up to 40 (the command line: 1000), and the results say how many nodes withstand that. The other arguments are those of `certify`.
    """
    said = dict(more)
    asked = radii(said, attack, q, nodes=nodes, complete=complete, time_limit=time_limit, deployed=deployed)
    return answered("radius", Radii, (model, data, call), asked, files_of("radius", None, out, said), threads, progress)


def radii(more: dict[str, Any], attack: Any, q: Any, *, deployed: Any = None, **asked: Any) -> Asked:
    """What `radius` asks; the short forms are taken out of the other arguments."""
    for name in ("Q", "E"):
        if more.get(name) is not None:
            raise InputError(f"{name}={more[name]}: radius finds the largest {name} itself", f"say max_{name}={more[name]} for the largest that is looked at")
    limits = {name: more.pop(name) for name in ("max_Q", "max_E") if name in more}
    if "max_E" in limits and attack is None:
        more.setdefault("edges", "remove")
    _counted(more, attack, limits.get("max_E", LIMIT))
    found = _attack(more, attack, q, "q")
    alone(found, "radius")
    if found is None or isinstance(found, Flips) and found.q is None:
        raise InputError("q is missing", "say how many attributes may be flipped in each node, or Edges(…) for edges")
    own, what = ("max_E", "edges") if isinstance(found, Edges) else ("max_Q", "flips")
    for name in limits.keys() - {own}:
        raise InputError(f"{name} together with {type(found).__name__}", f"say {own}")
    said = found._most if isinstance(found, Edges) else found.Q
    limit = whole(limits[own], own, what) if own in limits else LIMIT if said is None else said
    if limit != (limit if said is None else said):
        inside = f"Edges({found._kind}={said})" if isinstance(found, Edges) else f"{type(found).__name__}(Q={said})"
        raise InputError(f"{own}={limit} together with {inside}: two limits", f"say one of them: {inside} means the same as {own}={said}")
    changed: dict[str, Any] = {found._kind if isinstance(found, Edges) else "Q": limit}
    found = dataclasses.replace(found, **changed)
    return Asked(found, execution=execution_of(deployed, found, more), radii=True, **asked)


def explain(
    model: Any,
    data: Any,
    node: int | None = None,
    attack: Attack | int | None = None,
    q: Any = None,
    *,
    time_limit: float = 30.0,
    deployed: Deployed = None,
    call: Call = None,
    threads: int | None = None,
    **more: Unpack[Short],
) -> Explanation:
    """What the verdict on one node rests on: its neighbourhood, the worst flips, what its bounds are made of.

    With Edges(…): the exact worst case of every class pair, with the edges that attain it; with Ranges(…) between which numbers it lies. `attack` is that of `certify`, by default
    Flips(Q=12, q=0.01); Edges() removes at most 5.
    """
    for name in [name for name in ("graph", "graphs", "nodes") if name in more]:
        raise TypeError(f"explain() got an unexpected keyword argument {name!r}: node (one id; that of a graph, where these are classified) is meant")
    if node is None:
        raise InputError("node is missing: explain takes one node, or one graph where these are classified", "give its id: explain(model, data, 163, …)")
    if isinstance(node, bool) or not hasattr(node, "__index__") or getattr(node, "ndim", 0) > 0:
        raise InputError(f"node={node!r}: explain takes one node, or one graph where these are classified", "give one id, and call it once for each")
    said = dict(more)
    _counted(said, attack, 5)
    found = _attack(said, attack, q, what="explain") or Flips()
    alone(found, "explain")
    if isinstance(found, Flips):
        found = dataclasses.replace(found, Q=12 if found.Q is None else found.Q, q=0.01 if found.q is None else found.q)
    elif isinstance(found, Edges) and found._most is None:
        found = dataclasses.replace(found, remove=5)
    minima = isinstance(found, (Edges, Ranges))
    execution = execution_of(deployed, found, said)
    nothing_left("explain", said)
    asked = Asked(found, int(node), "predicted", None if minima else True, minima, time_limit, execution, tight=True)
    count = _threads(threads)
    return Explanation(*asked.question(Subject.of(model, data, call, found, "explain")).explain(count))


def check(
    model: Any,
    data: Any,
    proofs: Path,
    attack: Attack | int | None = None,
    q: Any = None,
    *,
    bound: int | None = None,
    attacked_nodes: int | None = None,
    nodes: Any = None,
    class_: Class = "predicted",
    deployed: Literal["float32", "exact"] | Execution | None = None,
    exact: bool = False,
    work_limit: int = 1,
    call: Call = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    **more: Unpack[Short],
) -> Proofs:
    """Checks a file of proofs, each replayed in exact arithmetic by code that shares none with the certifier, and says whether it
    answers your question.

        proofs = gcnproof.check(model, data, "proofs.jsonl.zst", Flips(Q=12, q=0.01), nodes=data.test_mask)
        proofs.proved                      # is the question proved, for every node asked about?
        proofs.verdicts                    # "robust", "non_robust" or "tie" for each node that the file answers for

    The question has the arguments of `certify`, or with `bound` those of `collective`; `q` is 0.01 if nothing is said, and
    deployed="exact" the same as None. `exact=True` lets the core alone judge, in exact integers: slow. A file that costs more than any
    honest one is not judged to its end: what was too expensive is in `facts["too_expensive"]`. `work_limit` is how many times the default
    work and memory a check may cost; 0 means no limit.

    What follows is told with the options of the command line, `-Q` for `Q` and `--class` for `class_`.
    """
    said = dict(more)
    others = {"bound": bound, "attacked_nodes": attacked_nodes, "nodes": nodes, "deployed": deployed, "class_": None if class_ == "predicted" else class_}
    others |= {"q": q, **said}
    found = _attack(said, attack, q)
    execution = execution_of(None if deployed == "exact" else deployed, found, said)
    nothing_left("check", said)
    asked = None
    parts = (found.flips, found.edges) if isinstance(found, Joint) else (found,)
    if any(part is None or not isinstance(part, Ranges) and (part.Q if isinstance(part, Flips) else part._most) is None for part in parts):
        for name in [name for name, value in others.items() if value is not None] or (["attack"] if found else []):
            raise InputError(f"{name} without Q or E", "a question needs a budget: say how many attributes may be flipped in all (Q), or edges changed (E)")
    else:
        if isinstance(found, Ranges) and (bound is not None or attacked_nodes is not None):
            raise InputError("bound together with Ranges: one attack is bounded for flips of attributes", "leave it out")
        if isinstance(found, (Edges, Joint)) and (bound is not None or attacked_nodes is not None):
            raise InputError("bound together with edges: one attack is bounded for flips of attributes", "say Q instead of E")
        if attacked_nodes is not None and bound is None:
            raise InputError("attacked_nodes without bound", "say bound, or leave it out")
        if isinstance(found, Flips) and found.q is None:
            found = dataclasses.replace(found, q=0.01)
        if isinstance(found, Joint) and found.flips.q is None:
            found = dataclasses.replace(found, flips=dataclasses.replace(found.flips, q=0.01))
        asked = Asked(found, nodes, class_, execution=execution, tight=True)
    extent = {
        "bound": None if bound is None else whole(bound, "bound", "predictions"),
        "attacked_nodes": None if attacked_nodes is None else whole(attacked_nodes, "attacked_nodes", "nodes"),
    }
    path = path_of(proofs, "proofs", "give the path of the file that certify(…, proofs=…) wrote, behind the model and the data: check(model, data, 'proofs.jsonl.zst', …)")
    only = switch(exact, "exact")
    limit, count, bar = whole(work_limit, "work_limit", "times the default"), _threads(threads), Progress(progress, "check")
    subject = Subject.of(model, data, call, found, "check")
    claim = None
    if asked is not None:
        attacker, rest = asked.native(subject.graph)
        claim = {"attack": attacker, "asked": rest, **extent}
    if not os.path.exists(path):
        raise InputError(f"{path}: cannot be read: there is no such file", "give the file that certify(…, proofs=…) wrote")
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name.startswith("Q-"))
        # That of the budget which is asked about, if it is there.
        own = [name for name in names if name.startswith(f"Q-{getattr(found, 'Q', None)}.")]
        first = next((f": {os.path.join(path, name)!r}" for name in own + names), "")
        remedy = f"give the file of one budget{first}" if first else "give the file that certify(…, proofs=…) wrote"
        raise InputError(f"{path}: is a folder, and the file of proofs is meant", remedy)
    with bar as listener:
        try:
            facts = _native.check(subject.graph._native(), subject.network, path, claim, only, limit, count, listener)
        except InputError as error:
            problem, expected, _ = error.message.partition("but a file of proofs is expected here")
            if not expected:
                raise
            raise InputError(problem + expected, "give the file that certify(…, proofs=…) wrote: check(model, data, 'proofs.jsonl.zst', …)") from None
    answers = facts["verdicts"] if facts["answers"] is None else facts["answers"]
    found_verdicts = {int(node): str(verdict) for node, verdict in answers}
    unmet = list(facts["unmet"])
    if any("about another graph" in rejection["reason"] for rejection in facts["rejections"]) and isinstance(found, Flips):
        unmet.append("groups of categories are part of a graph: proofs about categories are checked with Categories(…, groups=…) and the groups of their run")
    return Proofs(facts["proved"], facts["success"], facts["accepted"], facts["rejected"], found_verdicts, unmet, facts)


check.__doc__ = f"{check.__doc__}\n{_native.RULES}\n"


def logits(model: Any, data: Any, flips: Any = (), *, call: Call = None) -> np.ndarray:
    """The logits of all nodes in float64, nodes × classes, with the attributes at `flips`, pairs of (node, attribute), flipped."""
    pairs = _flipped(flips)
    subject = Subject.of(model, data, call)
    return subject.network.logits(subject.graph._native(), pairs)


def _flipped(flips: Any) -> list[tuple[int, int]]:
    """Flips as pairs of a node and an attribute."""
    try:
        found = _array(list(flips) if isinstance(flips, (set, frozenset)) else flips)
    except (TypeError, ValueError):
        found = np.zeros(1)  # Rows of different lengths.
    if found.size == 0:
        return []
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise InputError(f"flips={flips!r}", "flips are pairs (node, attribute): [(0, 17), (3, 5)]")
    if found.min() < 0:
        raise InputError(f"flips={flips!r}: ids start at 0", "flips are pairs (node, attribute), both from 0: [(0, 17), (3, 5)]")
    return [(int(node), int(attribute)) for node, attribute in found]
