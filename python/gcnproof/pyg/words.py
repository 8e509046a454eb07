"""What is refused and why: words for errors, and the place in the user's code."""

from __future__ import annotations

import linecache
import os
import sys
import tempfile
from types import FrameType
from typing import Any

import torch
import torch_geometric

from torch_geometric.nn import MessagePassing
from torch_geometric.nn.aggr import Aggregation

from ..errors import UnsupportedModel

ATTENTION = "its messages are weighted with what is computed from the attributes, so message passing is not fixed"
PER_EDGE = "it applies a function of its own to every edge"
STATISTICS = "it divides by statistics that are computed from the attributes themselves"
CURVED = "only ReLU, leaky ReLU and PReLU are piecewise linear in the way that is certified"
BRANCH = "what is computed depends on a choice by the attributes' values"
ALL_NODES = "what every node adds, subtracts or divides by would be computed from the attributes of all nodes"
POOLING = "it drops nodes by what is computed from the attributes"
READOUT = "graphs are the sums or means over their nodes, and no other numbers lead from nodes to graphs or back"
EXTREME = "only sums and means are supported, of messages and of the nodes of a graph, not their maximum or an order of them"
HOPS = "of message passing that changes with the edges, a single hop is recomputed"

RETRAIN_RELU = "train the model with ReLU (`F.relu`, `torch.nn.ReLU`)"
LAST_OR_RELU = (
    "between layers, train the model with ReLU (`F.relu`, `torch.nn.ReLU`); at the end, return the logits themselves: the class with the largest logit stays the same"
)
RETRAIN_LAYER = "train with a layer of fixed message passing: GCNConv, SAGEConv, GraphConv, GINConv, TAGConv, ChebConv, SGConv, APPNP, …"
RETRAIN_HOPS = "train with layers of one hop each (GCNConv, SAGEConv, GINConv, …; SGConv and TAGConv with K=1, ChebConv with K=2)"
RETRAIN_NORM = "train with BatchNorm (its statistics are fixed after training), or without a norm"
NO_BRANCH = "leave the choice out of forward, or make it by what does not depend on the attributes, such as their shape; ReLU is a choice that is followed"
RETRAIN_AGGREGATION = "train with aggr='mean' or aggr='add'"
RETRAIN_POOL = "train with global_add_pool or global_mean_pool"

MODULES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ["GATConv", "GATv2Conv", "FusedGATConv", "TransformerConv", "AGNNConv", "FAConv", "SuperGATConv", "RGATConv", "HGTConv", "HANConv",
         "HEATConv", "ResGatedGraphConv", "GPSConv", "FeaStConv", "DNAConv", "PointTransformerConv", "EGConv",
         "MultiheadAttention", "GatedGraphConv", "FiLMConv", "AttentiveFP", "GAT"],
        (ATTENTION, RETRAIN_LAYER),
    ),
    **dict.fromkeys(
        ["EdgeConv", "DynamicEdgeConv", "GINEConv", "NNConv", "ECConv", "CGConv", "GMMConv", "SplineConv", "PointNetConv", "PPFConv", "XConv",
         "PointGNNConv", "GravNetConv", "GENConv"],
        (PER_EDGE, RETRAIN_LAYER),
    ),
    "PNAConv": (EXTREME, RETRAIN_LAYER),
    "PNA": (EXTREME, RETRAIN_LAYER),
    **dict.fromkeys(
        ["LayerNorm", "GraphNorm", "PairNorm", "InstanceNorm", "MeanSubtractionNorm", "MessageNorm", "DiffGroupNorm", "HeteroLayerNorm",
         "InstanceNorm1d", "GroupNorm", "RMSNorm", "LocalResponseNorm"],
        (STATISTICS, RETRAIN_NORM),
    ),
    **dict.fromkeys(["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"], ("it is a recurrent network with gates", RETRAIN_LAYER)),
    **dict.fromkeys(
        ["TopKPooling", "SAGPooling", "ASAPooling", "EdgePooling", "PANPooling", "MemPooling", "ClusterPooling"],
        (POOLING, RETRAIN_POOL),
    ),
    **dict.fromkeys(
        ["AttentionalAggregation", "GlobalAttention", "SoftmaxAggregation", "Set2Set", "GraphMultisetTransformer", "SetTransformerAggregation", "LSTMAggregation",
         "GRUAggregation", "EquilibriumAggregation", "PowerMeanAggregation", "PatchTransformerAggregation"],
        ("its weights are computed from the attributes", RETRAIN_POOL),
    ),
    **dict.fromkeys(["SortAggregation", "QuantileAggregation", "MedianAggregation"], (EXTREME, RETRAIN_POOL)),
}
"""Modules that are refused by name: why, and what to do."""

