"""A term for the loss of one's own training loop: what an attacker could do to a module, as far as a bound knows.

    robust = gcnproof.torch.RobustLoss(gcnproof.Flips(Q=12, q=0.01), "hinge-unlabelled")
    for epoch in range(600):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data.x, data.edge_index)[train], data.y[train]) + robust(model, data, batch)
        loss.backward()
        optimizer.step()

See docs/training.md. This module and `pyg` are the only ones that import torch.
"""

from __future__ import annotations

import weakref
from typing import Any, Literal

import numpy as np
import torch

from . import _native
from .arguments import threads as _threads
from .attack import Edges, Flips, Ranges, _named
from .errors import InputError, InvalidAttributes, UnsupportedModel, warn
from .graph import Graph
from .network import Network
from .pyg import read
from .pyg.inputs import Call, batched, copied, unwrapped
from .pyg.traced import Traced, leaves, obstacle, remade
from .scope import instead
from .selection import check_places, grouped, selected

_READINGS = 4
"""So many pairs of module and data are kept as they were read."""

_TOGETHER = 256
"""So many targets are certified at once where no gradient is wanted: Ctrl-C is heard between them."""

_MANY, _NEARLY_ALL = 100, 0.98
"""Of so many targets nearly all are certified and predicted alike: then the module has collapsed."""

_CLOSE = 1e-9
"""How far numbers that are made again may lie from those that were read, relative to the largest."""


