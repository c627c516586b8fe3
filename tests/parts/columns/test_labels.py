"""Which column is the label, what its cells mean, which split a word names."""

from __future__ import annotations

import math

import pytest

from torchstone.core.errors import StoneError
from torchstone.parts.columns.label import guess_label, guess_split, split_word
from torchstone.parts.columns.spelling import spellings
from torchstone.parts.columns.target import INTEGER_CLASSES, read_flags, read_target


def test_a_column_called_label_wins_over_the_last_one() -> None:
    assert guess_label({"Label": ["a", "b"], "class": ["x", "x"], "z": ["1", "2"]}, "t")[0] == "Label"
    assert guess_label({"category": ["a"], "y": ["b"]}, "t")[0] == "category"


def test_the_last_column_is_the_label_where_its_values_repeat_or_are_numbers() -> None:
    assert guess_label({"a": ["1"] * 4, "kind": ["u", "v", "u", "v"]}, "t")[0] == "kind"
    assert guess_label({"a": ["1"] * 4, "price": ["1.5", "2.5", "3.5", "4"]}, "t")[0] == "price"


def test_without_a_plausible_label_the_columns_are_listed() -> None:
    with pytest.raises(StoneError) as caught:
        guess_label({"a": ["1"] * 6, "note": ["u", "v", "w", "x", "y", "z"]}, "t.csv")
    assert "columns: a, note" in str(caught.value)
    assert "--label NAME" in str(caught.value)


def test_two_columns_of_one_name_in_two_cases_are_asked_about() -> None:
    with pytest.raises(StoneError, match="label and Label could both"):
        guess_label({"label": ["a"], "Label": ["b"]}, "t")


def test_split_words() -> None:
    assert [split_word(w) for w in ["Train", " dev ", "valid", "TEST", "x", None]] == [
        "train", "validation", "validation", "test", None, None,
    ]  # fmt: skip
    assert guess_split({"a": ["train"], "Split": ["train"]}) == "Split"
    assert guess_split({"split": ["train", "left"]}) is None


def test_names_of_classes_stay_exactly_as_written() -> None:
    cells = ["NA", "None", "null", "01", "1", "True", "False", " a", "nan"]
    assert read_target(cells).values == cells


def test_empty_labels_are_missing() -> None:
    assert read_target(["a", "", "  ", None, math.nan, "b"]).values == ["a", None, None, None, None, "b"]


def test_fractions_are_a_number_and_say_so() -> None:
    target = read_target(["1.5", "2", "NA", "inf"])
    assert target.kind == "number"
    assert target.values == [1.5, 2.0, None, None]
    assert "fractions" in target.reason


def test_many_whole_numbers_are_a_number_and_few_are_classes() -> None:
    assert read_target([str(i) for i in range(INTEGER_CLASSES)]).kind == "single"
    assert read_target([str(i) for i in range(INTEGER_CLASSES + 1)]).kind == "number"
    assert read_target([str(i) for i in range(100)], kind="single").kind == "single"
    assert read_target([f"{i:03}" for i in range(100)]).kind == "single"
    assert read_target(["1.0", "0.0", "1.0"]).values == ["1.0", "0.0", "1.0"]


def test_ten_thousand_names_are_classes() -> None:
    assert read_target([f"c{i}" for i in range(10_000)]).kind == "single"


def test_lists_and_separators_are_several_labels() -> None:
    assert read_target([["a", "b"], [], ["b", "b"]]).values == [["a", "b"], [], ["b"]]
    cells = ["a|b", "a", "b|c", "c", "a|c", "b", "a", "b"]
    target = read_target(cells)
    assert target.kind == "multi"
    assert target.values == [cell.split("|") for cell in cells]
    assert read_target(["a, b", "b"], separator=",").values == [["a", "b"], ["b"]]


def test_a_bar_in_single_names_is_no_separator() -> None:
    assert read_target(["x|y", "z", "x|y", "z"]).kind == "single"
    assert read_target(["a|", "b", "|c", "a"]).kind == "single"


def test_flags_are_labels_by_name() -> None:
    target = read_flags([["1", "0", ""], ["true", "0.0", "1"]], ["hot", "wet"], ["t:2", "t:3", "t:4"])
    assert target.values == [["hot", "wet"], [], None]
    with pytest.raises(StoneError, match="'2' in the label column hot"):
        read_flags([["1", "2"]], ["hot"], ["t:2", "t:3"])


def test_a_number_task_refuses_words() -> None:
    with pytest.raises(StoneError, match="is no number"):
        read_target(["1", "many"], kind="number")


def test_spellings_of_one_label_are_grouped_with_counts() -> None:
    labels = ["Cat", "cat", "cat", " cat", "dog", "ﬁsh", "fish"]
    assert spellings(labels) == [(("cat", 2), (" cat", 1), ("Cat", 1)), (("fish", 1), ("ﬁsh", 1))]
    assert spellings(["mouse", "house"]) == []
