"""Embeddings of scikit-learn's digits, trained with plain torch and the losses alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn

from torchstone.engines.pytorch.losses import Loss
from torchstone.engines.pytorch.losses.info_nce import info_nce
from torchstone.engines.pytorch.losses.nt_xent import nt_xent
from torchstone.engines.pytorch.losses.triplet import triplet

pytestmark = pytest.mark.slow


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pictures [N, 1, 8, 8] from 0 to 1 and digits: 1,297 for training, 500 for the test."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    pictures = torch.tensor(data.images[order, None] / 16, dtype=torch.float32)
    kinds = torch.tensor(data.target[order])
    return pictures[500:], kinds[500:], pictures[:500], kinds[:500]


def small_cnn(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 16, 64),
    )  # fmt: skip


@pytest.mark.parametrize("mining", ["batch_hard", "batch_semi_hard", "batch_all"])
def test_triplets_of_digits_reach_a_recall_of_97_percent(mining: str) -> None:
    pictures, kinds, test_pictures, test_kinds = digits()
    model = small_cnn(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    loss = triplet(mining=mining)
    rng = np.random.default_rng(1)
    places = [np.flatnonzero(kinds.numpy() == kind) for kind in range(10)]
    for _ in range(150):
        rows = np.concatenate([rng.choice(place, 8, replace=False) for place in places])
        total, weight = loss(model(pictures[rows]), kinds[rows])
        optimizer.zero_grad()
        (total / weight).backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        embeddings = nn.functional.normalize(model(test_pictures))
        distances = torch.cdist(embeddings, embeddings).fill_diagonal_(float("inf"))
    recall = float((test_kinds[distances.argmin(1)] == test_kinds).float().mean())
    assert recall >= 0.97


def views(pictures: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Two views of each picture, [2 B, 1, 8, 8]: moved by up to a pixel, brightness and noise."""
    made = []
    for _ in range(2):
        padded = nn.functional.pad(pictures, (1, 1, 1, 1))
        down, right = torch.randint(0, 3, (2, len(pictures)), generator=generator).tolist()
        moved = torch.stack([p[:, i:i + 8, j:j + 8] for p, i, j in zip(padded, down, right, strict=True)])
        light = 0.7 + 0.6 * torch.rand(len(pictures), 1, 1, 1, generator=generator)
        made.append(moved * light + 0.1 * torch.randn(moved.shape, generator=generator))
    return torch.cat(made)


@pytest.mark.parametrize("loss", [nt_xent(temperature=0.2), info_nce(temperature=0.2, symmetric=True)],
                         ids=["nt_xent", "info_nce"])  # fmt: skip
def test_two_views_and_a_linear_probe_beat_raw_pixels_with_ten_labels_a_class(loss: Loss) -> None:
    pictures, kinds, test_pictures, test_kinds = digits()
    model, head = small_cnn(0), nn.Sequential(nn.ReLU(), nn.Linear(64, 32))
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=2e-3, fused=True)
    generator = torch.Generator().manual_seed(2)
    for _ in range(15):
        for rows in torch.randperm(len(pictures), generator=generator).split(128):
            first, second = head(model(views(pictures[rows], generator))).chunk(2)
            total, weight = loss(torch.stack([first, second], dim=1), kinds[rows])
            optimizer.zero_grad()
            (total / weight).backward()
            optimizer.step()
    model.eval()
    with torch.inference_mode():
        learnt, learnt_test = model(pictures), model(test_pictures)
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = np.concatenate([rng.choice(np.flatnonzero(kinds.numpy() == k), 10, replace=False) for k in range(10)])
        scores = []
        for train, test in ((learnt, learnt_test), (pictures.flatten(1), test_pictures.flatten(1))):
            scale = train.std(0) + 1e-3
            probe = LogisticRegression(max_iter=2000).fit((train / scale)[rows].numpy(), kinds[rows].numpy())
            scores.append(probe.score((test / scale).numpy(), test_kinds.numpy()))
        gains.append(scores[0] - scores[1])
    assert min(gains) > 0
    assert np.mean(gains) > 0.01
