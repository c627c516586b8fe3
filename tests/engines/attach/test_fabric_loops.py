"""`ts.watch` around loops of Lightning Fabric."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts

L = pytest.importorskip("lightning")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def loop(*, precision: str = "32-true", accumulate: int = 1, clears: bool = True, softmax: bool = False,
         evaluates: bool = True, head_only_in: bool = False) -> Tensor:  # fmt: skip
    """A loop as Fabric's guide has it, over 384 rows; returns the weights."""
    L.seed_everything(0, verbose=False)
    fabric = L.Fabric(accelerator="cpu", devices=1, precision=precision)
    fabric.launch()
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(480, 6, generator=draw)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
    parameters = model[4].parameters() if head_only_in else model.parameters()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(parameters, 3e-3))
    loader, held_out = fabric.setup_dataloaders(
        DataLoader(TensorDataset(x[:384], y[:384]), 32, shuffle=True), DataLoader(TensorDataset(x[384:], y[384:]), 32)
    )
    for _ in range(4):
        model.train()
        for index, (inputs, target) in enumerate(loader):
            is_whole = (index + 1) % accumulate == 0
            with fabric.no_backward_sync(model, enabled=not is_whole):
                logits = model(inputs)
                loss = F.cross_entropy(logits.softmax(1) if softmax else logits, target)
                fabric.backward(loss / accumulate)
            if is_whole:
                fabric.clip_gradients(model, optimizer, max_norm=1.0)
                optimizer.step()
                if clears:
                    optimizer.zero_grad()
        if evaluates:
            model.eval()
        with torch.no_grad():
            for inputs, target in held_out:
                F.cross_entropy(model(inputs), target).item()
    return torch.cat([value.reshape(-1).float() for value in model.state_dict().values()])


@pytest.mark.parametrize("options", [{}, {"precision": "bf16-mixed"}, {"accumulate": 4}], ids=str)
def test_a_healthy_loop_goes_through_without_a_word(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")
    alone = loop(**options)
    with ts.watch(is_quiet=True) as doctor:
        watched = loop(**options)
    assert doctor.findings == []
    assert torch.equal(alone, watched)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"clears": False}, "RUN301"), ({"softmax": True}, "RUN401"), ({"evaluates": False}, "RUN322"),
     ({"head_only_in": True}, "RUN307")],
    ids=str,
)  # fmt: skip
def test_a_fault_in_a_loop_is_named(options: dict[str, Any], code: str) -> None:
    with ts.watch(is_quiet=True) as doctor:
        loop(**options)
    assert [finding.code for finding in doctor.findings][:1] == [code]
