"""The doctor as a callback of Keras 3 on the torch backend, whose own optimizers no hook of torch sees."""

from __future__ import annotations

import importlib
from typing import Any

from torchstone.core.errors import StoneError, missing_extra
from torchstone.engines.attach.door import Told, Watcher
from torchstone.engines.attach.keras_rows import KerasRows


def keras_on_torch() -> Any:
    """Keras; raises StoneError where it is missing, or runs on another backend than torch."""
    try:
        keras = importlib.import_module("keras")
    except ImportError as error:
        raise missing_extra("keras", "keras", "ts.keras.Doctor") from error
    backend = keras.backend.backend()
    if backend != "torch":
        raise StoneError(f"Keras runs on {backend}; its gradients can be seen on the torch backend alone",
                         where="KERAS_BACKEND", fix="export KERAS_BACKEND=torch before keras is imported")
    return keras


def callback(watcher: Watcher) -> Any:
    """A callback that writes rows at each batch of `fit`: loss, gradients, updates, and the loss of each validation.

    Raises StoneError where Keras is missing, or runs on another backend than torch.
    """
    keras = keras_on_torch()

    class Doctor(Told, keras.callbacks.Callback):  # type: ignore[misc, name-defined]
        """Watches `model.fit`; `findings` and `rows` say what was seen."""

        sheet: KerasRows | None = None
        _watcher = watcher

        def on_train_begin(self, logs: Any = None) -> None:
            """The model is compiled; one `fit` is one watch."""
            watcher.stop()

            def make(recorder: Any) -> KerasRows:
                self.sheet = KerasRows(recorder, self.model)
                return self.sheet

            watcher.start(wiring=make)

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            """Keeps a few weights, at sampled steps."""
            if self.sheet is not None:
                self.sheet.before()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """The gradients of this batch still stand beside the weights."""
            if self.sheet is not None:
                self.sheet.after()

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            """Keras sets its running loss back."""
            if self.sheet is not None:
                self.sheet.begin_epoch()

        def on_test_end(self, logs: Any = None) -> None:
            """A validation is over; also of `evaluate`, where no fit is watched."""
            if self.sheet is not None and watcher.is_on:
                self.sheet.validated(dict(logs or {}))

        def on_train_end(self, logs: Any = None) -> None:
            """All is done."""
            watcher.stop()

    return Doctor()