_ACTIVATIONS = ["elu", "elu_", "selu", "selu_", "celu", "celu_", "gelu", "silu", "mish", "softplus", "tanh", "tanh_", "sigmoid", "sigmoid_",
                "logsigmoid", "log_sigmoid", "hardtanh", "hardtanh_", "relu6", "hardswish", "hardsigmoid", "softsign", "tanhshrink", "softshrink",
                "hardshrink", "rrelu", "rrelu_", "glu", "exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "erf", "threshold"]
FUNCTIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_ACTIVATIONS, (CURVED, RETRAIN_RELU)),
    **dict.fromkeys(["sigmoid", "sigmoid_", "logsigmoid", "log_sigmoid", "tanh", "tanh_", "exp", "softplus"], (CURVED, LAST_OR_RELU)),
    **dict.fromkeys(["layer_norm", "instance_norm", "group_norm", "normalize", "rms_norm", "norm", "var", "std", "var_mean", "std_mean",
                     "linalg_vector_norm"], (STATISTICS, RETRAIN_NORM)),
    **dict.fromkeys(["max", "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "median", "max_pool1d", "scatter_reduce",
                     "scatter_reduce_", "index_reduce", "index_reduce_", "segment_reduce"],
                    ("a maximum or an order of values is not a sum of terms", "use sums, means or concatenation; the maximum of x and 0 is `F.relu(x)`")),
    **dict.fromkeys(["gt", "lt", "ge", "le", "eq", "ne", "where", "masked_fill", "masked_fill_", "nonzero", "bool", "any", "all", "isnan", "isfinite",
                     "greater", "less", "sign", "heaviside", "masked_select", "allclose", "equal"],
                    (BRANCH, "use ReLU, which is such a choice, and fixed weights")),
    **dict.fromkeys(["numpy", "tolist", "item", "array", "float", "int", "index", "contains", "iter"],
                    ("the numbers leave PyTorch and cannot be followed", "compute with tensors")),
    **dict.fromkeys(["t", "transpose", "permute", "reshape", "view", "flatten", "unsqueeze", "T", "mT", "roll", "flip", "swapaxes", "movedim", "unbind"],
                    ("nodes and units change their places", "keep tensors of nodes × units")),
    **dict.fromkeys(["pow", "square", "bmm", "einsum", "outer", "prod", "cumsum", "cumprod", "dot", "baddbmm", "bilinear", "cosine_similarity", "cdist"],
                    ("it multiplies what depends on the attributes, or runs over nodes", "use fixed weights, sums and concatenation")),
    **dict.fromkeys(["abs", "abs_", "absolute", "absolute_"], ("only ReLU is followed", "write `F.relu(x) + F.relu(-x)`, which is the same")),
    **dict.fromkeys(["half", "bfloat16"], ("numbers of 16 bits round so coarsely that the exact network says little about them", "leave the cast out")),
    "argmax": ("a class is not a row of logits", "return the logits"),
    "scaled_dot_product_attention": (ATTENTION, RETRAIN_LAYER),
    "embedding": ("the attributes are used as numbers of rows", "use the 0/1 attributes themselves, with torch.nn.Linear"),
}
"""Functions that are refused by name: why, and what to do."""

_POOLED = {name: why for name, (why, remedy) in MODULES.items() if remedy == RETRAIN_POOL}

_LONGEST_LINE = 120
"""Longer lines of the user's code are cut in messages."""

_LIBRARIES = tuple(os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (torch, torch_geometric))
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def refused_class(part: torch.nn.Module) -> str | None:
    """The class by which a module is refused: its own, or one whose forward it has."""
    for kind in type(part).__mro__:
        if kind.__name__ in MODULES and kind.__module__.startswith(("torch.", "torch_geometric.")) and type(part).forward is getattr(kind, "forward", None):
            return kind.__name__
    return None


