"""The page of the doctor's rows names every event and every key that the wires write and the rules' toy rows use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from torchstone.rules import _watched

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "watched-rows.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"\w+", PAGE))
WIRES = sorted((ROOT / "src" / "torchstone" / "engines" / "attach").glob("*.py"))
TOYS = [
    _watched.toy_model, _watched.toy_optimizer, _watched.toy_pass, _watched.toy_schedule, _watched.toy_loss,
    _watched.toy_input, _watched.toy_data, lambda: _watched.toy_step(1),
]  # fmt: skip
# Keys that mean nothing yet, kept for rules that may want them.
SILENT = {"event", "step", "place", "skipped", "scaled_with"}


def line_of(event: str) -> str:
    """The page's line on an event; its first cell may name several."""
    lines = (line for line in PAGE.splitlines() if line.startswith("| "))
    return next((line for line in lines if event in re.findall(r"\w+", line.split("|")[1])), "")


def calls(tree: ast.AST, *names: str) -> list[ast.Call]:
    """All calls of functions and methods with one of these names."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [one for one in found if getattr(one.func, "attr", getattr(one.func, "id", None)) in names]


def noted(wire: Path) -> list[tuple[str, list[str]]]:
    """Events that a file notes, each with the keywords of the call."""
    return [
        (one.args[0].value, [keyword.arg for keyword in one.keywords if keyword.arg])
        for one in calls(ast.parse(wire.read_text(encoding="utf-8")), "note")
        if one.args and isinstance(one.args[0], ast.Constant)
    ]


def laid_in(wire: Path) -> set[str]:
    """Keys that a file lays into rows afterwards: `row["key"] = …`, `row.update(key=…)`, `later(row, "key", …)`."""
    tree = ast.parse(wire.read_text(encoding="utf-8"))
    stores = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    keys = {
        node.slice.value for node in stores
        if isinstance(node.slice, ast.Constant) and ast.unparse(node.value).split(".")[-1].strip("_") == "row"
    }  # fmt: skip
    keys |= {one.args[1].value for one in calls(tree, "later") if isinstance(one.args[1], ast.Constant)}
    updates = [one for one in calls(tree, "update") if ast.unparse(one.func).endswith("row.update")]
    return keys | {keyword.arg for one in updates for keyword in one.keywords if keyword.arg}


@pytest.mark.parametrize("toy", TOYS)
def test_every_key_of_a_row_is_on_the_page(toy):
    row = toy()
    assert [key for key in row if key not in SILENT and key not in line_of(row["event"])] == []


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.stem)
def test_every_event_that_is_noted_is_on_the_page_with_its_keys(wire):
    missing = [(event, key) for event, keys in noted(wire) for key in ("", *keys)
               if key not in SILENT and (not line_of(event) or key not in line_of(event))]  # fmt: skip
    assert missing == []


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.stem)
def test_every_key_that_is_laid_into_a_row_later_is_on_the_page(wire):
    assert laid_in(wire) - SILENT - WORDS == set()


def test_the_wires_note_as_many_kinds_as_the_page_has_lines():
    events = {event for wire in WIRES for event, _ in noted(wire)} | {"start", "step"}  # by the flow, and as a whole
    named = {word for line in PAGE.splitlines() if line.startswith("| ") for word in line.split("|")[1].split(",")}
    assert {word.strip() for word in named} - {"event", "---"} == events