@_named(
    labelled="labelled of the loss itself, robust(model, data, nodes, labelled=mask),",
    nodes="nodes of the loss itself, robust(model, data, nodes),",
    **dict.fromkeys(("Q", "q", "flips", "direction", "freeze_nodes", "freeze_attributes"), "the attack, RobustLoss(Flips(Q=…, q=…)),"),
    **dict.fromkeys(("margins", "margin_labelled"), "margin"),
    **dict.fromkeys(("loss", "reduction"), "kind, of which the loss is the mean,"),
    hinge_weight="weight",
    deployed="certify(…, deployed='float32')",
)
class RobustLoss:
    """How far a module is from being certified against an attacker, as a scalar that can be differentiated.

    `attack` is Flips(Q=…, q=…) or Categories(Q=…, q=…, groups=…). `kind` says what is charged, with g the bounds of the margins of a node's class over the others:

    - "cross-entropy" (RCE): the cross entropy of −g, in place of that of the logits; nodes need labels;
    - "hinge" (RH): how far g is below `margin`, to be added to the cross entropy; nodes need labels;
    - "hinge-unlabelled" (RH-U): the same for all nodes, those without a label with the class that the module predicts and `margin_unlabelled`.

    `bound` is "paper" or "anchored". `weight`, `margin` and `margin_unlabelled` are those of `gcnproof train` unless they are given (docs/training.md).
    `cross_entropy=True` adds the mean cross entropy of the logits of all labelled nodes to a hinge: a loop then needs no pass of the module itself, which on
    a CPU multiplies attributes as a dense matrix. `call=lambda model, data: model(…)` says how the module is called where that is not plain. `threads` limits
    the native code.

    The module is read at the first call and again whenever its structure or the data changes; from step to step only numbers move. BatchNorm takes its
    running statistics, and dropout is off. A module that cannot be certified raises UnsupportedModel at the first call.
    """

    def __init__(
        self,
        attack: Flips,
        kind: Literal["cross-entropy", "hinge", "hinge-unlabelled"] = "hinge-unlabelled",
        bound: Literal["paper", "anchored"] = "paper",
        *,
        weight: float | None = None,
        margin: float | None = None,
        margin_unlabelled: float | None = None,
        cross_entropy: bool = False,
        call: Call | None = None,
        threads: int | None = None,
    ):
        if not isinstance(attack, Flips):
            known = isinstance(attack, (Ranges, Edges, list, tuple))
            decided = "; certify decides other attacks, whatever a module was trained with" if known else ""
            raise InputError(f"a {type(attack).__name__} is no attack that there is a loss for, which are flips of 0/1 attributes and changes of categories", f"give Flips(Q=12, q=0.01){decided}")
        if attack.Q is None or attack.q is None:
            raise InputError(f"{'Q' if attack.Q is None else 'q'} is missing", "say how many attributes may be flipped in all (Q) and in each node (q)")
        if attack.bound not in ("best", bound):
            raise InputError(f"bound={attack.bound!r} inside Flips(…)", f"say it of the loss: RobustLoss(Flips(…), bound={attack.bound!r})")
        if attack.margins != "fast":
            raise InputError(f"margins={attack.margins!r} inside Flips(…): a loss has the margins that its bound has", "leave it out")
        if bound not in ("paper", "anchored"):
            raise InputError(f"bound={bound!r}", "give 'paper' or 'anchored'")
        if not isinstance(kind, str):
            raise InputError(f"kind={kind!r}", "give 'cross-entropy', 'hinge' or 'hinge-unlabelled'")
        usual = _native.loss_settings(kind)
        given = [usual_one if one is None else one for one, usual_one in zip((weight, margin, margin_unlabelled), usual)]
        for name, value in zip(("weight", "margin", "margin_unlabelled"), given):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
                raise InputError(f"{name}={value!r}", "give a number that is not negative")
        if cross_entropy not in (True, False):
            raise InputError(f"cross_entropy={cross_entropy!r}", "give True or False")
        if cross_entropy and kind == "cross-entropy":
            raise InputError("cross_entropy=True: kind='cross-entropy' takes the place of the cross entropy of the logits", "leave it out, or take kind='hinge'")
        self.attack, self.kind, self.bound, self.cross_entropy = attack, kind, bound, cross_entropy
        self.weight, self.margin, self.margin_unlabelled = map(float, given)
        self._call, self._threads = call, _threads(threads)
        self._readings: list[_Reading] = []

    def __repr__(self) -> str:
        return f"RobustLoss({type(self.attack).__name__}(Q={self.attack.Q}, q={self.attack.q}), {self.kind!r}, {self.bound!r})"

    def __call__(self, model: torch.nn.Module, data: Any, nodes: Any = None, *more: None, labelled: Any = None) -> torch.Tensor:
        """The loss of some nodes, or graphs: ids, a slice, a mask, or all of them. It is their mean times `weight`.

        `labelled` says which nodes have a label that may be used, by default `data.train_mask` for "hinge-unlabelled" and with `cross_entropy=True`, else
        all that have one, of which all `nodes` must have one; the labels themselves are `data.y`.
        """
        if more:
            raise InputError("a loss takes the model, the data and nodes, and more is given", "labels are data.y, and labelled=mask says whose: robust(model, data, nodes, labelled=mask)")
        data = batched(data)
        reading = self._reading(model, data)
        targets = reading.targets(nodes)
        return reading.loss(self._chosen(reading, data, targets, labelled))

    def certified(self, model: torch.nn.Module, data: Any, nodes: Any = None) -> float:
        """The share of some nodes, or graphs, that the bound certifies for the class that the module predicts.

        It is a figure for validation and early stopping, in float64 without the rounding errors; verdicts come from gcnproof.certify, which has
        tighter bounds for deep networks, and a search.
        """
        reading = self._reading(model, batched(data))
        targets = reading.targets(nodes)
        parts = [reading.bounds(targets[at : at + _TOGETHER]) for at in range(0, len(targets), _TOGETHER)]
        bounds, predicted = (np.concatenate(part) for part in zip(*parts))
        share, alike = float((bounds > 0).mean()), np.bincount(predicted)
        if len(targets) >= _MANY and min(share, alike.max() / len(targets)) >= _NEARLY_ALL:
            warn(
                f"{share:.1%} are certified because the module predicts class {alike.argmax()} for {alike.max() / len(targets):.1%} of them: "
                "train it by cross entropy alone for a while before the robust term, or give the term a smaller weight"
            )
        return share

    def _reading(self, model: Any, data: Any) -> _Reading:
        for place, known in enumerate(self._readings):
            if known.fits(model, data):
                self._readings.append(self._readings.pop(place))
                return known
        # Whatever was read of a module that has changed since is of no use.
        self._readings = [known for known in self._readings if known.is_current()][-_READINGS + 1 :]
        self._readings.append(_Reading(self, model, data))
        return self._readings[-1]

    def _chosen(self, reading: _Reading, data: Any, targets: list[int], labelled: Any) -> dict[str, Any]:
        """Targets, the class of each, below 0 for the predicted one, whether it is a label, and the labels that logits are to fit."""
        labels, known = self._labels(reading, data, labelled)
        what = reading.what
        if self.kind != "hinge-unlabelled" and not known[targets].all():
            node = next(target for target in targets if not known[target])
            raise InputError(f"{what} {node} has no label, which kind={self.kind!r} needs", f"give labelled {what}s, or take the kind 'hinge-unlabelled'")
        fitted = np.flatnonzero(known) if self.cross_entropy else np.array([], dtype=int)
        if self.cross_entropy and not len(fitted):
            raise InputError(f"cross_entropy=True: no {what} is labelled", f"label some {what}s, or leave it out")
        for target in (target for target in [*targets, *fitted] if labels[target] >= reading.classes):
            raise InputError(f"{what} {target} has the label {labels[target]}, but the module has logits of {reading.classes} classes, from 0 to {reading.classes - 1}", "number the classes 0, 1, 2, … in data.y, as in training")
        return _chosen(targets, labels[targets].tolist(), known[targets].tolist(), fitted.tolist(), labels[fitted].tolist())

    def _labels(self, reading: _Reading, data: Any, labelled: Any) -> tuple[np.ndarray, np.ndarray]:
        """The label of each target, below 0 without one that may be used, and whether it has one."""
        count, what = reading.count, reading.what
        y, unlabelled = getattr(data, "y", None), self.kind == "hinge-unlabelled"
        masked = unlabelled or self.cross_entropy
        mask = getattr(data, "train_mask", None) if masked and labelled is None else labelled
        known = np.full(count, mask is None and not masked)
        if mask is not None:
            known[reading.ids(mask, "labelled")] = True
        if y is None:
            if not unlabelled or self.cross_entropy or labelled is not None and known.any():
                needed = "labelled says whose to use" if unlabelled else f"kind={self.kind!r} needs one for each of the {what}s"
                needed = "cross_entropy=True needs some" if self.cross_entropy else needed
                remedy = f"set data.y, one class for each {what}, below 0 where there is none; without labels: RobustLoss(…, 'hinge-unlabelled'){', labelled=[]' * unlabelled}"
                raise InputError(f"the data has no labels, `data.y`, and {needed}", remedy)
            return np.full(count, -1), np.full(count, False)
        if mask is None and masked:
            have = "robust(model, data, labelled=data.train_mask)" if what == "node" else "robust(model, graphs, labelled=slice(None)) for all graphs"
            none = "" if self.cross_entropy else "; or labelled=[] for none of them"
            raise InputError(f"it is not said which {what}s are labelled", f"say it where the loss is computed: {have}{none}")
        labels = y.detach().cpu().reshape(-1).numpy()
        known &= labels >= 0
        return np.where(known, labels, -1), known


