"""The preflight on jobs of ours: quiet on real data, without a trace in the weights, and able to stop a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_wine

import torchstone as ts
from torchstone.core.finding import has_errors
from torchstone.flows.plan import make_plan
from torchstone.flows.preflight import preflight_plan
from torchstone.flows.preflight_lines import check_lines


def digits(folder: Path, num: int = 300) -> Path:
    """Handwritten digits, a folder per class."""
    data = load_digits()
    for index in range(num):
        path = folder / f"d{data.target[index]}" / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((data.images[index] * 15).astype("uint8")).save(path)
    return folder


def table(folder: Path, load) -> Path:
    """A table of scikit-learn, the label in words where it is a class."""
    frame = load(as_frame=True).frame
    if load is load_wine:
        frame["target"] = frame["target"].map({0: "first", 1: "second", 2: "third"})
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def looked_at(path: Path, project: Path, *sets: str, seconds: float = 60):
    planned = make_plan(ts.recipe(str(path), *sets), project=project)
    return preflight_plan(planned, project=project, seconds=seconds)


def test_wine_is_quiet_with_a_page_of_its_first_rows(tmp_path):
    seen = looked_at(table(tmp_path, load_wine), tmp_path)
    assert seen.findings == []
    lines = {line.name: line for line in check_lines(seen.rows, seen.findings)}
    assert {line.word for line in lines.values()} == {"ok"}
    assert "log 3 = 1.1" in lines["first loss"].figure
    page = seen.sheet.read_text(encoding="utf-8")
    assert "<b>first</b>" in page
    assert "alcohol 1" in page


def test_diabetes_is_quiet_and_its_targets_are_shown_in_their_own_unit(tmp_path):
    path = table(tmp_path, load_diabetes)
    seen = looked_at(path, tmp_path, "data.label=target")
    assert seen.findings == []
    targets = {float(line.rpartition(",")[2]) for line in path.read_text().splitlines()[1:]}
    shown = [float(part.partition("</b>")[0]) for part in seen.sheet.read_text().split("<b>")[1:]]
    assert shown
    assert set(shown) <= targets


@pytest.mark.parametrize("mix", ["null", "mixup"])
def test_digits_are_quiet_with_a_picture_of_the_first_batch(tmp_path, mix):
    seen = looked_at(digits(tmp_path / "digits"), tmp_path, f"mix={mix}")
    assert seen.findings == []
    rows = {row["event"]: row for row in seen.rows}
    assert rows["augmentation"]["same_in_epochs"] < 0.5
    assert rows["overfit"]["is_learnt"]
    with Image.open(seen.sheet) as picture:
        assert picture.format == "PNG"
        assert picture.width > 500


@pytest.mark.slow
def test_banking77_and_clothing10_are_quiet(tmp_path, shared_data):
    for name in ("banking77", "clothing10"):
        assert looked_at(shared_data / name, tmp_path, seconds=120).findings == []


RECIPES = {
    "a table with dropout and an average": ("averaging=ema", "model.dropout=0.3"),
    "a loss that looks away, by sam": ("loss=focal", "optimizer=sam"),
    "no fixed weights in the optimizer": ("optimizer=schedule_free", "train.accumulate=2"),
}


@pytest.mark.parametrize("sets", RECIPES.values(), ids=RECIPES)
def test_a_run_ends_in_the_same_weights_with_and_without_it(tmp_path, sets):
    ends_alike(tmp_path, table(tmp_path / "data", load_wine), *sets)


def test_pictures_with_batchnorm_mixing_and_workers_end_in_the_same_weights(tmp_path):
    sets = ("mix=cutmix", "image.distort=trivial_augment", "train.workers=1", "model=small_resnet")
    ends_alike(tmp_path, digits(tmp_path / "digits", 60), *sets)


def ends_alike(project: Path, path: Path, *sets: str) -> None:
    recipe = ts.recipe(str(path), "train.epochs=2", *sets)
    weights = []
    for is_seen in (True, False):
        name = "with" if is_seen else "without"
        result = ts.train(recipe, project=project, run_name=name, preflight=is_seen)
        assert result.status == "finished"
        assert any((result.run.folder / file).exists() for file in ("first-batch.png", "first-batch.html")) is is_seen
        last = (result.run.checkpoints / "last").resolve()
        weights.append({file.name: file.read_bytes() for file in last.glob("*.safetensors")})
    assert weights[0]
    assert weights[0] == weights[1]


WILD = ("init.name=truncated_normal", "init.std=9")


def test_a_finding_is_told_kept_and_shown_and_its_page_links_to_the_first_batch(tmp_path):
    path = table(tmp_path, load_wine)
    events = []
    recipe = ts.recipe(str(path), "train.epochs=1", *WILD)
    result = ts.train(recipe, project=tmp_path, run_name="wild", observers=[events.append])
    told = [event for event in events if event.kind == "finding" and event.values["code"] == "RUN704"]
    assert [event.step for event in told] == [0]
    assert events[0].kind == "start"
    notes = [event.values["text"] for event in events if event.kind == "note" and event.values.get("by") == "doctor"]
    assert [note.startswith("first loss ") for note in notes] == [True]
    stored = [json.loads(line)["code"] for line in result.run.findings.read_text().splitlines()]
    assert stored.count("RUN704") == 1
    assert "RUN408" not in stored, "the same cause is told once"

    from torchstone.report.page import write_page

    assert 'href="first-batch.html"' in write_page(result.run, None).read_text(encoding="utf-8")


def test_an_error_stops_the_run_before_its_first_step_and_leaves_its_name_free(tmp_path):
    path = table(tmp_path, load_wine)
    strict = 'rules.severity={"RUN704": "error"}'
    result = ts.train(ts.recipe(str(path), strict, *WILD), project=tmp_path, run_name="r")
    assert (result.run, result.status) == (None, "blocked")
    assert has_errors(result.findings)
    again = ts.train(ts.recipe(str(path), "train.epochs=1"), project=tmp_path, run_name="r")
    assert again.status == "finished"


def test_a_recipe_that_ignores_its_rules_is_not_looked_at(tmp_path):
    path = table(tmp_path, load_wine)
    result = ts.train(ts.recipe(str(path), "train.epochs=1", 'rules.ignore=["RUN"]'), project=tmp_path, run_name="r")
    assert not (result.run.folder / "first-batch.html").exists()


def test_an_augmentation_that_changes_nothing_is_told(tmp_path):
    path = digits(tmp_path / "digits", 60)
    seen = looked_at(path, tmp_path, "image.augment=shift", "image.augment.share=0", seconds=0)
    assert [finding.code for finding in seen.findings] == ["RUN709"]
    assert seen.findings[0].severity == "warning"
