"""A machine with little memory: the plan cuts batches, computes blocks anew, and the run ends as it would have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from torchstone.core.recipe_file import recipe_for
from torchstone.engines.pytorch import machine
from torchstone.flows.plan import Planned, make_plan
from torchstone.flows.train import train

SAID = ["model.width=8", "train.threads=1", "train.epochs=1", "train.batch_size=32"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("memory") / "pictures", np.random.default_rng(0)
    for i in range(100):
        place = folder / f"k{i % 2}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(place / f"{i}.png")
    return folder


def planned(pictures: Path, project: Path, budget: int, monkeypatch: pytest.MonkeyPatch, *settings: str) -> Planned:
    monkeypatch.setattr(machine, "memory_budget", lambda accelerator: budget)
    return make_plan(recipe_for(str(pictures), overrides=[*SAID, *settings]), project=project)


def test_a_large_memory_changes_nothing(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(pictures, tmp_path, 2**33, monkeypatch).plan
    assert (plan["train.accumulate"], plan["train.recompute"], plan["optimizer.name"]) == (1, False, "adamw")


def test_a_small_one_cuts_the_batch_and_a_smaller_one_computes_blocks_anew(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = 16 * planned_parameters(pictures, tmp_path)
    kept = 90_000  # of an example of this network: 75 to 110 KiB
    cut = planned(pictures, tmp_path, fixed + 20 * kept, monkeypatch).plan
    assert cut["train.accumulate"] > 1
    assert not cut["train.recompute"]
    short = planned(pictures, tmp_path, fixed + 5 * kept, monkeypatch).plan
    assert short["train.recompute"]
    assert "blocks keep their inputs alone" in short.choices["train.recompute"].reason


def planned_parameters(pictures: Path, project: Path) -> int:
    from torchstone.engines.pytorch.batch import Shape
    from torchstone.engines.pytorch.model_size import size_of

    size = size_of("small_resnet", Shape(2, channels=3, size=16), {"width": 8, "depth": 1}, "image")
    assert size is not None
    return size.parameters


def test_weights_that_fill_the_memory_ask_for_a_smaller_optimizer_unless_the_user_names_one(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = 20 * planned_parameters(pictures, tmp_path)  # AdamW takes 16 of 20
    plan = planned(pictures, tmp_path, budget, monkeypatch).plan
    assert plan["optimizer.name"] == "lion"
    assert plan["optimizer.options.lr"] == 1e-4
    assert "memory is short" in plan.choices["optimizer.name"].reason
    own = planned(pictures, tmp_path, budget, monkeypatch, "optimizer=adamw").plan
    assert own["optimizer.name"] == "adamw"


def test_two_ranks_share_the_state_out_and_keep_adamw_unless_the_user_says_ddp(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AdamW takes 16 bytes of 28 for each parameter: more than half; 12 where two ranks share its state."""
    budget = 28 * planned_parameters(pictures, tmp_path)
    assert planned(pictures, tmp_path, budget, monkeypatch).plan["optimizer.name"] == "lion"
    monkeypatch.setenv("WORLD_SIZE", "2")
    plan = planned(pictures, tmp_path, budget, monkeypatch).plan
    assert (plan["optimizer.name"], plan["train.strategy"]) == ("adamw", "zero")
    assert "Rajbhandari" in plan.choices["train.strategy"].source
    fixed = planned(pictures, tmp_path, budget, monkeypatch, "train.strategy=ddp").plan
    assert (fixed["optimizer.name"], fixed["train.strategy"]) == ("lion", "ddp")


def test_what_the_user_says_of_accumulation_and_recomputing_wins(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ("train.accumulate=2", "train.recompute=false")
    plan = planned(pictures, tmp_path, 2**20, monkeypatch, *said).plan
    assert (plan["train.accumulate"], plan["train.recompute"]) == (2, False)


def test_a_run_with_blocks_computed_anew_ends_like_the_one_without(pictures: Path, tmp_path: Path) -> None:
    ends = []
    for word in ("true", "false"):
        settings = [*SAID, "model.dropout=0.2", f"train.recompute={word}"]
        result = train(recipe_for(str(pictures), overrides=settings), project=tmp_path / word)
        assert result.run is not None
        ends.append(json.loads(result.run.result.read_text(encoding="utf-8"))["last"]["metrics"])
    assert ends[0] == ends[1]
