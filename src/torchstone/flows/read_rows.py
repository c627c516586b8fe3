"""Rows of a table to examples: which column is the label, which are the inputs, and what kind they are."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.plan import Choice
from torchstone.core.recipe import Data
from torchstone.core.records import Cell, ReadReport, Records
from torchstone.core.task import Task
from torchstone.flows.choose_inputs import Chosen, choose_inputs
from torchstone.flows.examples import Examples
from torchstone.flows.load_tables import Loaded, put_together
from torchstone.flows.read_inputs import read_inputs
from torchstone.flows.read_pictures import Progress, read_pictures
from torchstone.parts.columns.column import Column, read_column
from torchstone.parts.columns.label import SPLIT_WORDS, guess_label, guess_split, split_word
from torchstone.parts.columns.target import Target, read_flags, read_target

if TYPE_CHECKING:
    import numpy as np

_RULE = "rule of the reader (column names and cells)"


def read_rows(
    loaded: Sequence[Loaded],
    folder: Path,
    data: Data,
    wanted: Task | None,
    report: ReadReport,
    progress: Progress | None,
) -> Examples:
    """The examples of these tables.

    Raises StoneError for columns that do not exist and for labels that cannot be read.
    """
    labels, label_choice = _labels(loaded[0], data)
    records = put_together(loaded, labels, report)
    split, split_choices, split_column = _split(records, data, labels)
    candidates = _candidates(records, data, labels, split_column)
    chosen = choose_inputs(candidates, loaded[0].name, folder, data, wanted)
    target = _target(records, data, labels, wanted, chosen)
    kept = _labelled(target, records.where, labels, report)
    where = [records.where[row] for row in kept]
    cells = {name: [candidates[name][row] for row in kept] for name in chosen.names}
    columns, choices = read_inputs(cells, chosen, where, data.features is not None, report)
    examples = Examples(
        modality=chosen.modality,
        columns=columns,
        keys=[""] * len(kept),
        where=where,
        target=replace(target, values=[target.values[row] for row in kept]),
        target_name=", ".join(labels),
        split=[split[row] for row in kept],
        digests=records.digests,
        choices=(label_choice, *split_choices, *choices),
        classes=labels if len(labels) > 1 else None,
        others=[name for name in records.columns if name not in labels],
        difficulty=_difficulty(records, data, kept),
    )
    if chosen.modality == "image":
        return _with_pictures(examples, report, progress)
    return replace(examples, keys=_digests(list(columns.values())))


def _labels(first: Loaded, data: Data) -> tuple[list[str], Choice]:
    if data.label is None:
        name, reason = guess_label(first.table.columns, first.name)
        return [name], Choice("data.label", name, "derived", reason, _RULE, "--label NAME")
    labels = [data.label] if isinstance(data.label, str) else list(data.label)
    require(labels, first.table.columns, "data.label", first.name)
    return labels, Choice("data.label", data.label, "user", "given")


def require(names: Sequence[str], columns: Mapping[str, Sequence[Cell]], field: str, where: str) -> None:
    """Raises StoneErrors for each name that is no column, with the nearest one."""
    errors = []
    for name in names:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            found = ", ".join(list(columns)[:30]) + (", …" if len(columns) > 30 else "")
            fix = f"did you mean '{near[0]}'?" if near else f"name one of the columns in {field}"
            errors.append(StoneError(f"{field}: there is no column '{name}'; columns: {found}", where=where, fix=fix))
    if errors:
        raise errors[0] if len(errors) == 1 else StoneErrors(errors)


def _split(records: Records, data: Data, labels: list[str]) -> tuple[list[str | None], list[Choice], str | None]:
    """The split of each row as the data has it, the choice to show, and the column that said it."""
    name = data.split_column
    if name is None:
        others = {name: cells for name, cells in records.columns.items() if name not in labels}
        name = None if any(records.split) else guess_split(others)
        if name is None:
            return records.split, [], None
        choice = Choice("data.split_column", name, "derived", "its name, and every value names a split", _RULE)
    else:
        require([name], records.columns, "data.split_column", records.where[0])
        choice = Choice("data.split_column", name, "user", "given")
    words = [split_word(cell) for cell in records.columns[name]]
    wrong = [row for row, word in enumerate(words) if word is None]
    if wrong:
        known = ", ".join(SPLIT_WORDS)
        raise StoneError(
            f"{len(wrong):,} cells of '{name}' name no split; the first is '{records.columns[name][wrong[0]]}'",
            where=records.where[wrong[0]],
            fix=f"write one of {known}",
        )
    return list(words), [choice], name


def _candidates(
    records: Records, data: Data, labels: list[str], split_column: str | None
) -> dict[str, list[Cell]]:
    where = records.where[0].rpartition(":")[0]
    given = [*(data.features or ()), *(name for name in (data.text, data.image) if name is not None)]
    require(given, records.columns, "data.features" if data.features else "data.text or data.image", where)
    if twice := [name for name in given if name in labels]:
        raise StoneError(f"'{twice[0]}' is both label and input", where=where, fix="take it out of one of them")
    if data.difficulty in (*given, *labels):
        raise StoneError(f"'{data.difficulty}' is said to be the difficulty, and an input or the label, too",
                         where="data.difficulty", fix="take it out of one of them")  # fmt: skip
    apart = (*labels, split_column, data.difficulty)
    names = given or [name for name in records.columns if name not in apart]
    if not names:
        raise StoneError("there is no column beside the label", where=where, fix="add inputs to learn from")
    return {name: list(records.columns[name]) for name in names}


def _difficulty(records: Records, data: Data, kept: Sequence[int]) -> np.ndarray | None:
    """What the column data.difficulty says of the kept rows; raises StoneError where it holds no numbers."""
    name = data.difficulty
    if name is None:
        return None
    require([name], records.columns, "data.difficulty", records.where[0].rpartition(":")[0])
    column = read_column([records.columns[name][row] for row in kept])
    if column.kind != "number":
        raise StoneError(f"column '{name}' holds no numbers, but {column.kind}", where="data.difficulty",
                         fix="write numbers, larger ones for harder examples")  # fmt: skip
    return column.values


def _target(records: Records, data: Data, labels: list[str], wanted: Task | None, chosen: Chosen) -> Target:
    kind = wanted.target if wanted else None
    if len(labels) > 1:
        if kind not in (None, "multi"):
            raise StoneError(
                f"{len(labels)} label columns, but the task {wanted.name if wanted else ''} takes one",
                where="data.label",
                fix="name one column, or choose a multilabel task",
            )
        return read_flags([records.columns[name] for name in labels], labels, records.where)
    cells = records.columns[labels[0]]
    target = read_target(cells, kind=kind, separator=data.label_separator)
    if target.kind != "number" or chosen.modality == "table":
        return target
    if any(isinstance(value, float) and not value.is_integer() for value in target.values):
        raise StoneError(
            f"{target.reason}; a number can be learnt from tables only, not from {chosen.modality}s",
            where=f"{records.where[0].rpartition(':')[0]} column '{labels[0]}'",
            fix="turn the numbers into classes, or name another column with --label NAME",
        )
    return read_target(cells, kind="single")


def _labelled(target: Target, where: Sequence[str], labels: Sequence[str], report: ReadReport) -> list[int]:
    """The rows that have a label; the others are named in `report`."""
    kept = [row for row, value in enumerate(target.values) if value is not None]
    report.missing_labels += [where[row] for row, value in enumerate(target.values) if value is None]
    if not kept:
        raise StoneError(
            f"the label '{', '.join(labels)}' is missing in all {len(where):,} rows",
            where=where[0].rpartition(":")[0],
            fix="label the rows, or name another column with --label NAME",
        )
    return kept


def _with_pictures(examples: Examples, report: ReadReport, progress: Progress | None) -> Examples:
    """The rows whose picture decodes, with its digest as key; the others are named in `report`."""
    paths = next(iter(examples.columns.values())).values.tolist()
    read = read_pictures([path for path in paths if path is not None], progress)
    faults = ["the cell is empty" if path is None else read[path].fault for path in paths]
    report.pictures = len(paths)
    for row, fault in enumerate(faults):
        if fault is not None:
            report.unreadable.append((f"{examples.where[row]} {paths[row] or ''}".strip(), fault))
    keys = ["" if path is None else read[path].digest for path in paths]
    digests = {**examples.digests, **{path: picture.digest for path, picture in read.items()}}
    kept = [row for row, fault in enumerate(faults) if fault is None]
    return replace(examples, keys=keys, digests=digests).take(kept)


def _digests(columns: Sequence[Column]) -> list[str]:
    """SHA-256 of each row's cells; a missing cell differs from every text."""
    written = [
        list(map(repr, column.values.tolist()))
        if column.kind == "number"
        else ["\0" if value is None else value for value in column.values.tolist()]
        for column in columns
    ]
    rows = zip(*written, strict=True)
    return [hashlib.sha256("\x1f".join(row).encode("utf-8", "surrogatepass")).hexdigest() for row in rows]
