"""CIFAR-10N "worse", 40.9 % wrong labels: what the samplers by loss are worth on the clean answers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from conftest import CPU
from torchstone.engines.pytorch.difficulty import Difficulty
from torchstone.engines.pytorch.feed import EACH_ONCE, Feed
from torchstone.engines.pytorch.job import Job, Validation
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.precisions.fp32 import fp32
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.ruler import Ruler, example_losses
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies.single import single
from torchstone.parts.samplers import ByDifficulty
from torchstone.parts.samplers.self_paced import self_paced
from torchstone.parts.samplers.small_loss import small_loss
from torchstone.parts.schedules.cosine import cosine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

TRAIN, EPOCHS, SEEDS = 9_000, 20, 3


def labels_of(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as file:
        return [row["label"] for row in csv.DictReader(file)]


def patch_features(pictures: Tensor, num: int = 200, side: int = 6) -> Tensor:
    """Similarity to whitened random patches, pooled over quarters: [N, 8 · num] (Coates & Ng 2011), standardised."""
    draw = torch.Generator().manual_seed(0)

    def patches(batch: Tensor) -> Tensor:
        flat = nn.functional.unfold(batch, side, stride=2).transpose(1, 2)
        return (flat - flat.mean(2, keepdim=True)) / (flat.std(2, keepdim=True) + 0.1)

    seen = patches(pictures[:500]).flatten(0, 1)
    mean, spread = seen.mean(0), torch.cov(seen.T)
    values, vectors = torch.linalg.eigh(spread)
    whiten = vectors @ torch.diag((values + 0.1).rsqrt()) @ vectors.T
    filters = nn.functional.normalize((seen[torch.randperm(len(seen), generator=draw)[:num]] - mean) @ whiten)
    found = []
    for batch in pictures.split(250):
        like = ((patches(batch) - mean) @ whiten @ filters.T).transpose(1, 2).unflatten(2, (14, 14))
        found.append(nn.functional.adaptive_avg_pool2d(torch.cat([like - 1, -like - 1], 1).relu(), 2).flatten(1))
    features = torch.cat(found)
    return (features - features.mean(0)) / (features.std(0) + 1e-5)


@pytest.fixture(scope="module")
def data(shared_data: Path) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """Features float32 [12000, 1600], the human labels and the clean answers, int64."""
    folder = shared_data / "cifar10n"
    noisy, clean = labels_of(folder / "labels.csv"), labels_of(folder / "answers" / "clean.csv")
    names = sorted(path for path in (folder / "images").iterdir())
    pictures = np.stack([np.asarray(Image.open(path).convert("RGB")) for path in names])
    features = patch_features(torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255)
    classes = sorted(set(clean))
    return features, *(np.array([classes.index(label) for label in labels]) for labels in (noisy, clean))


def the_job(data: tuple[Tensor, np.ndarray, np.ndarray], sampler: ByDifficulty | None, seed: int) -> Job:
    """An MLP of 400,000 weights on 9,000 examples, judged by clean answers; not more steps than 20 plain epochs."""
    features, noisy, clean = data
    rows = np.random.default_rng(seed).permutation(len(noisy))
    train, held = rows[:TRAIN], rows[TRAIN:]
    source = TensorSource([features], torch.from_numpy(noisy))
    torch.manual_seed(seed)
    layers = [nn.Linear(features.shape[1], 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10)]
    model = nn.Sequential(*layers)

    def judged(which: np.ndarray, target: np.ndarray) -> Validation:
        right = {"accuracy": lambda scores, of: float((scores.argmax(1) == of).mean())}
        return Validation(source, which, 500, lambda x: torch.softmax(x, 1).numpy(), target[which], right, "accuracy",
                          "max")  # fmt: skip

    def feed_of(epochs: int) -> Feed:
        return Feed(source, train, 128, seed, sampler=sampler or EACH_ONCE,
                    difficulty=Difficulty(np.zeros(len(train)), epochs) if sampler else None)  # fmt: skip

    steps = EPOCHS * -(-len(train) // 128)
    epochs = next(num for num in range(EPOCHS, 100) if feed_of(num + 1).windows_of(num + 1) > steps)
    return Job(
        model=model, loss=cross_entropy(), feed=feed_of(epochs), epochs=epochs, strategy=single(CPU),
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2, fused=True),
        schedule=cosine(warmup=0.1), precision=fp32(CPU), validation=judged(held, clean), base_rates=[2e-3],
        ruler=Ruler(judged(train, noisy), lambda s, t: example_losses(s, t, "single")),
    )  # fmt: skip


def accuracies(data: tuple[Tensor, np.ndarray, np.ndarray], sampler: ByDifficulty | None) -> tuple[Any, Any, float]:
    """For each seed the accuracy on clean answers after the last epoch, and after the best one as they see it; the
    share of right labels dealt out in the last epoch."""
    last, best, right = [], [], 0.0
    for seed in range(SEEDS):
        job = the_job(data, sampler, seed)
        progress = fit(job, Progress())
        assert progress.step <= EPOCHS * -(-TRAIN // 128)
        assert progress.last is not None
        assert progress.best is not None
        last.append(progress.last["metrics"]["accuracy"])
        best.append(progress.best["metrics"]["accuracy"])
        dealt = job.feed.order(job.epochs - 1)
        right += float((data[1][dealt] == data[2][dealt]).mean()) / SEEDS
    print(f"last {np.mean(last):.4f} {last}, best {np.mean(best):.4f}; right labels among those dealt {right:.3f}")
    return np.array(last), np.array(best), right


def test_leaving_large_losses_out_beats_plain_training_on_the_clean_answers(
    data: tuple[Tensor, np.ndarray, np.ndarray],
) -> None:
    plain, early_stopped, all_right = accuracies(data, None)
    forgetful, _, kept_right = accuracies(data, small_loss(forget=0.4, ramp=10))
    paced, _, paced_right = accuracies(data, self_paced(start=0.3, end=0.6, full_at=0.8, warm_up=2))
    assert all_right == pytest.approx(0.591, abs=0.01)
    assert min(kept_right, paced_right) > 0.7
    assert (forgetful - plain).min() > 0.03
    assert (paced - plain).min() > 0.02
    # plain training may even stop where the clean answers, which nobody has, say that it is best
    assert forgetful.mean() > early_stopped.mean() + 0.005
