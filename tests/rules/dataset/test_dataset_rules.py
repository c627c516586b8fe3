"""What the dataset rules say of made-up faults and of real data."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from torchstone.core.dataset import Dataset
from torchstone.core.recipe import Rules
from torchstone.flows.judge import judge
from torchstone.parts.columns.same_input import same_input
from torchstone.parts.splitters.stratified import regression_bins, stratified
from torchstone.rules.dataset._toy import spread, toy

FOLDER = "torchstone.rules.dataset"


def findings(dataset: Dataset):
    return {finding.code: finding for finding in judge(dataset, FOLDER, Rules())}


def table(name: str) -> Dataset:
    """One of scikit-learn's packaged tables, split as torchstone does."""
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    values, target = loaded.data, loaded.target
    classes = [] if name == "diabetes" else [str(label) for label in loaded.target_names]
    groups = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    labels = target.astype(np.int64) if classes else regression_bins(target)
    columns = [f"column_{index}" for index in range(values.shape[1])]
    return Dataset(
        task="tabular-classification" if classes else "tabular-regression", source=name,
        ids=np.arange(len(target)).astype(str), where=np.array([f"{name}:{row}" for row in range(len(target))]),
        inputs=dict(zip(columns, values.T.astype(np.float64), strict=True)), kinds=dict.fromkeys(columns, "number"),
        target=labels if classes else target.astype(np.float64), target_name="target", classes=classes,
        split=stratified(labels, groups), groups=groups, digest=name,
    )


def texts(files: list[Path], label: str, split: list[str] | None = None) -> Dataset:
    values, labels, parts = [], [], []
    for index, file in enumerate(files):
        with open(file, newline="", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened))
        values += [row["text"] for row in rows]
        labels += [row[label] for row in rows]
        parts += [split[index] if split else "train"] * len(rows)
    dataset = toy(values, labels, parts)
    together = same_input(dataset.inputs, dataset.kinds, dataset.groups)
    return dataset if split else replace(dataset, split=stratified(dataset.target, together))


@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer", "iris", "diabetes"])
def test_healthy_tables_have_no_finding(name):
    assert findings(table(name)) == {}


def test_banking77_has_seven_test_texts_that_stand_in_train(shared_data):
    folder = shared_data / "banking77"
    found = findings(texts([folder / "train.csv", folder / "test.csv"], "category", ["train", "test"]))
    assert set(found) == {"DAT202", "DAT209"}  # a leak, and no validation part in these two files
    assert found["DAT202"].evidence["examples"] == 7
    assert found["DAT202"].severity == "warning"


def test_sms_spam_has_403_exact_repetitions_and_no_leak_after_our_split(shared_data):
    found = findings(texts([shared_data / "sms_spam" / "sms.csv"], "label"))
    assert set(found) == {"DAT203"}
    assert found["DAT203"].evidence["repeats"] == 403


def test_a_conflict_counts_examples_and_names_both_places():
    found = findings(toy(["a", "b", "a", "a"], ["cat", "dog", "dog", "cat"]))["DAT201"]
    assert (found.evidence["inputs"], found.evidence["examples"]) == (1, 3)
    assert "toy.csv:2 = toy.csv:4 = toy.csv:5" in found.what


def test_texts_that_differ_by_case_and_blanks_are_the_same():
    values = ["How are you?", "how are\n you?", "fine"]
    found = findings(toy(values, ["cat", "dog", "dog"], ["train", "test", "train"]))
    assert {"DAT201", "DAT202"} <= set(found)


def test_conflicts_in_tables_are_only_advice():
    sick = toy([1.0, 2.0, 1.0], ["cat", "dog", "dog"], kind="number")
    assert findings(sick)["DAT201"].severity == "advice"


def test_several_labels_conflict_where_any_of_them_differs():
    single = toy(["a", "b", "a"], ["cat", "dog", "dog"])
    sick = replace(single, target=np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8))
    assert "DAT201" in findings(sick)
    assert "DAT201" not in findings(replace(sick, target=np.array([[1, 1], [0, 1], [1, 1]], dtype=np.uint8)))


def test_equal_inputs_with_different_numbers_are_no_conflict():
    numbers = replace(toy(["a", "b", "a"], ["x", "x", "x"]), target=np.array([1.0, 2.0, 3.0]), classes=[])
    assert "DAT201" not in findings(numbers)


def test_a_leak_of_five_per_cent_is_an_error_and_validation_leaks_count_too():
    healthy = spread(400)
    values = healthy.inputs["value"].copy()
    test, validation = healthy.rows("test"), healthy.rows("validation")
    values[test[:3]] = values[healthy.rows("train")[:3]]
    values[validation[0]] = values[test[-1]]
    leaks = [f for f in judge(replace(healthy, inputs={"value": values}), FOLDER, Rules()) if f.code == "DAT202"]
    assert [(f.evidence["part"], f.evidence["also_in"], f.severity) for f in leaks] == [
        ("test", "train", "error"), ("test", "validation", "warning")]


def test_a_class_absent_from_train_is_an_error():
    sick = toy(["a", "b"], ["cat", "cow"], ["train", "test"])
    both = [f for f in judge(sick, FOLDER, Rules()) if f.code == "DAT205"]
    assert [(f.evidence["part"], f.severity) for f in both] == [("train", "error"), ("test", "warning")]


def test_few_examples_names_the_smallest_class_first():
    labels = ["a"] * 40 + ["b"] * 9 + ["c"] * 2
    found = findings(toy([f"text {i}" for i in range(51)], labels))["DAT204"]
    assert list(found.evidence["classes"].items()) == [("c", 2), ("b", 9)]


@pytest.mark.parametrize(("num", "is_found"), [(0, True), (20, True), (21, False)])
def test_validation_is_too_small_up_to_twenty_examples(num, is_found):
    dataset = spread(1000, shares=(100, 0, 0))
    split = dataset.split.copy()
    split[:num] = "validation"
    assert ("DAT209" in findings(replace(dataset, split=split))) == is_found


def test_a_row_with_one_of_two_texts_is_not_empty():
    dataset = spread(200)
    second = np.array([None] * len(dataset), dtype=object)
    two = replace(dataset, inputs={**dataset.inputs, "more": second}, kinds={"value": "text", "more": "text"})
    assert findings(two) == {}


def test_every_rule_survives_an_empty_dataset():
    assert set(findings(spread(200).take(np.array([], dtype=np.int64)))) <= {"DAT208", "DAT209", "DAT211"}
