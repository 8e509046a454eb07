"""The calls: certify and radius over the machines of a Ray cluster."""

from __future__ import annotations

import os
from typing import Any, Literal

from .. import _native
from ..calls import Direction, _path, _search, _tell, _without_search
from ..errors import IncompleteRun, InputError
from ..progress import Listener, Progress
from ..results import Radii, Results
from ..selection import Subject, attacker, flips as _flips, selected, threads as _threads
from .asked import Asked, Parcel
from .batches import plan, weights
from .driver import Driver, engine

Path = str | os.PathLike[str]


def certify(
    model: Any,
    data: Any,
    Q: int,
    q: Any,
    *,
    address: str | None = None,
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
    batch: int | None = None,
    progress: bool | Listener = True,
    proofs: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
    margins: Literal["fast", "tight"] = "fast",
) -> Results:
    """A verdict for every node, found by all machines of a Ray cluster: the same rows and files as `gcnproof.certify`.

    `address` is that of the cluster, as `ray.init` takes it; without one, the cluster that this process is connected to, or else what
    `ray.init()` finds or starts. Each machine has one worker with `threads` threads (the processors that Ray knows of). `batch` limits
    the nodes that a worker is given at a time. The other arguments are those of `gcnproof.certify`; this process alone writes the files.

    A worker or a machine that is lost costs its batch, which is done again elsewhere. A batch that fails three times is left out: then
    IncompleteRun is raised when all others are done; it has the results and says which nodes are missing.
    """
    subject = Subject(model, data)
    asked = Asked(
        "certify",
        _flips(Q, "Q"),
        attacker(subject.graph, q, flips, freeze_nodes, freeze_attributes),
        _search(
            _without_search(complete, bound), minimize, time_limit, minimize, margins, deployed, operator_error, flush_subnormals,
            unit_roundoff,
        ),
        class_,
        bound,
        proofs is not None,
    )
    rows, facts, problem = _run(subject, asked, nodes, address, threads, batch, progress, proofs, out, resume, force)
    return _ended(Results(rows, facts, subject.graph, subject.data), problem)


def radius(
    model: Any,
    data: Any,
    q: Any,
    *,
    address: str | None = None,
    max_Q: int = 1000,
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
    batch: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
) -> Radii:
    """For every node the largest Q that is certified and the smallest Q with a witness, found by all machines of a Ray cluster.

    The arguments are those of `gcnproof.radius`, and `address`, `threads` and `batch` as in `certify`.
    """
    subject = Subject(model, data)
    asked = Asked(
        "radius",
        _flips(max_Q, "max_Q"),
        attacker(subject.graph, q, flips, freeze_nodes, freeze_attributes),
        _search(complete, False, time_limit, False, "tight", deployed, operator_error, flush_subnormals, unit_roundoff),
    )
    rows, facts, problem = _run(subject, asked, nodes, address, threads, batch, progress, None, out, resume, force)
    return _ended(Radii(rows, facts, subject.graph, subject.data), problem)


def _run(
    subject: Subject,
    asked: Asked,
    nodes: Any,
    address: str | None,
    threads: int | None,
    batch: int | None,
    progress: bool | Listener,
    proofs: Path | None,
    out: Path | None,
    resume: bool,
    force: bool,
) -> tuple[_native.Rows, dict[str, Any], IncompleteRun | None]:
    """The rows, what there is to say of them, and what is missing."""
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise InputError(f"batch={batch!r}", "give the nodes of a batch at most, 1 or more, or leave it out")
    threads = _threads(threads)
    ray = engine()
    graph = subject.graph._native()
    # What is wrong with the arguments is found here, before any machine is asked.
    job = asked.job(graph, subject.network)
    gathering = job.gather(
        selected(nodes, subject.graph.node_count), _path(proofs), _path(out), resume, force
    )
    open_ = gathering.open()
    problem = None
    if len(open_):
        own = not ray.is_initialized()
        if own:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        try:
            with Progress(progress, asked.kind) as listener:
                driver = Driver(ray, Parcel.of(subject), asked, threads, gathering.push, listener)
                weight = weights(*graph.adjacency(), subject.network.hops)
                problem = driver.run(plan(open_, weight, driver.look(), batch))
        finally:
            # Whatever happened, rows that have come in are kept.
            rows, facts = gathering.finish()
            if own:
                ray.shutdown()
    else:
        rows, facts = gathering.finish()
    _tell({"notes": [*job.notes(), *facts.get("notes", [])]})
    return rows, facts, problem


def _ended(results: Any, problem: IncompleteRun | None) -> Any:
    """The results of a run, or an error that has them."""
    if problem is not None:
        problem.results = results
        raise problem
    return results
