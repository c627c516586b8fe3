"""What a run's trace says of the doctor: live findings and those of the end, one for each cause."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

import torchstone as ts
from torchstone.core.catalog import all_rules
from torchstone.core.event import Event
from torchstone.core.finding import Finding, Where
from torchstone.core.recipe import Rules
from torchstone.flows.own_doctor import ASKED, MENDS, judge_trace
from torchstone.flows.watch import FOLDERS
from torchstone.rules.trace._steps import toy_run


def told(code: str, step: int, layer: str | None = None) -> dict[str, object]:
    """The row of a finding as the trace holds it."""
    finding = Finding(code, "warning", f"seen at {step}", "harm", "mend", Where(step=step, layer=layer), {"value": 1.0})
    return {"event": "finding", "step": step, "time": 1.8e9, **finding.to_json()}


def test_every_rule_that_is_asked_is_there() -> None:
    known = {rule.code for folder in FOLDERS for rule in all_rules(folder)}
    assert set(ASKED) <= known
    assert set(MENDS) <= set(ASKED)


def test_what_was_told_during_the_run_is_found_again_in_its_trace() -> None:
    found = judge_trace([*toy_run(), told("RUN604", 48, "body.1")], Rules())
    assert [(finding.code, finding.where.layer, finding.evidence) for finding in found] == [
        ("RUN604", "body.1", {"value": 1.0})
    ]


def test_a_finding_that_a_resumed_run_makes_again_is_one() -> None:
    rows = [*toy_run(), told("RUN604", 48, "body.1"), told("RUN604", 60, "body.1"), told("RUN604", 60, "body.3")]
    assert [finding.where.step for finding in judge_trace(rows, Rules())] == [48, 60]


def test_one_cause_is_one_finding_across_live_rules_and_those_of_the_end() -> None:
    small = toy_run(change=lambda step, row: {"update_ratio": 1e-8 if step % 10 == 0 else None})
    assert [finding.code for finding in judge_trace(small, Rules())] == ["RUN206"]
    assert [finding.code for finding in judge_trace([*small, told("RUN603", 51)], Rules())] == ["RUN603"]
    flat = toy_run(change=lambda step, row: {"loss": 2.3 + 0.1 * math.sin(7 * step)})
    assert [finding.code for finding in judge_trace([*flat, told("RUN604", 48)], Rules())] == ["RUN604"]


def test_the_loops_own_row_of_a_number_that_is_not_finite_is_no_second_finding() -> None:
    rows = toy_run(50)
    rows.append({"event": "finding", "step": 50, "problem": "loss", "value": None, "examples": ["a"], "num": 1,
                 "is_culprit_known": True})  # fmt: skip
    assert [finding.code for finding in judge_trace(rows, Rules())] == ["RUN201"]


def test_a_run_with_a_rate_far_too_low_is_told_live_and_in_its_files(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(300, 4))
    lines = [",".join(f"{value:.4f}" for value in row) + f",c{int(row[0] > 0)}" for row in inputs]
    (tmp_path / "t.csv").write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    heard: list[Event] = []
    recipe = ts.recipe(str(tmp_path / "t.csv"), "optimizer.lr=1e-10", "train.epochs=20")
    result = ts.train(recipe, project=tmp_path, run_name="low", observers=[heard.append])
    assert [e.values["code"] for e in heard if e.kind == "finding"] == ["RUN603"]
    assert [finding.code for finding in result.findings if finding.code.startswith("RUN")] == ["RUN603"]
    folder = tmp_path / ".torchstone" / "runs" / "low"
    rows = [json.loads(line) for line in (folder / "findings.jsonl").read_text(encoding="utf-8").splitlines()]
    found = next(row for row in rows if row["code"] == "RUN603")
    assert found["fix"] == MENDS["RUN603"]
    assert "path" not in found["where"]
    assert found["evidence"]["series"]["update / weight"]
    assert any(e.kind == "validation" and sum(e.values["answers"]) == e.values["n"] for e in heard)
