"""The doctor as a callback of Lightning's Trainer, of the package `lightning` or `pytorch_lightning`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from torchstone.core.errors import missing_extra
from torchstone.engines.attach.door import Told, Watcher

# Lightning goes by either name; the two packages have base classes of their own.
PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def bases() -> tuple[type, ...]:
    """The callback classes of the packages that the program uses; of the first that is there, if of none yet.

    Raises StoneError where neither is installed.
    """
    used = [name for name in PACKAGES if name in sys.modules]
    for name in used or PACKAGES:
        try:
            first = importlib.import_module(f"{name}.callbacks").Callback
        except ImportError:
            continue
        others = [importlib.import_module(f"{name}.callbacks").Callback for name in used[1:]]
        return tuple(dict.fromkeys([first, *others]))
    raise missing_extra("lightning", "lightning", "ts.lightning.Doctor")


def callback(watcher: Watcher) -> Any:
    """A callback that starts the watcher when a fit begins, and stops it when it ends or fails.

    Sanity checks, validation and checkpoints inside of the fit are seen; `trainer.test` alone is not.
    """

    class Doctor(Told, *bases()):  # type: ignore[misc]
        """Watches `trainer.fit`; `findings` and `rows` say what was seen."""

        _watcher = watcher

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            """The module and its optimizers are there."""
            watcher.stop()
            watcher.start(model=pl_module, optimizer=list(trainer.optimizers))

        def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
            """All is done."""
            watcher.stop()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            """The fit failed, or was interrupted."""
            watcher.stop()

        def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
            """The last thing that Lightning calls."""
            watcher.stop()

    return Doctor()
