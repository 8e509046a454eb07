"""Modules that do more than they seem to: hooks, replaced methods, parts written in place, refusals that are caught, features made beforehand."""

import types

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

from gcnproof.errors import MismatchedLogits, UnsupportedModel
from pyg_cases import ATTRIBUTES as D
from pyg_cases import CLASSES as C
from pyg_cases import HIDDEN as H
from pyg_cases import NODES, graph
from test_pyg_refusals import LINE, Between, refusal
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg

RELU = lambda self, x, edge_index: F.relu(x)  # noqa: E731
CLIP = 1e6
"""A limit that no attributes of the tests reach: comparing logits cannot show it."""


def clipped(module, inputs, output):
    return output.clamp(max=CLIP)


class Clipped(nn.Linear):
    """A Linear that does something else."""

    def forward(self, x):
        return super().forward(x).clamp(max=CLIP)


def changed(how):
    """Two GCNConv, the first of which is changed."""
    model = Between(RELU)
    conv = model.enter
    if how == "lin hook":
        conv.lin.register_forward_hook(clipped)
    elif how == "lin pre-hook":
        conv.lin.register_forward_pre_hook(lambda module, inputs: (inputs[0].clamp(max=CLIP),))
    elif how == "lin forward":
        conv.lin.forward = types.MethodType(lambda self, x: F.linear(x, self.weight).clamp(max=CLIP), conv.lin)
    elif how == "lin class":
        conv.lin = Clipped(D, H, bias=False)
    elif how == "aggr_module hook":
        conv.aggr_module.register_forward_hook(clipped)
    elif how == "forward":
        conv.forward = types.MethodType(lambda self, x, edges: pyg.GCNConv.forward(self, x, edges).clamp(max=CLIP), conv)
    else:
        setattr(conv, how, types.MethodType(lambda self, *args, **kwargs: getattr(pyg.GCNConv, how)(self, *args, **kwargs).clamp(max=CLIP), conv))
    return model


CHANGES = ["lin hook", "lin pre-hook", "lin forward", "lin class", "aggr_module hook", "forward", "message", "aggregate", "update", "propagate"]


@pytest.mark.parametrize("how", CHANGES)
def test_a_convolution_that_was_changed_is_not_read_by_its_formula(how):
    error = refusal(changed(how))
    assert isinstance(error, UnsupportedModel) and "enter (GCNConv)" in str(error) and "are not read" in str(error)
    assert how.split(" ")[0] in str(error)


@pytest.mark.parametrize("how", ["propagate", "message", "aggregate", "message_and_aggregate", "edge_update"])
def test_hooks_of_message_passing(how):
    error = refusal(hooked(how))
    assert isinstance(error, UnsupportedModel) and "hooks" in str(error) and "enter (GCNConv)" in str(error)


def hooked(how):
    model = Between(RELU)
    getattr(model.enter, f"register_{how}_forward_hook")(clipped)
    return model


def test_hooks_of_every_module():
    handle = nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    try:
        error = refusal(Between(RELU))
    finally:
        handle.remove()
    assert "hooks" in str(error)


def test_parametrised_weights_are_read():
    from numpy_logits import logits

    from gcnproof.pyg import read

    model = Between(RELU)
    nn.utils.parametrizations.weight_norm(model.enter.lin)
    reading = read(model, graph())
    reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes))


def test_a_subclass_with_a_propagate_of_its_own_is_followed():
    class Own(pyg.GCNConv):
        def propagate(self, edge_index, x, edge_weight):
            return x.tanh()

    model = Between(RELU)
    model.enter = Own(D, H)
    assert "tanh" in refusal(model).operation


def _slice(h):
    h[:, :2].relu_()
    return h


def _rows(h):
    h[2:].mul_(2.0)
    return h


def _all(h):
    h[:].add_(1.0)
    return h


def _chunk(h):
    first, _ = h.chunk(2, 1)
    first += 1.0
    return h


def _split(h):
    F.leaky_relu(h.split(2, 1)[0], 0.2, inplace=True)
    return h


def _of_a_part(h):
    h[:, :4][:, :2].sub_(1.0)
    return h


def _behind_the_part(h):
    part = h[:, :2]
    h.relu_()
    return torch.cat([part, h[:, 2:]], 1)


@pytest.mark.parametrize("write", [_slice, _rows, _all, _chunk, _split, _of_a_part, _behind_the_part])
def test_parts_that_are_written_in_place(write):
    error = refusal(Between(lambda self, x, edge_index: write(x)))
    assert isinstance(error, UnsupportedModel) and "in place" in str(error) and error.where.startswith(__file__), error


def read_and_compared(model, data=None, call=None):
    from numpy_logits import logits

    from gcnproof.pyg import read

    reading = read(model, data if data is not None else graph(), call)
    return reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes))


