"""The first loss against what an untrained model of such outputs must cost.

Random outputs know nothing of the classes: their columns may be exchanged, and their signs turned around. So the loss
over many such exchanges is what chance gives to this model, with the spread of its outputs, and for any loss, with its
weights, smoothing and mixed targets: their mean is what is to be expected, their deviation how far chance alone
carries. The loss of equal outputs, log K for cross-entropy, is what guessing costs.

Legend of axes: B examples, K classes or labels.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.pytorch.preflight.bench import Bench, Row, class_axis, scores_of

DRAWS, MOST_NUMBERS = 32, 4_000_000


def first_loss(bench: Bench, output: Any, value: float) -> Row:
    """The row `first_loss`: value, guess, expected and error; `not_judged` where there is no theory.

    output: of the forward pass in train mode. value: the mean loss of it.
    """
    row: Row = {"event": "first_loss", "value": value, "kind": bench.kind, "is_fresh": bench.is_fresh}
    scores = scores_of(output)
    if scores is None or bench.kind is None:
        return {**row, "not_judged": "outputs and targets of a kind for which no first loss is known"}
    if scores.numel() > MOST_NUMBERS or not math.isfinite(value):
        return {**row, "not_judged": "the outputs are not finite, or too many"}
    scores = scores.detach().float()
    try:
        guess = _number(bench, _equal(bench, scores))
        draws = torch.tensor([_number(bench, one) for one in _exchanged(bench, scores)], dtype=torch.float64)
    except (RuntimeError, ValueError, TypeError, AttributeError):
        return {**row, "not_judged": "the loss takes more than the outputs of the model"}
    num = _num_outputs(bench, scores)
    return {
        **row, "guess": guess, "expected": float(draws.mean()), "error": float(draws.std(unbiased=False)),
        "spread": float(scores.std(unbiased=False)), "num_outputs": num, "num_targets": _num_targets(bench),
        "log": math.log(num) if bench.kind == "classes" else math.log(2) if bench.kind == "labels" else None,
    }  # fmt: skip


def _number(bench: Bench, scores: Tensor) -> float:
    with torch.enable_grad():  # a loss may be another one where nothing is learnt (logit_adjusted)
        return float(bench.loss(scores, bench.target).detach())


def _equal(bench: Bench, scores: Tensor) -> Tensor:
    """What one answers who knows nothing: equal outputs; for numbers, their mean."""
    return torch.full_like(scores, float(bench.target.float().mean()) if bench.kind == "numbers" else 0.0)


def _exchanged(bench: Bench, scores: Tensor) -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)  # its own: the run's generators are not asked
    made = []
    for _ in range(DRAWS):
        if bench.kind == "numbers":
            made.append(scores * (1 - 2 * int(torch.randint(2, (1,), generator=draw))))
            continue
        axis = class_axis(scores, bench.target) if bench.kind == "classes" else scores.ndim - 1
        assert axis is not None
        size = scores.shape[axis] if scores.ndim > 1 else 1  # [B] is one column
        if bench.kind == "labels":
            signs = 1 - 2 * torch.randint(2, (size,), generator=draw)
            made.append(scores * signs.to(scores))
            continue
        order = torch.randperm(size, generator=draw).to(scores.device)
        sign = 1 - 2 * int(torch.randint(2, (1,), generator=draw))
        made.append(scores.index_select(axis, order) * sign)
    return made


def _num_outputs(bench: Bench, scores: Tensor) -> int:
    axis = class_axis(scores, bench.target) if bench.kind == "classes" else None
    return int(scores.shape[axis if axis is not None else -1])


def _num_targets(bench: Bench) -> int:
    """How many targets there are: one per example and place for classes, each entry for others."""
    target = bench.target
    return int(target.numel() // target.shape[1] if bench.kind == "classes" and target.is_floating_point()
               else target.numel())  # fmt: skip
