"""The calls that write files: train, study, report, validate."""

from __future__ import annotations

import dataclasses
import json
import numbers
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .arguments import is_path, keep_inputs, path_of, switch, threads as _threads, whole
from .asking import MEANT, Short, Written, again, files_of, nothing_left, tell
from .attack import Categories, Flips, Joint
from .calls import Call, _attack
from .errors import LABORATORY, InputError, warn
from .files import _graph, load
from .graph import Graph
from .network import Network
from .progress import Listener, Progress
from .scope import BOTH, TAKES, instead, takers
from .selection import Subject, chosen, grouped, is_module
from .table import Table, content

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = str | os.PathLike[str]


_OF = {"hidden": "units", "depth": "layers", "seed": "", "batch": "nodes", "sample": "nodes", "max_Q": "flips"}
"""What is counted by the arguments that are no iterations."""


def _numbers(counts: Mapping[str, Any], reals: Mapping[str, Any]) -> None:
    """Raises about numbers that are none: whole ones, and others, where they are given."""
    for name, count in counts.items():
        if count is not None:
            whole(count, name, _OF.get(name, "iterations"), 1 if name in ("hidden", "depth", "batch") else 0)
    for name, number in reals.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, numbers.Real) or not 0 <= float(number) < float("inf")):
            raise InputError(f"{name}={number!r}", "give a number, 0 or more")


def _check_training(loss: Any, bounds: Any, split: Any) -> None:
    """Raises about choices of `train` that are none."""
    if loss not in ("ce", "rce", "rh", "rh-u"):
        raise InputError(f"loss={loss!r}", "give 'ce', 'rce', 'rh' or 'rh-u'")
    if bounds not in (None, "paper", "anchored"):
        raise InputError(f"bound={bounds!r}", "give 'paper' or 'anchored'")
    remedy = "give a percentage of each class as a text, such as split='10%', or a number of nodes of each class, such as split=20"
    if isinstance(split, str):
        try:
            share = float(split.removesuffix("%"))
        except ValueError:
            share = -1.0
        if not (0 < share <= 100 if split.endswith("%") else split.strip().isdecimal() and share > 0):
            raise InputError(f"split={split!r}", remedy + ("; at most 100%" if share > 100 else ""))
    elif isinstance(split, numbers.Real) and not isinstance(split, numbers.Integral) and 0 < float(split) < 1:
        raise InputError(f"split={split!r}", f"give a percentage as a text: split='{100 * float(split):.12g}%'")
    elif isinstance(split, bool) or not isinstance(split, numbers.Integral) or split < 1:
        raise InputError(f"split={split!r}", remedy)


_KINDS = ("gcn", "sage", "sage-sum", "gin")


def _layers(layers: Any, depth: Any) -> tuple[str, Any]:
    """What the layers of a network are, and how many."""
    if isinstance(layers, str) and layers in _KINDS:
        return layers, 2 if depth is None else depth
    if isinstance(layers, str):
        raise InputError(f"layers={layers!r}", "give 'gcn', 'sage', 'sage-sum' or 'gin', and their number by depth")
    if depth is not None:
        raise InputError(f"layers={layers!r} together with depth={depth!r}: both say how many layers there are", f"say layers='gcn', depth={depth!r}")
    whole(layers, "layers", "layers", 1)
    return "gcn", layers


def _flips(attack: Any, q: Any, more: dict[str, Any], what: str) -> Flips:
    """The attack of a command, by default Flips(Q=12, q=0.01)."""
    found = _attack(more, attack, q, what=what) or Flips()
    categories = isinstance(found, Categories)
    if not isinstance(found, Flips) or categories and "Categories" not in TAKES[what]:
        kind = BOTH if isinstance(found, Joint) else type(found).__name__
        without = ", and a graph without groups" * categories
        raise InputError(f"{what} is about flips of 0/1 attributes, not about {kind}", f"give Flips(…), or Q and q{without}; {kind} is decided by {takers(kind)}")
    return dataclasses.replace(found, Q=12 if found.Q is None else found.Q, q=0.01 if found.q is None else found.q)


