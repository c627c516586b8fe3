"""Places of rows, and what a reader counts."""

from __future__ import annotations

import pytest

from torchstone.core.finding import Where
from torchstone.core.records import ReadReport, Table, place


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("train.csv:14", Where(path="train.csv", line=14)),
        ("rose/12.jpg", Where(path="rose/12.jpg")),
        ("a:b/c", Where(path="a:b/c")),
        (":3", Where(path=":3")),
    ],
)
def test_a_place_has_its_line_apart(where: str, expected: Where) -> None:
    assert place(where) == expected
    assert place(where, "age").field == "age"


def test_passed_over_files_are_counted_by_kind() -> None:
    report = ReadReport("d")
    for kind in ("hidden folder", ".txt file", "hidden folder"):
        report.ignore(kind)
    assert report.ignored == {"hidden folder": 2, ".txt file": 1}
    assert ReadReport("e").ignored == {}


def test_a_table_is_as_long_as_its_lines() -> None:
    assert len(Table({"a": ["x", "y"]}, [2, 3])) == 2
