"""A plan and its findings as rows."""

from __future__ import annotations

from dataclasses import replace

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import START, Choice, Plan
from torchstone.report.terminal import (
    Row,
    brief_rows,
    choice_text,
    decided_rows,
    finding_rows,
    is_telling,
    lines,
    plan_rows,
    show_rows,
    value_text,
)

FINDING = Finding("DAT201", "warning", "two of a kind", "why", "keep one", Where(path="a.csv", line=3))
PLAN = Plan(
    {
        c.field: c
        for c in (
            Choice("task", "image-classification", "derived", "folder per class", source=""),
            Choice("optimizer.options.lr", 1e-3, "default", "adamw", START),
            Choice("data.split", "70/15/15", "default", "no split of its own", source=""),
            Choice("train.epochs", 5, "user", "--set train.epochs=5", source=""),
        )
    }
)


def test_a_plan_tells_task_findings_split_and_then_every_choice_with_reason_and_source() -> None:
    rows = list(plan_rows(PLAN, [FINDING]))
    assert [row.label for row in rows] == ["task", "data", "data", "split", "plan", "plan"]
    assert rows[0].text == "image-classification   (why: folder per class)"
    assert rows[1].text == "DAT201 warning  two of a kind   a.csv:3"
    assert rows[2].text == "  fix: keep one"
    assert rows[4].text == "optimizer.lr = 0.001 (default): adamw [starting point, tune on your data]"
    assert rows[5].text == "train.epochs = 5 (user): --set train.epochs=5"


def test_findings_that_are_not_about_data_say_so() -> None:
    other = Finding("PLN101", "error", "what", "why", "fix")
    assert next(iter(finding_rows([other]))) == Row("finding", "PLN101 error  what", "bold red")
    assert next(iter(finding_rows([replace(other, code="RUN604")]))).label == "doctor"


def test_a_label_stands_once_and_long_rows_hang_under_it() -> None:
    rows = [Row("plan", "a " * 40), Row("plan", "b"), Row("data", "c")]
    text = [line for line, _ in lines(rows, 60)]
    assert text[0].startswith("plan        a a")
    assert all(len(line) <= 60 for line in text)
    assert text[1].startswith(" " * 12 + "a")
    assert text[-2:] == [" " * 12 + "b", "data        c"]
    assert len(list(lines(rows, None))) == 3


def test_values_are_shown_as_people_write_them() -> None:
    assert value_text(None) == "null"
    assert value_text(True) == "true"
    assert value_text(1) == "1"
    assert value_text(0.1 + 0.2) == "0.3"
    assert value_text({"train": 0.7, "test": 0.3}) == "train 0.7, test 0.3"
    assert (value_text([]), value_text({})) == ("[]", "{}")
    assert value_text(list(range(20))) == "0, 1, 2, 3, 4, 5, 6, 7, … (20 in all)"


def test_square_brackets_are_text_and_no_colours(capsys) -> None:  # type: ignore[no-untyped-def]
    show_rows([Row("plan", "[bold]x[/bold] [0.1, 0.2]", "dim")])
    assert capsys.readouterr().out == "plan        [bold]x[/bold] [0.1, 0.2]\n"


def plan_of(*choices: Choice) -> Plan:
    return Plan({choice.field: choice for choice in choices})


def test_a_run_about_to_start_shows_what_was_derived_or_given_and_counts_the_defaults() -> None:
    plan = plan_of(*PLAN, Choice("train.seed", 0, "default", "any number does"))
    rows = list(brief_rows(plan, []))
    assert [row.text for row in rows if row.label == "plan"] == [
        "optimizer.lr = 0.001 (default): adamw [starting point, tune on your data]",
        "train.epochs = 5 (user): --set train.epochs=5",
        "… and 1 defaults; all with their reasons: torchstone plan --all",
    ]  # fmt: skip


def test_a_plan_in_short_gives_reasons_for_what_was_decided_and_one_line_for_each_sections_defaults() -> None:
    plan = plan_of(
        Choice("optimizer.name", "adamw", "default", "why adamw"), Choice("optimizer.options.lr", 1e-3, "default", "r"),
        Choice("optimizer.options.eps", 1e-8, "default", "why eps"), Choice("mix.name", None, "default", "why none"),
        Choice("averaging.name", None, "default", "why none"), Choice("train.epochs", 5, "user", "given"),
        Choice("train.freeze", [], "default", "why free"), Choice("train.seed", 0, "default", "why 0"),
    )  # fmt: skip
    assert [(row.label, row.text) for row in decided_rows(plan, [])] == [
        ("plan", "optimizer.name = adamw (default): why adamw"), ("plan", "optimizer.lr = 0.001 (default): r"),
        ("plan", "train.epochs = 5 (user): given"), ("defaults", "optimizer: eps 1e-08"),
        ("defaults", "train: freeze [] · seed 0"), ("defaults", "not used unless named: mix, averaging"),
    ]  # fmt: skip


def test_what_was_looked_at_and_needs_nothing_is_no_decision_unless_the_user_made_it() -> None:
    fits = Choice("train.accumulate", 1, "derived", "it fits")
    cut = Choice("train.accumulate", 4, "derived", "it does not fit")
    assert [is_telling(choice) for choice in (fits, cut, replace(fits, origin="user"))] == [False, True, True]


def test_a_plan_in_short_leaves_no_choice_out() -> None:
    told = " ".join(row.text for row in decided_rows(PLAN, []))
    assert all(word in told for word in ("image-classification", "optimizer.lr", "train.epochs", "70/15/15"))


def test_a_source_is_shown_where_there_is_one() -> None:
    assert "[starting point" in choice_text(Choice("train.epochs", 20, "derived", "so many", START))
    assert choice_text(Choice("train.device", "cpu", "derived", "no GPU")) == "train.device = cpu (derived): no GPU"
    assert "[Pascanu" in choice_text(Choice("x", "y", "derived", "z", source="Pascanu et al. 2013"))
