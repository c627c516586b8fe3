"""The page of the doctor's rows names every event and every key that the toy rows of the rules use."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.rules import _watched

PAGE = (Path(__file__).parents[2] / "docs" / "watched-rows.md").read_text(encoding="utf-8")
TOYS = [
    _watched.toy_model, _watched.toy_optimizer, _watched.toy_pass, _watched.toy_schedule, _watched.toy_loss,
    _watched.toy_input, _watched.toy_data, lambda: _watched.toy_step(1),
]  # fmt: skip


@pytest.mark.parametrize("toy", TOYS)
def test_every_key_of_a_row_is_on_the_page(toy):
    row = toy()
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row['event']}"))
    known = ("event", "step", "place", "skipped", "scaled_with")
    assert [key for key in row if key not in known and key not in line] == []