def _graph_of(data: Any) -> Graph:
    """The graph that a network is trained on, of whatever it is given as."""
    graph = Graph.load(data, real=True) if is_path(data) else data if isinstance(data, Graph) else Graph.from_data(data, real=True)
    if graph.real:
        raise InputError(
            "the attributes are numbers, and train makes models for 0/1 attributes",
            f"give {_binarized(data)} if 0 and 1 are meant; {instead('train', 'numbers')}, of a module that was trained on numbers in PyTorch Geometric",
        )
    return graph


def _binarized(data: Any) -> str:
    """How a graph is read with every attribute that is not 0 as 1."""
    return "Graph.load(path, binarize=True)" if is_path(data) else "Graph(…, binarize=True)" if isinstance(data, Graph) else "Graph.from_data(data, binarize=True)"


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


class Tuning(Written, total=False):
    """Options of `gcnproof train` beyond those of `train` itself (docs/training.md)."""

    skip: bool
    bound: Literal["paper", "anchored"]
    epochs: int
    warm_up: int
    patience: int
    batch: int
    learning_rate: float
    decay: float
    weight_decay: float
    dropout: float
    hinge_weight: float
    bias_spread: float
    margin_labelled: float
    margin_unlabelled: float
    checkpoint: Path
    checkpoint_every: int


_COUNTS = ("epochs", "warm_up", "patience", "batch", "checkpoint_every")
_REALS = ("learning_rate", "decay", "weight_decay", "dropout", "hinge_weight", "bias_spread", "margin_labelled", "margin_unlabelled")
_ROBUST = ("hinge_weight", "warm_up", "margin_labelled", "margin_unlabelled")
"""What cross entropy alone does not look at."""


