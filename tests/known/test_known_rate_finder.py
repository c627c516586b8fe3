"""The range test against a grid: what `--find-lr` suggests lies within one order of magnitude of the best rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from the_program import trained, write_table

from torchstone.core.recipe_file import recipe_for
from torchstone.flows.find import measure
from torchstone.flows.plan import make_plan

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

GRID = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SEEDS = 2


def suggested(data: Path, project: Path, settings: Sequence[str]) -> float:
    planned = make_plan(recipe_for(str(data), overrides=settings), project=project)
    return float(measure(planned, project=project, rate=True, batch=False).planned.plan["optimizer.options.lr"])


def best_of_grid(data: Path, project: Path, settings: Sequence[str]) -> tuple[float, dict[float, float]]:
    """The rate with the lowest validation loss after a short run, mean over seeds, and all of them."""
    losses = {}
    for rate in GRID:
        ends = []
        for seed in range(SEEDS):
            said = [*settings, f"optimizer.lr={rate}", f"train.seed={seed}"]
            run = trained(data, project / f"{rate:g}-{seed}", said)
            ends.append(run.result["last"]["metrics"]["loss"])
        losses[rate] = float(np.mean(ends))
    return min(losses, key=lambda rate: losses[rate]), losses


def check(data: Path, tmp_path: Path, settings: Sequence[str]) -> None:
    rate = suggested(data, tmp_path / "find", settings)
    best, losses = best_of_grid(data, tmp_path / "grid", settings)
    print(f"suggested {rate:g}, best of the grid {best:g}: " + ", ".join(f"{r:g} {v:.3f}" for r, v in losses.items()))
    assert abs(math.log10(rate / best)) <= 1, (rate, losses)


def test_on_digits_as_a_table(tmp_path: Path) -> None:
    found = load_digits()
    table = write_table(tmp_path / "t.csv", found.feature_names, found.data, found.target)
    check(table, tmp_path, ["train.epochs=8", "train.threads=1"])


def test_on_digits_as_pictures(tmp_path: Path) -> None:
    found = load_digits()
    for index, (picture, label) in enumerate(zip(found.images, found.target, strict=True)):
        folder = tmp_path / "digits" / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((picture * 15).astype(np.uint8)).save(folder / f"{index}.png")
    check(tmp_path / "digits", tmp_path, ["train.epochs=3", "train.threads=1", "model.width=16"])
