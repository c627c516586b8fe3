"""Real loops under `ts.watch`: what their curves show at the end, and a rate that ruins a net in its first steps."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts

CENTRES = 6


def blobs(num: int, wrong: float, seed: int) -> TensorDataset:
    """Points about six centres in 20 dimensions; a share of the labels is drawn anew."""
    draw = torch.Generator().manual_seed(seed)
    centres = torch.randn(CENTRES, 20, generator=torch.Generator().manual_seed(99))
    labels = torch.randint(CENTRES, (num,), generator=draw)
    points = centres[labels] + 0.7 * torch.randn(num, 20, generator=draw)
    anew = torch.rand(num, generator=draw) < wrong
    labels[anew] = torch.randint(CENTRES, (int(anew.sum()),), generator=draw)
    return TensorDataset(points, labels)


def codes(rate: float, *, wrong: float = 0.0, num: int = 640, epochs: int = 12, width: int = 64) -> dict[str, str]:
    """Codes and severities of what is found in a plain loop of SGD with momentum."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, CENTRES))
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9)
    training = DataLoader(blobs(num, wrong, 1), 64, shuffle=True)
    held_out = DataLoader(blobs(256, wrong, 2), 128)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(epochs):
            model.train()
            for points, labels in training:
                optimizer.zero_grad()
                F.cross_entropy(model(points), labels).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for points, labels in held_out:
                    F.cross_entropy(model(points), labels)
    assert doctor.mistakes == {}
    return {finding.code: finding.severity for finding in doctor.findings}


def test_a_sound_loop_draws_no_warning() -> None:
    assert set(codes(0.02).values()) <= {"advice"}


def test_wrong_labels_that_are_learnt_by_heart_are_overfitting_and_told_once() -> None:
    found = codes(0.1, wrong=0.6, num=192, epochs=40, width=256)
    assert len({"RUN606", "RUN806", "RUN810"} & set(found)) == 1
    assert set(found.values()) <= {"advice"}


def test_a_rate_of_eight_is_called_too_high_and_not_too_low() -> None:
    found = codes(8.0)
    assert {"RUN614", "RUN601", "RUN602", "RUN609"} & set(found)
    assert "RUN603" not in found
    assert not {code for code in found if code.startswith("RUN8")} - {"RUN805"}
