"""Which kind a column is, and what its values become."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchstone.parts.columns.column import constant, identifier, is_text, read_column
from torchstone.parts.columns.dates import read_dates
from torchstone.parts.columns.leak import leak
from torchstone.parts.columns.missing import is_empty, is_missing
from torchstone.parts.columns.numbers import number, read_numbers


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_written_as_text_are_read_exactly(values: list[float | None]) -> None:
    read = read_numbers(["" if value is None else repr(value) for value in values])
    if all(value is None for value in values):
        assert read is None
        return
    assert read is not None
    np.testing.assert_array_equal(read.values, np.array([math.nan if v is None else v for v in values]))


def test_missing_marks_are_missing_in_features_only() -> None:
    assert all(is_missing(cell) for cell in ["", " ", "NA", "?", " ?", "nan", "None", "null", None, math.nan])
    assert not any(is_empty(cell) for cell in ["NA", "?", "None", "null", "nan"])
    assert not is_missing("none of them")


@pytest.mark.parametrize("cell", ["1_000", "", "abc", "0x10", None, True, [1], "1,5"])
def test_what_is_no_number(cell: object) -> None:
    assert number(cell) is None


def test_infinite_numbers_become_missing_and_are_reported() -> None:
    column = read_column(["1", "inf", "-Infinity", "2", "nan"])
    assert column.infinite == [1, 2]
    np.testing.assert_array_equal(column.values, [1, np.nan, np.nan, 2, np.nan])


def test_codes_with_leading_zeros_are_categories_that_keep_their_spelling() -> None:
    column = read_column(["01", "1", "007"])
    assert column.kind == "category"
    assert column.values.tolist() == ["01", "1", "007"]
    assert read_column(["0", "0.5", "-0.5"]).kind == "number"


def test_decimal_commas_and_thousands_are_read_and_said() -> None:
    comma, thousands = read_column(["1,5", "2,25", "3"]), read_column(["1,500", "12,250", "3"])
    assert (comma.values.tolist(), comma.note) == ([1.5, 2.25, 3.0], "commas read as decimal commas")
    assert (thousands.values.tolist(), thousands.note) == ([1500, 12250, 3], "commas read as thousands separators")
    assert read_column(["1,5", "a,b"]).kind == "category"


def test_one_odd_cell_in_a_hundred_leaves_a_column_of_numbers_and_two_do_not() -> None:
    cells = [str(i) for i in range(100)]
    one, two = read_column([*cells[:99], "forty"]), read_column([*cells[:98], "forty", "fifty"])
    assert (one.kind, one.odd) == ("number", [99])
    assert two.kind == "category"


def test_words_true_and_false_are_categories() -> None:
    assert read_column(["True", "False"]).values.tolist() == ["True", "False"]
    assert read_column([True, False]).values.tolist() == ["true", "false"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2016-07-01", datetime(2016, 7, 1, tzinfo=UTC)),
        ("2016-07-01 13:30:05", datetime(2016, 7, 1, 13, 30, 5, tzinfo=UTC)),
        ("2016-07-01T13:30+02:00", datetime(2016, 7, 1, 11, 30, tzinfo=UTC)),
        ("2016/07/13", datetime(2016, 7, 13, tzinfo=UTC)),
        ("13.07.2016", datetime(2016, 7, 13, tzinfo=UTC)),
        ("07/13/2016", datetime(2016, 7, 13, tzinfo=UTC)),
        ("13/07/2016 08:00", datetime(2016, 7, 13, 8, tzinfo=UTC)),
    ],
)
def test_dates_become_seconds_since_1970(cell: str, expected: datetime) -> None:
    column = read_column([cell, "", cell])
    assert column.kind == "number"
    assert "dates" in column.note
    assert column.values[0] == column.values[2] == expected.timestamp()
    assert math.isnan(column.values[1])


def test_a_date_that_can_be_read_in_two_ways_says_so() -> None:
    read = read_dates(["01/02/2020"])
    assert read is not None
    assert read[1] == "month/day/year (day/month/year would fit as well)"
    assert read_dates(["2020-01-02", "soon"]) is None


def test_sentences_are_text_and_names_are_categories() -> None:
    assert is_text(["Where is my card?", "I lost my card", "How do I top up?"])
    assert not is_text(["United States", "Great Britain", "France"])
    assert not is_text(["the same sentence again"] * 10)
    assert is_text(["これは良い映画でした", "とても悪い映画でした"])


def test_ten_thousand_categories_are_one_column() -> None:
    cells = [f"kind {i % 10_000}" for i in range(20_000)]
    column = read_column(cells)
    assert column.kind == "category"
    assert len(set(column.values.tolist())) == 10_000
    assert identifier(column) is None


def test_rows_named_by_a_column_are_found_from_twenty_rows_on() -> None:
    assert identifier(read_column([f"u{i}" for i in range(20)])) == "all 20 values are different"
    assert identifier(read_column([f"u{i}" for i in range(19)])) is None
    assert identifier(read_column([str(i) for i in range(5, 30)])) == "it counts the rows"
    assert identifier(read_column([str(i * i) for i in range(30)])) is None


def test_constant_means_one_value_in_every_row() -> None:
    assert constant(read_column(["a", "a"])) == "a"
    assert constant(read_column(["2.0", "2"])) == "2"
    assert constant(read_column(["", "?"])) == "nothing"
    assert constant(read_column(["a", ""])) is None
    assert constant(read_column(["2", ""])) is None


def test_a_feature_in_bijection_with_the_class_leaks() -> None:
    target = np.array([0, 1, 2, 1, 0, 2, 0, 1, 2, 0])
    assert leak(read_column([f"c{t}" for t in target]), target, 3) is not None
    assert leak(read_column([str(10 - t) for t in target]), target, 3) is not None
    assert leak(read_column([str(min(t, 1)) for t in target]), target, 3) is None


def test_a_number_that_is_the_label_in_other_units_leaks() -> None:
    target = np.random.default_rng(0).normal(size=50)
    celsius = read_column([repr(v * 1.8 + 32) for v in target.tolist()])
    noisy = read_column([repr(v + 1e-3 * i) for i, v in enumerate(target.tolist())])
    assert leak(read_column([repr(v) for v in target.tolist()]), target, 0) == "it equals the label in every row"
    assert leak(celsius, target, 0) == "it is the label in other units"
    assert leak(noisy, target, 0) is None
