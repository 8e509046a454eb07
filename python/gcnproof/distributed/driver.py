"""The driver: hands batches to the workers of a Ray cluster and takes what they find, in whatever order it comes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import GcnproofError, IncompleteRun
from ..progress import Listener
from .asked import Parcel, Shared
from .worker import Worker

MOST_FAILURES = 3
"""A batch that has failed so often is left out, and so is a machine on which no worker starts."""

AHEAD = 2
"""Batches that a worker has at a time: one that it works on, and one that is there when it is done."""

LOOK = 2.0
"""Seconds between two looks at which machines there are."""

PATIENCE = 60.0
"""Seconds to wait for a machine when there is none."""

TURN = 0.25
"""Seconds after which a wait ends, so that machines, signals and progress are looked at."""


def engine() -> Any:
    """The module ray."""
    try:
        import ray
    except ImportError as error:
        raise GcnproofError(
            "runs over several machines need Ray, which is not installed here\n"
            "  help: pip install 'gcnproof[distributed]', or pip install ray, on every machine of the cluster"
        ) from error
    return ray


@dataclass(frozen=True)
class Failure:
    """A batch that was left out."""

    nodes: list[int]
    """Its nodes."""
    errors: list[str]
    """What went wrong each time, with the machine."""


@dataclass(eq=False)
class Batch:
    """Nodes that go to a worker together."""

    nodes: np.ndarray
    errors: list[str] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    """Machines on which it failed."""


@dataclass(eq=False)
class Machine:
    """A machine of the cluster and its worker."""

    id: str
    name: str
    threads: int
    actor: Any = None
    starting: Any = None
    """What the worker says when it is ready, until it does."""
    running: deque[tuple[Any, Batch]] = field(default_factory=deque)
    """What it was given, first come, first served."""
    errors: list[str] = field(default_factory=list)
    """Why its worker did not start."""

    def is_ready(self) -> bool:
        return self.actor is not None and self.starting is None


class Driver:
    """Runs batches on all machines of a cluster. `take` gets the rows and proofs of a batch."""

    def __init__(
        self,
        ray: Any,
        parcel: Parcel,
        asked: Shared,
        threads: int | None,
        take: Callable[[bytes, bytes], None],
        listener: Listener | None,
    ):
        self.ray = ray
        # Once for the cluster; Ray copies it once to each machine, and workers map it.
        self.parcel = ray.put(parcel)
        self.asked = asked
        self.threads = threads
        self.take = take
        self.listener = listener
        self.machines: dict[str, Machine] = {}
        self.queue: deque[Batch] = deque()
        self.failures: list[Failure] = []
        self.done = self.total = 0
        self.looked = self.missed = time.monotonic()

    def look(self) -> int:
        """Which machines there are now; how many can work."""
        self.looked = time.monotonic()
        alive = {}
        for node in self.ray.nodes():
            processors = int(node["Resources"].get("CPU", 0)) if node["Alive"] else 0
            if processors > 0:
                alive[node["NodeID"]] = (node["NodeManagerAddress"], processors)
        for id, (name, processors) in alive.items():
            threads = processors if self.threads is None else min(self.threads, processors)
            self.machines.setdefault(id, Machine(id, f"{name} ({id[:8]})", threads))
        for id in [id for id in self.machines if id not in alive]:
            self._lose(self.machines[id], "the machine is gone")
            del self.machines[id]
        usable = [machine for machine in self.machines.values() if len(machine.errors) < MOST_FAILURES]
        for machine in usable:
            if machine.actor is None and self.queue:
                self._start(machine)
        if usable:
            self.missed = self.looked
        return len(usable)

    def run(self, batches: list[np.ndarray]) -> IncompleteRun | None:
        """Works on all batches. What could not be done is returned as an error that says so."""
        self.queue = deque(Batch(nodes) for nodes in batches)
        self.total = sum(map(len, batches))
        self._tell()
        try:
            usable = self.look()
            while self.queue or any(machine.running for machine in self.machines.values()):
                # Machines that are all given up do not get better; where there are none, one may come.
                if not usable and (self.machines or time.monotonic() - self.missed > PATIENCE):
                    return self._nobody()
                self._hand_out()
                self._collect()
                # A machine without a worker may get one at once; otherwise now and then is enough.
                if time.monotonic() - self.looked > LOOK or any(machine.actor is None for machine in self.machines.values()):
                    usable = self.look()
        finally:
            for machine in self.machines.values():
                self._stop(machine)
        if not self.failures:
            return None
        nodes = sum(len(failure.nodes) for failure in self.failures)
        first = self.failures[0]
        return IncompleteRun(
            f"{nodes} of {self.total} nodes are missing: {len(self.failures)} batches failed {MOST_FAILURES} times each; the first has the "
            f"nodes {_words(first.nodes)}\n  the last error: {first.errors[-1]}",
            "the results are in this error's `results`, the batches in `failures`; with out=, resume=True tries the rest again",
            list(self.failures),
        )

    def _nobody(self) -> IncompleteRun:
        """The error of a run that nobody can go on with."""
        errors = [error for machine in self.machines.values() for error in machine.errors[-1:]]
        nodes = sum(len(batch.nodes) for batch in self.queue)
        reason = f"no worker starts\n  the last error: {errors[0]}" if errors else f"there has been no machine for {PATIENCE:.0f} s"
        return IncompleteRun(
            f"{nodes} of {self.total} nodes are missing: {reason}",
            "install the same version of gcnproof on every machine of the cluster; with out=, resume=True goes on",
            [*self.failures, *(Failure(batch.nodes.tolist(), batch.errors) for batch in self.queue)],
        )

    def _start(self, machine: Machine) -> None:
        """Starts the worker of a machine."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote = self.ray.remote(Worker).options(
            num_cpus=machine.threads,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=machine.id, soft=False),
        )
        machine.actor = remote.remote(self.parcel, self.asked, machine.threads)
        machine.starting = machine.actor.version.remote()

    def _stop(self, machine: Machine) -> None:
        """Ends the worker of a machine."""
        if machine.actor is not None:
            self.ray.kill(machine.actor)
        machine.actor = machine.starting = None
        machine.running.clear()

    def _hand_out(self) -> None:
        """Gives batches to those who have too few, one to each in turn."""
        for depth in range(1, AHEAD + 1):
            for machine in self.machines.values():
                if machine.is_ready() and len(machine.running) < depth:
                    batch = self._next(machine)
                    if batch is not None:
                        machine.running.append((machine.actor.work.remote(batch.nodes), batch))

    def _next(self, machine: Machine) -> Batch | None:
        """The next batch for a machine: not one that failed there, if another machine can try it."""
        others = {id for id, other in self.machines.items() if len(other.errors) < MOST_FAILURES}
        for place, batch in enumerate(self.queue):
            if machine.id not in batch.tried or others <= batch.tried:
                del self.queue[place]
                return batch
        return None

    def _collect(self) -> None:
        """Waits a moment, and takes what has come."""
        owners = {}
        for machine in self.machines.values():
            if machine.starting is not None:
                owners[machine.starting] = machine
            elif machine.running:
                owners[machine.running[0][0]] = machine
        if not owners:
            time.sleep(TURN)
            return
        ready, _ = self.ray.wait(list(owners), num_returns=1, timeout=TURN)
        for reference in ready:
            self._take(owners[reference], reference)

    def _take(self, machine: Machine, reference: Any) -> None:
        """Takes what a worker says: that it is ready, what it found, or that something went wrong."""
        try:
            found = self.ray.get(reference)
        except self.ray.exceptions.RayActorError as error:
            self._lose(machine, _line(error))
            return
        except Exception as error:  # Whatever a worker raised, in Ray's wrapping.
            if machine.starting is not None:
                self._lose(machine, _line(error))
            else:
                self._failed(machine, machine.running.popleft()[1], _line(error))
            return
        if machine.starting is not None:
            machine.starting = None
            return
        batch = machine.running.popleft()[1]
        rows, proofs = found
        count = rows.count(b"\n")
        if count != len(batch.nodes):
            self._failed(machine, batch, f"it sent {count} rows for {len(batch.nodes)} nodes")
            return
        # What is wrong here is wrong with the files of this process, and no fault of a worker.
        self.take(rows, proofs)
        self.done += count
        self._tell()

    def _lose(self, machine: Machine, error: str) -> None:
        """A worker is gone. The batch that it worked on counts as failed, those behind it do not."""
        if machine.starting is not None and not machine.running:
            machine.errors.append(f"{machine.name}: {error}")
        waiting = [batch for _, batch in machine.running]
        machine.running.clear()
        for batch in reversed(waiting[1:]):
            self.queue.appendleft(batch)
        if waiting:
            self._failed(machine, waiting[0], error)
        self._stop(machine)

    def _failed(self, machine: Machine, batch: Batch, error: str) -> None:
        """A batch failed on a machine: it is tried again, but not for ever."""
        batch.errors.append(f"{machine.name}: {error}")
        batch.tried.add(machine.id)
        if len(batch.errors) < MOST_FAILURES:
            self.queue.append(batch)
        else:
            self.failures.append(Failure(batch.nodes.tolist(), batch.errors))

    def _tell(self) -> None:
        if self.listener is not None:
            ready = sum(machine.is_ready() for machine in self.machines.values())
            self.listener(self.done, self.total, f"{ready} machines")


def _line(error: BaseException) -> str:
    """The last line of an error that says something: Ray puts the trace of the worker before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else 'no reason given'}"


def _words(nodes: list[int]) -> str:
    """Nodes in a few words."""
    shown = ", ".join(map(str, nodes[:8]))
    return f"{shown}, … ({len(nodes)} nodes)" if len(nodes) > 8 else shown
