"""A known answer: scikit-learn's digits as pictures, with what the plan chooses for them."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from torchstone.core.dataset import Dataset
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.sources.image import ImageSource, fit, open_source, shape
from torchstone.parts.choices.image import choose_image


def digits(folder: Path, seed: int) -> Dataset:
    """1,797 pictures of 8 x 8, a fifth of them held out, stratified."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    paths = np.array([str(folder / f"{i}.png") for i in range(len(data.target))], dtype=object)
    for path, picture in zip(paths, data.images, strict=True):
        Image.fromarray(np.rint(picture * 255 / 16).astype(np.uint8)).save(path)
    split = np.full(len(paths), "train", dtype=object)
    split[train_test_split(np.arange(len(paths)), test_size=0.2, stratify=data.target, random_state=seed)[1]] = "test"
    return Dataset(
        task="image-classification", source=str(folder), ids=paths, where=paths, inputs={"image": paths},
        kinds={"image": "image"}, target=data.target.astype(np.int64), target_name="digit",
        classes=tuple("0123456789"), split=split, groups=np.arange(len(paths)), digest="",
    )


def trained(source: ImageSource, rows: np.ndarray, plan: Plan, model: torch.nn.Module) -> None:
    """AdamW under a warm-up of 10 % and a cosine."""
    size, epochs, rate = plan["train.batch_size"], plan["train.epochs"], plan["optimizer.options.lr"]
    steps = -(-len(rows) // size) * epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.05, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        shuffled = np.random.default_rng(epoch).permutation(rows)
        for start in range(0, len(rows), size):
            batch = source.batch(shuffled[start : start + size], epoch)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(batch.inputs[0]), batch.target).backward()
            optimizer.step()
            schedule.step()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_digits_reach_985_of_a_thousand_within_twenty_cpu_seconds(tmp_path: Path, seed: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    dataset = digits(tmp_path, seed)
    facts = {"num_train": 1_437, "median_height": 8, "median_width": 8, "channels": 1, "has_accelerator": False}
    plan = Plan({choice.field: choice for choice in choose_image(facts)})
    start = time.process_time()
    encoding = fit(dataset, plan)
    source = open_source(dataset, encoding, plan, cache_folder=tmp_path / "cache")
    model = small_resnet(shape(encoding, 10), **plan.section("model.options"))
    trained(source, dataset.rows("train"), plan, model)
    rows = dataset.rows("test")
    batch = source.batch(rows, None)
    with torch.inference_mode():
        accuracy = (model.eval()(batch.inputs[0]).argmax(1) == batch.target).float().mean().item()
    assert accuracy >= 0.985
    assert time.process_time() - start < 20
