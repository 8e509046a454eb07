"""What can go wrong: every error of this package is a GcnproofError, with a message that names the part and the remedy."""

from __future__ import annotations

import os
import re
import sys
import warnings
from types import FrameType
from typing import Any


class GcnproofError(Exception):
    """An error of this package."""


class InvalidNetwork(GcnproofError, ValueError):
    """Layers, terms or weights that do not make a network."""


class InvalidData(GcnproofError, ValueError):
    """A graph or a Data object that cannot be certified as it is."""


class InvalidAttributes(InvalidData):
    """Attributes of other numbers than 0 and 1, where an attack flips them. What can be asked of them depends on the call: see `scope`."""

    def __init__(self, problem: str, training: str | None, instead: str):
        super().__init__(f"{problem}. Remedy: {instead}" + (f"; or {training}" if training else "") + ".")
        self.problem, self.training = problem, training

    def of(self, instead: str) -> InvalidAttributes:
        """The same with another remedy."""
        return InvalidAttributes(self.problem, self.training, instead)


class UnsupportedModel(GcnproofError):
    """A module that is not a network of fixed message passing and ReLU.

    `operation` is what is not supported, `where` the place in the user's code as `file:line`, or None if it is not known.
    """

    def __init__(self, message: str, operation: str | None = None, where: str | None = None):
        super().__init__(message)
        self.operation = operation
        self.where = where


class MismatchedLogits(UnsupportedModel):
    """The network that was read does not compute what the module computes. `node` is the first node that differs."""

    def __init__(self, message: str, node: int):
        super().__init__(message)
        self.node = node


class InputError(GcnproofError, ValueError):
    """An argument or a file that cannot be used. `help` is the remedy, or None."""

    def __init__(self, message: str, help: str | None = None):
        super().__init__(f"{message}\n  help: {help}" if help else message)
        self.help = help
        self.message = message


class IncompleteRun(GcnproofError):
    """A run over several machines that could not do all of its nodes.

    `results` are those of the others, `failures` the batches that are missing, each with its `nodes` and the `errors` of every try.
    """

    def __init__(self, message: str, help: str, failures: list[Any]):
        super().__init__(f"{message}\n  help: {help}")
        self.help = help
        self.failures = failures
        self.results: Any = None


LABORATORY = "build a wheel with it: verify/install-highs.sh, then scripts/python-wheel.sh laboratory (cargo features laboratory)"
"""The remedy where this build has no laboratory."""


class GcnproofWarning(UserWarning):
    """Something that is worth knowing of a graph, a model or a run."""


_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


#: Options of the command line that are switches in Python.
_SWITCHES = ("resume", "force", "complete", "minimize", "exact-margins", "symmetrize", "binarize", "unweight", "skip")


def pythonic(text: str) -> str:
    """Words about the command line as words about Python: `--freeze-nodes` is freeze_nodes, `--force` is force=True, `-Q` is Q.

    Commands stay as they are to be typed: `gcnproof check --class labels`.
    """
    # Rules of message passing are part of a model here.
    text = text.replace(", or --message-passing,", "")
    parts = re.split(r"(`(?:gcnproof|mkdir|pip|cargo|make) [^`]*`)", text)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"(?<![\w-])--class (predicted|labels)\b", r"class_='\1'", parts[at])
        parts[at] = re.sub(r"(?<![\w-])--([A-Za-z][\w-]*)", lambda option: _argument(option[1]), parts[at])
        parts[at] = re.sub(r"(?<![\w-])-([QqEe])\b", r"\1", parts[at])
    return "".join(parts)


def _argument(option: str) -> str:
    """An option as the argument that it is in Python."""
    if option in _SWITCHES:
        return f"{option.replace('-', '_')}=True"
    return {"class": "class_", "bounds-only": "complete=False"}.get(option, option.replace("-", "_"))


def warn(message: str) -> None:
    """Warns at the line of the user's code that has called this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, GcnproofWarning, stacklevel=level)
