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
