"""The calls that write files: train, study, report, validate. They run the command of the same name inside this process."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _native
from .attacks import CollectiveResults
from .errors import GcnproofError, GcnproofWarning, InputError
from .files import load
from .graph import Graph
from .network import Network
from .progress import Listener, Progress
from .results import Radii, Results
from .selection import Subject, is_path, local, selected, threads as _threads

Path = str | os.PathLike[str]


def _run(words: list[str], threads: int | None, progress: bool | Listener) -> dict[str, Any]:
    """Runs a command; what it says as JSON."""
    with Progress(progress, words[0]) as listener:
        code, output, notes = _native.command([*words, "--format", "json"], _threads(threads), listener)
    for note in notes:
        if note.startswith(("note: ", "warning: ")):
            warnings.warn(note.split(": ", 1)[1], GcnproofWarning, stacklevel=3)
    if code == 130:
        raise KeyboardInterrupt
    if code not in (0, 1):
        raise GcnproofError(f"{words[0]} ended with code {code}: {' '.join(notes)}")
    said: dict[str, Any] = json.loads(output)
    return {**said, "notes": notes, "ok": code == 0}


def _options(**options: Any) -> list[str]:
    """Options of a command: none for None and False, a switch for True."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.strip("_").replace("_", "-"))
        if value is not True:
            words.append(os.fspath(value) if isinstance(value, os.PathLike) else str(value))
    return words


def _ids(nodes: Any, count: int, what: str = "nodes") -> str | None:
    """Ids for a command."""
    found = selected(nodes, count, what)
    return None if found is None else ",".join(map(str, sorted(set(found))))


def _budget(graph: Graph, folder: str, Q: int | None, q: Any, flips: str, freeze_nodes: Any, freeze_attributes: Any) -> list[str]:
    """The attacker's means for a command; budgets by node go through a file."""
    words = [] if Q is None else ["-Q", str(Q)]
    means = local(q, graph.node_count)
    if isinstance(means, np.ndarray):
        path = os.path.join(folder, "local.npy")
        np.save(path, means)
        words += ["--local-file", path]
    else:
        words += ["-q", f"{100 * means:.12g}%" if isinstance(means, float) else str(means)]
    words += ["--flips", flips]
    return words + _options(
        freeze_nodes=_ids(freeze_nodes, graph.node_count) or None,
        freeze_attributes=_ids(freeze_attributes, graph.attribute_count, "attributes") or None,
    )


def _graph_file(data: Any, folder: str) -> tuple[Graph, str]:
    """A graph and a file of it."""
    if is_path(data):
        return Graph.load(data), os.fspath(data)
    graph = data if isinstance(data, Graph) else Graph.from_data(data)
    path = os.path.join(folder, "graph.npz")
    graph.save(path)
    return graph, path


@dataclass(frozen=True)
class Training:
    """What `train` made."""

    network: Network
    path: str | None
    """The model file; None if none was asked for."""
    evaluation: dict[str, Any]
    """Accuracies and certified shares."""
    iterations: int
    seconds: float

    def __repr__(self) -> str:
        shares = {name: round(value, 3) for name, value in self.evaluation.items() if isinstance(value, float)}
        return f"Training({self.iterations} iterations in {self.seconds:.1f} s: {shares})"


