"""What is written never takes the place of a pipe or a device, which a rename would replace."""

from __future__ import annotations

import os
import stat

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.store import write_text


def test_a_pipe_is_refused_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "page.html")
    with pytest.raises(StoneError, match="a device or a pipe"):
        write_text(tmp_path / "page.html", "text")
    assert stat.S_ISFIFO((tmp_path / "page.html").stat().st_mode)
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_file_and_a_link_to_one_are_replaced(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    for name in ("old", "link", "new"):
        write_text(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"
