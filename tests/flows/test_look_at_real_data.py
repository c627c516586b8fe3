"""A look at real data sets, against what their authors and independent counts say."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.recipe import Data
from torchstone.flows.look import Look, look


def see(path: Path, **fields: object) -> Look:
    return look(Data(path=str(path), **fields))  # type: ignore[arg-type]


def sizes(seen: Look) -> dict[str, int]:
    return {part: len(seen.dataset.rows(part)) for part in ("train", "validation", "test")}


@pytest.mark.slow
def test_clothing10_is_read_within_twenty_cpu_seconds(shared_data: Path) -> None:
    start = time.process_time()
    seen = see(shared_data / "clothing10")
    assert time.process_time() - start < 20
    assert (len(seen.dataset.classes), sizes(seen)) == (10, {"train": 3068, "validation": 341, "test": 372})
    names = [seen.dataset.classes[t] for t in seen.dataset.target[seen.dataset.rows("train")]]
    assert names.count("t-shirt") == 795
    assert "DAT101" not in {finding.code for finding in seen.findings}


@pytest.mark.slow
def test_cifar10n_labels_are_read_with_their_pictures(shared_data: Path) -> None:
    seen = see(shared_data / "cifar10n" / "labels.csv")
    assert seen.dataset.task == "image-classification"
    assert (len(seen.dataset), len(seen.dataset.classes)) == (12_000, 10)
    with pytest.raises(StoneError, match="2 tables and none is called train"):
        see(shared_data / "cifar10n")


def test_banking77_keeps_its_test_set(shared_data: Path) -> None:
    seen = see(shared_data / "banking77")
    assert seen.dataset.task == "text-classification"
    assert len(seen.dataset.classes) == 77
    assert sizes(seen)["test"] == 3080
    with open(shared_data / "banking77" / "test.csv", newline="", encoding="utf-8") as file:
        expected = [(row["text"], row["category"]) for row in csv.DictReader(file)]
    rows = seen.dataset.rows("test")
    found = zip(seen.dataset.inputs["text"][rows], seen.dataset.target[rows], strict=True)
    assert [(text, seen.dataset.classes[target]) for text, target in found] == expected


def test_sms_spam_has_403_repeated_texts(shared_data: Path) -> None:
    dataset = see(shared_data / "sms_spam").dataset
    assert len(dataset) == 5574
    assert len(dataset) - len(set(dataset.groups.tolist())) == 403


def test_adult_is_read_without_header_and_with_its_question_marks_missing(shared_data: Path) -> None:
    path = shared_data / "churnlike_adult" / "adult_test.csv"
    start = time.process_time()
    seen = see(path)
    assert time.process_time() - start < 3
    assert len(seen.dataset) == 16_281
    assert seen.dataset.classes == ("<=50K.", ">50K.")
    marks = sum(line.split(", ")[1] == "?" for line in path.read_text().splitlines() if line)
    assert sum(value is None for value in seen.dataset.inputs["column_2"]) == marks > 0
    assert {"DAT106", "DAT108"} <= {finding.code for finding in seen.findings}


def test_prodigy_answers_are_the_label_when_asked_for(shared_data: Path) -> None:
    path = shared_data / "docs_issues" / "docs_issues_eval.jsonl"
    with pytest.raises(StoneError, match=r"'DOCUMENTATION' in all 500 examples") as caught:
        see(path)
    assert "answer" in str(caught.value)
    dataset = see(path, label="answer").dataset
    assert [int((dataset.target == k).sum()) for k in (0, 1)] == [165, 335]


def test_sounds_and_time_series_are_named_as_such(shared_data: Path) -> None:
    with pytest.raises(StoneError, match="column 'path' names sounds"):
        see(shared_data / "fsdd")
    with pytest.raises(StoneError, match="time-series file"):
        see(shared_data / "ucr_dev" / "ItalyPowerDemand")
    features = see(shared_data / "fsdd" / "metadata.csv", features=["seconds", "speaker"])
    assert sizes(features)["test"] == 300


def test_etth1_is_a_regression_with_its_date_as_a_number(shared_data: Path) -> None:
    dataset = see(shared_data / "etth1").dataset
    assert dataset.task == "tabular-regression"
    assert (len(dataset), dataset.kinds["date"]) == (17_420, "number")
    assert dataset.inputs["date"][1] - dataset.inputs["date"][0] == 3600
