"""The first hour: from a file to a recipe, a plan, a run, a score and a page; each verb once, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stage import call, run_folder, table, told


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but a table."""
    folder = tmp_path_factory.mktemp("first hour")  # with a blank, as folders of users have them
    table(folder / "trees.csv")
    return folder


@pytest.fixture(scope="session")
def recipe(project: Path) -> str:
    """What `new` says; afterwards there is a recipe."""
    return told("new", "trees.csv", cwd=project)


@pytest.fixture(scope="session")
def answer(project: Path, recipe: str) -> dict[str, Any]:
    """What `train` answers to a program, with the recipe in the current folder."""
    words = ["--epochs", "3", "--set", "model.dropout=0.1", "--run", "first", "--json"]
    parsed: dict[str, Any] = json.loads(told("train", *words, cwd=project))
    return parsed


def test_new_writes_a_recipe_that_names_the_data_and_shows_the_plan(project: Path, recipe: str) -> None:
    text = (project / "torchstone.yaml").read_text(encoding="utf-8")
    assert "trees.csv" in text
    assert "label" in text
    assert "tabular-classification" in recipe
    assert "torchstone plan" in recipe


def test_plan_gives_every_value_with_its_origin_and_reason_and_trains_nothing(project: Path, recipe: str) -> None:
    answer = json.loads(told("plan", "--set", "train.epochs=3", "--json", cwd=project))
    choices = {row["field"]: row for row in answer["plan"]}
    assert choices["train.epochs"]["value"] == 3
    assert choices["train.epochs"]["origin"] == "user"
    assert all(row["reason"] for row in answer["plan"])
    assert answer["dataset"]["n"] == 300
    assert not run_folder(project, "first").exists() or (run_folder(project, "first") / "result.json").is_file()


def test_train_leaves_a_run_with_all_its_files(project: Path, answer: dict[str, Any]) -> None:
    assert (answer["status"], answer["run"]) == ("finished", "first")
    assert answer["best"]["metrics"]["accuracy"] > 0.4, "three classes: 0.33 is chance"
    names = "plan.yaml environment.json data.json recipe.json trace.jsonl findings.jsonl result.json report.html"
    folder = Path(answer["folder"])
    assert [name for name in names.split() if not (folder / name).is_file()] == []
    assert (folder / "checkpoints" / "best" / "model.safetensors").is_file()
    assert (folder / "predictions" / "validation.npz").is_file()


def test_evaluate_scores_every_test_example_once_with_an_interval(project: Path, answer: dict[str, Any]) -> None:
    score = json.loads(told("evaluate", "--json", cwd=project))
    counts = json.loads((Path(answer["folder"]) / "data.json").read_text(encoding="utf-8"))["counts"]
    assert (score["run"], score["split"], score["n"]) == ("first", "test", counts["test"])
    accuracy = score["metrics"]["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    assert accuracy["value"] * score["n"] == pytest.approx(round(accuracy["value"] * score["n"]))


def test_report_writes_one_page_that_needs_nothing_else(project: Path, answer: dict[str, Any]) -> None:
    page = Path(answer["folder"]) / "report.html"
    page.unlink()
    assert "report.html" in told("report", "first", cwd=project)
    text = page.read_text(encoding="utf-8")
    assert "first" in text
    assert "src=\"http" not in text
    assert "href=\"http" not in text.replace("href=\"https://doi", "")


def test_rules_lists_every_code_and_explain_shows_the_page_of_one(project: Path) -> None:
    listed = json.loads(told("rules", "--json", cwd=project))
    rules = listed["rules"] if isinstance(listed, dict) else listed
    codes = [rule["code"] for rule in rules]
    assert len(codes) == len(set(codes)) > 20
    page = told("explain", "DAT202", cwd=project)
    assert "DAT202" in page
    assert "fix" in page.lower()


def test_mistakes_of_a_beginner_are_answered_with_the_way_out(project: Path, answer: dict[str, Any]) -> None:
    taken = call("train", "--run", "first", cwd=project)
    assert taken.returncode == 2
    assert "there is a run called 'first' already" in taken.stderr
    assert "task " not in taken.stdout, "said before the data was read"
    unknown = call("train", "--resume", "frist", cwd=project)
    assert unknown.returncode == 2
    assert "newest runs: first" in unknown.stderr
