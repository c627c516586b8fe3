"""Mixed pictures and their targets; gradients limited entry by entry and unit by unit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from conftest import blobs, toy_job
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.clipping.adaptive import adaptive
from torchstone.engines.pytorch.clipping.value import value
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.mixes import seeded
from torchstone.engines.pytorch.mixes.cutmix import cutmix
from torchstone.engines.pytorch.mixes.mixup import mixup
from torchstone.engines.pytorch.progress import Progress

ROWS = np.arange(6)


def pictures() -> Batch:
    """Six pictures, each of one colour: its own number."""
    values = torch.arange(6.0)[:, None, None, None].expand(6, 3, 8, 8).clone()
    return Batch((values,), torch.arange(6), ROWS)


@pytest.mark.parametrize("mix", [mixup(6), cutmix(6)])
def test_targets_follow_the_share_of_each_picture(mix: object) -> None:
    for seed in range(20):
        mixed = mix(pictures(), seeded(seed, 0, ROWS))  # type: ignore[operator]
        mean = mixed.inputs[0].mean(dim=(1, 2, 3))
        expected = mixed.target @ torch.arange(6.0)
        assert torch.allclose(mean, expected, atol=1e-5)
        assert torch.allclose(mixed.target.sum(1), torch.ones(6))


def test_the_same_batch_is_mixed_the_same_way_again() -> None:
    one, two, other = (mixup(6)(pictures(), seeded(0, epoch, ROWS)) for epoch in (1, 1, 2))
    assert torch.equal(one.inputs[0], two.inputs[0])
    assert not torch.equal(one.inputs[0], other.inputs[0])


def test_the_original_batch_is_left_alone() -> None:
    batch = pictures()
    cutmix(6)(batch, seeded(0, 0, ROWS))
    mixup(6)(batch, seeded(0, 0, ROWS))
    assert torch.equal(batch.inputs[0], pictures().inputs[0])


def test_hard_targets_as_shares_give_the_same_loss() -> None:
    logits, target = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    hard, weight = cross_entropy(label_smoothing=0.1)(logits, target)
    soft, soft_weight = cross_entropy(label_smoothing=0.1)(logits, nn.functional.one_hot(target, 3).float())
    assert hard.item() == pytest.approx(soft.item(), rel=1e-6)
    assert weight == soft_weight == 5.0


def test_a_mixed_run_that_is_cut_off_ends_the_same(tmp_path: Path) -> None:
    def job(folder: Path) -> object:
        made = toy_job(folder, every_windows=3)
        return replace(made, feed=replace(made.feed, mix=mixup(3)))

    whole = job(tmp_path / "whole")
    fit(whole, Progress())  # type: ignore[arg-type]
    cut = job(tmp_path / "cut")
    fit(replace(cut, epochs=2), Progress())  # type: ignore[type-var]
    again = job(tmp_path / "cut")
    first = next(p for p in reversed(checkpoint.listed(tmp_path / "whole")))
    progress, _ = snapshot.restore(again, checkpoint.read(first))  # type: ignore[arg-type]
    fit(again, progress)  # type: ignore[arg-type]
    ours, theirs = again.model.state_dict(), whole.model.state_dict()  # type: ignore[attr-defined]
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def graded() -> nn.Module:
    model = nn.Linear(4, 3)
    nn.functional.mse_loss(model(torch.randn(8, 4)) * 50, torch.randn(8, 3)).backward()
    return model


def test_value_limits_each_entry() -> None:
    model = graded()
    before = model.weight.grad.clone()  # type: ignore[union-attr, operator]
    value(most=0.5)(list(model.parameters()))
    assert torch.equal(model.weight.grad, before.clamp(-0.5, 0.5))  # type: ignore[arg-type]
    with pytest.raises(StoneError, match="above 0"):
        value(most=0)


def test_adaptive_limits_each_unit_to_a_share_of_its_weights() -> None:
    """Against the formula of Brock et al. 2021, equation 3, unit by unit."""
    model = graded()
    weight, grad = model.weight.detach(), model.weight.grad.clone()  # type: ignore[union-attr, operator]
    adaptive(ratio=0.1)(list(model.parameters()))
    for unit in range(3):
        most = 0.1 * max(float(weight[unit].norm()), 1e-3)
        norm = float(grad[unit].norm())
        expected = grad[unit] * (most / norm) if norm > most else grad[unit]
        assert torch.allclose(model.weight.grad[unit], expected, rtol=1e-5)  # type: ignore[index]


def test_the_ledger_tells_the_norm_after_clipping() -> None:
    rows = []
    job = toy_job(clipping=value(most=0.01), clip_norm=0.0, epochs=1, source=blobs())
    fit(job, Progress(), [lambda e: rows.append(e.values) if e.kind == "step" else None])  # type: ignore[func-returns-value]
    assert all(row["clipped_norm"] < row["grad_norm"] for row in rows)
