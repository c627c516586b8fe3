"""JSON Lines, JSON arrays and Parquet to tables."""

from __future__ import annotations

import io
import json
from datetime import date

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.parts.formats.json_rows import read_json_rows
from torchstone.parts.formats.parquet import read_parquet

VALUES = st.none() | st.text(max_size=5) | st.integers() | st.booleans() | st.lists(st.text(max_size=3), max_size=2)
ROWS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1, max_size=5)


@given(ROWS, st.booleans())
def test_lines_and_arrays_are_read_back_exactly(rows: list[dict[str, object]], is_array: bool) -> None:
    text = json.dumps(rows) if is_array else "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    table = read_json_rows(text, "t")
    assert table.lines == list(range(1, len(rows) + 1))
    for name, cells in table.columns.items():
        assert cells == [row.get(name) for row in rows]


def test_blank_lines_keep_the_numbers_of_the_others() -> None:
    assert read_json_rows('\n{"a": 1}\n\n{"a": 2}\n', "t").lines == [2, 4]


def test_a_line_separator_inside_a_text_does_not_cut_the_line() -> None:
    assert read_json_rows('{"a": "x\u2028y"}\n', "t").columns == {"a": ["x\u2028y"]}


def test_broken_lines_are_named_up_to_twenty_and_counted() -> None:
    with pytest.raises(StoneErrors) as caught:
        read_json_rows('{"a": 1}\n' + '{"a": \n' * 30 + "3\n", "t.jsonl")
    assert "t.jsonl:2: not JSON" in str(caught.value)
    assert "and 11 more such lines" in str(caught.value)


@pytest.mark.parametrize("text", ["[1, 2]", "[]", '[{"a": 1}, 2]', "[{"])
def test_an_array_of_something_else_is_a_mistake(text: str) -> None:
    with pytest.raises(StoneError):
        read_json_rows(text, "t.json")


def test_one_object_over_several_lines_is_explained() -> None:
    with pytest.raises(StoneError, match="one JSON object"):
        read_json_rows('{\n "a": [1, 2]\n}\n', "t.json")


def parquet(frame: polars.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def test_parquet_keeps_texts_numbers_lists_and_dates() -> None:
    frame = polars.DataFrame(
        {"n": [1, None], "x": [0.5, float("nan")], "t": ["01", "NA"], "l": [["a"], []], "d": [date(2020, 1, 2), None]}
    )
    table = read_parquet(parquet(frame), "t.parquet")
    assert table.columns["n"] == [1, None]
    assert table.columns["t"] == ["01", "NA"]
    assert table.columns["l"] == [["a"], []]
    assert table.columns["d"] == ["2020-01-02", None]
    assert table.lines == [1, 2]


def test_a_broken_or_empty_parquet_file_is_a_mistake() -> None:
    with pytest.raises(StoneError, match="cannot be read as Parquet"):
        read_parquet(b"PAR1 and nothing", "t.parquet")
    with pytest.raises(StoneError, match="no row"):
        read_parquet(parquet(polars.DataFrame({"a": []})), "t.parquet")
