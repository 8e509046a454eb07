"""The calls: certify and radius over the machines of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arguments import threads as _threads
from ..asking import Asked, Class, Deployed, More, Path, files_of, tell
from ..calls import Attack, Call, Limited, radii, verdicts
from ..errors import InputError
from ..progress import Listener, Progress
from ..results import Radii, Results
from ..selection import Subject
from .asked import Parcel, Shared
from .batches import plan, weights
from .driver import Driver, engine

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Spread(More, total=False):
    """The other arguments of `gcnproof.certify`."""

    nodes: Any
    class_: Class
    complete: bool | None
    minimize: bool
    time_limit: float | None
    deployed: Deployed
    call: Call
    progress: bool | Listener
    proofs: Path | None
    out: Path | None


class SpreadRadii(Limited, total=False):
    """The other arguments of `gcnproof.radius`."""

    q: Any
    nodes: Any
    complete: bool | None
    time_limit: float | None
    deployed: Deployed
    call: Call
    progress: bool | Listener
    out: Path | None


def certify(
    model: Any,
    data: Any,
    attack: Attack | int | None = None,
    q: Any = None,
    *,
    address: str | None = None,
    threads: int | None = None,
    batch: int | None = None,
    **options: Unpack[Spread],
) -> Results:
    """A verdict for every node, found by all machines of a Ray cluster: the same rows and files as `gcnproof.certify`.

        gcnproof.distributed.certify(model, data, Q=12, q=0.01, address="auto", out="results.parquet")
        gcnproof.distributed.certify(model, data, Q=12, q=0.01, address="auto", out="results.parquet", resume=True)    # after an interruption

    `model` and `data` are a module and its Data object, a Network and a Graph, or the paths of files, and `attack` is what an attacker may
    do, Flips, Categories, Ranges or Edges, or Q and q in short. `address` is that of the cluster, as `ray.init` takes it; without one, the cluster that this process is connected to, or else what
    `ray.init()` finds or starts. Each machine has one worker with `threads` threads (the processors that Ray knows of). `batch` limits
    the nodes that a worker is given at a time. The other arguments are those of `gcnproof.certify`: nodes, class_, complete, minimize,
    time_limit, deployed, call, progress, proofs, out, resume and force; this process alone writes the files. See docs/distributed.md.

    A worker or a machine that is lost costs its batch, which is done again elsewhere. A batch that fails three times is left out: then
    IncompleteRun is raised when all others are done; it has the results and says which nodes are missing.
    """
    said: dict[str, Any] = dict(options)
    asked = verdicts(said, attack, q, **_taken(said, "nodes", "class_", "complete", "minimize", "time_limit", "deployed"))
    return _run(Results, (model, data, said.pop("call", None)), asked, said, (address, threads, batch))  # type: ignore[no-any-return]


def radius(
    model: Any,
    data: Any,
    attack: Attack | Any = None,
    *,
    address: str | None = None,
    threads: int | None = None,
    batch: int | None = None,
    **options: Unpack[SpreadRadii],
) -> Radii:
    """For every node the largest Q that is certified and the smallest Q with a witness, found by all machines of a Ray cluster.

        gcnproof.distributed.radius(model, data, 0.01, max_Q=100, address="auto", out="radii.parquet")

    The arguments are those of `gcnproof.radius`: the attack (Flips, Categories, Ranges, Edges, or q), max_Q or max_E, nodes, complete, time_limit, deployed,
    call, progress, out, resume and force; and `address`, `threads` and `batch` as in `certify`.
    """
    said: dict[str, Any] = dict(options)
    asked = radii(said, attack, said.pop("q", None), **_taken(said, "nodes", "complete", "time_limit", "deployed"))
    return _run(Radii, (model, data, said.pop("call", None)), asked, said, (address, threads, batch))  # type: ignore[no-any-return]


def _taken(said: dict[str, Any], *names: str) -> dict[str, Any]:
    """Some of the arguments, where they are given."""
    return {name: said.pop(name) for name in names if name in said}


def _run(kind: Any, bound: tuple[Any, Any, Any], asked: Asked, said: dict[str, Any], spread: tuple[str | None, int | None, int | None]) -> Any:
    """The results, or an error that has them and says what is missing."""
    address, threads, batch = spread
    progress = said.pop("progress", True)
    what = "radius" if asked.radii else "certify"
    files = files_of(what, said.pop("proofs", None), said.pop("out", None), said)
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise InputError(f"batch={batch!r}", "give the nodes of a batch at most, 1 or more, or leave it out")
    threads = _threads(threads)
    ray = engine()
    subject = Subject.of(*bound, asked.attack, what)
    graph = subject.graph._native()
    # What is wrong with the arguments is found here, before any machine is asked.
    question = asked.question(subject)
    gathering = question.gather(files)
    open_ = gathering.open()
    problem = None
    if len(open_):
        own = not ray.is_initialized()
        if own:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        try:
            with Progress(progress, what) as listener:
                shared = Shared(*asked.native(subject.graph), files["proofs"] is not None)
                driver = Driver(ray, Parcel.of(subject), shared, threads, gathering.push, listener)
                weight = weights(*graph.adjacency(), subject.network.hops)
                problem = driver.run(plan(open_, weight, driver.look(), batch))
        finally:
            # Whatever happened, rows that have come in are kept.
            rows, facts = gathering.finish()
            if own:
                ray.shutdown()
    else:
        rows, facts = gathering.finish()
    tell({"notes": [*question.notes(), *facts.get("notes", [])]})
    results = kind(rows, facts, subject.graph, subject.data)
    if problem is not None:
        problem.results = results
        raise problem
    return results
