"""Passes over DataLoaders: in which order, how many examples, for training or for validation."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, safely, users_names

# Rows of passes that are written per loader; afterwards only the newest is kept up to date.
PASSES = 40


@dataclass
class Pass:
    """One way through a loader; its row is filled in as it goes. length: its batches, where they are known."""

    loader: int
    row: Row
    number: int
    length: int | None = None
    is_open: bool = True
    seen: dict[str, Any] = field(default_factory=dict)


class Loaders:
    """Every DataLoader's passes; `on_batch(pass, batch)` is called with each batch, `on_pass(pass)` at the end."""

    def __init__(
        self, recorder: Recorder, models: Models, backwards: Backwards, losses: Losses, optimizers: Optimizers
    ) -> None:
        self.recorder = recorder
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._passes: weakref.WeakKeyDictionary[Any, Pass] = weakref.WeakKeyDictionary()
        self._counts: dict[int, int] = {}
        self._number = itertools.count()
        self.current: Pass | None = None
        self.waited_s = 0.0
        self._last_step_s = time.perf_counter()
        optimizers.on_step.append(self._times)
        self.on_batch: list[Callable[[Pass, Any], None]] = []
        self.on_start: list[Callable[[Pass, Any], None]] = []
        self.on_pass: list[Callable[[Pass], None]] = []
        self._models = models
        backwards.on_every_backward.append(self._backward)
        losses.on_call.append(self._loss)

    def attach(self, patches: Patches) -> None:
        """Wraps the start of a pass and the next batch."""
        patches.replace(DataLoader, "__iter__", self._iter)
        patches.replace(_BaseDataLoaderIter, "__next__", self._next)

    def _iter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __iter__(loader: Any) -> Any:
            iterator = original(loader)
            self._start(loader, iterator)
            return iterator

        return __iter__

    @safely
    def _start(self, loader: Any, iterator: Any) -> None:
        self._finish()
        index = self._numbers.get(loader)
        if index is None:
            index = self._numbers[loader] = next(self._number)
        number = self._counts[index] = self._counts.get(index, 0) + 1
        values = {
            "loader": index, "number": number, "names": users_names(loader),
            "place": self.recorder.place(f"loader {index}"), **describe(loader),
            "batches": 0, "examples": 0, "backwards": 0, "forwards": 0, "forwards_with_grad": 0,
            "forwards_in_training": 0, "losses": 0, "modes_matter": False, "is_whole": False,
            "first_step": self.recorder.step,
        }  # fmt: skip
        row = self.recorder.note("pass", **values) if number <= PASSES else {"event": "pass", **values}
        one = Pass(index, row, number, length=_length(loader))
        self._passes[iterator] = one
        for listener in self.on_start:
            listener(one, loader)

    def _next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            one = self._passes.get(iterator) if self.recorder.is_on else None
            asked = time.perf_counter()
            try:
                batch = original(iterator)
            except StopIteration:
                if one is not None and one.is_open:
                    self._end(one)
                raise
            self.waited_s += time.perf_counter() - asked
            if one is not None:
                # a first pass, the first batch of each, and evaluations are looked at also while the recorder sleeps
                is_known = not self.recorder.is_awake and one.number > 1 and one is self.current
                is_known = is_known and one.row["backwards"] > 0
                (self._glance if is_known else self._see)(one, batch)
            return batch

        return __next__

    @safely
    def _see(self, one: Pass, batch: Any) -> None:
        if one is not self.current:
            self._finish()
        self.current = one
        self._models.on_every_forward = self._forward
        self._count(one, batch)
        for listener in self.on_batch:
            listener(one, batch)

    def _glance(self, one: Pass, batch: Any) -> None:
        """A batch that is slept through."""
        try:
            self._count(one, batch)
        except Exception as error:
            self.recorder.blame("Loaders._glance", error)

    def _count(self, one: Pass, batch: Any) -> None:
        one.row["batches"] += 1
        one.row["examples"] += num_examples(batch)
        self.recorder.count["batches"] += 1

    def _finish(self) -> None:
        """Ends the pass before another one goes on, where whoever took its last batch did not ask for one more."""
        one = self.current
        if one is not None and one.is_open and one.row["batches"] == one.length:
            self._end(one)

    def close(self) -> None:
        """Ends a pass that was whole."""
        if self.recorder.is_on:
            self._finish()

    @safely
    def _end(self, one: Pass) -> None:
        one.is_open, one.row["is_whole"] = False, True
        one.row["last_step"] = self.recorder.step
        for listener in self.on_pass:
            listener(one)
        self.recorder.look(at_most_every_s=2.0)

    def _forward(self, root: Root) -> None:
        if self.current is not None:
            row = self.current.row
            row["forwards"] += 1
            row["forwards_with_grad"] += root.has_grad
            row["forwards_in_training"] += bool(root.training)
            row["modes_matter"] = row["modes_matter"] or root.has_modes

    def _times(self, wheel: Any, row: dict[str, Any]) -> None:
        now = time.perf_counter()
        row["wait_ms"] = self.waited_s * 1e3
        row["step_ms"] = max(0.0, now - self._last_step_s - self.waited_s) * 1e3
        self.waited_s, self._last_step_s = 0.0, now

    def _loss(self, name: str, input: Tensor, target: Tensor, result: Tensor) -> None:
        if self.current is not None:
            self.current.row["losses"] += 1

    def _backward(self, loss: Tensor) -> None:
        if self.current is not None:
            self.current.row["backwards"] += 1


def tensors_of(batch: Any) -> list[Tensor]:
    """The tensors of a batch in order, out of lists, tuples and mappings."""
    if isinstance(batch, Tensor):
        return [batch]
    members = batch.values() if hasattr(batch, "values") else batch if isinstance(batch, (list, tuple)) else ()
    return [tensor for member in members for tensor in tensors_of(member)]


def num_examples(batch: Any) -> int:
    """The length of the first tensor of a batch that is not empty; 0 where there is none."""
    return next((number for t in tensors_of(batch) if (number := t.shape[0] if t.ndim else 1)), 0)


def describe(loader: Any) -> dict[str, Any]:
    """How a loader deals out its dataset, as plain values."""
    dataset = loader.dataset
    sampler = getattr(loader, "sampler", None)
    order = {RandomSampler: "random", SequentialSampler: "sequential"}.get(type(sampler), type(sampler).__name__)
    return {
        "of": _length(dataset), "batch_size": loader.batch_size, "drop_last": bool(getattr(loader, "drop_last", False)),
        "order": order, "sampler_epoch": getattr(sampler, "epoch", None), "workers": loader.num_workers,
        "dataset": type(dataset).__name__, "sampler_size": _length(sampler), "world": num_ranks(),
        "is_shuffled": getattr(sampler, "shuffle", order == "random"),
        "has_replacement": bool(getattr(sampler, "replacement", False)),
        "has_generator": loader.generator is not None or getattr(sampler, "generator", None) is not None,
    }  # fmt: skip


def _length(thing: Any) -> int | None:
    """How many a dataset, sampler or loader has; None where it does not know."""
    try:
        return len(thing)
    except (TypeError, NotImplementedError):
        return None


def num_ranks() -> int:
    """Processes that train together; 1 where there is no process group."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return 1
    return torch.distributed.get_world_size()
