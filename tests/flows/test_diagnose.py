"""The doctor after the fact: rules of rows and of curves together, one finding per cause, and what was not judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe import Rules
from torchstone.flows.doctor import diagnose
from torchstone.flows.environment import environment, lines
from torchstone.flows.name_curves import Wanted
from torchstone.rules._watched import toy_loop, toy_pass
from torchstone.rules.trace._steps import toy_run


def made(path: Path, rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def found(path: Path, **rules) -> list[str]:
    return [f.code for one in diagnose([path], wanted=Wanted(), rules=Rules(**rules)) for f in one.findings]


def run(change=None, losses=()):
    rows = toy_run(change=change)
    seen = [{"event": "validation", "step": 20 * n, "metrics": {"loss": loss}} for n, loss in enumerate(losses, 1)]
    return sorted([*rows, *seen], key=lambda row: row["step"])


def test_a_healthy_run_of_ours_has_no_finding(tmp_path):
    losses = [0.4 + 1.9 * 0.6**n for n in range(10)]
    path = made(tmp_path / "one" / "trace.jsonl", [{"event": "start", "step": 0}, *run(losses=losses)])
    (one,) = diagnose([path.parent], wanted=Wanted(), rules=Rules())
    assert one.findings == []
    assert one.to_json()["curves"]["validation_loss"] == {"name": "validation/loss", "points": 10}


def test_the_cause_that_a_trace_knows_is_not_said_again_by_its_curve(tmp_path):
    trace = run(lambda step, row: {"loss": None} if step > 100 else {})
    assert found(made(tmp_path / "trace.jsonl", trace)) == ["RUN201"]
    flat = run(lambda step, row: {"loss": 2.3 + 0.01 * (-1) ** step})
    assert found(made(tmp_path / "trace.jsonl", flat)) == ["RUN204"]


def test_slow_divergence_in_a_trace_is_seen_by_its_curve(tmp_path):
    trace = run(lambda step, row: {"loss": 0.69 * 1.06**step})
    assert "RUN803" in found(made(tmp_path / "trace.jsonl", trace))
    assert "RUN803" not in found(made(tmp_path / "trace.jsonl", trace), ignore=["RUN803"])
    assert "RUN803" not in found(made(tmp_path / "trace.jsonl", trace), ignore=["RUN"])


def test_rows_of_a_watched_loop_are_judged_by_their_own_rules_again(tmp_path):
    start = {"event": "start", "step": 0, "is_script": True}
    sick = toy_loop(change=lambda number, row: {"is_cleared": False, "is_stale": False})
    assert "RUN301" in found(made(tmp_path / "rows.jsonl", [start, *sick]))
    passes = [toy_pass(own_loss=loss, number=n, first_step=4 * n, own_num=96)
              for n, loss in enumerate([1.0, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9], 1)]
    codes = found(made(tmp_path / "rows.jsonl", [start, *toy_loop(more=passes)]))
    assert "RUN606" in codes
    assert "RUN806" not in codes


def test_losses_of_the_beginning_alone_are_no_curve(tmp_path):
    """The doctor sleeps where looking costs too much: 40 steps seen of 4,000."""
    rows = [{"event": "start", "step": 0, "is_script": True}, *toy_loop()]
    rows[-1] = {"event": "end", "step": 4000, "steps": 4000}
    (one,) = diagnose([made(tmp_path / "rows.jsonl", rows)], wanted=Wanted(), rules=Rules())
    assert one.history is None
    assert "not judged" in one.notes[-1]


def test_all_mistakes_of_several_paths_are_told_at_once(tmp_path):
    bad = tmp_path / "a.csv"
    bad.write_text("epoch,cls_loss,box_loss\n1,1,1\n2,1,1\n", encoding="utf-8")
    with pytest.raises(StoneErrors) as caught:
        diagnose([bad, tmp_path / "none"], wanted=Wanted(), rules=Rules())
    assert len(caught.value.errors) == 2
    with pytest.raises(StoneError, match="--train"):
        diagnose([bad], wanted=Wanted(), rules=Rules())


def test_silence_says_what_was_not_judged(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("epoch,loss\n1,1.0\n", encoding="utf-8")
    (one,) = diagnose([path], wanted=Wanted(), rules=Rules())
    assert one.findings == []
    assert one.notes == ["only 1 points: too few for most rules", "not found: validation loss, score"]


def test_the_environment_is_told_without_loading_a_framework():
    facts = environment()
    assert facts["packages"]["torch"]
    assert facts["cores"] >= 1
    assert facts["memory"] is None or facts["memory"] > 2**28
    assert "text" in facts["extras"]
    assert len(list(lines(facts))) == 4 + len(facts["extras"])
