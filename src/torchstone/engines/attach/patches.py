"""Replacing functions of other packages, and putting every one of them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# What a doctor could not put back, since another one's replacement lies above: whoever takes that off, takes off these.
_dead: list[tuple[Any, str, Any, Any, bool]] = []


class Patches:
    """What was replaced, and by what, in order; `undo` puts back all that nobody else has replaced since.

    Several doctors may be attached at once, and taken off in any order.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any, bool]] = []
        self._ends: list[Callable[[], object]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Puts `make(original)` in the place of `owner.name`; it keeps the original's name, docstring and signature."""
        original = getattr(owner, name)
        is_own = name in vars(owner)
        made = functools.wraps(original)(make(original))
        setattr(owner, name, made)
        self._done.append((owner, name, original, made, is_own))

    def keep(self, handle: Any) -> None:
        """Takes a handle with a method `remove`, such as a hook's, to be removed by `undo`."""
        self.at_end(handle.remove)

    def at_end(self, take_off: Callable[[], object]) -> None:
        """Takes a function that `undo` calls, the last one first."""
        self._ends.append(take_off)

    def undo(self) -> None:
        """Puts back every original and removes every handle; what others laid over ours in the meantime stays."""
        for take_off in reversed(self._ends):
            take_off()
        for owner, name, original, made, is_own in reversed(self._done):
            if vars(owner).get(name) is not made:
                _dead.append((owner, name, original, made, is_own))
                continue
            _put_back(owner, name, original, is_own)
        self._done.clear()
        self._ends.clear()


def _put_back(owner: Any, name: str, original: Any, is_own: bool) -> None:
    """Puts an original back, or what stands behind it where it is itself a replacement that nobody needs any more."""
    for index, (dead_owner, dead_name, behind, made, was_own) in enumerate(_dead):
        if dead_owner is owner and dead_name == name and made is original:
            del _dead[index]
            _put_back(owner, name, behind, was_own)
            return
    if is_own:
        setattr(owner, name, original)
    else:
        delattr(owner, name)
