"""Modules that ask for float32 in their forward, run in float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_SHORT = (torch.float32, torch.float16, torch.bfloat16)


class _Double(TorchFunctionMode):
    """Takes casts to shorter floats as casts to float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            func = torch.Tensor.double
        args = tuple(torch.float64 if isinstance(item, torch.dtype) and item in _SHORT else item for item in args)
        kwargs = {key: torch.float64 if isinstance(item, torch.dtype) and item in _SHORT else item for key, item in (kwargs or {}).items()}
        return func(*args, **kwargs)


@contextmanager
def running(forced: bool) -> Iterator[None]:
    """Runs a module without gradients; `forced` takes float64 for PyTorch's default type and for every cast to a shorter one."""
    with torch.no_grad():
        if not forced:
            yield
            return
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with _Double():
                yield
        finally:
            torch.set_default_dtype(default)
