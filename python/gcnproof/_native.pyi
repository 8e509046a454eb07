"""The native module. Private: the package's own layer checks and converts what users give."""

from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np

__all__ = [
    "RULES",
    "Certificates",
    "Gathering",
    "Graph",
    "Network",
    "Question",
    "Rows",
    "build",
    "check",
    "collective",
    "interrupt",
    "loss_settings",
    "read_model",
    "report",
    "study",
    "train",
    "validate",
]

#: The rules of a check, as the commands tell them.
RULES: str

#: The arrays of a layer: the weights of its terms, None for the identity, and its bias.
_Layer: TypeAlias = tuple[list[np.ndarray | None], np.ndarray | None]

def loss_settings(kind: str) -> tuple[float, float, float]: ...

@final
class Certificates:
    """A network whose numbers change from step to step, an attacker and a loss."""

    def __new__(
        cls, graph: Graph, network: Network, attack: dict[str, Any], charging: dict[str, Any], threads: int | None
    ) -> Certificates: ...
    @property
    def targets(self) -> int: ...
    def evaluate(
        self, layers: list[_Layer], chosen: dict[str, Any], gradient: bool
    ) -> tuple[float, np.ndarray, np.ndarray, list[_Layer] | None]: ...

@final
class Graph:
    """A graph, shared with the work that goes on without Python's lock."""

    def __new__(
        cls,
        adjacency: tuple[np.ndarray, np.ndarray, int],
        attributes: tuple[np.ndarray, np.ndarray, int],
        labels: np.ndarray | None = None,
        names: tuple[list[str] | None, list[str] | None, list[str] | None] = ...,
        normalised: int | None = None,
        batch: np.ndarray | None = None,
        directed: bool = False,
        values: np.ndarray | None = None,
    ) -> Graph: ...
    @staticmethod
    def read(
        path: str, binarize: bool = False, symmetrize: bool = False, unweight: bool = False, directed: bool = False, real: bool = False
    ) -> tuple[Graph, list[str]]: ...
    def save(self, path: str) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def digest(self) -> str: ...
    @property
    def normalised(self) -> int | None: ...
    def grouped(self, groups: list[int]) -> Graph: ...
    @property
    def groups(self) -> list[int] | None: ...
    @property
    def category_changes(self) -> list[tuple[int, int]]: ...
    def adjacency(self) -> tuple[np.ndarray, np.ndarray]: ...
    def attributes(self) -> tuple[np.ndarray, np.ndarray]: ...
    def values(self) -> np.ndarray | None: ...
    def labels(self) -> np.ndarray | None: ...
    def batch(self) -> np.ndarray | None: ...
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
    def on(self, graph: Graph) -> Network: ...
    def logits(self, graph: Graph, flips: list[tuple[int, int]] = ...) -> np.ndarray: ...

@final
class Rows:
    """The rows of a run and what the run was."""

    @staticmethod
    def read(path: str) -> Rows: ...
    def save(self, path: str, force: bool = False) -> None: ...
    def select(self, places: list[int]) -> Rows: ...
    def __reduce__(self) -> tuple[Any, tuple[str, str, int, str]]: ...
    @staticmethod
    def restore(kind: str, fingerprint: str, total: int, rows: str) -> Rows: ...
    def __len__(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def total(self) -> int: ...
    def run(self) -> Any: ...
    def columns(self) -> dict[str, Any]: ...
    def row(self, at: int) -> dict[str, Any]: ...
    def witnesses(self) -> list[list[tuple[int, int]]]: ...
    def witness_edges(self) -> list[list[tuple[int, int]]]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

_Progress: TypeAlias = Callable[[int, int, str], Any]

@final
class Question:
    """What is asked of some nodes about an attacker."""

    def __new__(cls, graph: Graph, network: Network, attack: dict[str, Any], asked: dict[str, Any]) -> Question: ...
    def answer(
        self, files: dict[str, Any], threads: int | None = None, progress: _Progress | None = None
    ) -> tuple[Rows, dict[str, Any]]: ...
    def explain(self, threads: int | None = None) -> tuple[dict[str, Any], str]: ...
    def notes(self) -> list[str]: ...
    def work(
        self, graph: Graph, nodes: list[int], proofs: bool, threads: int | None = None
    ) -> tuple[bytes, bytes]: ...
    def gather(self, files: dict[str, Any]) -> Gathering: ...

@final
class Gathering:
    """Where the rows of a run come together; it holds the locks of its files."""

    def open(self) -> np.ndarray: ...
    def push(self, rows: bytes, proofs: bytes) -> None: ...
    def finish(self) -> tuple[Rows, dict[str, Any]]: ...

def collective(
    graph: Graph,
    network: Network,
    attack: dict[str, Any],
    asked: dict[str, Any],
    curve: dict[str, Any],
    files: dict[str, Any],
    threads: int | None,
    progress: _Progress | None,
) -> tuple[Rows, dict[str, Any]]: ...
def check(
    graph: Graph,
    network: Network,
    proofs: str,
    claim: dict[str, Any] | None,
    exact: bool,
    work_limit: int,
    threads: int | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def train(
    graph: Graph, attack: dict[str, Any], asked: dict[str, Any], threads: int | None, progress: _Progress | None
) -> dict[str, Any]: ...
def study(
    graph: Graph,
    networks: list[Network],
    attack: dict[str, Any],
    asked: dict[str, Any],
    threads: int | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def report(asked: dict[str, Any], graph: Graph | None, network: Network | None) -> str: ...
def validate(
    graph: Graph,
    network: Network,
    attack: dict[str, Any],
    asked: dict[str, Any],
    files: dict[str, Any],
    threads: int | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def read_model(
    path: str, layers: list[str]
) -> tuple[
    list[tuple[list[np.ndarray], np.ndarray, list[str], list[bool]]],
    dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]],
    list[str],
]: ...
def build() -> dict[str, Any]: ...
def interrupt() -> None: ...
