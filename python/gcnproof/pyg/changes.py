"""Is a convolution still what its class says? A formula reads its weights alone, so hooks and replaced methods would be missed."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.nn.modules import module as globally
from torch.nn.utils import parametrize
from torch_geometric.nn.aggr import MeanAggregation, SumAggregation
from torch_geometric.nn.dense.linear import Linear

_RUN = ("nn", "act")
"""Sublayers that are run while a convolution is read: whatever they do is followed."""

_HOOKS = re.compile(r"_(propagate|message|aggregate|message_and_aggregate|edge_update)_forward(_pre)?_hooks")


def change(conv: torch.nn.Module) -> str | None:
    """What was changed about a convolution whose formula is known, in words; None if nothing was."""
    if globally._global_forward_hooks or globally._global_forward_pre_hooks:
        return "hooks of all modules"
    for name, value in vars(conv).items():
        if value and _HOOKS.fullmatch(name):
            return f"hooks ({name.strip('_').removesuffix('_hooks')})"
    if (method := _method(conv)) is not None:
        return f"changed methods ({method})"
    if getattr(conv, "_explain", None) and getattr(conv, "_edge_mask", None) is not None:
        return "masks of edges (explain)"
    for name, part in conv.named_children():
        if name not in _RUN and (found := _sublayer(name, part)) is not None:
            return found
    if getattr(conv, "aggr", None) in ("add", "sum", "mean"):
        if type(getattr(conv, "aggr_module", None)) not in (SumAggregation, MeanAggregation):
            return f"changed sublayers (aggr_module is a {type(getattr(conv, 'aggr_module', None)).__name__})"
    return None


def _method(part: torch.nn.Module) -> str | None:
    """The name of a method that was replaced in this one module."""
    for name, value in vars(part).items():
        if not callable(getattr(type(part), name, None)):
            continue
        # PyTorch Geometric puts its own method there when its explainers are switched on or off.
        own = [getattr(type(part), f"{kind}_{name}", None) for kind in ("_orig", "_jinja")]
        if getattr(value, "__func__", value) not in [method for method in own if method is not None]:
            return name
    return None


def _sublayer(path: str, part: torch.nn.Module) -> str | None:
    """What was changed about a sublayer whose weights are read."""
    if part._forward_hooks or part._forward_pre_hooks:
        return f"hooks (of its {path})"
    if (method := _method(part)) is not None:
        return f"changed methods ({path}.{method})"
    if isinstance(part, torch.nn.ModuleList):
        return next((found for name, child in part.named_children() if (found := _sublayer(f"{path}.{name}", child)) is not None), None)
    kind: Any = type(part)
    if parametrize.is_parametrized(part):
        # PyTorch makes a class of its own for such a module; its weight is computed anew when it is read.
        kind = kind.__mro__[1]
    if hasattr(part, "weight") and kind not in (torch.nn.Linear, Linear):
        return f"changed sublayers ({path} is a {type(part).__name__})"
    if path.startswith("lin") and not hasattr(part, "weight") and kind is not torch.nn.Identity:
        return f"changed sublayers ({path} is a {type(part).__name__})"
    return None
