"""`ts.watch` around loops of Accelerate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts

accelerate = pytest.importorskip("accelerate")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def loop(folder: Path, *, precision: str = "no", accumulate: int = 1, saves: bool = False, clears: bool = True,
         softmax: bool = False, evaluates: bool = True, old_head: bool = False) -> Tensor:  # fmt: skip
    """A loop as Accelerate's guide has it, over 384 rows; returns the weights."""
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.utils.set_seed(0)
    accelerator = accelerate.Accelerator(cpu=True, mixed_precision=precision, gradient_accumulation_steps=accumulate)
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(480, 6, generator=draw)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    if old_head:
        model[4] = nn.Linear(32, 3)
    model, optimizer, loader, held_out, schedule = accelerator.prepare(
        model, optimizer, DataLoader(TensorDataset(x[:384], y[:384]), 32, shuffle=True),
        DataLoader(TensorDataset(x[384:], y[384:]), 32), CosineAnnealingLR(optimizer, 4 * 12 // accumulate),
    )  # fmt: skip
    for _ in range(4):
        model.train()
        for inputs, target in loader:
            with accelerator.accumulate(model):
                logits = model(inputs)
                accelerator.backward(F.cross_entropy(logits.softmax(1) if softmax else logits, target))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                if clears:
                    optimizer.zero_grad()
        if evaluates:
            model.eval()
        with torch.no_grad():
            for inputs, target in held_out:
                logits, target = accelerator.gather_for_metrics((model(inputs), target))
                F.cross_entropy(logits, target).item()
        if saves:
            accelerator.save_state(str(folder))
    return torch.cat([value.reshape(-1).float() for value in model.state_dict().values()])


@pytest.mark.parametrize(
    "options", [{}, {"precision": "bf16"}, {"accumulate": 4}, {"saves": True}], ids=["plain", "bf16", "four", "saves"]
)
def test_a_healthy_loop_goes_through_without_a_word(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")
    alone = loop(tmp_path, **options)
    with ts.watch(is_quiet=True) as doctor:
        watched = loop(tmp_path, **options)
    assert doctor.findings == []
    assert torch.equal(alone, watched)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"clears": False}, "RUN301"), ({"softmax": True}, "RUN401"), ({"evaluates": False}, "RUN322"),
     ({"old_head": True}, "RUN307")],
    ids=["no zero_grad", "softmax", "train mode", "old head"],
)  # fmt: skip
def test_a_fault_in_a_loop_is_named(options: dict[str, Any], code: str, tmp_path: Path) -> None:
    with ts.watch(is_quiet=True) as doctor:
        loop(tmp_path, **options)
    assert [finding.code for finding in doctor.findings][:1] == [code]
