"""The text of an audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from torchstone.core.finding import Finding, Severity
from torchstone.flows.audit import Audit, Waived, audit
from torchstone.flows.audit_places import places
from torchstone.report.audited import audit_lines, summary


def made_of(*severities: Severity, waived: int = 0) -> Audit:
    found = [Finding("COD1", severity, "what", "why", "fix") for severity in severities]
    return Audit(files=len(found), judged=1, lines=1, rules=(), findings=found,
                 waived=[Waived(one, "so") for one in found * waived])


def text_of(paths: Sequence[Path]) -> list[str]:
    made = audit(paths)
    return [line for line, _ in audit_lines(made, places(made.findings))]


def test_numbers_and_nouns_agree() -> None:
    assert summary(made_of("error")) == "1 file read, 1 with a training library: 1 error"
    assert summary(made_of("error", "error", "warning", "advice", "advice")) == (
        "5 files read, 1 with a training library: 2 errors, 1 warning, 2 pieces of advice"
    )
    assert summary(made_of()) == "0 files read, 1 with a training library: nothing found"
    assert summary(made_of("advice", waived=2)).endswith("1 piece of advice, 2 ignored with a reason")


def test_a_finding_is_file_line_column_code_severity_what_then_why_and_fix(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("import torch\nif True:\n    s = torch.load('a.pt', weights_only=False)\n")
    lines = text_of([Path("a.py")])
    assert lines[0].startswith("a.py:3:5: COD401 warning: torch.load is told weights_only=False")
    assert lines[1] == "    | s = torch.load('a.pt', weights_only=False)"
    assert lines[2].startswith("    why: ")
    assert lines[3].startswith("    fix: ")
    assert lines[3].endswith("[--fix]")
    assert lines[-1] == "1 can be mended: torchstone audit --diff shows how, --fix does it"


def test_findings_stand_file_by_file_in_the_order_of_lines_and_why_is_said_once(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.py", "a.py"):
        Path(name).write_text("import torch\n" + "s = torch.load('a.pt', weights_only=False)\n" * 2)
    lines = text_of([Path("b.py"), Path("a.py")])
    found = [line.split(" ")[0] for line in lines if "COD401" in line]
    assert found == ["a.py:2:1:", "a.py:3:1:", "b.py:2:1:", "b.py:3:1:"]
    assert sum("why:" in line for line in lines) == 1
    assert sum("fix:" in line for line in lines) == 4


def test_a_place_in_a_notebook_reads_as_one(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    cell = {"cell_type": "code", "source": ["import torch\n", "s = torch.load('a.pt', weights_only=False)"]}
    cells = [{"cell_type": "markdown", "source": ""}, cell]
    Path("train.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    assert text_of([Path("train.ipynb")])[0].startswith("train.ipynb, cell 2, line 2: COD401 warning: ")


def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text("x = 1\nprint 'old'\n")
    Path("zero.py").write_bytes(b"x = \0 1\n")
    lines = text_of([Path()])
    assert lines[0].startswith("old.py:2:1: COD001 warning: the file was not read: not Python: Missing parentheses")
    assert any(line.startswith("zero.py: COD001 warning: ") for line in lines)
