"""What evaluation passes say in the doctor's own count: mean loss, accuracy, and which classes are ever predicted."""

from __future__ import annotations

import torch
from torch import Tensor

from torchstone.engines.attach.loaders import Loaders, Pass
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.recorder import Recorder

# Classes up to which predictions are counted.
MOST_CLASSES = 1000


class Scores:
    """Sums over one pass without gradients, written into its row when it ends."""

    def __init__(self, recorder: Recorder, loaders: Loaders, losses: Losses) -> None:
        self.recorder, self._loaders = recorder, loaders
        losses.on_call.append(self._call)
        loaders.on_pass.append(self._end)

    def _call(self, name: str, input: Tensor, target: Tensor, result: Tensor) -> None:
        one = self._loaders.current
        if one is None or not one.is_open or result.requires_grad or result.numel() != 1:
            return
        seen = one.seen
        num = len(target) if target.ndim else 1
        seen["num"] = seen.get("num", 0) + num
        seen["loss"] = seen.get("loss", 0.0) + result.detach() * num
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
        one.seen.clear()
