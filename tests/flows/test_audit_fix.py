"""`audit --fix`: the file changes where it should, and nowhere else."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding, Where
from torchstone.flows.audit import audit
from torchstone.flows.audit_fix import mend, mend_script, write

LOAD = "import torch\nstate = torch.load('a.pt', weights_only=False)\n"
MENDED = LOAD.replace("False", "True")
LATIN = "# coding: latin-1\n# Größe\n"


def mended_file(path: Path) -> bytes:
    """The file after one audit --fix."""
    write(mend(audit([path]).findings))
    return path.read_bytes()


def finding(path: Path, *edits: dict[str, Any]) -> Finding:
    return Finding("COD999", "error", "what", "why", "fix", Where(str(path), 1), {"edits": list(edits)})


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> dict[str, Any]:
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column, "text": text}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LOAD.encode(), MENDED.encode()),
        (LOAD.replace("\n", "\r\n").encode(), MENDED.replace("\n", "\r\n").encode()),
        (LOAD.replace("\n", "\r").encode(), MENDED.replace("\n", "\r").encode()),
        (b"\xef\xbb\xbf" + LOAD.encode(), b"\xef\xbb\xbf" + MENDED.encode()),
        (f"{LATIN}{LOAD}".encode("latin-1"), f"{LATIN}{MENDED}".encode("latin-1")),
        (f"if True:\n\tx = 'é'; {LOAD.replace(chr(10), chr(10) + chr(9), 1)}".encode(),
         f"if True:\n\tx = 'é'; {MENDED.replace(chr(10), chr(10) + chr(9), 1)}".encode()),
        (LOAD.replace("\nstate", "\n\f\nstate").encode(), MENDED.replace("\nstate", "\n\f\nstate").encode()),
        (LOAD.rstrip().encode(), MENDED.rstrip().encode()),
        (LOAD.replace("\n", "\r\n", 1).encode(), MENDED.replace("\n", "\r\n", 1).encode()),
    ],
    ids=["plain", "crlf", "cr", "bom", "latin-1", "tabs", "form feed", "no last line end", "mixed line ends"],
)  # fmt: skip
def test_only_the_word_changes_whatever_the_file_is_like(tmp_path, before, after) -> None:
    path = tmp_path / "load.py"
    path.write_bytes(before)
    assert mended_file(path) == after
    assert mended_file(path) == after  # a second time changes nothing


def test_a_text_that_its_encoding_lacks_is_not_written() -> None:
    data = b"# coding: latin-1\nx = 1\n"
    assert mend_script(data, [[edit(2, 4, 2, 5, "'\u4e2d'")]]) == (data, 0, 1)


def test_an_edit_that_would_break_the_file_is_left_out_and_told(tmp_path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = f(1)\ny = 2\n")
    one, = mend([finding(path, edit(1, 4, 1, 5, "f((")), finding(path, edit(2, 4, 2, 5, "3"))])
    assert (one.after, one.edits, one.left) == (b"x = f(1)\ny = 3\n", 1, 1)


def test_the_edits_of_a_finding_are_made_together_or_not_at_all(tmp_path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = 2\n")
    one, = mend([finding(path, edit(1, 4, 1, 5, "5")), finding(path, edit(1, 0, 1, 5, "z = 9"), edit(2, 4, 2, 5, "7"))])
    assert (one.after, one.left) == (b"x = 5\ny = 2\n", 1)


def test_mode_and_link_stay_and_nothing_is_left_beside(tmp_path) -> None:
    real = tmp_path / "real" / "load.py"
    real.parent.mkdir()
    real.write_text(LOAD)
    real.chmod(0o750)
    link = tmp_path / "link.py"
    link.symlink_to(real)
    mended_file(link)
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == (MENDED, 0o750)
    assert sorted(path.name for path in tmp_path.rglob("*.py*")) == ["link.py", "load.py"]


def test_a_file_that_changed_meanwhile_stops_all_writing(tmp_path) -> None:
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_text(LOAD)
    mended = mend(audit(paths).findings)
    paths[1].write_text("x = 1\n")
    with pytest.raises(StoneError, match="changed while"):
        write(mended)
    assert [path.read_text() for path in paths] == [LOAD, "x = 1\n"]


def test_what_a_comment_silences_is_not_mended(tmp_path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOAD.rstrip() + "  # torchstone: ignore[COD401] because it is our own file\n")
    assert mend(audit([path]).findings) == []


def test_the_diff_can_be_applied(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.py", LOAD), ("b.py", LOAD.rstrip()), ("c.py", LOAD.replace("\n", "\r\n"))):
        Path(name).write_bytes(text.encode())
    mended = mend(audit([Path()]).findings)
    diff = "".join(one.diff() for one in mended)
    done = subprocess.run(["git", "apply", "-"], input=diff.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [Path(one.path).read_bytes() for one in mended] == [one.after for one in mended]


KILLED = """
import os, signal, sys
from pathlib import Path
from torchstone.core import store
from torchstone.flows.audit import audit
from torchstone.flows.audit_fix import mend, write
real = getattr(os, sys.argv[2])
def die(*words, **named):
    os.kill(os.getpid(), signal.SIGKILL)
