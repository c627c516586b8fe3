"""Pictures with known answers, trained by the real program as it plans by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from the_program import call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def digits(folder: Path) -> Path:
    """scikit-learn's 1,797 digits, a folder per class."""
    from sklearn.datasets import load_digits

    found = load_digits()
    for number, (picture, label) in enumerate(zip(found.images, found.target, strict=True)):
        place = folder / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(picture * 255 / 16).astype(np.uint8)).save(place / f"{number:04}.png")
    return folder


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_digits_reach_985_of_a_thousand_within_twenty_cpu_seconds(seed: int, tmp_path: Path) -> None:
    """A fifth is held out, and none of it chooses: the last weights are judged. All of the process counts."""
    shares = ["data.split.train=0.8", "data.split.validation=0.0", "data.split.test=0.2"]
    run = call(digits(tmp_path / "digits"), tmp_path / "p", [*shares, f"train.seed={seed}"])
    assert run.on_test("accuracy") >= 0.985
    assert run.cpu_s < 20


def test_clothing10_beats_the_majority_by_far_within_ten_cpu_minutes(shared_data: Path, tmp_path: Path) -> None:
    """Majority class 0.196; frozen ImageNet features and logistic regression reach 0.785."""
    run = call(shared_data / "clothing10", tmp_path, ["image.size=64"])
    assert run.on_test("accuracy") >= 0.55
    assert run.cpu_s < 600
    plan = run.run.plan.read_text(encoding="utf-8")
    assert "pretrained weights would help" in " ".join(plan.split())
    assert run.result["status"] == "finished"
