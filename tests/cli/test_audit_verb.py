"""`torchstone audit`: its answers, its exit codes, and what it refuses."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml

from torchstone.cli.audit import command
from torchstone.cli.main import main
from torchstone.core.catalog import all_rules

LOAD = "import torch\nstate = torch.load('a.pt', weights_only=False)\n"
SICK = """import torch
from torch import nn, optim

model = nn.Linear(4, 2)
optimizer = optim.SGD(model.parameters(), 0.1)
for x, y in torch.utils.data.DataLoader([]):
    loss = nn.functional.cross_entropy(nn.functional.softmax(model(x), 1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HOOKS = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of `torchstone audit`, and what it printed."""
    code = main(["audit", *words])
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return code, told.out, told.err


def test_the_code_is_1_for_an_error_and_0_for_warnings_and_for_nothing(capsys) -> None:
    for name, text, code in (("a.py", SICK, 1), ("b.py", LOAD, 0), ("c.py", "x = 1\n", 0)):
        Path(name).write_text(text)
        assert call(capsys, name)[0] == code


def test_without_paths_the_current_folder_is_read(capsys) -> None:
    Path("a.py").write_text(SICK)
    code, out, _ = call(capsys)
    assert code == 1
    assert "\na.py:7:5: COD201 error: " in f"\n{out}"


def test_json_is_one_object_with_the_keys_of_every_verb(capsys) -> None:
    Path("a.py").write_text(SICK)
    code, out, _ = call(capsys, "a.py", "--json")
    found = json.loads(out)
    assert code == 1
    assert out == call(capsys, "a.py", "--format", "json")[1]
    one = next(one for one in found["findings"] if one["code"] == "COD201")
    assert {"code", "severity", "where", "what", "why", "fix", "evidence", "source"} <= set(one)
    assert one["where"] == {"path": "a.py", "line": 7}
    assert (found["files"], found["judged"]) == (1, 1)


def test_a_comment_with_a_reason_silences_and_is_recorded(capsys) -> None:
    Path("a.py").write_text(LOAD.rstrip() + "  # torchstone: ignore[COD401] because it is our own file\n")
    found = json.loads(call(capsys, "a.py", "--json")[1])
    assert found["findings"] == []
    assert found["waived"] == [{"code": "COD401", "where": {"path": "a.py", "line": 2}, "reason": "it is our own file"}]


def test_a_comment_above_silences_and_one_without_a_reason_does_not(capsys) -> None:
    above, below = LOAD.splitlines(keepends=True)
    Path("a.py").write_text(f"{above}# torchstone: ignore[COD101, COD401] because it is our own file\n{below}")
    assert "1 ignored with a reason" in call(capsys, "a.py")[1]
    Path("a.py").write_text(LOAD.rstrip() + "  # torchstone: ignore[COD401]\n")
    out = call(capsys, "a.py")[1]
    assert "COD401 warning" in out
    assert "COD002 advice" in out


def test_a_comment_for_another_rule_silences_nothing(capsys) -> None:
    Path("a.py").write_text(LOAD.rstrip() + "  # torchstone: ignore[COD101] because of this\n")
    assert "COD401 warning" in call(capsys, "a.py")[1]


def test_ignore_and_exclude_leave_out(capsys) -> None:
    Path("a.py").write_text(LOAD)
    assert call(capsys, "a.py", "--ignore", "COD401")[1].endswith("nothing found\n")
    assert call(capsys, ".", "--exclude", "a.py")[1].startswith("0 files read")


def test_hidden_folders_environments_and_links_are_passed_over_and_a_file_is_read_once(capsys) -> None:
    for folder in (".hidden", "venv", "own", "own/deep"):
        Path(folder).mkdir()
        Path(folder, "a.py").write_text(LOAD)
    Path("own", "pyvenv.cfg").touch()
    Path("link").symlink_to(".")
    Path("b.py").write_text(LOAD)
    assert json.loads(call(capsys, ".", "b.py", "./b.py", "--json")[1])["files"] == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["nosuch.py"], "there is no such file or folder"),
        (["text.txt"], "audit reads .py and .ipynb files, not '.txt'"),
        (["empty"], "there is no .py or .ipynb file here"),
        (["loop.py"], "there is no such file or folder"),
        (["a" * 300], "File name too long"),
        (["a.py", "--fix", "--diff"], "name one of them"),
        (["a.py", "--diff", "--format", "sarif"], "a diff cannot be told as sarif"),
        (["a.py", "--ignore", "COD999"], "no rule has the code"),
        (["a.py", "--format", "xml"], "xml"),
    ],
)
def test_what_cannot_be_done_is_told_with_code_2(capsys, words, what) -> None:
    Path("a.py").write_text(LOAD)
    Path("text.txt").touch()
    Path("empty").mkdir()
    Path("loop.py").symlink_to("loop.py")
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "")
    assert what in err
    code, out, _ = call(capsys, *words, "--json") if "--format" not in words else (2, '{"error": 1}', "")
    assert (code, list(json.loads(out))) == (2, ["error"])


ODD = {
    "old.py": b"import torch\nprint 'a'\n", "null.py": b"import torch\n\0", "cookie.py": b"# coding: nosuch\n",
    "deep.py": b"import torch\nx = " + b"(" * 3000 + b"1" + b")" * 3000,
    "minus.py": b"import torch\nx = " + b"-" * 50_000 + b"1",
    "latin.py": "import torch\nx = 'Größe'\n".encode("latin-1"), "utf16.py": "import torch\n".encode("utf-16"),
    "big.py": b"import torch\nx = [\n" + b"1, 2, 3,\n" * 600_000 + b"]\n", "binary.py": bytes(range(256)),
    "bad.ipynb": b"{", "list.ipynb": b"[]", "v3.ipynb": b'{"worksheets": []}',
    "deep.ipynb": b'{"cells": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "surrogate.ipynb": b'{"cells": [{"cell_type": "code", "source": "import torch\\nx = \'\\ud800\'"}]}',
}  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_odd_files_are_told_and_do_not_stop_the_others(capsys, form) -> None:
    for name, data in ODD.items():
        Path(name).write_bytes(data)
    Path("zz.py").write_text(LOAD)
    code, out, _ = call(capsys, ".", "--format", form)
    assert code == 0
    assert all(name in out for name in (*ODD, "zz.py"))
    assert call(capsys, ".", "--diff")[1].count("+++") == 1


def test_odd_names_are_told_without_what_a_terminal_obeys(capsys) -> None:
    for name in (b"na\xffme.py", b"new\nline.py", b"esc\x1b[31m.py"):
        Path(os.fsdecode(name)).write_text(LOAD)
    out = call(capsys, ".")[1]
    assert all(name in out for name in ("na\\udcffme.py:2:1", "new\\nline.py:2:1", "esc\\x1b[31m.py:2:1"))
    log = json.loads(call(capsys, ".", "--format", "sarif")[1])
    assert "na%FFme.py" in json.dumps(log)


def test_a_very_long_line_is_cut(capsys) -> None:
    Path("a.py").write_text(LOAD.rstrip() + "; x = [" + "1, " * 5000 + "]\n")
    assert max(map(len, call(capsys, "a.py")[1].splitlines())) < 400


def test_diff_shows_and_changes_nothing_and_fix_changes(capsys) -> None:
    Path("a.py").write_text(LOAD)
    code, out, _ = call(capsys, "a.py", "--diff")
    assert code == 0
    assert "-state = torch.load('a.pt', weights_only=False)\n+state = torch.load('a.pt', weights_only=True)\n" in out
    assert Path("a.py").read_text() == LOAD
    found = json.loads(call(capsys, "a.py", "--diff", "--json")[1])
    assert [(one["path"], one["edits"], one["diff"]) for one in found["diffs"]] == [("a.py", 1, out)]
    code, out, err = call(capsys, "a.py", "--fix")
    assert (code, err) == (0, "mended 1 place in 1 file\n")
    assert "nothing found" in out
    assert Path("a.py").read_text() == LOAD.replace("False", "True")
    assert call(capsys, "a.py", "--fix")[2] == "mended 0 places in 0 files\n"


def test_fix_tells_programs_what_it_mended(capsys) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text(LOAD)
    found = json.loads(call(capsys, ".", "--fix", "--json")[1])
    assert found["mended"] == [{"path": name, "edits": 1, "left": 0} for name in ("a.py", "b.py")]
    assert found["findings"] == []


def test_the_hook_names_a_call_that_works(capsys) -> None:
    hook, = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    assert hook["id"] == "torchstone-audit"
    assert (hook["language"], hook["types_or"]) == ("python", ["python", "jupyter"])
    Path("a.py").write_text(SICK)
    Path("b.py").write_text("x = 1\n")
    program, *words = hook["entry"].split()
    assert program == "torchstone"
    assert [main([*words, name]) for name in ("a.py", "b.py")] == [1, 0]


def test_the_page_names_rules_and_options_that_exist() -> None:
    text = (HOOKS.parent / "docs" / "audit.md").read_text(encoding="utf-8")
    codes = {rule.code for rule in all_rules("torchstone.rules.source")}
    assert set(re.findall(r"COD\d+", text)) <= codes
    own = {spelling for option in command.params for spelling in option.opts}
    assert set(re.findall(r"^\| `(--[a-z]+)", text, re.MULTILINE)) <= own
    assert own - {"paths", "--traceback"} <= set(re.findall(r"--[a-z]+", text))
