"""What stands in the files, before any meaning is given to it, and what the reader saw on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torchstone.core.finding import Where

# str from a delimited file; str, int, float, bool, list, dict or None from JSON and Parquet.
Cell = Any


def place(where: str, field: str | None = None) -> Where:
    """A row's place (`train.csv:14`) as a finding points to it, with its line apart."""
    path, _, line = where.rpartition(":")
    is_line = bool(path) and line.isdigit()
    return Where(path=path, line=int(line), field=field) if is_line else Where(path=where, field=field)


@dataclass(frozen=True)
class Table:
    """The cells of one file, column by column.

    columns: name → N cells. lines: N line numbers (or record numbers) of the file, counted from 1.
    renamed: (name in the file, name here) of columns whose name was missing or used twice.
    has_header: False where the first line was data and the columns were numbered.
    loose_quotes: whether quotation marks were read as plain text, because they do not pair.
    blanks: whether the blank after each delimiter was taken off.
    """

    columns: Mapping[str, list[Cell]]
    lines: list[int]
    renamed: tuple[tuple[str, str], ...] = ()
    has_header: bool = True
    loose_quotes: bool = False
    blanks: bool = False

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class Records:
    """N rows of one or several files.

    columns: name → N cells. where: N places (`train.csv:14`). split: N names of SPLITS, None where the data
    does not say. digests: file → SHA-256 of its bytes.
    """

    columns: Mapping[str, list[Cell]]
    where: list[str]
    split: list[str | None]
    digests: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.where)


@dataclass
class ReadReport:
    """What a reader saw that a person should know; filled while reading, judged by the rules of `rules/reading`.

    source: the path that was read; examples: how many are in the dataset; pictures: how many files should be one.
    unreadable: (place, reason) of each picture that was left out.
    ignored: what kind of file was passed over → how many.
    encodings: (file, encoding, first line that is not UTF-8) where UTF-8 did not fit.
    renamed: (file, name in the file, name here); headerless, loose_quotes, blanks, unlabelled: files.
    empty_classes: folders of a class without any picture.
    missing_labels: places of the rows that were left out for want of a label.
    spellings: groups of labels that differ only by case or blanks, each ((spelling, count), …).
    infinite: column → (count, first place); odd: column → (count, first place, cell) of cells that are no number.
    constant: column → its only value; identifiers: column → why it names rows; leaks: column → how it tells
    the label.
    """

    source: str
    examples: int = 0
    pictures: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    encodings: list[tuple[str, str, int]] = field(default_factory=list)
    renamed: list[tuple[str, str, str]] = field(default_factory=list)
    headerless: list[str] = field(default_factory=list)
    loose_quotes: list[str] = field(default_factory=list)
    blanks: list[str] = field(default_factory=list)
    unlabelled: list[str] = field(default_factory=list)
    empty_classes: list[str] = field(default_factory=list)
    missing_labels: list[str] = field(default_factory=list)
    spellings: list[tuple[tuple[str, int], ...]] = field(default_factory=list)
    infinite: dict[str, tuple[int, str]] = field(default_factory=dict)
    odd: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    constant: dict[str, str] = field(default_factory=dict)
    identifiers: dict[str, str] = field(default_factory=dict)
    leaks: dict[str, str] = field(default_factory=dict)

    def ignore(self, kind: str) -> None:
        """Counts one passed-over file or folder of this kind."""
        self.ignored[kind] = self.ignored.get(kind, 0) + 1
