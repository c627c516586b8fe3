"""The rows of a Keras fit on the torch backend, written from its callbacks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.optimizers import (
    ALL_EVERY,
    ALL_FIRST,
    NORMS_EVERY,
    first_values,
    norm_of,
    part_of_largest,
)
from torchstone.engines.attach.recorder import Recorder, safely

# Losses of Keras → the function of torch that is given logits, and the one that is given probabilities.
LOSSES = {
    "categorical_crossentropy": ("cross_entropy", "cross_entropy_of_probabilities"),
    "sparse_categorical_crossentropy": ("cross_entropy", "cross_entropy_of_probabilities"),
    "binary_crossentropy": ("binary_cross_entropy_with_logits", "binary_cross_entropy"),
}
NODES = {"softmax": "Softmax", "sigmoid": "Sigmoid", "linear": "Linear", "log_softmax": "LogSoftmax"}


class KerasRows:
    """What a Wiring is to a loop of torch: `attach`, `take` and `detach` are the doctor's, the rest the callback's."""

    def __init__(self, recorder: Recorder, model: Any) -> None:
        self.recorder, self._model = recorder, model
        self._kept: tuple[Tensor, Tensor] | None = None
        self._total = self._count = 0.0
        self._passes = 0
        self._ever: set[int] = set()
        self._row: dict[str, Any] = {}

    def attach(self) -> None:
        """Writes what is known before the first batch; nothing is replaced, nothing hooked."""
        self._describe()

    def take(self, model: Any = None, optimizer: Any = None) -> None:
        """Nothing: Keras has told its model."""

    def detach(self) -> None:
        """The last look."""
        self.recorder.close()

    @safely
    def _describe(self) -> None:
        model, note = self._model, self.recorder.note
        note("loop", kind="keras")
        weights, trained = model.weights, model.trainable_weights
        note("model", model=0, **{"class": type(model).__name__}, num_parameters=len(weights), num_trained=len(trained),
             num_weights=sum(weight.value.numel() for weight in weights), is_norm_alone=False, unregistered=[],
             misspelt=[], frozen_norms=[], has_modes=None, wrapper=None, forwards=0, parent=None)
        kind = type(model.optimizer).__name__
        self._row = note("optimizer", optimizer=0, kind=kind, place=self.recorder.place("optimizer 0"), groups=[],
                         num_parameters=len(trained), parameters=sorted(map(id, trained)))
        row = describe_loss(model)
        if row is not None:
            note("loss", place=self._row["place"], root=0, has_grad=True, **row)

    @safely
    def before(self) -> None:
        """Keeps a slice of the largest weight, every so many steps."""
        if self.recorder.step % NORMS_EVERY == 0:
            self._kept = part_of_largest(weight.value for weight in self._model.trainable_weights)

    @safely
    def after(self) -> None:
        """The row of a step."""
        recorder, model = self.recorder, self._model
        recorder.step += 1
        row: dict[str, Any] = {
            "event": "step", "step": recorder.step, "optimizer": 0, "own_step": recorder.step,
            "lr": float(model.optimizer.learning_rate), "has_closure": False, "backwards": 1, "leaf_backwards": 0,
            "kinds": [], "is_scaled": hasattr(model.optimizer, "dynamic_scale"), "skipped": None, "loss": self._loss(),
        }  # fmt: skip
        if recorder.step <= ALL_FIRST or recorder.step % ALL_EVERY == 0:
            self._look_at_gradients(row)
        if self._kept is not None:
            self._norms(row)
        recorder.note_step(row)

    def begin_epoch(self) -> None:
        """The running loss begins anew."""
        self._total = self._count = 0.0

    def _loss(self) -> float | None:
        """This batch's own loss, out of Keras' running mean over the epoch."""
        tracker = next((metric for metric in self._model.metrics if metric.name == "loss"), None)
        if tracker is None:
            return None
        total, count = float(tracker.total), float(tracker.count)
        grown, self._total = total - self._total, total
        more, self._count = count - self._count, count
        return grown / more if more > 0 else None

    def _look_at_gradients(self, row: dict[str, Any]) -> None:
        trained = self._model.trainable_weights
        given = [weight for weight in trained if weight.value.grad is not None]
        row["num_trained"], row["num_grads"] = len(trained), len(given)
        self._ever.update(map(id, given))
        silent = [weight for weight in trained if id(weight) not in self._ever]
        self._row.update(
            silent=[weight.path for weight in silent[:20]], num_silent=len(silent), own_steps=self.recorder.step,
            silent_weights=sum(weight.value.numel() for weight in silent), num_strangers=0,
            weights=sum(weight.value.numel() for weight in trained), num_parameters=len(trained),
        )  # fmt: skip

    @torch.no_grad()
    def _norms(self, row: dict[str, Any]) -> None:
        assert self._kept is not None
        (largest, old), self._kept = self._kept, None
        part = first_values(largest)
        is_accumulating = bool(getattr(self._model.optimizer, "gradient_accumulation_steps", None))
        if not (is_accumulating and torch.equal(part, old)):
            size = old.float().norm().clamp_min(1e-12)
            row["update_ratio"] = float((part.float() - old.float()).norm() / size) if bool(old.any()) else None
        values = [weight.value.detach() for weight in self._model.trainable_weights]
        grads = [value.grad for weight in self._model.trainable_weights if (value := weight.value).grad is not None]
        row["weight_norm"] = float(norm_of(values))
        if grads and not row["is_scaled"]:
            row["grad_norm"] = float(norm_of(grads))

    @safely
    def validated(self, logs: dict[str, Any]) -> None:
        """The row of a validation pass, with its loss."""
        step, self._passes = self.recorder.step, self._passes + 1
        loss = float(logs["loss"]) if "loss" in logs else None
        self.recorder.note(
            "pass", loader=1, number=self._passes, place=None, of=None, batch_size=None, drop_last=False,
            order="unknown", sampler_epoch=None, workers=0, dataset="validation_data", sampler_size=None, world=1,
            is_shuffled=False, names=[], batches=0, examples=0, backwards=0, forwards=1, forwards_with_grad=0,
            forwards_in_training=0, losses=1, modes_matter=False, is_whole=True, first_step=step, last_step=step,
            own_loss=loss,
        )  # fmt: skip
        self.recorder.look(at_most_every_s=2.0)


def describe_loss(model: Any) -> dict[str, Any] | None:
    """What a model's only output was made by, and what its loss takes it for; None where one of them is unknown."""
    loss, outputs = model.loss, getattr(model, "outputs", None)
    name = loss if isinstance(loss, str) else getattr(loss, "name", None) or getattr(loss, "__name__", None)
    if name not in LOSSES or not outputs or len(outputs) != 1:
        return None
    last = getattr(getattr(outputs[0], "_keras_history", None), "operation", None)
    activation = getattr(getattr(last, "activation", None), "__name__", None)
    if type(last).__name__ == "Softmax":
        activation = "softmax"
    if last is None or activation not in NODES:
        return None
    is_logits = bool(getattr(loss, "from_logits", False))
    shape = [1 if length is None else int(length) for length in outputs[0].shape]
    return {
        "function": LOSSES[name][0 if is_logits else 1], "reduction": "mean", "input_shape": shape,
        "target_shape": None, "target_dtype": None, "low": None, "high": None, "std": None, "sum_error": None,
        "entropy": None, "node": NODES[activation], "weighted": False, "value": None,
        "layer": getattr(last, "name", None),
    }  # fmt: skip