def train(
    data: Any,
    loss: Literal["ce", "rce", "rh", "rh-u"] = "rh-u",
    Q: int = 12,
    q: Any = 0.01,
    *,
    hidden: int = 32,
    layers: int = 2,
    message_passing: str | Sequence[str] = "gcn",
    split: str | int = "10%",
    labelled: Any = None,
    seed: int = 1,
    flips: Literal["both", "add", "remove"] = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    log: Path | None = None,
    resume: bool = False,
    force: bool = False,
    **tuning: Any,
) -> Training:
    """Trains a graph convolutional network that can be proved robust at this budget (docs/training.md).

    `ce` is standard training; `rce`, `rh` and `rh-u` have certificates in the loss. `labelled` takes nodes as `certify` does, and
    replaces `split`. `out` is a .safetensors file; without it nothing is kept on disk. Further keywords are the options of
    `gcnproof train`: epochs, warm_up, patience, batch, learning_rate, decay, weight_decay, dropout, hinge_weight, bias_spread,
    margin_labelled, margin_unlabelled, bound.
    """
    known = (
        "bound epochs warm_up patience batch learning_rate decay weight_decay dropout hinge_weight bias_spread margin_labelled "
        "margin_unlabelled checkpoint checkpoint_every"
    ).split()
    for name in tuning:
        if name not in known:
            raise TypeError(f"train() got an unexpected keyword argument {name!r}: it takes {', '.join(known)}")
    rules = [message_passing] if isinstance(message_passing, str) else list(message_passing)
    with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
        graph, file = _graph_file(data, folder)
        path = os.path.join(folder, "model.safetensors") if out is None else os.fspath(out)
        words = ["train", file, "--loss", loss, *_budget(graph, folder, Q, q, flips, freeze_nodes, freeze_attributes)]
        words += _options(hidden=hidden, layers=layers, message_passing=",".join(rules), seed=seed, out=path, log=log)
        words += _options(split=None if labelled is not None else split, labelled=_ids(labelled, graph.node_count))
        words += _options(resume=resume, force=force, **tuning)
        said = _run(words, threads, progress)
        network = load(path, message_passing=rules)
    assert isinstance(network, Network)
    kept = None if out is None else path
    return Training(network, kept, said["evaluation"], said["iterations"], said["seconds"])


@dataclass(frozen=True)
class Study:
    """The folder of a study, and what is in it in short."""

    folder: str
    models: list[dict[str, Any]]

    def report(self, out: Path = "report.html", *, title: str | None = None, force: bool = False) -> str:
        """Makes the page of this study. Returns its path."""
        return report(self, out=out, title=title, force=force)

    def __repr__(self) -> str:
        lines = [f"{model['model']}: {model['robust']} of {model['nodes']} robust" for model in self.models]
        return f"Study({self.folder!r}, {'; '.join(lines)})"


def study(
    models: Any,
    data: Any,
    out: Path,
    Q: int = 12,
    q: Any = 0.01,
    *,
    max_Q: int = 40,
    complete: bool = False,
    nodes: Any = None,
    flips: Literal["both", "add", "remove"] = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    time_limit: float = 2.0,
    sample: int = 100,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | Listener = True,
    resume: bool = False,
    force: bool = False,
) -> Study:
    """Runs what the figures of a report need, for one graph and one or several models, into the folder `out`.

    `models` is a model as `certify` takes it, a dictionary of names and models, or a list. A folder that holds a study is refused:
    `resume` goes on with it, and what is there is not computed again; `force` computes everything anew.
    """
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not is_path(models) and not hasattr(models, "describe"):
        named = {_stem(model, f"model{at + 1}"): model for at, model in enumerate(models)}
    else:
        named = {_stem(models, "model"): models}
    with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
        graph, files = None, []
        for name, model in named.items():
            subject = Subject(model, data)
            graph = graph or subject.graph
            files.append(_model_file(subject, folder, name))
        if graph is None:
            raise InputError("no model is given", "give one, a list, or a dictionary of names and models")
        file = os.fspath(data) if is_path(data) else os.path.join(folder, "graph.npz")
        if not is_path(data):
            graph.save(file)
        words = ["study", file, *files, *_budget(graph, folder, Q, q, flips, freeze_nodes, freeze_attributes)]
        words += _options(max_Q=max_Q, complete=complete, nodes=_ids(nodes, graph.node_count), time_limit=time_limit)
        words += _options(sample=sample, seed=seed, out=out, resume=resume, force=force)
        said = _run(words, threads, progress)
    return Study(os.fspath(out), said["models"])