def _chosen(nodes: list[int], classes: list[int], labelled: list[bool], *fitted: list[int]) -> dict[str, Any]:
    """A batch as the native code takes it; `fitted` are targets whose logits are to fit labels, and these."""
    return {"nodes": nodes, "classes": classes, "labelled": labelled, "fitted": dict(zip(("nodes", "classes"), fitted or ([], [])))}


class _Reading:
    """A module as it was read on some data: what its numbers are made of, and the native code that bounds its margins."""

    def __init__(self, loss: RobustLoss, model: Any, data: Any):
        if not isinstance(model, torch.nn.Module):
            check_places(model, data)
            raise UnsupportedModel(f"a {type(model).__name__} is not a torch.nn.Module: give the model itself")
        if data is None or isinstance(data, (str, Graph)):
            raise InputError(f"a {type(data).__name__} is no Data object", "give the Data object that the module is called with")
        check_places(model, data)
        try:
            found = read(model, data, loss._call, traced=True)
        except InvalidAttributes as error:
            raise error.of(instead("RobustLoss", "numbers")) from None
        graph = grouped(found.compared_graph(), loss.attack)
        # As the native code has them: each layer behind those that it reads.
        self.arrays = [found.arrays[layer.name] for layer in found.network._sorted()]
        self.made = [array.made for weights, bias in self.arrays for array in (*weights, bias) if isinstance(array, Traced)]
        if (name := obstacle(self.made)) is not None:
            raise UnsupportedModel(
                f"the module computes weights from its parameters by `{name}`, through which no gradient is followed. Remedy: compute them by other functions of torch, "
                "not in place",
                name,
            )
        self.leaves = leaves(self.made)
        if not self.leaves & {name for name, _ in unwrapped(model).named_parameters()}:
            warn("the module's logits do not depend on any of its parameters: the loss has no gradient")
        self._model, self._state = weakref.ref(model), _state(model, self.leaves)
        self._data, self._versions = _tensors(data), _versions(data)
        _check_gradient(loss, model, data, found.network, self)
        network = _native.Network(graph._native(), *found.network.describe())
        charging = {
            "kind": loss.kind, "bound": loss.bound, "weight": loss.weight, "margin_labelled": loss.margin, "margin_unlabelled": loss.margin_unlabelled,
        }
        self.native = _native.Certificates(graph._native(), network, loss.attack._native(graph), charging, loss._threads)
        self.count: int = self.native.targets
        self.what = "graph" if found.network.has_readout else "node"
        self.classes: int = network.classes

    def is_current(self) -> bool:
        """Is the module as it was, but for the numbers that are made again?"""
        model = self._model()
        return model is not None and self._state == _state(model, self.leaves)

    def fits(self, model: Any, data: Any) -> bool:
        """Is it the reading of this module, as it is now, on this data?"""
        return self._model() is model and self._versions == _versions(data) and self.is_current()

    def targets(self, nodes: Any) -> list[int]:
        """At least one of the nodes, or graphs."""
        found = self.ids(nodes, "nodes")
        if not found:
            raise InputError("nodes: none is selected", "give at least one id, or leave nodes out")
        return found

    def ids(self, nodes: Any, name: str) -> list[int]:
        """Ids of nodes, or of graphs."""
        found = selected(nodes, self.count, f"{self.what}s", name)
        found = list(range(self.count)) if found is None else found
        for node in found:
            if not -self.count <= node < self.count:
                raise InputError(f"{name}: there is no {self.what} {node}: the last one is {self.count - 1}", "ids run from 0")
        return [node % self.count for node in found]

    def numbers(self) -> list[torch.Tensor]:
        """The module's present numbers as the network has them, in float64 on the CPU."""
        model = self._model()
        assert model is not None
        inner = unwrapped(model)
        tensors = {name: tensor.to("cpu", torch.float64) for name, tensor in [*inner.named_buffers(), *inner.named_parameters()] if name in self.leaves}
        return remade(self.made, tensors)

    def loss(self, chosen: dict[str, Any]) -> torch.Tensor:
        """The loss of some targets."""
        model = self._model()
        assert model is not None
        like = next((parameter for parameter in model.parameters() if parameter.is_floating_point()), torch.zeros(()))
        return _Loss.apply(self, chosen, *self.numbers()).to(like.device, like.dtype)

    def bounds(self, targets: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The smallest bound of each target's margins, and the predicted classes."""
        with torch.no_grad():
            numbers = self.numbers()
        chosen = _chosen(targets, [-1] * len(targets), [False] * len(targets))
        return self.native.evaluate(self.layers(numbers), chosen, False)[1:3]

    def layers(self, numbers: Any) -> list[Any]:
        """The arrays of all layers, with new numbers for those that are made of parameters."""
        new = iter([number.detach().numpy() for number in numbers])

        def array(known: Any) -> Any:
            return next(new) if isinstance(known, Traced) else known

        return [([array(weight) for weight in weights], array(bias)) for weights, bias in self.arrays]


class _Loss(torch.autograd.Function):
    """The native loss of a network's numbers."""

    @staticmethod
    def forward(context: Any, reading: _Reading, chosen: dict[str, Any], *numbers: torch.Tensor) -> torch.Tensor:
        wanted = any(context.needs_input_grad[2:])
        loss, _, _, by = reading.native.evaluate(reading.layers(numbers), chosen, wanted)
        if wanted and by is not None:
            known = [pair for (weights, bias), (by_weights, by_bias) in zip(reading.arrays, by) for pair in zip((*weights, bias), (*by_weights, by_bias))]
            context.save_for_backward(*[torch.from_numpy(gradient) for array, gradient in known if isinstance(array, Traced)])
        return torch.tensor(loss, dtype=torch.float64)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, *by: Any) -> Any:
        return None, None, *[by[0] * gradient for gradient in context.saved_tensors]


_PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype)


def _state(model: torch.nn.Module, leaves: set[str]) -> list[Any]:
    """What a reading depends on, but for the numbers that are made again: the modules, their settings, other buffers."""
    inner = unwrapped(model)
    state: list[Any] = []
    for name, part in inner.named_modules():
        settings = tuple(
            (key, value) for key, value in vars(part).items()
            if key != "training" and (isinstance(value, _PLAIN) or isinstance(value, (tuple, list)) and all(isinstance(item, _PLAIN) for item in value))
        )
        own = (id(vars(part).get("forward")), len(part._forward_hooks), len(part._forward_pre_hooks))
        state.append((name, type(part), own, repr(settings)))
    for name, tensor in [*inner.named_parameters(remove_duplicate=False), *inner.named_buffers()]:
        # No structure depends on a parameter: that was checked. Of buffers, whole numbers count steps and nothing else.
        trained = isinstance(tensor, torch.nn.Parameter)
        numbers = None if trained or name in leaves or not tensor.is_floating_point() else tensor._version
        state.append((name, tuple(tensor.shape), id(tensor) if trained else None, numbers))
    return state


def _tensors(data: Any) -> list[tuple[str, Any]]:
    """The tensors of a Data object, by name."""
    keys = list(data.keys()) if callable(getattr(data, "keys", None)) else list(getattr(data, "__dict__", ()))
    return [(key, tensor) for key in keys if isinstance(tensor := getattr(data, key, None), torch.Tensor)]


