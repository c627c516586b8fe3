"""How questions are answered: findings, proofs, silence; what people say; files that are damaged or older."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.ledger import Ledger
from torchstone.core.recipe_file import recipe_for
from torchstone.core.review import Question
from torchstone.core.run import Run, find_run
from torchstone.flows.checklist import read_checklist
from torchstone.flows.review import answered, review, say
from torchstone.flows.review_known import known_code, known_rows, known_run, mark_of, with_agreement
from torchstone.flows.train import train
from torchstone.rules._watched import toy_loop, toy_pass
from torchstone.rules.review._toy import finding, run, watched

TWENTY = read_checklist()
SAID = {"verdict": "pass", "by": "Ada", "reason": "alpha 0.84"}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    project = tmp_path_factory.mktemp("project")
    rows = "".join(f"{i % 17},{i * 7 % 5 + i / 100},{'yn'[i % 17 > 8]}\n" for i in range(120))
    (project / "points.csv").write_text(f"a,b,label\n{rows}", encoding="utf-8")
    train(recipe_for(str(project / "points.csv"), overrides=["train.epochs=2"]), project=project, run_name="r")
    return project


@pytest.fixture
def copied(made, tmp_path) -> Run:
    shutil.copytree(made, tmp_path / "p", symlinks=True)
    return find_run(tmp_path / "p", "r")


def verdicts(found):
    return {one.question.key: one.verdict for one in found.answers}


def of(run, project):
    reviewed = known_run(run)
    return review(reviewed, TWENTY, project=project, mark=mark_of(reviewed))


def test_a_sound_run_leaves_one_question_to_a_person(copied, tmp_path):
    found = of(copied, tmp_path)
    assert [key for key, verdict in verdicts(found).items() if verdict == "needs a person"] == ["Q9"]
    assert not found.is_refused
    assert found.findings == []
    assert found.counts["pass"] >= 10


def test_a_finding_of_the_question_s_rules_is_a_no_and_comes_along():
    question = Question("Q", "?", rules=("RUN322", "RUN321"))
    one = answered(question, run(findings=[finding("RUN322", "all in train mode")]))
    assert one.verdict == "fail"
    assert "all in train mode" in one.because
    assert [f.code for f in one.findings] == ["RUN322"]
    assert one.unasked == ("RUN321",)


def test_silence_passes_only_where_all_rules_were_asked():
    question = Question("Q", "?", rules=("RUN322", "RUN321"))
    assert answered(question, run(asked={"RUN322": "the trace"})).verdict == "needs a person"
    assert "RUN321" in answered(question, run(asked={"RUN322": "the trace"})).because
    both = answered(question, run(asked={"RUN322": "the trace", "RUN321": "the trace"}))
    assert both.verdict == "pass"
    assert "RUN322, RUN321 found nothing in the trace" in both.because
    assert answered(Question("Q", "?"), run()).verdict == "needs a person"


def test_a_proof_that_says_no_is_a_finding_of_its_own_code():
    one = answered(Question("Q11", "?", proof="REV111"), run(findings=[finding("DAT202", "twice")]))
    assert [f.code for f in one.findings] == ["REV111", "DAT202"]


def test_an_answer_of_a_person_counts_stays_and_is_superseded_in_the_open(copied, tmp_path):
    reviewed = known_run(copied)
    mark = mark_of(reviewed)
    where = {"project": tmp_path, "run": "r", "mark": mark}
    say(TWENTY, "q9", SAID, **where)
    say(TWENTY, "Q9", {**SAID, "verdict": "fail", "by": "Bob", "reason": "only two annotators"}, **where)
    say(TWENTY, "Q2", {**SAID, "verdict": "fail", "reason": "read the code"}, **where)
    found = review(reviewed, TWENTY, project=tmp_path, mark=mark)
    ninth = found.answers[8]
    assert ninth.verdict == "fail"
    assert "Bob" in ninth.because
    assert [row["by"] for row in ninth.people] == ["Ada", "Bob"]
    assert ninth.found.verdict == "needs a person"
    assert found.answers[1].found.verdict == "pass"
    assert found.is_refused
    assert found.head == Ledger(tmp_path).head
    assert ninth.people[0]["time"].endswith("+00:00")
    other = review(replace(reviewed, name="other"), TWENTY, project=tmp_path, mark="0" * 64)
    assert not any(one.people for one in other.answers)


@pytest.mark.parametrize(("key", "more", "words"), [
    ("Q21", {}, "has no question 'Q21'"), ("Q9", {"verdict": "maybe"}, "one of: pass, fail, not applicable"),
    ("Q9", {"by": " "}, "--by"), ("Q9", {"reason": ""}, "--reason"), ("Q9", {"verdict": "needs a person"}, "--verdict"),
])  # fmt: skip
def test_an_answer_without_name_reason_or_question_is_refused(tmp_path, key, more, words):
    with pytest.raises(StoneError) as caught:
        say(TWENTY, key, {**SAID, **more}, project=tmp_path, run="r", mark="0")
    assert words in str(caught.value)
    assert not Ledger(tmp_path).path.exists()


def edited(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_what_was_changed_after_the_run_is_seen(copied, tmp_path):
    weights = copied.checkpoints / "best" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\1\2\3")
    edited(copied.data, '"train": 84', '"train": 85')
    found = verdicts(of(copied, tmp_path))
    assert (found["Q12"], found["Q13"]) == ("fail", "fail")


def test_a_validation_example_among_those_that_came_is_seen(copied, tmp_path):
    edited(copied.trace, '"validation": 0', '"validation": 2')
    assert verdicts(of(copied, tmp_path))["Q11"] == "fail"


@pytest.mark.parametrize("name", ["plan.yaml", "data.json", "environment.json", "trace.jsonl", "result.json",
                                  "findings.jsonl", "asked.json", "recipe.json"])  # fmt: skip
@pytest.mark.parametrize("content", [b"", b"{", b"[1]\n[2]\n", b"\xff\xfe\x00\n{}\n", b'{"event": "step"}\n{"a": 1}\n'])
def test_a_damaged_file_is_named_or_told_as_missing_and_never_a_traceback(copied, tmp_path, name, content):
    (copied.folder / name).write_bytes(content)
    with contextlib.suppress(StoneError):
        assert len(of(copied, tmp_path).answers) == 20


@pytest.mark.parametrize("name", ["data.json", "environment.json", "trace.jsonl", "result.json", "findings.jsonl",
                                  "asked.json", "recipe.json", "encoding.json", "checkpoints"])  # fmt: skip
def test_a_file_that_is_missing_leaves_a_review_of_the_rest(copied, tmp_path, name):
    path = copied.folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = of(copied, tmp_path)
    assert len(found.answers) == 20
    if name in ("data.json", "environment.json", "recipe.json", "encoding.json", "asked.json"):
        assert verdicts(found)["Q13"] == "fail"
    if name == "trace.jsonl":
        assert verdicts(found)["Q11"] == "needs a person"


def test_a_run_of_an_older_version_is_left_to_people_where_it_says_nothing(copied, tmp_path):
    rows = [json.loads(line) for line in copied.trace.read_text(encoding="utf-8").splitlines()]
    for key in ("papers", "loop", "is_anomaly_on"):
        del rows[0][key]
    rows = [row for row in rows if row["event"] != "examples"]
    copied.trace.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (copied.folder / "asked.json").unlink()
    found = verdicts(of(copied, tmp_path))
    for key in ("Q1", "Q2", "Q3", "Q4", "Q11", "Q13", "Q14", "Q17", "Q18"):
        assert found[key] == "needs a person", key


@pytest.mark.parametrize("row", [{"event": "examples"}, {"event": "examples", "by_split": 7},
                                 {"event": "start", "papers": 7, "world": "x"}])  # fmt: skip
def test_a_row_that_lacks_something_is_told_with_its_run(copied, tmp_path, row):
    with copied.trace.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": 99, **row}) + "\n")
    with pytest.raises(StoneError, match=r"\br is damaged"):
        of(copied, tmp_path)


def test_a_run_that_an_older_version_began_is_not_proved_by_what_came_after(copied, tmp_path):
    rows = [json.loads(line) for line in copied.trace.read_text(encoding="utf-8").splitlines()]
    first = next(n for n, row in enumerate(rows) if row["event"] == "examples")
    copied.trace.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:first], *rows[first + 1 :]]))
    found = of(copied, tmp_path)
    assert verdicts(found)["Q11"] == "needs a person"
    assert "windows are left out" in found.answers[10].because


def test_an_answer_about_code_is_gone_when_the_code_is_another(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text("import torch\n", encoding="utf-8")
    marks = [mark_of(known_code([script]), [script])]
    marks.append(mark_of(known_code([tmp_path]), [script]))
    script.write_text("import torch\nx = 1\n", encoding="utf-8")
    marks.append(mark_of(known_code([script]), [script]))
    assert len(set(marks)) == 3


def test_what_people_say_is_one_line_of_letters(tmp_path):
    row = say(TWENTY, "Q9", {"verdict": "pass", "by": "Ada\x1b[2J", "reason": "a\nb\u202e c\udcff"}, project=tmp_path,
              run="r", mark="0")  # fmt: skip
    assert (row["by"], row["reason"]) == ("Ada [2J", "a b c")
    with pytest.raises(StoneError, match="name and a reason"):
        say(TWENTY, "Q9", {**SAID, "by": "\x1b\u200b"}, project=tmp_path, run="r", mark="0")


def test_a_plan_of_a_newer_version_is_refused(copied):
    edited(copied.plan, "version: 1", "version: 2")
    with pytest.raises(StoneError, match="a newer torchstone made run r"):
        known_run(copied)


def test_rows_of_a_watched_loop_are_judged_as_far_as_they_were_seen(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{"event": "start", "step": 0, "is_script": True}, *toy_loop(more=[toy_pass(forwards_in_training=3)])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = review(known_rows(path), TWENTY, project=tmp_path, mark="0")
    answers = verdicts(found)
    assert (answers["Q1"], answers["Q2"], answers["Q3"]) == ("fail", "pass", "pass")
    assert answers["Q13"] == answers["Q20"] == "needs a person"
    assert [f.code for f in found.findings] == ["RUN322"]
    assert "RUN301" in found.answers[1].asked
    sick = '{"event": "start", "step": 0, "is_script": true}\n{"event": "pass", "step": 1}\n'
    path.write_text(sick, encoding="utf-8")
    with pytest.raises(StoneError, match="a row is not as torchstone watch writes it"):
        known_rows(path)


def test_code_is_asked_but_its_silence_alone_answers_nothing(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text("import torch\n\n\ndef train(model, optimizer, loader, loss):\n    for x, y in loader:\n"
                      "        loss(model(x), y).backward()\n        optimizer.step()\n", encoding="utf-8")  # fmt: skip
    found = review(known_code([script]), TWENTY, project=tmp_path, mark="0")
    assert verdicts(found)["Q2"] == "fail"
    assert {verdict for key, verdict in verdicts(found).items() if key != "Q2"} == {"needs a person"}
    edited(script, "        loss(", "        optimizer.zero_grad()\n        loss(")
    assert verdicts(review(known_code([script]), TWENTY, project=tmp_path, mark="0"))["Q2"] == "needs a person"
    both = known_code([script], watched(toy_loop()))
    assert verdicts(review(both, TWENTY, project=tmp_path, mark="0"))["Q2"] == "pass"


def test_agreement_is_taken_from_what_agree_says(tmp_path):
    path = tmp_path / "agree.json"
    path.write_text(json.dumps({"coefficients": {"krippendorff_alpha": {"value": 0.85, "low": 0.8, "high": 0.9}}}))
    assert with_agreement(run(), path).agreement["digest"]
    for text in ("[]", "{", '{"coefficients": 1}', '{"coefficients": {"a": 1}}'):
        path.write_text(text)
        with pytest.raises(StoneError, match=r"agree\.json"):
            with_agreement(run(), path)
