"""Simple predictors on real data: what a model has to beat."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_digits, load_wine

from torchstone.cli.train import baseline_line
from torchstone.core.recipe import Data
from torchstone.flows.baselines import baselines
from torchstone.flows.look import look
from torchstone.flows.plan import task_of
from torchstone.report.tables import baselines_table


def of(path: Path) -> dict[str, dict[str, float]]:
    dataset = look(Data(path=str(path))).dataset
    return {row["name"]: row["metrics"] for row in baselines(dataset, task_of(dataset))}


def test_a_table_gets_the_prior_and_a_line(tmp_path: Path) -> None:
    x, y = load_wine(return_X_y=True)
    with open(tmp_path / "wine.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"c{i}" for i in range(x.shape[1])), "label"])
        writer.writerows([*row, f"kind {label}"] for row, label in zip(x, y, strict=True))
    found = of(tmp_path / "wine.csv")
    assert set(found) == {"prior", "ridge", "boosted_trees"}
    assert found["boosted_trees"]["accuracy"] > 0.9
    assert 0.3 < found["prior"]["accuracy"] < 0.5
    assert found["ridge"]["accuracy"] > 0.9


def test_a_number_gets_the_median_and_a_line(tmp_path: Path) -> None:
    with open(tmp_path / "line.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "colour", "label"])
        for i in range(200):
            writer.writerow([i / 7, "red" if i % 2 else "blue", 3 * i / 7 + (5 if i % 2 else 0) + 0.25])
    found = of(tmp_path / "line.csv")
    assert found["ridge"]["r2"] > 0.99
    assert found["prior"]["r2"] < 0.1
    assert found["boosted_trees"]["r2"] > 0.9


def test_trees_that_are_not_installed_are_named_with_their_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(tmp_path / "line.csv", "w", newline="") as file:
        csv.writer(file).writerows([["x", "label"], *([i / 7, 3 * i / 7 + 0.25] for i in range(200))])
    monkeypatch.setitem(sys.modules, "sklearn", None)
    dataset = look(Data(path=str(tmp_path / "line.csv"))).dataset
    rows = baselines(dataset, task_of(dataset))
    (trees,) = (row for row in rows if row["name"] == "boosted_trees")
    assert trees["metrics"] == {}
    assert "torchstone[trees]" in trees["missing"]
    assert "boosted_trees: pip install 'torchstone[trees]'" in baseline_line(rows, ["r2"])
    assert "torchstone[trees]" in baselines_table(rows)


def test_texts_get_naive_bayes(tmp_path: Path) -> None:
    words = [("the team won the match", "sport"), ("stocks fell as banks lost money", "money")]
    with open(tmp_path / "news.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([f"{words[i % 2][0]} on day {i} of the long year", words[i % 2][1]] for i in range(80))
    found = of(tmp_path / "news.csv")
    assert found["naive_bayes"]["accuracy"] == 1.0
    assert found["prior"]["accuracy"] < 0.7


def test_colour_counts_in_thumbnails(tmp_path: Path) -> None:
    from PIL import Image

    for name, colour in (("red", (200, 10, 10)), ("green", (10, 200, 10))):
        (tmp_path / "colours" / name).mkdir(parents=True)
        for place in range(30):
            shade = tuple(value + place for value in colour)
            Image.new("RGB", (20, 20), shade).save(tmp_path / "colours" / name / f"{place}.png")
    assert of(tmp_path / "colours")["nearest"]["accuracy"] == 1.0


def test_pictures_get_their_nearest_neighbours(tmp_path: Path) -> None:
    from PIL import Image

    digits = load_digits()
    for place, (pixels, label) in enumerate(zip(digits.images[:500], digits.target, strict=False)):
        folder = tmp_path / "digits" / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 15).astype("uint8")).save(folder / f"{place}.png")
    found = of(tmp_path / "digits")
    assert found["nearest"]["accuracy"] > 0.9
    assert found["prior"]["accuracy"] < 0.2
