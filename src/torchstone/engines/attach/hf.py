"""The doctor as a callback of transformers.Trainer, and of trainers derived from it."""

from __future__ import annotations

import functools
import importlib
import sys
from types import FrameType
from typing import Any

from torchstone.core.errors import missing_extra
from torchstone.engines.attach.door import Told, Watcher


def callback(watcher: Watcher) -> Any:
    """A callback that starts the watcher when a training begins, and stops it when it ends or fails.

    Given to Trainer(callbacks=[…]) it also sees that a training fails; added later with `add_callback` it stays
    attached after a failure until the next training or `stop`. Raises StoneError where transformers is missing.
    """
    try:
        base = importlib.import_module("transformers").TrainerCallback
    except ImportError as error:
        raise missing_extra("transformers", "transformers", "ts.hf.Doctor") from error

    class Doctor(Told, base):  # type: ignore[misc, valid-type]
        """Watches `trainer.train`; `findings` and `rows` say what was seen."""

        _watcher = watcher

        def stop(self) -> None:
            """Takes the doctor off, where nothing else did."""
            watcher.stop()

        def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """The trainer was built: its `train` will stop the watcher however it ends."""
            trainer = _calling_trainer()
            if trainer is not None:
                _stop_after(trainer, watcher)

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """The model and its optimizer are there."""
            watcher.stop()
            watcher.start(model=kwargs.get("model"), optimizer=kwargs.get("optimizer"))

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """All is done."""
            watcher.stop()

    return Doctor()


def _calling_trainer() -> Any:
    """The trainer whose `__init__` is running; None where there is none."""
    trainer_class = importlib.import_module("transformers").Trainer
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        own = frame.f_locals.get("self")
        if frame.f_code.co_name == "__init__" and isinstance(own, trainer_class):
            return own
        frame = frame.f_back
    return None


def _stop_after(trainer: Any, watcher: Watcher) -> None:
    """Lays a `train` over this trainer's own that stops the watcher however it ends."""
    original = trainer.train

    @functools.wraps(original)
    def train(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        finally:
            watcher.stop()

    trainer.train = train
