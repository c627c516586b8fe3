"""Before a run: one batch through the pipeline, as a user asks for it."""

from __future__ import annotations

import json
from pathlib import Path

from stage import table, told


def test_preflight_says_what_it_saw_and_trains_nothing(tmp_path: Path) -> None:
    table(tmp_path / "trees.csv")
    answer = json.loads(told("preflight", "trees.csv", "--seconds", "60", "--json", cwd=tmp_path))
    assert [row["event"] for row in answer["rows"]] == [
        "batch", "gradients", "first_loss", "evaluation", "overfit", "augmentation"
    ]  # fmt: skip
    assert [finding for finding in answer["findings"] if finding["code"].startswith("RUN")] == []
    assert Path(answer["first_batch"]).is_file()
    assert not (tmp_path / ".torchstone" / "runs").exists()
    shown = told("preflight", "trees.csv", "--seconds", "0", cwd=tmp_path)
    assert "first loss  ok" in shown
    assert "by heart" not in shown


def test_preflight_of_nothing_says_what_to_name(tmp_path: Path) -> None:
    shown = told("preflight", cwd=tmp_path, code=2)
    assert "name your data" in shown
    assert "nowhere.csv" in told("preflight", "nowhere.csv", cwd=tmp_path, code=2)