@pytest.mark.parametrize(
    "between",
    [
        lambda self, x, edge_index: x.relu_(),
        lambda self, x, edge_index: torch.cat([x[:, :2].clone().relu_(), x[:, 2:]], 1),
        lambda self, x, edge_index: torch.cat([F.relu(part) for part in x.chunk(2, 1)], 1).add_(1.0),
        lambda self, x, edge_index: x[:, torch.arange(H).flip(0)].relu_() + x,
    ],
)
def test_what_is_written_in_place_and_is_no_part_is_read(between):
    assert read_and_compared(Between(between)) < 1e-9


def test_a_stack_keeps_what_was_put_on_it():
    def between(self, x, edge_index):
        stacked = torch.stack([x, 2.0 * x])
        x.relu_()
        return stacked.sum(0) + x

    assert read_and_compared(Between(between)) < 1e-9


def test_results_written_into_a_given_tensor():
    error = refusal(Between(lambda self, x, edge_index: torch.add(x, x, out=torch.zeros(NODES, H, dtype=x.dtype))))
    assert isinstance(error, UnsupportedModel) and "out=" in str(error)


def test_a_refusal_that_the_module_catches_is_still_one():
    def between(self, x, edge_index):
        try:
            if x[0].sum() >= 1e6:  # caught
                x = x * -5
        except Exception:
            pass
        return F.relu(x)

    error = refusal(Between(between))
    assert isinstance(error, UnsupportedModel) and "# caught" in str(error)


def test_a_refusal_that_the_module_catches_before_it_fails():
    def between(self, x, edge_index):
        try:
            x = x.tanh()
        except Exception:
            raise RuntimeError("something else") from None
        return x

    assert "tanh" in refusal(Between(between)).operation


def test_a_choice_by_the_type_of_the_tensor():
    class Choosing(Between):
        def forward(self, x, edge_index):
            if type(x) is torch.Tensor and x[0].sum() > D - 1:
                x = x * -5
            return super().forward(x, edge_index)

    data = graph()
    assert data.x[0].sum() < D - 1
    assert isinstance(refusal(Choosing(RELU), data), MismatchedLogits)


class Masked(Between):
    """A model whose last class is masked."""

    def forward(self, x, edge_index):
        return super().forward(x, edge_index) + torch.tensor([0.0, 0.0, -1e15], dtype=x.dtype)


def test_a_masked_class_does_not_hide_a_random_model():
    class Random(Masked):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index) + torch.rand(1, dtype=x.dtype)

    error = refusal(Random(RELU))
    assert isinstance(error, UnsupportedModel) and "random" in str(error)


def test_a_masked_class_does_not_hide_a_choice():
    class Choosing(Masked):
        def forward(self, x, edge_index):
            return super().forward(-x if type(x) is torch.Tensor else x, edge_index)

    assert isinstance(refusal(Choosing(RELU)), MismatchedLogits)
    assert read_and_compared(Masked(RELU)) < 1e-9


def test_logits_are_compared_by_class_and_by_node():
    import numpy as np

    from gcnproof.pyg.comparison import _differing

    logits = np.random.default_rng(0).normal(size=(6, 3))
    same = logits * (1 + 1e-14)
    assert not _differing(same, logits).any() and not _differing(np.zeros((6, 3)), np.zeros((6, 3))).any()
    for huge in (np.s_[:, 2], np.s_[4, :]):
        theirs, ours = logits.copy(), same.copy()
        theirs[huge] = ours[huge] = -1e9
        assert not _differing(ours, theirs).any()
        ours[1, 0] += 0.01
        assert _differing(ours, theirs).tolist() == [False, True, False, False, False, False]
    cancelled = logits.copy()
    cancelled[:, 1] = 0.0
    noise = cancelled.copy()
    noise[:, 1] = 1e-16
    assert not _differing(noise, cancelled).any() and not _differing(cancelled, noise).any()


class Beforehand(nn.Module):
    """Reads features that were computed before the model."""

    def __init__(self, key="x1"):
        super().__init__()
        self.first, self.second, self.key = nn.Linear(D, C), nn.Linear(D, C), key

    def forward(self, data):
        return self.first(data.x) + self.second(data[self.key])


def test_features_that_were_computed_beforehand():
    data = graph()
    data.x1 = torch.rand(NODES, D)
    error = refusal(Beforehand(), data)
    assert isinstance(error, UnsupportedModel) and "`data.x1`" in str(error) and "in forward" in str(error)
    error = refusal(Beforehand(), data, call=lambda model, data: model.first(data.x) + data.x1[:, :C])
    assert "`data.x1`" in str(error)


def test_other_features_that_are_not_read_are_no_hindrance():
    data = graph()
    data.x1, data.pos = torch.rand(NODES, D), torch.rand(NODES, 2)
    assert read_and_compared(Between(RELU), data) < 1e-9
    assert read_and_compared(Between(RELU), data, lambda model, data: model(data.to("cpu").x, data.clone().edge_index)) < 1e-9