def is_library(frame: Any) -> bool:
    """Is this code none of the user's: PyTorch's, PyTorch Geometric's, what the latter writes for its layers, or ours?"""
    file = frame.f_code.co_filename
    written = os.path.basename(file).startswith(f"{frame.f_globals.get('__name__')}_") and os.path.dirname(file) == tempfile.gettempdir()
    return written or file.startswith((*_LIBRARIES, _OWN, "<frozen"))


def _frames() -> Any:
    """The frames of the module that is being read, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OWN) and frame.f_code.co_name == "record":
            return
        yield frame
        frame = frame.f_back


def failure(error: BaseException) -> tuple[str | None, str, str | None]:
    """Where the module's code failed: `file:line`, the same as a sentence, and a remedy where the cause is how the copy of the module runs that is read."""
    trace, where, text = error.__traceback__, None, ""
    while trace is not None:
        if not is_library(trace.tb_frame):
            file = trace.tb_frame.f_code.co_filename
            where, text = f"{file}:{trace.tb_lineno}", linecache.getline(file, trace.tb_lineno).strip()
        trace = trace.tb_next
    said = f"{text} {error}".lower()
    hint = None
    if isinstance(error, AssertionError) and any(name in said for name in ("dtype", "float32", "is_floating_point", "floattensor")):
        hint = "a copy of the module is read that runs in float64: leave the check of the type out of forward, or let it take torch.float64, too"
    elif any(name in said for name in ("cuda", "nvidia", "mps", "xpu", "get_device()")):
        hint = "a copy of the module is read that runs on the CPU: leave moves to a device out of forward, or move to where the weights are: .to(next(self.parameters()).device)"
    return where, f" Line: {where}{f': `{_short(text)}`' if text else ''}." if where else "", hint


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"


def pooling() -> tuple[str, str, str] | None:
    """What is refused, why, and what to do, where a pooling or an aggregation of PyTorch Geometric is being run."""
    name = None
    for frame in _frames():
        own = frame.f_locals.get("self")
        if isinstance(own, MessagePassing) and name is not None:
            return f"{type(own).__name__} with {name}", _POOLED.get(name, EXTREME), RETRAIN_AGGREGATION
        if name is None and isinstance(own, Aggregation):
            name = type(own).__name__
        elif frame.f_code.co_name in ("global_max_pool", "global_sort_pool") and is_library(frame):
            name = frame.f_code.co_name
    return None if name is None else (name, _POOLED.get(name, EXTREME), RETRAIN_POOL)


def is_branch(names: dict[int, str]) -> bool:
    """Is the line of the user's code that is being run a choice?"""
    return (place(names)[1] or "").startswith(("if ", "elif ", "while ", "assert ", "if(", "while(", "assert("))


def _module(frame: Any, names: dict[int, str]) -> Any:
    own = frame.f_locals.get("self")
    return own if isinstance(own, torch.nn.Module) and names.get(id(own)) else None


def path(names: dict[int, str]) -> str | None:
    """The path of the innermost module that is being run."""
    return next((names[id(module)] for module in (_module(frame, names) for frame in _frames()) if module is not None), None)


def place(names: dict[int, str]) -> tuple[str | None, str | None, Any]:
    """Where the module that is being read stands: `file:line`, that line's text, and the innermost module."""
    where = text = module = None
    for frame in _frames():
        module = module if module is not None else _module(frame, names)
        if where is None and not is_library(frame):
            file = frame.f_code.co_filename
            where, text = f"{file}:{frame.f_lineno}", linecache.getline(file, frame.f_lineno).strip()
    return where, text, module


def refuse(what: str, why: str, remedy: str, names: dict[int, str], module: Any = None) -> UnsupportedModel:
    """The error about an operation, with its place."""
    where, text, inside = place(names)
    module = module if module is not None else inside
    parts = [f"{what} is not supported: {why}."]
    if module is not None:
        path = names.get(id(module), "")
        parts.append(f"Module: {path or 'the model itself'} ({type(module).__name__}).")
    if where is not None:
        parts.append(f"Line: {where}" + (f": `{_short(text)}`." if text else "."))
    parts.append(f"Remedy: {remedy}.")
    return UnsupportedModel(" ".join(parts), what, where)