def train(
    data: Any,
    loss: Literal["ce", "rce", "rh", "rh-u"] = "rh-u",
    attack: Flips | int | None = None,
    q: Any = None,
    *,
    hidden: int = 32,
    layers: Literal["gcn", "sage", "sage-sum", "gin"] | int = "gcn",
    depth: int | None = None,
    message_passing: str | Sequence[str] | None = None,
    split: str | int | None = None,
    labelled: Any = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    log: Path | None = None,
    **more: Unpack[Tuning],
) -> Training:
    """Trains a network that can be proved robust against flips, by default Flips(Q=12, q=0.01), or changes of Categories (docs/training.md).

    `layers` says what its layers are, `depth` how many there are, by default 2; a number of `layers` is the depth of a GCN. skip=True adds
    each hidden layer to the next. `message_passing` is for layers of GCNs.

    `ce` is standard training; `rce`, `rh` and `rh-u` have certificates in the loss. `split` draws the nodes whose labels are used, by
    default '10%' of each class; `labelled` gives them instead, as `nodes` of `certify`: labelled=data.train_mask. `out` is a .safetensors file; without it nothing is kept on disk. resume=True continues an interrupted training, force=True
    overwrites the file. Further keywords are the options of `gcnproof train`: epochs, warm_up, patience, batch, learning_rate, decay, weight_decay,
    dropout, hinge_weight, bias_spread, margin_labelled, margin_unlabelled, bound.
    """
    said: dict[str, Any] = dict(more)
    if is_module(data) or hasattr(data, "describe") or not isinstance(loss, str):
        raise InputError("train takes the data first, and no model: it makes one itself", "call train(data, loss='rh-u', …)")
    if isinstance(data, (list, tuple)) or getattr(data, "batch", None) is not None:
        raise InputError("training is of networks that classify nodes, and these are graphs", "train in PyTorch Geometric, with gcnproof.torch.RobustLoss, and certify that model")
    bounds, known = said.pop("bound", None), [name for name in Tuning.__annotations__ if name not in Short.__annotations__]
    found = _flips(attack, q, said, "train")
    for name in said:
        if name not in known:
            meant = MEANT | {"train_mask": "labelled=data.train_mask", "mask": "labelled", "nodes": "labelled", "train": "labelled"}
            hint = f"{meant[name]} is meant" if name in meant else f"it takes {', '.join(known)}"
            raise TypeError(f"train() got an unexpected keyword argument {name!r}: {hint}")
    if labelled is not None and split is not None:
        raise InputError(f"labelled together with split={split!r}: both say whose labels are used", "give one of them: nodes (labelled), or a share of each class (split)")
    split = "10%" if split is None else split
    _check_training(loss, bounds, split)
    kind, depth = _layers(layers, depth)
    _numbers({"hidden": hidden, "depth": depth, "seed": seed, **{name: said.get(name) for name in _COUNTS}}, {name: said.get(name) for name in _REALS})
    files = {name: None if path is None else path_of(path, name) for name, path in (("out", out), ("log", log), ("checkpoint", said.get("checkpoint")))}
    keep_inputs(files, graph=data)
    mode = again(said)
    if mode["resume"] and out is None:
        raise InputError("resume=True needs out=: the file of the training that is continued", "give out='model.safetensors', the same as before")
    rules = None if message_passing is None else [message_passing] if isinstance(message_passing, str) else list(message_passing)
    if rules is not None and not all(isinstance(rule, str) for rule in rules):
        raise InputError(f"message_passing={message_passing!r}", "give a rule such as 'gcn', or a list with one for each layer")
    count, bar = _threads(threads), Progress(progress, "train")
    graph = grouped(_graph_of(data), found)
    if graph.labels is None or not (graph.labels >= 0).any():
        where = "give a file with labels (`y`)" if is_path(data) else "give Graph(…, labels=…)" if isinstance(data, Graph) else "set data.y, one class for each node"
        raise InputError("the graph has no labels, and training needs them", where)
    if graph.normalised is not None:
        raise InputError(
            "the rows of the attributes are divided by their sums, and train makes models for 0/1 attributes",
            f"give {_binarized(data)} and certify the model on that graph, or train a module in PyTorch Geometric and certify it with these rows",
        )
    if labelled is None and getattr(data, "train_mask", None) is not None:
        warn(f"data.train_mask is not used: {split} of each class are labelled, drawn by seed={seed}; to train on the mask, say labelled=data.train_mask")
    for name in _ROBUST if loss == "ce" else ():
        if said.get(name) is not None:
            warn(f"{name} has no effect with loss='ce': it belongs to the losses with certificates")
    given = {name: said[name] for name in (*_COUNTS, *_REALS) if said.get(name) is not None and name != "checkpoint_every"}
    given = {name: float(value) if name in _REALS else int(value) for name, value in given.items()}
    network = {"hidden": int(hidden), "kind": kind, "layers": int(depth), "skip": switch(said.get("skip", False), "skip")}
    settings = {"loss": loss, "seed": int(seed), **network, "bound": bounds or "paper", **given}
    every = said.get("checkpoint_every")
    with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
        path = files["out"] or os.path.join(folder, "model.safetensors")
        asked = {
            **files,
            "out": path,
            "settings": json.dumps(settings),
            "split": str(split),
            "labelled": chosen(labelled, graph, "labelled"),
            "message_passing": rules,
            "checkpoint_every": 50 if every is None else int(every),
            **mode,
        }
        with bar as listener:
            told = _native.train(graph._native(), found._native(graph), asked, count, listener)
        tell(told)
        trained = load(path, message_passing="gcn" if rules is None or network["skip"] else rules)
    assert isinstance(trained, Network)
    kept = None if out is None else path
    return Training(trained, kept, told["evaluation"], told["iterations"], told["seconds"])


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
    attack: Flips | int | None = None,
    q: Any = None,
    *,
    max_Q: int = 40,
    complete: bool = False,
    nodes: Any = None,
    time_limit: float = 2.0,
    sample: int = 100,
    seed: int = 1,
    call: Call = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    **more: Unpack[Written],
) -> Study:
    """Runs what the figures of a report need, for one graph and one or several models, into the folder `out`.

    `models` is a model as `certify` takes it, a dictionary of names and models, or a list; `attack` is Flips(Q=12, q=0.01) by default.
    A folder that holds a study is refused: `resume` continues it, and what is there is not computed again; `force` computes everything anew.
    """
    said: dict[str, Any] = dict(more)
    complete, mode = switch(complete, "complete"), again(said)
    found = _flips(attack, q, said, "study")
    nothing_left("study", said)
    _numbers({"max_Q": max_Q, "sample": sample, "seed": seed}, {"time_limit": time_limit})
    path_of(out, "out", "give the path of a folder")
    if os.path.isfile(out):
        raise InputError(f"out={os.fspath(out)!r}: is a file, and a folder is meant", "give the path of a folder, such as out='study'")
    if isinstance(models, Mapping):
        named = [(str(name), model) for name, model in models.items()]
    elif isinstance(models, Sequence) and not is_path(models) and not hasattr(models, "describe"):
        named = [(_stem(model, f"model{at + 1}"), model) for at, model in enumerate(models)]
    else:
        named = [(_stem(models, "model"), models)]
    if not named:
        raise InputError("no model is given", "give one, a list, or a dictionary of names and models")
    count, bar = _threads(threads), Progress(progress, "study")
    subjects = [Subject.of(model, data, call, what="study") for _, model in named]
    graph = subjects[0].graph
    if any(subject.graph.digest != graph.digest for subject in subjects):
        raise InputError("the models are bound to different graphs", "a study is about one graph: call it once for each")
    asked = {
        "nodes": chosen(nodes, graph),
        "max_Q": int(max_Q),
        "complete": complete,
        "time_limit": float(time_limit),
        "sample": int(sample),
        "seed": int(seed),
        "graph_name": _stem(data, "graph"),
        "names": [name for name, _ in named],
        "out": os.fspath(out),
        **mode,
    }
    with bar as listener:
        told = _native.study(graph._native(), [subject.network for subject in subjects], found._native(graph), asked, count, listener)
    tell(told)
    return Study(os.fspath(out), told["models"])


