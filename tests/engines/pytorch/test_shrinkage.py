"""The L1 penalty against scikit-learn's Lasso and against soft thresholds by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso
from test_pieces_in_the_loop import assembled
from torch import nn

from conftest import small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.core.event import Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.groups import parameter_groups, scaled_rates
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.mse import mse
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.shrinkage import shrinkage
from torchstone.engines.pytorch.sources.tensors import TensorSource


def soft(values: torch.Tensor, threshold: float) -> torch.Tensor:
    """sign(v) max(|v| - threshold, 0)."""
    return torch.sign(values) * torch.clamp(values.abs() - threshold, min=0.0)


def test_plain_gradient_descent_with_l1_ends_at_the_lasso() -> None:
    """Lasso minimises 1/(2n) |y - Xw - b|² + a |w|₁; our loss is twice its first term, so that l1 is 2a."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(60, 8)).astype(np.float32)
    right = np.array([2.0, -1.0, 0.5, 0.1, 0, 0, 0, 0], dtype=np.float32)
    target = (inputs @ right + 1.5 + 0.3 * rng.normal(size=60)).astype(np.float32)
    reference = Lasso(alpha=0.2, tol=1e-10, max_iter=100_000).fit(inputs, target)
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    job = toy_job(
        source=TensorSource([torch.from_numpy(inputs)], torch.from_numpy(target)), model=model, optimizer=optimizer,
        loss=mse(), schedule=lambda step, total: 1.0, rows=np.arange(60), batch_size=60, validation=None, average=None,
        clip_norm=0.0, epochs=400, shrinkage=shrinkage(model, optimizer, 0.4),
    )  # fmt: skip
    fit(job, Progress())
    found = model.weight.detach().numpy()[0]
    assert found == pytest.approx(reference.coef_, abs=1e-5)
    assert float(model.bias.item()) == pytest.approx(reference.intercept_, abs=1e-5)
    assert ((found == 0) == (reference.coef_ == 0)).all()
    assert (found == 0).sum() >= 4


def job_with(folder: Path | None = None, strength: float = 0.3) -> Job:
    """The toy job with two rates, a weight decay and L1."""
    model = small_net()
    rules = [{"match": r"^4\.", "lr_scale": 0.5}]
    groups, _ = parameter_groups(model, weight_decay=0.01, rules=rules)
    optimizer = torch.optim.AdamW(groups, lr=1e-2, fused=True)
    rates = scaled_rates(optimizer)
    return toy_job(folder, model=model, optimizer=optimizer, base_rates=rates,
                   shrinkage=shrinkage(model, optimizer, strength, rules))  # fmt: skip


def test_each_step_of_adam_is_followed_by_a_soft_threshold_of_its_own_rate() -> None:
    """Matrices shrink, by the rate of their group and step; biases and BatchNorm do not."""
    stop = [lambda event: Stop("one step") if event.kind == "step" else None]
    plain = job_with(strength=0.0)
    assert plain.shrinkage is None
    fit(plain, Progress(), stop)
    shrunk = job_with()  # made now: it seeds the generator of dropout
    fit(shrunk, Progress(), stop)
    free, found = plain.model.state_dict(), shrunk.model.state_dict()
    assert torch.allclose(found["0.weight"], soft(free["0.weight"], 1e-2 * 0.3), atol=1e-8)
    assert torch.allclose(found["4.weight"], soft(free["4.weight"], 0.5e-2 * 0.3), atol=1e-8)
    assert all(torch.equal(found[name], free[name]) for name in free if name not in ("0.weight", "4.weight"))


def test_weights_become_exactly_zero_and_a_resumed_run_ends_the_same(tmp_path: Path) -> None:
    whole = job_with(strength=2.0)
    fit(whole, Progress())
    assert (whole.model.state_dict()["0.weight"] == 0).float().mean() > 0.1
    fit(job_with(tmp_path, 2.0), Progress(), [lambda e: Stop("cut") if e.kind == "step" and e.step == 11 else None])
    again = job_with(strength=2.0)
    progress, _ = snapshot.restore(again, checkpoint.read(checkpoint.listed(tmp_path)[0]))
    fit(again, progress)
    assert all(torch.equal(value, again.model.state_dict()[key]) for key, value in whole.model.state_dict().items())


def test_a_recipe_asks_for_it_and_rules_leave_weights_out(tmp_path: Path) -> None:
    settings = ("train.l1=0.5", "train.epochs=1", "parameters.groups=[{match: ., weight_decay: 0}]")
    with pytest.raises(StoneError, match="nothing to act on"):
        assembled(tmp_path, *settings)
    job = assembled(tmp_path, "train.l1=0.5", "train.epochs=1", "optimizer.weight_decay=0")
    assert job.shrinkage is not None
    assert job.shrinkage.strength == 0.5
    assert assembled(tmp_path).shrinkage is None


def test_schedule_free_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoneError, match="would be undone"):
        assembled(tmp_path, "optimizer=schedule_free", "schedule=constant", "train.l1=0.1")
