"""The ledger is only added to, and shows where somebody has changed it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.ledger import NOTHING, Ledger


def add_some(project, name, num):
    for number in range(num):
        Ledger(project).append({"by": name, "number": number})


def test_each_row_holds_the_digest_of_the_line_above_it(tmp_path):
    ledger = Ledger(tmp_path)
    assert ledger.rows() == []
    assert ledger.head == NOTHING
    for number in range(3):
        ledger.append({"n": number, "text": "Größe\nzwei"})
    lines = (tmp_path / ".torchstone" / "ledger.jsonl").read_bytes().splitlines()
    befores = [json.loads(line)["before"] for line in lines]
    assert befores == [NOTHING, *(hashlib.sha256(line).hexdigest() for line in lines[:-1])]
    assert ledger.head == hashlib.sha256(lines[-1]).hexdigest()
    assert [row["n"] for row in ledger.rows()] == [0, 1, 2]


@pytest.mark.parametrize("change", ["change", "remove", "swap", "junk", "forge"])
def test_a_row_that_was_changed_is_seen_and_nothing_is_added_then(tmp_path, change):
    ledger = Ledger(tmp_path)
    for number in range(4):
        ledger.append({"verdict": "fail", "n": number})
    lines = ledger.path.read_bytes().splitlines()
    if change == "change":
        lines[1] = lines[1].replace(b"fail", b"pass")
    elif change == "remove":
        del lines[1]
    elif change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    elif change == "junk":
        lines[1] = b"[1, 2]"
    else:
        lines[0] = json.dumps({"verdict": "pass", "before": "1" * 64}).encode()
    broken = b"\n".join(lines) + b"\n"
    ledger.path.write_bytes(broken)
    for act in (ledger.rows, lambda: ledger.append({"n": 9})):
        with pytest.raises(StoneError, match=r"row is no JSON object|does not follow") as caught:
            act()
        assert "ledger.jsonl:" in str(caught.value)
        assert "copy" in str(caught.value)
    assert ledger.path.read_bytes() == broken


def test_writers_at_once_lose_no_row(tmp_path):
    with get_context("spawn").Pool(2) as pool:
        pool.starmap(add_some, [(tmp_path, "a", 12), (tmp_path, "b", 12)])
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda name: add_some(tmp_path, name, 4), "cde"))
    rows = Ledger(tmp_path).rows()
    assert len(rows) == 36
    assert [row["number"] for row in rows if row["by"] == "a"] == list(range(12))


def test_a_last_line_without_its_end_is_not_glued_to_the_next(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.append({"n": 0})
    ledger.path.write_bytes(ledger.path.read_bytes().rstrip(b"\n"))
    ledger.append({"n": 1})
    assert [row["n"] for row in ledger.rows()] == [0, 1]


@pytest.mark.parametrize("rest", [b'{"n": 1, "verd', b"\xff\x00", b"[1"])
def test_a_torn_last_line_was_never_a_row_and_goes_with_the_next(tmp_path, rest):
    ledger = Ledger(tmp_path)
    ledger.append({"n": 0})
    whole, head = ledger.path.read_bytes(), ledger.head
    ledger.path.write_bytes(whole + rest)
    assert [row["n"] for row in ledger.rows()] == [0]
    assert ledger.head == head
    ledger.append({"n": 1})
    assert [row["n"] for row in ledger.rows()] == [0, 1]
    assert ledger.path.read_bytes().startswith(whole)
    ledger.path.write_bytes(whole + rest + b"\n")  # with its end, it was changed afterwards
    with pytest.raises(StoneError, match=r"ledger\.jsonl:2"):
        ledger.rows()


def test_what_was_acknowledged_outlives_a_process_that_is_killed(tmp_path):
    script = ("import sys\nfrom pathlib import Path\nfrom torchstone.core.ledger import Ledger\n"
              "for n in range(10**6):\n    Ledger(Path(sys.argv[1])).append({'n': n})\n    print(n, flush=True)\n")
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) == 8:
                break
        writer.kill()
        said = [8, *map(int, writer.stdout.read().split())]
    rows = [row["n"] for row in Ledger(tmp_path).rows()]
    assert rows == list(range(len(rows)))
    assert len(rows) > said[-1]
    Ledger(tmp_path).append({"n": "after"})


def test_text_that_is_no_unicode_is_written_with_marks_in_its_place(tmp_path):
    Ledger(tmp_path).append({"by": "Ada\udcff"})
    assert Ledger(tmp_path).rows()[0]["by"] == "Ada?"


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / ".torchstone").write_text("a file", encoding="utf-8")
    with pytest.raises(StoneError, match=r"\.torchstone"):
        Ledger(tmp_path).append({})
