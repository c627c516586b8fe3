"""What evaluation passes say in the doctor's own count, and what the script has added up by their end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.loaders import Loaders, Pass
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.recorder import Recorder, Row, users_frames

# Classes up to which predictions are counted.
MOST_CLASSES = 1000
# How near a sum of the script's own must be to ours to be the same one.
NEAR = 2e-5
# What scripts call the number of right answers.
RIGHT = ("correct", "num_correct", "n_correct", "total_correct", "correct_total", "num_right", "n_right", "right",
         "hits", "corrects", "running_corrects", "val_correct", "test_correct")  # fmt: skip


class Scores:
    """Sums over one pass without gradients, written into its row when it ends."""

    def __init__(self, recorder: Recorder, loaders: Loaders, losses: Losses) -> None:
        self.recorder, self._loaders, self._losses = recorder, loaders, losses
        losses.on_call.append(self._call)
        loaders.on_pass.append(self._end)

    def _call(self, name: str, input: Tensor, target: Tensor, result: Tensor) -> None:
        one = self._loaders.current
        if one is None or not one.is_open or result.requires_grad or result.numel() != 1:
            return
        seen = one.seen
        num = len(target) if target.ndim else 1
        seen["num"] = seen.get("num", 0) + num
        is_sum = self._losses.asked.get("reduction", "mean") == "sum"
        seen["loss"] = seen.get("loss", 0.0) + result.detach() * (1 if is_sum else num)
        if not is_sum and self._losses.asked.get("weight") is None:
            seen.setdefault("results", []).append(result.detach())
            seen.setdefault("sizes", []).append(num)
        seen["function"] = name if seen.get("function", name) == name else "several"
        is_classes = name == "cross_entropy" and input.ndim == 2 and target.ndim == 1 and input.shape[1] <= MOST_CLASSES
        if is_classes and not target.is_floating_point():
            answers = input.detach().argmax(dim=1)
            kept = target >= 0
            counts = torch.bincount(answers[kept], minlength=input.shape[1])
            truth = torch.bincount(target[kept].clamp_max(input.shape[1] - 1), minlength=input.shape[1])
            seen["answers"] = seen.get("answers", 0) + counts
            seen["truth"] = seen.get("truth", 0) + truth
            seen["right"] = seen.get("right", 0) + (answers == target).sum()

    def _end(self, one: Pass) -> None:
        seen = one.seen
        if seen.get("num") and not one.row["backwards"]:
            one.row["own_num"], one.row["own_function"] = seen["num"], seen["function"]
            self.recorder.later(one.row, "own_loss", seen["loss"] / seen["num"])
            if "right" in seen:
                one.row["own_accuracy"] = float(seen["right"]) / seen["num"]
                one.row["answers"], one.row["truth"] = seen["answers"].tolist(), seen["truth"].tolist()
            _read_script(one.row, seen)
        one.seen.clear()


def _read_script(row: Row, seen: Mapping[str, Any]) -> None:
    """Into the row of a pass: what the script has added up: means of unequal batches, or right answers."""
    sizes = seen.get("sizes", [])
    if len(set(sizes)) > 1 and len(sizes) == row["batches"]:
        sums = unequal_means(torch.stack(seen["results"]).double().tolist(), sizes)
        row["own_mean_of_means"], row["added_up"] = sums["mean_of_means"], sums["added_up"]
    if "right" in seen:
        counted = right_answers()
        row["own_right"], row["counted"] = int(seen["right"]), counted


def unequal_means(means: list[float], sizes: list[int]) -> dict[str, Any]:
    """Of the means of unequal batches: their mean, that over all examples, and the script's variable of their sum.

    added_up is None where the script holds no such sum, or the sum over examples as well.
    """
    total, weighted = math.fsum(means), math.fsum(m * n for m, n in zip(means, sizes, strict=True))
    values = list(_numbers())
    names = [name for name, value in values if _is_near(value, total) or _is_near(value, total / len(means))]
    names += _lists_of(means)
    is_weighted = any(_is_near(value, weighted) or _is_near(value, weighted / sum(sizes)) for _, value in values)
    return {"mean_of_means": total / len(means), "mean": weighted / sum(sizes), "num": sum(sizes),
            "added_up": names[0] if names and not is_weighted else None}  # fmt: skip


def right_answers() -> dict[str, float]:
    """What the script's own variables of such names hold now."""
    return {name: value for name, value in _numbers() if name in RIGHT}


def _numbers() -> Iterator[tuple[str, float]]:
    """Names and values of all numbers in the script's own frames, from the innermost outwards, and in its objects."""
    for frame in users_frames():
        for name, thing in list(frame.f_locals.items()):
            if not name.startswith("_"):
                yield from _number(name, thing)
                for inner, value in _inside(thing):
                    yield from _number(inner, value)


def _inside(thing: Any) -> list[tuple[str, Any]]:
    """What a meter or a dictionary of sums holds; nothing of modules, tensors, functions and the like."""
    if isinstance(thing, dict):
        return [(name, value) for name, value in islice(thing.items(), 50) if isinstance(name, str)]
    is_other = isinstance(thing, (type, ModuleType, torch.nn.Module, Tensor)) or callable(thing)
    return [] if is_other or not hasattr(thing, "__dict__") else list(islice(vars(thing).items(), 50))


def _number(name: str, thing: Any) -> Iterator[tuple[str, float]]:
    is_scalar = isinstance(thing, Tensor) and thing.ndim == 0 and thing.device.type != "meta" and not thing.is_complex()
    if is_scalar or (isinstance(thing, (int, float)) and not isinstance(thing, bool)):
        yield name, float(thing.detach() if isinstance(thing, Tensor) else thing)


def _lists_of(means: list[float]) -> list[str]:
    """Names of the script's lists that hold the loss of each batch, and nothing else."""
    names = []
    for frame in users_frames():
        for name, thing in list(frame.f_locals.items()):
            if isinstance(thing, list) and len(thing) == len(means) and not name.startswith("_"):
                values = [value for one in thing for _, value in _number(name, one)]
                if len(values) == len(means) and all(map(_is_near, values, means)):
                    names.append(name)
    return names


def _is_near(value: float, other: float) -> bool:
    return math.isfinite(value) and abs(value - other) <= NEAR * abs(other)
