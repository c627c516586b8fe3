"""A plan and its findings for a person: rows of a label and a sentence."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from torchstone.core.finding import Finding
from torchstone.core.plan import Choice, Plan

LABEL = 12  # columns of a row's label
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "advice": "cyan"}
_LABELS = {"DAT": "data", "RUN": "doctor"}
_HEAD = ("task", "data.split")
_ORDER = (
    "task", "data", "image", "text", "metric", "model", "adapter", "parameters", "loss", "optimizer", "schedule",
    "sampler", "mix", "clipping", "averaging", "train", "checkpoint",
)  # fmt: skip


_TUNED = ("metric", "optimizer.options.lr")
# Values that are derived from data and machine and mean that neither asks for anything.
_NOTHING_SPECIAL = {
    "train.accumulate": 1, "train.recompute": False, "train.workers": 0, "train.strategy": "single",
}  # fmt: skip


class Row(NamedTuple):
    """One line: `label` says what it is about and stands once for neighbours that share it."""

    label: str
    text: str
    style: str = ""


def plan_rows(plan: Plan, findings: Iterable[Finding]) -> Iterator[Row]:
    """Task, findings about the data, split, then every other choice with its value, reason and source."""
    yield from _head_rows(plan, findings)
    yield from map(_choice_row, ordered(plan))


def decided_rows(plan: Plan, findings: Iterable[Finding]) -> Iterator[Row]:
    """The same in short: what was decided, with reasons, and one line for each section's defaults."""
    yield from _head_rows(plan, findings)
    choices = ordered(plan)
    yield from (_choice_row(choice) for choice in choices if is_telling(choice))
    others = [choice for choice in choices if not is_telling(choice)]
    unused = [choice.field.removesuffix(".name") for choice in others if choice.field.endswith(".name")]
    settings = [choice for choice in others if not choice.field.endswith(".name")]
    for section, group in itertools.groupby(settings, key=lambda choice: choice.field.partition(".")[0]):
        start = f"{section}."
        values = (f"{choice.field.removeprefix(start).removeprefix('options.')} {value_text(choice.value)}"
                  for choice in group)  # fmt: skip
        yield Row("defaults", f"{section}: {' · '.join(values)}", "dim")
    if unused:
        yield Row("defaults", f"not used unless named: {', '.join(unused)}", "dim")


def brief_rows(plan: Plan, findings: Iterable[Finding]) -> Iterator[Row]:
    """The same for a run about to start, where the defaults are counted only."""
    yield from _head_rows(plan, findings)
    choices = ordered(plan)
    shown = [choice for choice in choices if is_telling(choice)]
    yield from map(_choice_row, shown)
    yield Row("plan", f"… and {len(choices) - len(shown)} defaults; all with their reasons: torchstone plan --all")


def _choice_row(choice: Choice) -> Row:
    return Row("plan", choice_text(choice), "" if choice.origin == "user" else "dim")


def ordered(plan: Plan) -> list[Choice]:
    """The choices in the order in which one asks for them, without those that have rows of their own."""
    choices = [choice for choice in plan if choice.field not in _HEAD]
    return sorted(choices, key=lambda choice: place(choice.field))


def place(field: str) -> int:
    """Where a field stands among the others: one asks for the data first, and for checkpoints last."""
    section = field.partition(".")[0]
    return _ORDER.index(section) if section in _ORDER else len(_ORDER)


def is_telling(choice: Choice) -> bool:
    """Whether a choice says something about this data and machine, names a part, or is a rate that one tunes.

    What was looked at and needs nothing (a batch that fits at once, one process) is as good as a default.
    """
    if choice.origin == "user" or choice.field in _TUNED:
        return True
    if choice.field.endswith(".name"):
        return choice.value is not None
    return choice.origin == "derived" and _NOTHING_SPECIAL.get(choice.field, choice) != choice.value


def _head_rows(plan: Plan, findings: Iterable[Finding]) -> Iterator[Row]:
    choices = plan.choices
    if "task" in choices:
        yield Row("task", f"{choices['task'].value}   (why: {choices['task'].reason})", "bold")
    yield from finding_rows(findings)
    if "data.split" in choices:
        yield Row("split", f"{value_text(choices['data.split'].value)}   (why: {choices['data.split'].reason})")


def choice_text(choice: Choice) -> str:
    """A choice in one line: `train.epochs = 20 (derived): reason [source]`."""
    source = f" [{choice.source}]" if choice.source else ""
    field = choice.field.replace(".options.", ".")  # as a recipe says it
    return f"{field} = {value_text(choice.value)} ({choice.origin}): {choice.reason}{source}"


def value_text(value: Any) -> str:
    """A plan's value as a person reads it, cut where it gets long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]  # as a recipe says them: --set a.b=null
    if isinstance(value, (list, tuple, dict)) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        return ", ".join(f"{key} {value_text(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        text = ", ".join(value_text(item) for item in value[:8])
        return f"{text}, … ({len(value)} in all)" if len(value) > 8 else text
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def finding_rows(findings: Iterable[Finding]) -> Iterator[Row]:
    """Each finding in one row, with its mend in the next."""
    for finding in findings:
        label = _LABELS.get(finding.code[:3], "finding")
        place = f"   {finding.where}" if str(finding.where) else ""
        yield Row(label, f"{finding.code} {finding.severity}  {finding.what}{place}", SEVERITY_STYLES[finding.severity])
        yield Row(label, f"  fix: {finding.fix}", "dim")


def lines(rows: Iterable[Row], width: int | None) -> Iterator[tuple[str, str]]:
    """Each row's text, with its style; wrapped to `width` columns under its label, or in one line where None."""
    last = ""
    for row in rows:
        label = "" if row.label == last else row.label
        last = row.label
        hang = " " * (LABEL + 2 * row.text.startswith("  "))
        text: Sequence[str] = [f"{label:<{LABEL}}{row.text}"]
        if width is not None:
            text = textwrap.wrap(text[0], max(width, 40), subsequent_indent=hang, drop_whitespace=True)
        yield from ((line, row.style) for line in text)


def show_rows(rows: Iterable[Row]) -> None:
    """Prints rows to standard output: coloured and wrapped on a terminal, plain lines elsewhere."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for line, style in lines(rows, console.width if console.is_terminal else None):
        console.print(line, style=style or None, markup=False)
