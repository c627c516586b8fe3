"""The chosen columns to values of one kind each, without those that cannot help."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.core.records import Cell, ReadReport
from torchstone.flows.choose_inputs import Chosen
from torchstone.parts.columns.column import Column, constant, identifier, is_nested, read_column
from torchstone.parts.columns.missing import is_empty, written

_RULE = "rule of the reader (cells of the column)"


def read_inputs(
    cells: Mapping[str, Sequence[Cell]], chosen: Chosen, where: Sequence[str], asked: bool, report: ReadReport
) -> tuple[dict[str, Column], list[Choice]]:
    """The input columns by name, and the choices to show.

    asked: whether the user named the features, which then all stay. Constant columns, columns that only name rows,
    free text and nested values are left out of a table and said. Raises StoneError where nothing is left.
    """
    name = chosen.names[0]
    if chosen.modality == "image":
        return {name: _paths(cells[name], chosen.base or Path())}, [chosen.choice]
    if chosen.modality == "text":
        return {name: read_column(cells[name], kind="text")}, [chosen.choice]
    columns, left_out = _table({name: cells[name] for name in chosen.names}, asked, report)
    if not columns:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise StoneError(
            f"no column is left to learn from ({reasons})",
            where=where[0].rpartition(":")[0],
            fix="name the inputs yourself: --features NAME,NAME",
        )
    for name, column in columns.items():
        if column.infinite:
            report.infinite[name] = (len(column.infinite), where[column.infinite[0]])
        if column.odd:
            report.odd[name] = (len(column.odd), where[column.odd[0]], written(cells[name][column.odd[0]]))
    return columns, _choices(columns, left_out, asked)


def _paths(cells: Sequence[Cell], base: Path) -> Column:
    import numpy as np

    paths = [None if is_empty(cell) else os.path.abspath(base / str(cell)) for cell in cells]
    return Column("image", np.array(paths, dtype=object))


def _table(
    cells: Mapping[str, Sequence[Cell]], asked: bool, report: ReadReport
) -> tuple[dict[str, Column], dict[str, str]]:
    columns: dict[str, Column] = {}
    left_out: dict[str, str] = {}
    for name, values in cells.items():
        if is_nested(values):
            left_out[name] = "lists or objects"
            continue
        column = read_column(values)
        if asked and column.kind == "text":
            column = read_column(values, kind="category")
        if (value := constant(column)) is not None:
            report.constant[name] = value
            left_out[name] = "every cell is empty" if value == "nothing" else f"always {value}"
        elif (reason := identifier(column)) is not None:
            report.identifiers[name] = reason
            left_out[name] = reason
        elif column.kind == "text":
            left_out[name] = "free text"
        if name not in left_out or (asked and value != "nothing"):
            columns[name] = column
            left_out.pop(name, None)
    return columns, left_out


def _choices(columns: Mapping[str, Column], left_out: Mapping[str, str], asked: bool) -> list[Choice]:
    reason = "every column that is neither label nor split"
    if left_out:
        reason += "; left out: " + ", ".join(f"{name} ({why})" for name, why in list(left_out.items())[:20])
    features = Choice("data.features", list(columns), "user", "given") if asked else Choice(
        "data.features", list(columns), "derived", reason, _RULE, "--features NAME,NAME"
    )
    kinds: dict[str, list[str]] = {}
    for name, column in columns.items():
        kinds.setdefault(column.kind, []).append(name)
    why = "a number where every cell that is not missing is one, else a category"
    choices = [features, Choice("data.kinds", kinds, "derived", why, _RULE)]
    return choices + [
        Choice(f"data.kinds.{name}", column.kind, "derived", column.note, _RULE)
        for name, column in columns.items()
        if column.note
    ]
