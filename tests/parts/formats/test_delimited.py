"""Delimited text is read back exactly, and its mistakes are named by line."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.parts.formats.delimited import DELIMITERS, Dialect, read_delimited, sniff
from torchstone.parts.formats.header import header_names, is_header

# NUL never gets past `decode`.
CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NAMES = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=5, unique=True)


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[str] = CELLS) -> tuple[list[str], list[list[str]]]:
    names = draw(NAMES)
    row = st.lists(cells, min_size=len(names), max_size=len(names))
    return names, draw(st.lists(row, min_size=1, max_size=6))


def written(names: list[str], rows: list[list[str]], **options: object) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, **options).writerows([names, *rows])  # type: ignore[arg-type]
    return file.getvalue()


@given(tables(), st.sampled_from(DELIMITERS), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_table_written_by_csv_writer_in_any_dialect_is_read_back_exactly(
    table: tuple[list[str], list[list[str]]], delimiter: str, ending: str, is_all_quoted: bool
) -> None:
    names, rows = table
    # csv.writer (Python 3.11) leaves "\r" unquoted where lines end with "\n": not even csv.reader reads that back.
    assume(is_all_quoted or ending == "\r\n" or not any("\r" in cell for row in rows for cell in row))
    quoting = csv.QUOTE_ALL if is_all_quoted else csv.QUOTE_MINIMAL
    text = written(names, rows, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    # The names are data where a row below repeats one of them; the header rule has tests of its own.
    if not is_header([names, *rows]):
        return
    read = read_delimited(text, "t.csv", dialect=Dialect(delimiter))
    assert list(read.columns) == names
    assert [list(row) for row in zip(*read.columns.values(), strict=True)] == rows


@given(tables(st.text("abc xyz,;\t|\"'\n", max_size=12)), st.sampled_from(DELIMITERS))
def test_the_delimiter_is_found_where_every_cell_is_quoted(
    table: tuple[list[str], list[list[str]]], delimiter: str
) -> None:
    names, rows = table
    if len(names) > 1:
        assert sniff(written(names, rows, delimiter=delimiter, quoting=csv.QUOTE_ALL)).delimiter == delimiter


@given(tables())
def test_each_row_has_the_number_of_its_first_line(table: tuple[list[str], list[list[str]]]) -> None:
    names, rows = table
    text = written(names, rows, quoting=csv.QUOTE_ALL, lineterminator="\n")
    if not is_header([names, *rows]):
        return
    read = read_delimited(text, "t.csv", dialect=Dialect(","))
    heights = [1 + sum(cell.replace("\r\n", "\n").replace("\r", "\n").count("\n") for cell in row) for row in rows]
    assert read.lines == [2 + sum(heights[:place]) for place in range(len(rows))]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_the_delimiter_is_the_one_under_which_rows_are_as_wide_as_the_first(delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in [("text", "label"), ("a, b; c", "x"), ("d", "y"), ("e, f", "x")])
    if delimiter in (",", ";"):
        for cell in ("a, b; c", "e, f"):
            text = text.replace(cell, f'"{cell}"')
    read = read_delimited(text, "t")
    assert read.columns == {"text": ["a, b; c", "d", "e, f"], "label": ["x", "y", "x"]}


def test_blanks_after_every_delimiter_are_taken_off_and_said() -> None:
    read = read_delimited('age, job\n1, "a, b"\n2, c\n', "t")
    assert read.columns == {"age": ["1", "2"], "job": ["a, b", "c"]}
    assert read.blanks


def test_ragged_rows_are_all_counted_and_the_first_twenty_named() -> None:
    text = "a,b\n" + "1,2\n" * 50 + "1,2,3\n" * 30
    with pytest.raises(StoneErrors) as caught:
        read_delimited(text, "t.csv")
    said = str(caught.value)
    assert "t.csv:52: 3 fields where the first row has 2" in said
    assert "t.csv:71:" in said
    assert "t.csv:72:" not in said
    assert "and 10 more such rows" in said
    assert "30 of 81 rows" in said


def test_quotation_marks_that_do_not_pair_are_text_where_that_fits_every_row() -> None:
    read = read_delimited('label\ttext\nham\t"hello there\nspam\tyou "won"\n', "t.tsv")
    assert read.columns["text"] == ['"hello there', 'you "won"']
    assert read.loose_quotes


def test_quotation_marks_that_do_not_pair_are_a_mistake_where_nothing_fits() -> None:
    with pytest.raises(StoneError, match="quotation marks do not pair"):
        read_delimited('a,b\n"x, y,1\n2,3\n', "t.csv")


@pytest.mark.parametrize("text", ["a,b\n", "\n\n", ""])
def test_a_table_without_rows_is_a_mistake(text: str) -> None:
    with pytest.raises(StoneError, match="no row"):
        read_delimited(text, "t.csv")


def test_a_cell_longer_than_the_limit_of_the_csv_module_is_read_and_the_limit_restored() -> None:
    limit = csv.field_size_limit()
    long = "x" * (limit + 1)
    assert read_delimited(f"text,label\n{long},a\n", "t").columns["text"] == [long]
    assert csv.field_size_limit() == limit


def test_a_first_line_of_data_is_no_header() -> None:
    assert not is_header([["25", "Private"], ["38", "Private"]])
    assert not is_header([["ham", "hello you"], ["spam", "win"], ["ham", "hi"], ["ham", "yes"]])
    assert is_header([["age", "work"], ["38", "Private"]])
    assert is_header([["label", "text"], ["ham", "hi"], ["label", "text"], ["ham", "yes"]])


def test_years_above_words_are_names() -> None:
    assert is_header([["2019", "2020"], ["low", "high"], ["high", "low"]])


def test_names_are_made_unique_and_said() -> None:
    names, renamed = header_names([" age ", "", "age", "x", "age_2"])
    assert names == ["age", "column_2", "age_3", "x", "age_2"]
    assert renamed == [("", "column_2"), ("age", "age_3")]
