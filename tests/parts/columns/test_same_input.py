"""Which examples say the same."""

from __future__ import annotations

import numpy as np

from torchstone.parts.columns.same_input import same_input


def column(*values: object) -> np.ndarray:
    return np.array(values, dtype=object)


def test_texts_that_differ_by_case_or_blanks_say_the_same():
    texts = column("Call me", "call\n me ", "call him", None, "  ")
    assert same_input({"a": texts}, {"a": "text"}, np.arange(5)).tolist() == [0, 0, 1, 2, 2]


def test_two_text_columns_must_both_agree():
    inputs = {"a": column("x", "X", "x"), "b": column("y", "y", "z")}
    assert same_input(inputs, {"a": "text", "b": "text"}, np.arange(3)).tolist() == [0, 0, 1]


def test_other_columns_are_compared_exactly_by_the_given_groups():
    groups = np.array([4, 4, 9])
    inputs = {"a": column("x", "X", "x"), "b": column("p", "P", "p")}
    assert same_input(inputs, {"a": "text", "b": "category"}, groups) is groups
