"""The checks of one batch before a run: rows of what was measured, which the rules of `rules/preflight` judge.

Nothing is changed by them: no step is made but by a copy, and buffers, gradients, modes and generators are put back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.attach.asking import difference
from torchstone.engines.attach.loaders import tensors_of
from torchstone.engines.pytorch.preflight.bench import Bench, Row, described, num_bad, scores_of, untouched
from torchstone.engines.pytorch.preflight.loss import first_loss
from torchstone.engines.pytorch.preflight.overfit import overfit

# Passes after which a parameter without a gradient counts as one that gets none: layers may be left out at random.
PASSES = 3
# (done, total, what) as the checks go on.
Tell = Callable[[int, int, str], None]


def examine(bench: Bench, *, seconds: float, tell: Tell | None = None) -> list[Row]:
    """The rows `batch`, `gradients`, `first_loss`, `evaluation` and, with seconds above 0, `overfit`.

    Where the batch does not get through model and loss, the row `batch` alone, which says why.
    """
    say = tell or (lambda done, total, what: None)
    with untouched(bench.model):
        say(0, 100, "one batch")
        row, output = _pass(bench)
        if row["refused"] is not None:
            say(1, 1, "")
            return [row]
        say(20, 100, "gradients")
        rows = [row, _gradients(bench)]
        if row["value"] is not None and not row["num_bad_outputs"]:
            rows.append(first_loss(bench, output, row["value"]))
        say(40, 100, "evaluation")
        rows.append(_evaluation(bench))
    if seconds > 0:
        with untouched(bench.model):
            rows.append(overfit(bench, seconds=seconds, tell=lambda done, most: say(50 + 50 * done // most, 101,
                                                                                    "learning a batch by heart")))
    say(1, 1, "")
    return rows


def _pass(bench: Bench) -> tuple[Row, Any]:
    """Forward, loss and backward in the modes of training; what refuses, and its words."""
    row: Row = {
        "event": "batch", "inputs": described(bench.inputs), "target": described(bench.target), "output": None,
        "num_bad_inputs": num_bad(bench.inputs), "num_bad_targets": num_bad(bench.target), "num_bad_outputs": 0,
        "value": None, "refused": None, "refused_by": None, "broadcast": None,
    }  # fmt: skip
    by, output = "model", None
    try:
        bench.to_train(bench.model)
        with torch.enable_grad():
            output = bench.forward(bench.model, bench.inputs)
            by = "loss"
            row["output"], row["num_bad_outputs"] = described(output), num_bad(scores_of(output))
            loss = bench.loss(output, bench.target)
            if not isinstance(loss, Tensor) or loss.numel() != 1:
                raise ValueError(f"it gives {described(loss)}; one number is needed")
            row["broadcast"] = _broadcast(bench, output, loss)
            if loss.grad_fn is None:
                raise ValueError("it hangs on no parameter that is trained: nothing can be learnt from it")
            loss.backward()  # type: ignore[no-untyped-call]
        row["value"] = value if math.isfinite(value := float(loss.detach())) else None
    except StoneError as error:
        row |= {"refused": error.what, "refused_by": by}
    except torch.OutOfMemoryError:
        row |= {"refused": "there is not enough memory", "refused_by": by}
    except Exception as error:  # a foreign model or loss may raise anything: its words are what was asked for
        first = (str(error).strip().splitlines() or [""])[0]
        row |= {"refused": f"{type(error).__name__}: {first[:300]}", "refused_by": by}
    return row, output


def _broadcast(bench: Bench, output: Any, loss: Tensor) -> list[list[int]] | None:
    """The two shapes where outputs and targets differ in shape alone and the loss is another one once they do not."""
    target = bench.target
    if not isinstance(output, Tensor) or not isinstance(target, Tensor) or not target.is_floating_point():
        return None
    if output.shape == target.shape or output.numel() != target.numel() or output.numel() < 2:
        return None
    with torch.no_grad():
        same = bench.loss(output.detach().reshape(target.shape), target)
    is_same = bool(torch.isclose(same.float(), loss.detach().float(), rtol=1e-3, atol=1e-6))
    return None if is_same else [list(output.shape), list(target.shape)]


def _gradients(bench: Bench) -> Row:
    """Which parameters that are to be trained got no gradient; others' remain of the pass before."""
    model = bench.model
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    bad = [name for name, p in trained.items() if p.grad is not None and not bool(p.grad.isfinite().all())]
    missing, passes = [name for name, p in trained.items() if p.grad is None], 1
    while missing and passes < PASSES:
        with torch.enable_grad():
            bench.loss(bench.forward(model, bench.inputs), bench.target).backward()  # type: ignore[no-untyped-call]
        missing, passes = [name for name in missing if trained[name].grad is None], passes + 1
    owned = {id(p) for group in (bench.optimizer.param_groups if bench.optimizer else ()) for p in group["params"]}
    return {
        "event": "gradients", "num": len(trained), "weights": sum(p.numel() for p in trained.values()),
        "missing": missing, "missing_weights": sum(trained[name].numel() for name in missing), "passes": passes,
        "bad": bad, "num_frozen": sum(not p.requires_grad for p in model.parameters()),
        "not_owned": [name for name, p in trained.items() if owned and id(p) not in owned],
        "all_zero": bool(trained) and not any(p.grad is not None and bool(p.grad.any()) for p in trained.values()),
    }  # fmt: skip


def stale_gradients(bench: Bench) -> list[str]:
    """Frozen parameters that the optimizer holds and that still have a gradient: its next step moves them."""
    owned = {id(p) for group in (bench.optimizer.param_groups if bench.optimizer else ()) for p in group["params"]}
    return [name for name, p in bench.model.named_parameters()
            if not p.requires_grad and p.grad is not None and id(p) in owned and bool(p.grad.any())]  # fmt: skip


@torch.no_grad()
def _evaluation(bench: Bench) -> Row:
    """The same batch twice in eval mode."""
    bench.model.eval()
    try:
        one, other = (scores_of(bench.forward(bench.model, bench.inputs)) for _ in range(2))
    except Exception as error:  # a model that can only train, or a foreign one that raises anything
        return {"event": "evaluation", "not_judged": f"in eval mode: {type(error).__name__}: {str(error)[:120]}"}
    if one is None or other is None or one.shape != other.shape or not one.is_floating_point() or num_bad(one):
        return {"event": "evaluation", "not_judged": "the outputs cannot be compared"}
    return {"event": "evaluation", "difference": difference(one, other), "num": len(one) if one.ndim else 1}


def same_rows(one: Any, other: Any) -> float:
    """The share of examples that are equal in two batches of the same examples; texts may be padded differently."""
    pairs = list(zip(tensors_of(one), tensors_of(other), strict=True))
    num = len(pairs[0][0])
    return sum(all(_same(a[i], b[i]) for a, b in pairs) for i in range(num)) / max(num, 1)


def _same(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape and one.ndim == other.ndim == 1:
        longest = max(len(one), len(other))
        one, other = (torch.nn.functional.pad(t, (0, longest - len(t))) for t in (one, other))
    return torch.equal(one, other)
