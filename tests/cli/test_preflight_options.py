"""What `torchstone preflight` refuses before it looks at anything."""

from __future__ import annotations

import pytest

from torchstone.cli import main as door


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_seconds_are_a_finite_number(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main(["preflight", "none.csv", "--seconds", seconds]) == 2
    assert "--seconds" in capsys.readouterr().err
