"""The native module. Private: the package's own layer checks and converts what users give."""

from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np

__all__ = [
    "Gathering",
    "Graph",
    "Job",
    "Network",
    "Rows",
    "build",
    "certify",
    "certify_edges",
    "check",
    "collective",
    "command",
    "explain",
    "explain_edges",
    "interrupt",
    "radius",
    "radius_edges",
    "read_model",
]

@final
class Graph:
    """A graph, shared with the work that goes on without Python's lock."""

    def __new__(
        cls,
        adjacency: tuple[np.ndarray, np.ndarray, int],
        attributes: tuple[np.ndarray, np.ndarray, int],
        labels: np.ndarray | None = None,
        node_names: list[str] | None = None,
        attribute_names: list[str] | None = None,
        class_names: list[str] | None = None,
    ) -> Graph: ...
    @staticmethod
    def read(
        path: str, binarize: bool = False, symmetrize: bool = False, unweight: bool = False
    ) -> tuple[Graph, list[str]]: ...
    def save(self, path: str) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def digest(self) -> str: ...
    def adjacency(self) -> tuple[np.ndarray, np.ndarray]: ...
    def attributes(self) -> tuple[np.ndarray, np.ndarray]: ...
    def labels(self) -> np.ndarray | None: ...
    def names(self) -> tuple[list[str] | None, list[str] | None, list[str] | None]: ...

@final
class Network:
    """A network on a graph."""

    def __new__(cls, graph: Graph, description: str, tensors: dict[str, np.ndarray]) -> Network: ...
    @staticmethod
    def read(graph: Graph, path: str, layers: list[str] = ..., message_passing: list[str] = ...) -> Network: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def digest(self) -> str: ...
    @property
    def classes(self) -> int: ...
    @property
    def hops(self) -> int: ...
    def logits(self, graph: Graph, flips: list[tuple[int, int]] = ...) -> np.ndarray: ...

@final
class Rows:
    """The rows of a run and what the run was."""

    @staticmethod
    def read(path: str) -> Rows: ...
    def save(self, path: str, force: bool = False) -> None: ...
    def __len__(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def total(self) -> int: ...
    def run(self) -> Any: ...
    def columns(self) -> dict[str, Any]: ...
    def row(self, at: int) -> dict[str, Any]: ...
    def witnesses(self) -> list[list[tuple[int, int]]]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Job:
    """What a run asks of every node, on whichever machine."""

    @staticmethod
    def verdicts(
        graph: Graph,
        network: Network,
        global_: int,
        attacker: dict[str, Any],
        search: dict[str, Any],
        class_: str,
        bound: str,
        proofs: bool,
    ) -> Job: ...
    @staticmethod
    def radii(
        graph: Graph, network: Network, max_global: int, attacker: dict[str, Any], search: dict[str, Any]
    ) -> Job: ...
    def notes(self) -> list[str]: ...
    def work(self, nodes: list[int], threads: int | None = None) -> tuple[bytes, bytes]: ...
    def gather(
        self, nodes: list[int] | None, proofs: str | None, out: str | None, resume: bool, force: bool
    ) -> Gathering: ...

@final
class Gathering:
    """Where the rows of a run come together; it holds the locks of its files."""

    def open(self) -> np.ndarray: ...
    def push(self, rows: bytes, proofs: bytes) -> None: ...
    def finish(self) -> tuple[Rows, dict[str, Any]]: ...

_Progress: TypeAlias = Callable[[int, int, str], Any]

def certify(
    graph: Graph,
    network: Network,
    global_: int,
    attacker: dict[str, Any],
    search: dict[str, Any],
    nodes: list[int] | None,
    class_: str,
    bound: str,
    threads: int | None,
    progress: _Progress | None,
    proofs: str | None,
    out: str | None,
    resume: bool,
    force: bool,
) -> tuple[Rows, dict[str, Any]]: ...
def radius(
    graph: Graph,
    network: Network,
    max_global: int,
    attacker: dict[str, Any],
    search: dict[str, Any],
    nodes: list[int] | None,
    threads: int | None,
    progress: _Progress | None,
    out: str | None,
    resume: bool,
    force: bool,
) -> tuple[Rows, dict[str, Any]]: ...
def collective(
    graph: Graph,
    network: Network,
    budgets: str | list[int],
    attacker: dict[str, Any],
    attacked_nodes: int | None,
    search: dict[str, Any],
    nodes: list[int] | None,
    class_: str,
    radii: Rows | str | None,
    rows: str,
    solver: str,
    swaps: int | None,
    threads: int | None,
    progress: _Progress | None,
    proofs: str | None,
    out: str | None,
    resume: bool,
    force: bool,
) -> tuple[Rows, dict[str, Any]]: ...
def explain(
    graph: Graph,
    network: Network,
    node: int,
    global_: int,
    attacker: dict[str, Any],
    search: dict[str, Any],
    threads: int | None,
) -> tuple[dict[str, Any], str]: ...
def certify_edges(
    graph: Graph,
    network: Network,
    global_: int,
    remover: dict[str, Any],
    search: dict[str, Any],
    nodes: list[int] | None,
    class_: str,
    threads: int | None,
    progress: _Progress | None,
    proofs: str | None,
    out: str | None,
    resume: bool,
    force: bool,
) -> tuple[Rows, dict[str, Any]]: ...
def radius_edges(
    graph: Graph,
    network: Network,
    max_global: int,
    remover: dict[str, Any],
    search: dict[str, Any],
    nodes: list[int] | None,
    threads: int | None,
    progress: _Progress | None,
    out: str | None,
    resume: bool,
    force: bool,
) -> tuple[Rows, dict[str, Any]]: ...
def explain_edges(
    graph: Graph,
    network: Network,
    node: int,
    global_: int,
    remover: dict[str, Any],
    search: dict[str, Any],
    threads: int | None,
) -> tuple[dict[str, Any], str]: ...
def check(
    graph: Graph,
    network: Network,
    proofs: str,
    global_: int | None,
    local: int | None,
    edges_global: int | None,
    edges_local: int | None,
    bound: int | None,
    attacked_nodes: int | None,
    nodes: list[int] | None,
    exact: bool,
    deployed: str | None,
    work_limit: int,
    threads: int | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def command(words: list[str], threads: int | None, progress: _Progress | None) -> tuple[int, str, list[str]]: ...
def read_model(
    path: str, layers: list[str]
) -> tuple[
    list[tuple[list[np.ndarray], np.ndarray, list[str], list[bool]]],
    dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]],
    list[str],
]: ...
def build() -> dict[str, Any]: ...
def interrupt() -> None: ...
