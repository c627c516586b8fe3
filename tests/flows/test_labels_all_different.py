"""A label that no two examples share teaches nothing: an error with the way out, and not a warning."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from torchstone.cli import main as door


def table(folder: Path, labels: list[str]) -> str:
    path = folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [[i, i * i % 7, f"group {i % 2}", label] for i, label in enumerate(labels)]
        csv.writer(file).writerows([["a", "b", "kind", "label"], *rows])
    return str(path)


def test_a_column_of_names_is_no_label_and_the_others_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = table(tmp_path, [f"person {i}" for i in range(40)])
    assert door.main(["plan", data, "--label", "label"]) == 2
    said = capsys.readouterr().err
    assert "each of the 40 examples has a label of its own in 'label', such as 'person 0'" in said
    assert "--label NAME, of: a, b, kind" in said


def test_one_class_with_two_examples_is_enough_to_plan_and_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = table(tmp_path, ["person 0", *(f"person {i}" for i in range(39))])
    assert door.main(["plan", data, "--label", "label"]) in (0, 1)
    assert "DAT204" in capsys.readouterr().out
