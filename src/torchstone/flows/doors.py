"""`ts.lightning.Doctor()`, `ts.hf.Doctor()`, `ts.keras.Doctor()`: the doctor as a callback of other trainers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from torchstone.core.finding import Finding
from torchstone.flows.watch import doctor_for


class Door:
    """The doctor for one framework: the file of that name in engines/attach makes its callback."""

    def __init__(self, name: str) -> None:
        self._name = name

    def Doctor(
        self, *, ignore: Iterable[str] = (), callback: Callable[[Finding], None] | None = None, is_quiet: bool = False
    ) -> Any:
        """A callback that watches a fit; its `findings` say what was found, as `ts.watch` does.

        ignore: codes of rules or families. callback: called with each finding as it is first seen. Findings also go
        to standard error, one line each, unless is_quiet. Raises StoneError where the framework is not installed.
        """
        module = importlib.import_module(f"torchstone.engines.attach.{self._name}")
        return module.callback(doctor_for(ignore, callback, is_quiet=is_quiet))

    def __repr__(self) -> str:
        return f"ts.{self._name}: Doctor()"


lightning, hf, keras = Door("lightning"), Door("hf"), Door("keras")
