"""What may stand beside --resume."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from torchstone.cli.train import command
from torchstone.core.errors import StoneError


@pytest.mark.parametrize("flag", ["--find-lr", "--find-batch"])
def test_a_resumed_run_has_nothing_to_find(flag: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--resume", "r", flag, "--project", str(tmp_path)])
    assert isinstance(result.exception, StoneError)
    assert "keeps its rate" in str(result.exception)


@pytest.mark.parametrize("text", ["0s", "ten minutes", "5"])
def test_a_time_that_is_none_is_refused_before_anything_is_read(text: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--resume", "r", "--time", text, "--project", str(tmp_path)])
    assert isinstance(result.exception, StoneError)
    assert result.exception.where == "--time"
