"""Do samplers that look away from large losses help against wrong labels? CIFAR-10N "worse", 40.9 % wrong.

The folder holds images/, labels.csv (image,label) and answers/clean.csv (image,label) as CIFAR-10N gives them.
10,000 pictures with the human labels train, 1,000 of them apart choose an epoch by their human labels, and 2,000
are judged by the clean answers. Each arm makes as many optimizer steps as the plain one, or up to one epoch less.

    python benchmarks/known_self_paced.py FOLDER [--seeds 3] [--epochs 20] [--side 16] [--arms plain small_loss]

Prints a row per run as it ends, then means over seeds: accuracy after the last epoch, and at the best epoch as the
wrong labels see it. One thread; at 16 pixels about 2 CPU minutes a run.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from torchstone.core import catalog
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.difficulty import Difficulty
from torchstone.engines.pytorch.feed import EACH_ONCE, Feed
from torchstone.engines.pytorch.job import Job, Validation
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.precisions.bf16 import bf16
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.ruler import Ruler, example_losses
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies.single import single
from torchstone.parts.samplers import ByDifficulty
from torchstone.parts.schedules.cosine import cosine

# Chosen before the first run, from what is known of the data: 40 % of the labels are wrong.
ARMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "small_loss": {"forget": 0.4, "ramp": 10},
    "self_paced": {"start": 0.3, "end": 0.6, "full_at": 0.8, "warm_up": 2},
}
CPU = torch.device("cpu")
TRAIN, JUDGED = 9_000, 10_000


class Mirrored(TensorSource):
    """Pictures, in training mirrored or not by a coin for each (epoch, row)."""

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """The pictures of `rows`."""
        made = super().batch(rows, epoch)
        if epoch is None:
            return made
        coin = torch.from_numpy(((rows * 2_654_435_761 + epoch * 40_503) >> 7) % 2 == 1)[:, None, None, None]
        return Batch((torch.where(coin, made.inputs[0].flip(3), made.inputs[0]),), made.target, rows)


def load(folder: Path, side: int) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """Pictures float32 [N, 3, side, side], human labels and clean answers int64 [N]."""
    noisy, clean = (read(folder / name) for name in ("labels.csv", "answers/clean.csv"))
    classes = sorted(set(clean.values()))
    pictures = np.stack([
        np.asarray(Image.open(folder / "images" / name).convert("RGB").resize((side, side), Image.Resampling.BOX))
        for name in noisy
    ])  # fmt: skip
    inputs = torch.from_numpy(pictures).permute(0, 3, 1, 2).float().div_(255)
    inputs = (inputs - inputs.mean((0, 2, 3), keepdim=True)) / inputs.std((0, 2, 3), keepdim=True)
    targets = [np.array([classes.index(names[name]) for name in noisy]) for names in (noisy, clean)]
    return inputs.contiguous(memory_format=torch.channels_last), targets[0], targets[1]


def read(path: Path) -> dict[str, str]:
    """image → label."""
    with path.open(encoding="utf-8") as file:
        return {row["image"]: row["label"] for row in csv.DictReader(file)}


def network() -> nn.Module:
    """Five convolutions with BatchNorm, 280,000 parameters."""

    def block(inner: int, outer: int) -> list[nn.Module]:
        return [nn.Conv2d(inner, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU()]

    layers = [*block(3, 32), *block(32, 64), nn.MaxPool2d(2), *block(64, 64), *block(64, 128), nn.MaxPool2d(2)]
    head = [*block(128, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)]
    return nn.Sequential(*layers, *head).to(memory_format=torch.channels_last)


def share_right(target: np.ndarray, part: slice) -> Callable[[np.ndarray, np.ndarray], float]:
    """A metric: accuracy of a part of the scored rows against `target`."""
    return lambda scores, _: float((scores.argmax(1)[part] == target[part]).mean())


def the_job(data: tuple[Tensor, np.ndarray, np.ndarray], arm: str, epochs: int, seed: int) -> Job:
    """The training of an arm; as many epochs as make the steps of `epochs` plain ones."""
    inputs, noisy, clean = data
    rows = np.random.default_rng(seed).permutation(len(noisy))
    train, held = rows[:TRAIN], rows[TRAIN:]
    source = Mirrored([inputs], torch.from_numpy(noisy))
    sampler = catalog.find("torchstone.parts.samplers", arm)(**ARMS[arm]) if arm != "plain" else EACH_ONCE
    torch.manual_seed(seed)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2, fused=True)
    metrics = {"noisy": share_right(noisy[held], slice(JUDGED - TRAIN)),
               "clean": share_right(clean[held], slice(JUDGED - TRAIN, None))}

    def judged(which: np.ndarray) -> Validation:
        return Validation(source, which, 500, lambda x: torch.softmax(x, 1).numpy(), noisy[which], metrics,
                          "noisy", "max")

    def feed_of(num: int) -> Feed:
        difficulty = Difficulty(np.zeros(len(train)), num) if isinstance(sampler, ByDifficulty) else None
        return Feed(source, train, 128, seed, sampler=sampler, difficulty=difficulty)

    steps = epochs * -(-len(train) // 128)
    own = next(num for num in range(epochs, 10 * epochs) if feed_of(num + 1).windows_of(num + 1) > steps)
    return Job(
        model=model, loss=cross_entropy(), optimizer=optimizer, schedule=cosine(warmup=0.1), feed=feed_of(own),
        epochs=own, strategy=single(CPU), precision=bf16(CPU), validation=judged(held), base_rates=[2e-3],
        ruler=Ruler(judged(train), lambda s, t: example_losses(s, t, "single")),
    )  # fmt: skip


def kept_right(job: Job, clean: np.ndarray, noisy: np.ndarray) -> float:
    """The share of right labels among what the last epoch dealt out."""
    rows = job.feed.order(job.epochs - 1)
    return float((clean[rows] == noisy[rows]).mean())


def run(data: tuple[Tensor, np.ndarray, np.ndarray], arm: str, epochs: int, seed: int) -> dict[str, float]:
    """One training: accuracy on clean answers at the last epoch and at the one that the wrong labels choose."""
    job = the_job(data, arm, epochs, seed)
    started = time.process_time()
    progress = fit(job, Progress())
    assert progress.last is not None
    assert progress.best is not None
    return {
        "steps": progress.step, "epochs": job.epochs, "last": progress.last["metrics"]["clean"],
        "chosen": progress.best["metrics"]["clean"], "right": kept_right(job, data[2], data[1]),
        "cpu_s": time.process_time() - started,
    }  # fmt: skip


def main() -> None:
    """Runs the arms and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = load(given.folder, given.side)
    results: dict[str, list[dict[str, float]]] = {arm: [] for arm in given.arms}
    for seed in range(given.seeds):
        for arm in given.arms:
            results[arm].append(row := run(data, arm, given.epochs, seed))
            print(f"{arm:12} seed {seed}  " + "  ".join(f"{k} {v:.4g}" for k, v in row.items()), flush=True)
    print(f"\n{'arm':12} {'last':>16} {'chosen':>16}   (mean and standard deviation over {given.seeds} seeds)")
    for arm, rows in results.items():
        cells = [np.array([row[key] for row in rows]) for key in ("last", "chosen")]
        print(f"{arm:12} " + " ".join(f"{c.mean():8.4f} ± {c.std(ddof=min(1, len(c) - 1)):.4f}" for c in cells))


if __name__ == "__main__":
    main()
