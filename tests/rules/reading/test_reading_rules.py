"""Rules about what the reader saw: thresholds, counts and places."""

from __future__ import annotations

from torchstone.core.records import ReadReport
from torchstone.rules.reading.missing_label import check as missing_label
from torchstone.rules.reading.unreadable_picture import SHOWN, check


def report(broken: int, pictures: int) -> ReadReport:
    return ReadReport("d", pictures=pictures, unreadable=[(f"a/{i}.jpg", "cut") for i in range(broken)])


def test_broken_pictures_are_an_error_from_one_in_a_hundred_on() -> None:
    assert [finding.severity for finding in check(report(1, 100))] == ["error"]
    assert [finding.severity for finding in check(report(1, 101))] == ["warning"]


def test_many_broken_pictures_are_named_up_to_a_limit_and_counted() -> None:
    findings = list(check(report(SHOWN + 7, 1000)))
    assert len(findings) == SHOWN + 1
    assert findings[0].where.path == "a/0.jpg"
    assert findings[-1].what == "and 7 more pictures that do not decode"
    assert findings[-1].evidence["unreadable"] == SHOWN + 7


def test_missing_labels_are_counted_beside_the_whole() -> None:
    (finding,) = missing_label(ReadReport("d", examples=970, missing_labels=[f"t.csv:{i}" for i in range(30)]))
    assert finding.what.startswith("30 of 1,000 rows have no label")
    assert finding.what.endswith("t.csv:19, …")