def _stem(model: Any, name: str) -> str:
    return os.path.splitext(os.path.basename(os.fspath(model)))[0] if is_path(model) else name


def _model_file(subject: Subject, folder: str, name: str) -> str:
    """A file of the model."""
    if is_path(subject.model):
        return os.fspath(subject.model)
    path = os.path.join(folder, f"{name}.safetensors")
    subject.model.save(path)
    return path


def report(
    *results: Any,
    out: Path = "report.html",
    graph: Any = None,
    model: Any = None,
    title: str | None = None,
    force: bool = False,
) -> str:
    """Draws one self-contained HTML page from results: of `certify` and `radius`, files, logs of training, studies.

    `graph` is for names, distances and purity, `model` for what each flip contributes; a study brings its own. A page that is
    there is overwritten only by `force`. Returns the path of the page.
    """
    with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
        paths, data = [], graph
        for at, one in enumerate(results):
            if isinstance(one, Study):
                paths.append(one.folder)
            elif isinstance(one, (Results, Radii, CollectiveResults)):
                graph = one._graph if graph is None else graph
                data = one._data if data is None else data
                paths.append(os.path.join(folder, f"{_kind(one)}{at + 1}.parquet"))
                one.save(paths[-1])
            else:
                paths.append(os.fspath(one))
        words = ["report", *paths, *_options(out=out, title=title, force=force)]
        if graph is not None:
            words += ["--graph", _graph_file(graph, folder)[1]]
        if model is not None:
            if graph is None:
                raise InputError("a model without its graph", "give the graph, too")
            words += ["--model", _model_file(Subject(model, graph if data is None else data), folder, "model")]
        return str(_run(words, None, False)["page"])


def _kind(rows: Results | Radii | CollectiveResults) -> str:
    return "radius" if isinstance(rows, Radii) else "results" if isinstance(rows, Results) else "collective"


@dataclass(frozen=True)
class Validation:
    """What independent solvers say of the bounds. True if all is in order."""

    ok: bool
    summary: dict[str, Any]
    pairs: list[dict[str, Any]]
    """The numbers of each class pair."""

    def __bool__(self) -> bool:
        return self.ok


def validate(
    model: Any,
    data: Any,
    Q: int,
    q: Any,
    *,
    sample: int = 200,
    seed: int = 1,
    nodes: Any = None,
    flips: Literal["both", "add", "remove"] = "both",
    freeze_nodes: Any = None,
    freeze_attributes: Any = None,
    time_limit: float = 10.0,
    milp_limit: float = 2.0,
    exact_limit: float = 2.0,
    plots: Path | None = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
) -> Validation:
    """Compares the certifier with LP, ILP and MILP solvers on sampled nodes: dual ≤ LP ≤ ILP ≤ MILP ≤ witness.

    Only in a build with the laboratory: `gcnproof._native.build()` says whether this is one.
    """
    if not _native.build()["laboratory"]:
        raise InputError(
            "validate belongs to the laboratory, which this build of gcnproof does not have",
            "build a wheel with it: verify/install-highs.sh, then scripts/python-wheel.sh laboratory (cargo features laboratory)",
        )
    with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
        subject = Subject(model, data)
        file = os.fspath(data) if is_path(data) else os.path.join(folder, "graph.npz")
        if not is_path(data):
            subject.graph.save(file)
        words = ["validate", file, _model_file(subject, folder, "model")]
        words += _budget(subject.graph, folder, Q, q, flips, freeze_nodes, freeze_attributes)
        words += _options(sample=sample, seed=seed, nodes=_ids(nodes, subject.graph.node_count), time_limit=time_limit)
        words += _options(milp_limit=milp_limit, exact_limit=exact_limit, plots=plots, out=out, resume=resume, force=force)
        said = _run(words, threads, progress)
    return Validation(said["ok"], said["summary"], said["rows"])
