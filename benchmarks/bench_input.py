#!/usr/bin/env python
"""Pictures per CPU second: torchstone's input against ImageFolder with PIL and torchvision's transforms v1.

Both deliver float32 batches [64, 3, S, S] of the same JPEGs of about 400 x 300 pixels, cut at random (8 to 100 % of
the area), mirrored half the time and normalised. The JPEGs are random parts of scikit-learn's two photographs.
One process, one thread, rounds interleaved, CPU time of the process, files in the page cache: what is measured is
decoding and transforming, not the disk. The first epoch includes decoding and writing the cache.

    python benchmarks/bench_input.py [--count 1024] [--rounds 3] [--sizes 64 224] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset

from torchstone.core.dataset import Dataset
from torchstone.core.plan import Choice, Plan
from torchstone.engines.pytorch.sources.image import ImageSource, fit, open_source

BATCH = 64
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PASSES = ("first", "second")
GOALS = {64: (2.8, 14.0), 224: (2.0, 3.5)}


def make(folder: Path, count: int) -> list[Path]:
    """Random crops of the two photographs, quality 85, in a folder per class."""
    from PIL import Image, ImageEnhance
    from sklearn.datasets import load_sample_image

    rng = random.Random(0)
    photographs = {name: Image.fromarray(load_sample_image(f"{name}.jpg")) for name in ("china", "flower")}
    for i in range(count):
        name = ("china", "flower")[i % 2]
        photograph = photographs[name]
        width, height, zoom = rng.randint(380, 420), rng.randint(285, 315), rng.uniform(0.6, 1.0)
        w, h = int(width * zoom), int(height * zoom)
        left, top = rng.randint(0, photograph.width - w), rng.randint(0, photograph.height - h)
        part = photograph.resize((width, height), Image.Resampling.LANCZOS, box=(left, top, left + w, top + h))
        path = folder / name / f"{i:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        ImageEnhance.Brightness(part).enhance(rng.uniform(0.85, 1.15)).save(path, quality=85)
    return sorted(folder.glob("*/*.jpg"))


def baseline(folder: Path, size: int, rows: np.ndarray) -> Iterable[torch.Tensor]:
    """What most people write."""
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    steps = [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
             transforms.Normalize(MEAN, STD)]
    data = Subset(ImageFolder(str(folder), transforms.Compose(steps)), rows.tolist())
    return (batch[0] for batch in DataLoader(data, batch_size=BATCH))


def dataset(files: list[Path]) -> Dataset:
    """The same files as a dataset of which every picture is in the training part."""
    count = len(files)
    names = np.array([str(path) for path in files], dtype=object)
    return Dataset(
        task="image-classification", source="bench", ids=names, where=names, inputs={"image": names},
        kinds={"image": "image"}, target=np.array([path.parent.name == "flower" for path in files], dtype=np.int64),
        target_name="folder", classes=("china", "flower"), split=np.array(["train"] * count),
        groups=np.arange(count), digest="",
    )


def plan(size: int) -> Plan:
    """RandomResizedCrop's own range of areas, one thread."""
    values: dict[str, Any] = {
        "image.size": size, "image.augment.name": "crop_flip", "image.augment.options.smallest": 0.08,
        "image.cache_gib": 8.0, "train.seed": 0, "train.threads": 1,
    }
    return Plan({field: Choice(field, value, "user", "benchmark") for field, value in values.items()})


def epoch(source: ImageSource, rows: np.ndarray, number: int) -> Iterable[torch.Tensor]:
    """The batches of one pass."""
    return (source.batch(rows[i : i + BATCH], number).inputs[0] for i in range(0, len(rows), BATCH))


def rate(batches: Iterable[torch.Tensor], size: int) -> float:
    """Pictures per CPU second of the process."""
    start, seen = time.process_time(), 0
    for batch in batches:
        assert batch.shape[1:] == (3, size, size)
        assert batch.dtype == torch.float32
        seen += len(batch)
    return seen / (time.process_time() - start)


def one_round(folder: Path, files: list[Path], size: int, number: int) -> dict[str, float]:
    """Rates of the baseline, the first and the second epoch, in this order."""
    rows = np.random.default_rng(number).permutation(len(files))
    data, wishes = dataset(files), plan(size)
    encoding = fit(data, wishes)
    with tempfile.TemporaryDirectory(dir=folder.parent) as cache:
        plain = rate(baseline(folder, size, rows), size)
        source = open_source(data, encoding, wishes, cache_folder=Path(cache))
        first = rate(epoch(source, rows, 0), size)
        second = rate(epoch(source, rows, 1), size)
    return {"baseline": plain, "first": first, "second": second}


def measure(count: int, rounds: int, sizes: list[int]) -> list[dict[str, float]]:
    """One row per size: median rates, and medians of the ratios within a round."""
    torch.set_num_threads(1)
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "pictures"
        files = make(folder, count)
        one_round(folder, files[:BATCH], sizes[0], 0)  # imports and first calls stay out of the clock
        rows: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
        for number in range(rounds):
            for size in sizes:
                rows[size].append(one_round(folder, files, size, number))
        for size in sizes:
            row = {name: statistics.median(r[name] for r in rows[size]) for name in ("baseline", "first", "second")}
            row |= {f"{name}_ratio": statistics.median(r[name] / r["baseline"] for r in rows[size])
                    for name in ("first", "second")}
            results.append({"size": size, **row})
    return results


def main() -> None:
    """Prints the ratios beside their goals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 224])
    parser.add_argument("--json", action="store_true")
    wishes = parser.parse_args()
    results = measure(wishes.count, wishes.rounds, wishes.sizes)
    if wishes.json:
        print(json.dumps(results))
        return
    print(f"{'size':>5} {'ImageFolder/s':>14}" + "".join(f" {n + '/s':>9} {'ratio':>6} {'goal':>5}" for n in PASSES))
    for row in results:
        goals = dict(zip(PASSES, GOALS.get(int(row["size"]), (0.0, 0.0)), strict=True))
        cells = (f" {row[name]:9.0f} {row[name + '_ratio']:6.2f} {goals[name]:5.1f}" for name in PASSES)
        print(f"{row['size']:5.0f} {row['baseline']:14.0f}" + "".join(cells))


if __name__ == "__main__":
    main()