mended = mend(audit([Path(sys.argv[1])]).findings)
setattr(os, sys.argv[2], die)
write(mended)
"""


@pytest.mark.parametrize("moment", ["fchmod", "fsync", "replace"])
def test_a_kill_at_any_moment_leaves_the_old_file_whole(tmp_path, moment) -> None:
    path = tmp_path / "load.py"
    path.write_text(LOAD)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == LOAD


BOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# weights_only=False\n", "Größe"]},
        {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [{"text": ["weights_only=False\n"]}],
         "source": ["%matplotlib inline\n", "import torch\n", "é = 'ü'; a = torch.load('a.pt', weights_only=False)"]},
        {"cell_type": "code", "execution_count": None, "metadata": {"x": 1.50}, "outputs": [],
         "source": "with torch.cuda.amp.autocast(\n    enabled=True):\n    b = torch.load('b', weights_only=False)\n"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": [
            "with torch.cuda.amp.autocast(\n", "        enabled=True,\n", "        dtype=torch.bfloat16):\n",
            "    c = 1\n"]},
    ],
    "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip


@pytest.mark.parametrize("options", [
    {"indent": 1, "ensure_ascii": False}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}, {},
])  # fmt: skip
def test_a_notebook_keeps_everything_but_the_edited_lines(tmp_path, options) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps(BOOK, **options) + "\n", encoding="utf-8")
    after = json.loads(mended_file(path))
    sources = ["".join(cell["source"]) for cell in after["cells"]]
    assert sources[0] == "# weights_only=False\nGröße"
    assert sources[1].endswith("é = 'ü'; a = torch.load('a.pt', weights_only=True)")
    assert sources[1].startswith("%matplotlib inline\n")
    head = 'with torch.amp.autocast("cuda", enabled=True'
    assert sources[2] == f"{head}):\n    b = torch.load('b', weights_only=True)\n"
    assert sources[3] == f"{head}, dtype=torch.bfloat16):\n    c = 1\n"
    expected = json.loads(json.dumps(BOOK))
    for cell, new in zip(expected["cells"], after["cells"], strict=True):
        assert type(cell["source"]) is type(new["source"])
        cell["source"] = new["source"]
    assert path.read_text(encoding="utf-8") == json.dumps(expected, **options) + "\n"
    assert mend(audit([path]).findings) == []


def test_a_line_with_a_magic_is_not_edited(tmp_path) -> None:
    path = tmp_path / "a.ipynb"
    cell = {"cell_type": "code", "source": ["x = !ls\n", "y = 1"]}
    path.write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    one, = mend([finding(path, edit(1, 4, 1, 8, "5")), finding(path, edit(2, 4, 2, 5, "2"))])
    assert (json.loads(one.after)["cells"][0]["source"], one.left) == (["x = !ls\n", "y = 2"], 1)


def test_a_notebook_with_a_mark_and_windows_line_ends_keeps_them(tmp_path) -> None:
    path = tmp_path / "a.ipynb"
    text = json.dumps({"cells": [{"cell_type": "code", "source": LOAD.replace("\n", "\r\n")}], "nbformat": 4}, indent=1)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert mended_file(path) == b"\xef\xbb\xbf" + text.replace("\n", "\r\n").replace("False", "True").encode()


def test_a_mended_file_is_python(tmp_path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOAD + "with torch.cuda.amp.autocast(\n    enabled=True,  # as before\n):\n    pass\n")
    ast.parse(mended_file(path))
    assert "# as before" in path.read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_refused(tmp_path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOAD)
    path.chmod(0o444)
    with pytest.raises(StoneError, match="may not be written"):
        mended_file(path)
