"""Texts with known answers, trained by the real program as it plans by itself."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from the_program import HELD_OUT_20, call, trained, write_csv

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def banking(shared_data: Path, folder: Path) -> Path:
    folder.mkdir()
    for part in ("train", "test"):
        shutil.copyfile(shared_data / "banking77" / f"{part}.csv", folder / f"{part}.csv")
    return folder


def test_banking77_reaches_85_of_100_from_scratch_within_ten_cpu_minutes(shared_data: Path, tmp_path: Path) -> None:
    """TF-IDF and logistic regression reach 0.894 on the same test part."""
    run = call(banking(shared_data, tmp_path / "banking77"), tmp_path / "p")
    assert run.on_test("accuracy") >= 0.85
    assert run.cpu_s < 600


def test_sms_spam_reaches_97_of_100(shared_data: Path, tmp_path: Path) -> None:
    run = call(shared_data / "sms_spam" / "sms.csv", tmp_path, [*HELD_OUT_20, "train.epochs=8"])
    assert run.on_test("accuracy") >= 0.97  # majority 0.866


def test_two_independent_labels_of_a_text_are_both_learnt(shared_data: Path, tmp_path: Path) -> None:
    """Whether an SMS is spam, and whether it holds a number."""
    with (shared_data / "sms_spam" / "sms.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told = []
    for row in rows[:3000]:
        labels = ["spam"] * (row["label"] == "spam") + ["number"] * any(c.isdigit() for c in row["text"])
        told.append([row["text"], "|".join(labels)])
    table = write_csv(tmp_path / "t.csv", ["text", "labels"], told)
    run = trained(table, tmp_path / "p", [*HELD_OUT_20, "task=text-multilabel", "train.epochs=8"])
    assert run.on_test("macro_f1") >= 0.9
