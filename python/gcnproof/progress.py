"""A progress bar for notebooks and terminals."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .errors import InputError

Listener = Callable[[int, int, str], Any]
"""Is called with what is done, of how much, and what there is to say of it."""


class Progress:
    """Shows how far a call is: a bar if asked for, or whatever a function of your own does with it."""

    def __init__(self, asked: bool | Listener, what: str):
        if not callable(asked) and asked not in (True, False, None):
            raise InputError(f"progress={asked!r}", "give True for a bar, False for none, or a function of what is done, the total and a message")
        if callable(asked):
            _check_listener(asked)
        self.asked = asked
        self.what = what
        self.bar: Any = None

    def __enter__(self) -> Listener | None:
        if callable(self.asked):
            return self.asked
        return self.show if self.asked else None

    def show(self, done: int, total: int, message: str) -> None:
        """Draws the bar."""
        if self.bar is None or self.bar.total != total or done < self.bar.n:
            self.close()
            self.bar = _bar(total, self.what)
        if message:
            self.bar.set_postfix_str(message, refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        """Ends the bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_listener(listener: Any) -> None:
    """Raises where a function cannot be called as a listener is: before the run, and not at its end."""
    try:
        inspect.signature(listener).bind(0, 0, "")
    except TypeError as error:
        remedy = "give a function of three arguments: progress=lambda done, total, message: …"
        raise InputError(f"progress: it is called with what is done, the total and a message, and cannot take them: {error}", remedy) from None
    except ValueError:
        pass  # Some builtins do not say what they take.


def _bar(total: int, what: str) -> Any:
    with warnings.catch_warnings():
        # In a notebook without widgets tqdm falls back to text; that is no news for anybody.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    # Without a terminal nobody looks; a notebook is no terminal, and somebody does.
    hidden = False if "ipykernel" in sys.modules else None
    return tqdm(total=total, desc=what, unit="", delay=0.3, disable=hidden, leave=False)
