"""A part's options are checked against its own signature."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import pytest

from torchstone.core.errors import StoneErrors
from torchstone.core.piece_check import check_piece, check_recipe_pieces, type_mistake
from torchstone.core.recipe import Piece
from torchstone.core.recipe_file import read_recipe, recipe_for

PART = '''
from typing import Literal
def tide(*, rise: float = 0.1, beats: tuple[float, float] = (0.9, 0.999), mode: Literal["low", "high"] = "low"):
    """A part for tests."""
def ebb(*, depth: int):
    """A part with an option that must be given."""
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    package = tmp_path / "waters"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tide.py").write_text(PART)
    (package / "ebb.py").write_text(PART)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("waters")]:
        monkeypatch.delitem(sys.modules, name)
    return "waters"


def told(folder: str, **options: object) -> list[str]:
    return [str(error) for error in check_piece(folder, Piece.model_validate(options), "schedule")]


def test_right_options_are_no_mistake(folder: str) -> None:
    assert told(folder, name="tide", rise=1, beats=[0.8, 0.9], mode="high") == []


def test_an_unknown_part_and_an_unknown_option_come_with_the_nearest_name(folder: str) -> None:
    assert told(folder, name="tied") == ["schedule: no water is called 'tied'\n  fix: did you mean 'tide'?"]
    (only,) = told(folder, name="tide", rice=0.1)
    assert only.startswith("schedule.rice: tide has no option 'rice'; its options: rise, beats, mode\n")
    assert only.endswith("did you mean 'rise'?")


def test_every_wrong_type_is_told_at_once_with_what_was_found_and_the_default(folder: str) -> None:
    wrong = told(folder, name="tide", rise="fast", beats=[1], mode="mid")
    assert len(wrong) == 3
    assert wrong[0].startswith("schedule.rise: found the text 'fast'; input should be a valid number")
    assert wrong[0].endswith("fix: its default is 0.1")
    assert "'low' or 'high'" in wrong[2]


def test_an_option_without_default_must_be_given(folder: str) -> None:
    assert told(folder, name="ebb") == ["schedule: ebb needs the option 'depth'"]
    assert told(folder, name="ebb", depth=2) == []


def test_options_without_a_name_are_checked_against_the_part_that_was_planned(folder: str) -> None:
    recipe = recipe_for("x", overrides=["schedule.rice=1"])
    check_recipe_pieces(recipe, {"schedule": folder})
    with pytest.raises(StoneErrors, match="tide has no option 'rice'"):
        check_recipe_pieces(recipe, {"schedule": folder}, planned={"schedule": "tide"})
    with pytest.raises(StoneErrors, match="no part is named or planned here, so that rice would have no effect"):
        check_recipe_pieces(recipe, {"schedule": folder}, planned={"schedule": None})


def test_types_are_strict() -> None:
    assert type_mistake(int, True)
    assert type_mistake(float, "1")
    assert type_mistake(int, 1.5)
    assert type_mistake(float, 1) is None
    assert type_mistake(Literal["a"] | None, None) is None


def test_errors_carry_the_line_of_the_option(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("data: {path: x}\nschedule:\n  name: tide\n  rise: up\n  fall: 3\n")
    with pytest.raises(StoneErrors) as raised:
        check_recipe_pieces(read_recipe(path), {"schedule": folder, "image.augment": folder})
    places = [error.where for error in raised.value.errors]
    assert places == [f"{path}:5 schedule.fall", f"{path}:4 schedule.rise"]
