"""Files that are no recipes, or mean harm: a message with the line and the way out, never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.marks import MAX_BYTES
from torchstone.core.recipe_file import read_recipe

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

BAD = {
    "a tab": ("data:\n\tpath: x\n", "r.yaml:2: not YAML", "indent with spaces"),
    "a colon in a value": ("data:\n  path: a: b\n", "r.yaml:2: not YAML", "put quotes around a value"),
    "a field twice": ("data: {path: x}\ndata: {path: y}\n", "r.yaml:2 data: given twice; first at line 1", "keep"),
    "an inner field twice": ("data:\n  path: x\n  path: y\n", "r.yaml:3 data.path: given twice", "keep one"),
    "two documents": ("data: {path: x}\n---\ndata: {path: y}\n", "not YAML", "one recipe in one file"),
    "only a word": ("flowers", "found the text 'flowers'", "a recipe is a list of fields"),
    "only a list": ("- a\n- b\n", "found a list of 2", "a recipe is a list of fields"),
    "nothing": ("", "data is missing", "name a folder or file"),
    "an empty data section": ("data:\n", "data.path is missing", "name a folder or file"),
    "a python tag": ("data: !!python/object/apply:os.system [x]\n", "the tag", "write the plain value"),
    "a tag of one's own": ("data: !env {path: x}\n", "the tag '!env'", "write the plain value"),
    "an unknown alias": ("data: *nowhere\n", "undefined alias", "r.yaml:1"),
    "an alias into itself": ("data: &d [*d]\n", "deeper than 20 levels", "r.yaml:1"),
    "a billion laughs": (LAUGHS, "more than 10,000 values", "unfolded"),
    "a merge key": ("x: &x {a: 1}\ndata: {<<: *x}\n", "merge keys (<<)", "write the fields out"),
    "brackets without end": ("[" * 5000, "nested deeper", "r.yaml"),
    "a list as a field's name": ("? [a, b]\n: 1\n", "cannot be the name of a field", "r.yaml:1"),
    "a control character": ("data: {path: 'a\x01b'}\n", "not YAML", "r.yaml"),
    "an unclosed quote": ("data: {path: 'a\n", "not YAML", "r.yaml"),
    "another version": ("version: 2\ndata: {path: x}\n", "r.yaml:1 version: found 2; expected 1", "r.yaml"),
    "a number of 5000 digits": (f"data: {{path: x}}\ntrain: {{seed: {'9' * 5000}}}\n", "train.seed", "whole number"),
    "a train share of nothing": (
        "data: {path: x, split: {train: 0.0, validation: 0.5, test: 0.5}}", "train is 0", "learn from"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_recipe_is_refused_with_its_place_and_the_way_out(kind: str, tmp_path: Path) -> None:
    text, *parts = BAD[kind]
    path = tmp_path / "r.yaml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(StoneError) as raised:
        read_recipe(path)
    assert time.process_time() - began < 2
    for part in parts:
        assert part in str(raised.value)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, told in ((tmp_path / "none.yaml", "torchstone new DATA"), (tmp_path, "a folder, not a recipe")):
        with pytest.raises(StoneError, match=told):
            read_recipe(path)


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("x" * (MAX_BYTES + 1))
    with pytest.raises(StoneError, match="not a recipe"):
        read_recipe(path)


def test_a_file_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(b"data:\n  path: fl\xf6wers\n")
    with pytest.raises(StoneError, match="save the file as UTF-8") as raised:
        read_recipe(path)
    assert raised.value.where == f"{path}:2"


def test_nothing_is_written_by_reading(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("nonsense: 1\n")
    with pytest.raises(StoneError):
        read_recipe(tmp_path / "r.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["r.yaml"]