def _stem(model: Any, name: str) -> str:
    return os.path.splitext(os.path.basename(os.fspath(model)))[0] if is_path(model) else name


def report(
    *results: Any,
    out: Path = "report.html",
    graph: Any = None,
    model: Any = None,
    title: str | None = None,
    call: Call = None,
    force: bool = False,
) -> str:
    """Draws one self-contained HTML page from results: of `certify` and `radius`, files, logs of training, studies.

    `graph` is for names, distances and purity, `model` for what each flip contributes; a study brings its own. A page that is
    there is overwritten only by `force`. Returns the path of the page.
    """
    switch(force, "force")
    path_of(out, "out", "give the path of a page, such as out='report.html'")
    if not results:
        raise InputError("no results are given", "give what certify, radius, collective or study returned, or files")
    with tempfile.TemporaryDirectory(prefix="gcnproof-") as folder:
        paths, data, shown = [], graph, {}
        for at, one in enumerate(results):
            if isinstance(one, Study):
                paths.append(one.folder)
            elif isinstance(one, Table):
                if not len(one):
                    raise InputError(f"the {type(one).__name__} at place {at + 1} has no rows: there is nothing to report", "give results of at least one node or budget")
                graph = one._graph if graph is None else graph
                data = one._data if data is None else data
                paths.append(os.path.join(folder, f"{type(one).__name__.lower()}{at + 1}.parquet"))
                shown[paths[-1]] = f"the {type(one).__name__} at place {at + 1}"
                one.save(paths[-1])
            elif is_path(one):
                paths.append(os.fspath(one))
                if paths[-1].lower().endswith((".html", ".htm")):
                    raise InputError(f"{paths[-1]}: a page stands where results are expected", f"say out={paths[-1]!r} for the page that is made")
                if os.path.isfile(one) and content(paths[-1]) == "proofs":
                    raise InputError(f"{paths[-1]}: holds proofs, not results", f"check them: gcnproof.check(model, data, {paths[-1]!r}, …)")
                if paths[-1].lower().endswith((".npz", ".safetensors")):
                    raise InputError(f"{paths[-1]}: a graph or a model stands where results are expected", "say graph=… or model=…")
            else:
                remedy = "say graph=…" if isinstance(one, Graph) else "give what certify, radius, collective or study returned, or files"
                raise InputError(f"a {type(one).__name__} is no result", remedy)
        by_graph: dict[str, list[str]] = {}
        for at, one in enumerate(results):
            if isinstance(one, Table) and "graph" in one.run.get("input", {}):
                by_graph.setdefault(one.run["input"]["graph"], []).append(f"the {type(one).__name__} at place {at + 1}")
        if len(by_graph) > 1:
            raise InputError(f"the results belong to different graphs: {'; '.join(' and '.join(places) for places in by_graph.values())}", "make one report for each graph")
        of = _graph(graph)[0]
        for one in results:
            if isinstance(one, Table) and of is not None and one.run.get("input", {}).get("graph", of.digest) != of.digest:
                raise InputError("the results were computed on another graph: its edges, attributes or labels differ", "give the graph that was certified, or leave graph out")
        if model is not None and graph is None:
            raise InputError("a model without its graph", "give the graph, too")
        network = None if model is None else Subject.of(model, graph if data is None else data, call).network
        asked = {"results": paths, "out": os.fspath(out), "title": None if title is None else str(title), "force": bool(force)}
        try:
            return os.fspath(_native.report(asked, None if of is None else of._native(), network))
        except InputError as error:
            # Results in memory are files of ours, whose names nobody has seen.
            message = error.message
            if "computed with this model" in message:
                raise InputError(
                    "model: none of the results was computed with this model, as it is now",
                    "give the one that was certified (a module that was trained since is another one), or leave model out: only what each flip contributes needs it",
                ) from None
            for path, words in shown.items():
                message = message.replace(path, words)
            raise InputError(message, error.help) from None


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
    attack: Flips | int | None = None,
    q: Any = None,
    *,
    sample: int = 200,
    seed: int = 1,
    nodes: Any = None,
    time_limit: float = 10.0,
    milp_limit: float = 2.0,
    exact_limit: float = 2.0,
    plots: Path | None = None,
    call: Call = None,
    threads: int | None = None,
    progress: bool | Listener = True,
    out: Path | None = None,
    **more: Unpack[Written],
) -> Validation:
    """Compares the certifier with LP, ILP and MILP solvers on sampled nodes: dual ≤ LP ≤ ILP ≤ MILP ≤ witness.

    Only in a build with the laboratory: `gcnproof._native.build()` says whether this is one.
    """
    if not _native.build()["laboratory"]:
        raise InputError(
            "validate belongs to the laboratory, which this build of gcnproof does not have",
            LABORATORY,
        )
    said: dict[str, Any] = dict(more)
    found = _flips(attack, q, said, "validate")
    folder = None if plots is None else path_of(plots, "plots", "give the path of a folder, such as plots='plots'")
    files = files_of("validate", None, out, said, folder)
    _numbers({"sample": sample, "seed": seed}, {"time_limit": time_limit, "milp_limit": milp_limit, "exact_limit": exact_limit})
    count, bar = _threads(threads), Progress(progress, "validate")
    subject = Subject.of(model, data, call, what="validate")
    keep_inputs(files, model=subject.model, graph=subject.file)
    asked = {
        "nodes": chosen(nodes, subject.graph),
        "sample": int(sample),
        "seed": int(seed),
        "time_limit": float(time_limit),
        "milp_limit": float(milp_limit),
        "exact_limit": float(exact_limit),
        "plots": folder,
    }
    with bar as listener:
        told = _native.validate(subject.graph._native(), subject.network, found._native(subject.graph), asked, files, count, listener)
    tell(told)
    return Validation(told["ok"], told["summary"], told["rows"])
