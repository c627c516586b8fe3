"""Whether a copy of the model can learn a few examples by heart: what cannot is wired wrongly, whatever its rate.

Legend of axes: B examples, K outputs.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.loaders import tensors_of
from torchstone.engines.pytorch.preflight.bench import Bench, Row, scores_of

# Rates of Adam that are tried in turn: its own, one for heads on frozen features, one for pretrained models.
RATES, STEPS = (1e-3, 1e-2, 1e-4), 100
# The share of the way from the best constant answer to the least possible loss, after which it is learnt by heart.
ENOUGH = 0.9
MOST_NUMBERS = 1_000_000
# Weights per number of the targets from which a model should be able to: a linear one on few inputs need not.
ROOMY = 10
# Steps of the descent on the outputs: 25 of Adam at 0.5 move each of them by about 12.
DESCENT = 25


def overfit(bench: Bench, *, seconds: float, tell: Callable[[int, int], None]) -> Row:
    """The row `overfit`: first, constant (the best constant answer), floor (the least possible) and last loss.

    Trains a deep copy with Adam on `bench.small`, without dropout, for at most 3 x 100 steps and `seconds`; tell is
    called as (steps done, most steps). The generators are the caller's to protect.
    """
    row: Row = {"event": "overfit"}
    if bench.small is None:
        return {**row, "not_judged": "there are not two different examples with different targets"}
    inputs, target = bench.small
    weights = sum(p.numel() for p in bench.model.parameters() if p.requires_grad)
    if weights < ROOMY * num_numbers(target):
        return {**row, "not_judged": f"{weights:,} weights to train may be too few for that"}
    begun, best, first, done = time.perf_counter(), math.inf, math.nan, 0
    try:
        constant, floor = _ends(bench, inputs, target)
        for attempt, rate in enumerate(RATES):
            losses = _losses(bench, inputs, target, rate)
            for step, loss in enumerate(losses):
                first = loss if math.isnan(first) else first
                best, done = min(best, loss if math.isfinite(loss) else math.inf), done + 1
                tell(attempt * STEPS + step, len(RATES) * STEPS)
                is_over = time.perf_counter() - begun > seconds
                if best <= floor + (1 - ENOUGH) * (constant - floor) or is_over or not math.isfinite(loss):
                    break
            if best <= floor + (1 - ENOUGH) * (constant - floor) or is_over:
                break
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:  # no copy, no memory, no gradient
        return {**row, "not_judged": f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"}
    return {
        **row, "num": _num(target), "first": first, "constant": constant, "floor": floor, "last": best, "steps": done,
        "seconds": time.perf_counter() - begun, "is_over": is_over,
        "is_learnt": best <= floor + (1 - ENOUGH) * (constant - floor),
    }  # fmt: skip


def _losses(bench: Bench, inputs: Any, target: Any, rate: float) -> Any:
    """The loss before each of STEPS steps, and after the last."""
    model = copy.deepcopy(bench.model)
    bench.to_train(model)
    without_dropout(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=rate)
    for _ in range(STEPS + 1):
        with torch.enable_grad():
            loss = bench.loss(bench.plain_forward(model, inputs), target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
        yield float(loss.detach())
        optimizer.step()


def without_dropout(model: nn.Module) -> None:
    """Evaluation mode for all that is in train mode but norms by batch and recurrent layers, whose dropout is set to 0.

    Recurrent layers keep train mode: cuDNN gives no gradients otherwise. Meant for a copy.
    """
    for module in model.modules():
        is_norm = isinstance(module, (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm))
        if isinstance(module, nn.RNNBase):
            module.dropout = 0.0
        elif not is_norm:
            module.training = False


def _ends(bench: Bench, inputs: Any, target: Any) -> tuple[float, float]:
    """The loss of the best answer that is the same for all examples, and the least loss that any outputs give.

    Both by descent on the outputs themselves, so for any loss; where it takes no scores, the model's first loss and 0.
    """
    model = copy.deepcopy(bench.model)
    bench.to_train(model)
    without_dropout(model)
    with torch.no_grad():
        output = bench.plain_forward(model, inputs)
    scores = scores_of(output)
    if not isinstance(output, Tensor) or scores is None or not bench.takes_scores or scores.numel() > MOST_NUMBERS:
        with torch.no_grad():
            return float(bench.loss(output, target)), 0.0
    start = scores.detach().float()
    return _least(bench, target, start.mean(0, keepdim=True), start), _least(bench, target, start, start)


def _least(bench: Bench, target: Any, start: Tensor, shape: Tensor) -> float:
    free = torch.zeros_like(start).requires_grad_()
    optimizer = torch.optim.Adam([free], lr=0.5)
    least = math.inf
    for _ in range(DESCENT):
        with torch.enable_grad():
            loss = bench.loss(free.expand_as(shape), target)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        least = min(least, float(loss.detach()))
    return least


def num_numbers(target: Any) -> int:
    """How many numbers the targets are."""
    return sum(tensor.numel() for tensor in tensors_of(target))


def _num(target: Any) -> int:
    from torchstone.engines.attach.loaders import num_examples

    return num_examples(target)