def _versions(data: Any) -> list[Any]:
    """Which tensors a Data object has, and how often they were changed in place."""
    return [(key, id(tensor), None if tensor.is_inference() else tensor._version) for key, tensor in _tensors(data)]


def _check_gradient(loss: RobustLoss, model: torch.nn.Module, data: Any, network: Network, reading: _Reading) -> None:
    """Raises where the numbers of the network are not made of the parameters as they were recorded: another module, whose parameters were moved, must give the same."""
    moved = copied(model)
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in moved.parameters():
            if parameter.is_floating_point():
                parameter.add_(0.01 * torch.randn(parameter.shape, generator=random, dtype=torch.float64) * (1.0 + parameter.abs()))
        for name, buffer in moved.named_buffers():
            if name in reading.leaves:
                buffer.mul_(1.0 + 0.1 * torch.rand(buffer.shape, generator=random, dtype=torch.float64))
        found = read(moved, data, loss._call, traced=True)
        tensors = {name: tensor for name, tensor in [*moved.named_buffers(), *moved.named_parameters()] if name in reading.leaves}
        numbers = reading.layers(remade(reading.made, tensors))
    remedy = "Remedy: keep what passes messages, and every choice of the forward, apart from the parameters"
    if not _same_structure(network, found.network):
        raise UnsupportedModel(f"the structure of the module, or its message passing, depends on the values of its parameters. {remedy}", "structure")
    for layer, (weights, bias) in zip(found.network._sorted(), numbers):
        for own, other in [*zip(weights, (term.weight for term in layer.terms)), (bias, layer.bias)]:
            size = 0.0 if other is None else float(np.abs(other).max(initial=0.0))
            if (own is None) != (other is None) or own is not None and other is not None and not np.allclose(own, other, rtol=0.0, atol=_CLOSE * size):
                raise UnsupportedModel(
                    f"the numbers of the layer {layer.name!r} depend on the parameters in a way that is not followed. {remedy}", layer.name
                )


def _same_structure(first: Network, second: Network) -> bool:
    """Do two networks differ in the numbers of weights and biases alone?"""

    def operator(one: Any) -> Any:
        base, coefficients = getattr(one, "base", one), tuple(getattr(one, "coefficients", ()))
        base = base if isinstance(base, str) else tuple(part.tobytes() for part in (base.indptr, base.indices, base.data))
        return base, coefficients

    def structure(network: Network) -> list[Any]:
        return [
            (layer.name, layer.activation, None if layer.bias is None else layer.bias.shape,
             [(term.source, operator(term.operator), None if term.weight is None else term.weight.shape) for term in layer.terms])
            for layer in network._sorted()
        ]

    return structure(first) == structure(second)
