"""The templates of an ejected script: blocks, values, copied definitions, imports, and one line where one is enough."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from torchstone.flows.eject_text import PACKAGE, PIECES, Copied, assembled, definitions, imports, render

PIECE_NAMES = sorted(path.stem for path in PIECES.glob("*.txt"))


@pytest.fixture
def piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A template `one` to write to."""
    monkeypatch.setattr("torchstone.flows.eject_text.PIECES", tmp_path)
    return tmp_path / "one.txt"


@pytest.mark.parametrize(
    "flags, expected", [({"a"}, "first\nlast"), ({"b"}, "other\nlast"), ({"a", "c"}, "first\ninner\nlast")]
)
def test_a_block_is_there_where_its_flag_is(piece: Path, flags: set[str], expected: str) -> None:
    piece.write_text("#: if a\nfirst\n#: if c\ninner\n#: end\n#: else\nother\n#: end\nlast\n", encoding="utf-8")
    assert render("one", flags, {}, Copied()) == expected


@pytest.mark.parametrize("flags, is_there", [(set(), True), ({"a"}, False), ({"a", "b"}, True)])
def test_conditions_are_ors_of_flags_and_of_their_absence(piece: Path, flags: set[str], is_there: bool) -> None:
    piece.write_text("#: if not a or b\nhere\n#: end\n", encoding="utf-8")
    assert render("one", flags, {}, Copied()) == ("here" if is_there else "")


def test_a_value_takes_its_place_and_one_that_is_missing_is_a_mistake(piece: Path) -> None:
    piece.write_text("x = <<size>>\n", encoding="utf-8")
    assert render("one", set(), {"size": "3"}, Copied()) == "x = 3"
    with pytest.raises(KeyError, match="size"):
        render("one", set(), {}, Copied())


def test_a_definition_comes_with_what_it_uses_once_and_without_our_imports() -> None:
    copied = Copied()
    text = copied.text("engines/pytorch/sources/draws.py", {"uniform": "uniform", "_mix": "scrambled"})
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert len(names) == len(set(names))
    assert names[-1] == "uniform"
    assert "torchstone" not in text
    assert "FIRST, SECOND" in text
    assert text.count("FIRST, SECOND = ") == 1
    assert copied.text("engines/pytorch/sources/draws.py", {"uniform": "uniform"}) == "", "it is there already"
    drawn: dict[str, object] = {}
    exec(f"import numpy as np\n{text}", drawn)
    assert drawn["uniform"](3, 0, __import__("numpy").arange(4), 2).shape == (4, 2)  # type: ignore[operator]


@pytest.mark.parametrize("name", PIECE_NAMES)
def test_every_block_of_a_template_ends(name: str) -> None:
    open_blocks = 0
    for line in (PIECES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        mark = re.fullmatch(r"\s*#: (\w+) ?(.*)", line)
        if mark is None:
            continue
        assert mark[1] in ("if", "else", "end", "source"), line
        open_blocks += (mark[1] == "if") - (mark[1] == "end")
        assert open_blocks >= 0, line
    assert open_blocks == 0


@pytest.mark.parametrize("name", PIECE_NAMES)
def test_what_a_template_copies_is_in_our_files(name: str) -> None:
    """So that renaming a function shows here, not when somebody ejects a run."""
    for line in (PIECES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        mark = re.fullmatch(r"\s*#: source (\S+) (.*)", line)
        if mark is None or "<<" in line:
            continue
        known = definitions(ast.parse((PACKAGE / mark[1]).read_text(encoding="utf-8")))
        assert {word.partition("=")[0] for word in mark[2].split()} <= known.keys(), line


def test_the_imports_are_those_that_the_body_uses_in_their_order() -> None:
    body = "dist, torch, np, nn, Path, csv, yaml, Any\n"
    assert imports(body) == (
        "import csv\nfrom pathlib import Path\nfrom typing import Any\n\n"
        "import numpy as np\nimport torch\nimport torch.distributed as dist\nimport yaml\nfrom torch import nn\n"
    )


def test_a_broken_call_is_one_line_where_it_fits_and_constants_stand_together() -> None:
    text = assembled("A script.", ["A = 1\n\n\nB = 2\n\n\nprint(\n    A, B\n)\nprint(\n    " + "A" * 115 + "\n)"])
    assert "A = 1\nB = 2\n\n\nprint(A, B)\nprint(\n    AAA" in text


def test_the_templates_are_in_the_package_and_in_a_wheel() -> None:
    """A wheel has every file below `packages` but those that git ignores or the project excludes (hatch's rule)."""
    inside = {entry.name for entry in resources.files("torchstone.flows").joinpath("eject_pieces").iterdir()}
    assert {"head.txt", "loop.txt", "model_table.txt"} <= inside
    root = PACKAGE.parents[1]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("torchstone is installed: there is no project to build")
    build = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"] == {"packages": ["src/torchstone"]}
    assert not {"exclude", "include", "only-include"} & build.keys()
    ignored = (root / ".gitignore").read_text(encoding="utf-8").split()
    assert not [line for line in ignored if line.endswith(".txt") or "flows" in line or "pieces" in line]
