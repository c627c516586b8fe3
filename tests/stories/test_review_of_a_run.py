"""`torchstone review`, as a user calls it: of a run, of a watched script, of code; with an answer of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stage import call, run_folder, table, told

pytestmark = pytest.mark.integration

LOOP = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(320, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
train = DataLoader(TensorDataset(x[:240], y[:240]), 24, shuffle=True)
held_out = DataLoader(TensorDataset(x[240:], y[240:]), 40)
for epoch in range(4):
    model.train()
    for inputs, target in train:
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), target).backward()
        optimizer.step()
    {mode}
    with torch.no_grad():
        for inputs, target in held_out:
            F.cross_entropy(model(inputs), target)
"""


def verdicts(answer: dict[str, Any]) -> dict[str, str]:
    """Key of each question → its verdict."""
    return {row["key"]: row["verdict"] for row in answer["questions"]}


def test_a_run_is_reviewed_answered_kept_and_refused_when_its_papers_are_changed(tmp_path: Path) -> None:
    table(tmp_path / "trees.csv")
    told("train", "trees.csv", "--run", "r", "--set", "train.epochs=2", cwd=tmp_path)
    shown = told("review", "r", "--html", "review.html", "--card", "review.md", cwd=tmp_path)
    assert "needs a person" in shown
    assert "--answer Q9" in shown
    assert (tmp_path / "review.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "| Q20 |" in (tmp_path / "review.md").read_text(encoding="utf-8")
    before = json.loads(told("review", "--json", cwd=tmp_path))
    assert before["counts"]["fail"] == 0
    assert verdicts(before)["Q9"] == "needs a person"
    said = ("--answer", "q9", "--verdict", "not-applicable", "--by", "Ada", "--reason", "labels are measurements")
    after = json.loads(told("review", "r", *said, "--json", cwd=tmp_path))
    assert verdicts(after) == {**verdicts(before), "Q9": "not applicable"}
    (row,) = after["questions"][8]["people"]
    assert (row["by"], row["reason"]) == ("Ada", "labels are measurements")
    ledger = tmp_path / ".torchstone" / "ledger.jsonl"
    assert len(ledger.read_text(encoding="utf-8").splitlines()) == 1
    plan = run_folder(tmp_path, "r") / "plan.yaml"
    plan.write_text(plan.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    changed = json.loads(told("review", "r", "--json", cwd=tmp_path, code=1))
    assert verdicts(changed)["Q13"] == "fail"
    assert [finding["code"] for finding in changed["findings"]] == ["REV113"]


@pytest.mark.parametrize(("mode", "code", "first"), [("model.eval()", 0, "pass"), ("pass", 1, "fail")])
def test_a_watched_script_is_judged_by_what_was_seen(tmp_path: Path, mode: str, code: int, first: str) -> None:
    (tmp_path / "loop.py").write_text(LOOP.replace("{mode}", mode), encoding="utf-8")
    call("watch", "--rows", "rows.jsonl", "loop.py", cwd=tmp_path)
    answer = json.loads(told("review", "rows.jsonl", "--code", "loop.py", "--json", cwd=tmp_path, code=code))
    found = verdicts(answer)
    assert answer["kind"] == "watched"
    assert found["Q1"] == first
    assert (found["Q2"], found["Q3"], found["Q6"], found["Q11"]) == ("pass", "pass", "not applicable", "pass")
    for key in ("Q9", "Q12", "Q13", "Q16", "Q17", "Q20"):
        assert found[key] == "needs a person", key


def test_code_alone_can_be_refused_and_never_passes(tmp_path: Path) -> None:
    path = tmp_path / "loop.py"
    path.write_text(LOOP.replace("{mode}", "model.eval()"), encoding="utf-8")
    answer = json.loads(told("review", "--code", "loop.py", "--json", cwd=tmp_path))
    assert set(verdicts(answer).values()) == {"needs a person"}
    path.write_text(path.read_text(encoding="utf-8").replace("        optimizer.zero_grad()\n", ""), encoding="utf-8")
    answer = json.loads(told("review", "--code", "loop.py", "--json", cwd=tmp_path, code=1))
    assert verdicts(answer)["Q2"] == "fail"


@pytest.mark.parametrize(("words", "said"), [
    (("nothing",), "no run is called 'nothing'"), (("--answer", "Q9"), "there is no run yet"),
    (("--verdict", "pass"), "there is no run yet"), (("--checklist", "no.yaml"), "no.yaml"),
    (("loop.py",), "this is a script, not a run"), (("--code", "none"), "there is no such file or folder"),
    (("--code", "loop.py", "--by", "Ada"), "go with --answer KEY"),
    (("--code", "loop.py", "--answer", "Q99", "--verdict", "pass", "--by", "A", "--reason", "b"), "no question 'Q99'"),
    (("--code", "loop.py", "--answer", "Q9", "--verdict", "pass", "--by", "Ada"), "a name and a reason"),
    (("--code", "loop.py", "--agreement", "no.json"), "no.json"),
])  # fmt: skip
def test_a_call_that_cannot_be_served_says_why_and_writes_nothing(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "loop.py").write_text("import torch\n", encoding="utf-8")
    assert said in told("review", *words, cwd=tmp_path, code=2)
    assert not (tmp_path / ".torchstone" / "ledger.jsonl").exists()
