"""Arguments that every call checks in the same way: numbers, switches, paths."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from .errors import InputError

#: The largest number that files hold.
MOST = 2**63 - 1


def whole(count: Any, name: str, of: str, least: int = 0) -> int:
    """A number of things."""
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < least:
        remedy = f"give a whole number{f' of {of}' if of else ''}, {least} or more"
        try:
            if not isinstance(count, (bool, numbers.Integral)) and int(count) == float(count) >= least:
                remedy = f"say {name}={int(count)}"
        except (TypeError, ValueError, RuntimeError, OverflowError):
            pass  # No number in other clothes.
        raise InputError(f"{name}={count!r}", remedy)
    if int(count) > MOST:
        raise InputError(f"{name}={count}", f"give at most {MOST} {of}".rstrip())
    return int(count)


#: More threads than any machine has cores; a slip of the keyboard would otherwise start as many.
MOST_THREADS = 1024


def threads(count: Any) -> int | None:
    """A number of threads; None for all cores."""
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or not 1 <= int(count) <= MOST_THREADS:
        raise InputError(f"threads={count!r}", f"give a whole number from 1 to {MOST_THREADS}, or leave it out for all cores")
    return int(count)


def switch(value: Any, name: str, remedy: str = "give True or False") -> bool:
    """A choice between two."""
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise InputError(f"{name}={value!r}", remedy)
    return bool(value)


def path_of(thing: Any, name: str, remedy: str = "give the path of a file") -> str:
    """The path of a file, as text."""
    if not is_path(thing):
        raise InputError(f"{name}: a {type(thing).__name__} is no path of a file", remedy)
    return os.fspath(thing)


def same_file(one: Any, other: Any) -> bool:
    """Do two paths name one file?"""
    return is_path(one) and is_path(other) and os.path.realpath(one) == os.path.realpath(other)


def keep_inputs(files: dict[str, Any], **inputs: Any) -> None:
    """Raises where a file that is to be written is one that is read."""
    for name in ("out", "proofs", "log", "checkpoint"):
        for read, thing in inputs.items():
            if same_file(files.get(name), thing):
                raise InputError(f"{name}={os.fspath(files[name])!r} is also the file of the {read}, which would be lost", f"choose another name for {name}")


def is_path(thing: Any) -> bool:
    """Is it the path of a file?"""
    return isinstance(thing, (str, os.PathLike))


def _is_own(name: str) -> bool:
    """Is a file of the kind that its name says, a graph, a model or results, or empty? Nothing else is ever overwritten."""
    import zipfile

    with open(name, "rb") as file:
        start = file.read(9)
        line = start + file.readline(1 << 22)
    if start and name.lower().endswith(".npz"):
        if not zipfile.is_zipfile(name):
            return False
        with zipfile.ZipFile(name) as archive:
            return any(entry in archive.namelist() for entry in ("adj_data.npy", "adj_matrix.npy", "edge_index.npy", "edges.npy"))
    if start and name.lower().endswith(".safetensors"):
        return start[4:8] == bytes(4) and start[8:] == b"{"
    if start and name.lower().endswith((".csv", ".jsonl")) and not os.path.exists(f"{name}.run.json"):
        return b"predicted" in line or b"q_global" in line
    return True


def new_file(path: Any, force: Any, example: str, endings: tuple[str, ...] = ()) -> str:
    """The path of a file that is to be written. Raises where that would overwrite another without `force`, or cannot be done."""
    switch(force, "force")
    name = path_of(path, "path", f"give the path of a file, such as {example!r}")
    if os.path.isdir(name):
        raise InputError(f"{name}: is a folder", f"give the path of a file, such as {os.path.join(name, example)!r}")
    if endings and not name.lower().endswith(endings):
        raise InputError(f"{name}: the name says that it is another kind of file", f"end the name in {' or '.join(endings)}")
    if os.path.exists(name) and not _is_own(name):
        raise InputError(f"{name}: there is a file already, which is of another kind and is not overwritten", "choose another name, or move the file away")
    if os.path.exists(name) and not force:
        raise InputError(f"{name}: there is a file already", "say force=True to overwrite it, or choose another name")
    folder = os.path.dirname(os.path.abspath(name))
    if not os.path.isdir(folder):
        raise InputError(f"{name}: there is no folder {folder}", "make it first, or choose another place")
    return name
