"""Replacing functions of other packages, and putting every one of them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Patches:
    """What was replaced, and by what, in order; `undo` puts back all that nobody has replaced since."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any, bool]] = []
        self._handles: list[Any] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Puts `make(original)` in the place of `owner.name`; it keeps the original's name, docstring and signature."""
        original = getattr(owner, name)
        is_own = name in vars(owner)
        made = functools.wraps(original)(make(original))
        setattr(owner, name, made)
        self._done.append((owner, name, original, made, is_own))

    def keep(self, handle: Any) -> None:
        """Takes a handle with a method `remove`, such as a hook's, to be removed by `undo`."""
        self._handles.append(handle)

    def undo(self) -> None:
        """Puts back every original and removes every handle; what others laid over ours in the meantime stays."""
        for handle in reversed(self._handles):
            handle.remove()
        for owner, name, original, made, is_own in reversed(self._done):
            if vars(owner).get(name) is not made:
                continue
            if is_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)
        self._done.clear()
        self._handles.clear()
