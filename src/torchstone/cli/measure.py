"""`--find-lr` and `--find-batch` of `plan` and `train`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from torchstone.cli import show

if TYPE_CHECKING:
    from torchstone.core.event import Observer
    from torchstone.core.plan import Plan
    from torchstone.flows.plan import Planned
    from torchstone.flows.time_limit import TimeSpent

TIME_HELP = "Be done in this time, from the call to the report; where it went is said at the end."
F = TypeVar("F", bound=Callable[..., Any])


def finders(verb: F) -> F:
    """The two options."""
    verb = click.option("--find-batch", is_flag=True, help="Measure first which micro-batch fits.")(verb)
    return click.option("--find-lr", is_flag=True, help="Measure the learning rate by a range test first.")(verb)


def time_limit(verb: F) -> F:
    """`--time` of `train`."""
    return click.option("--time", "limit", metavar="10m", help=TIME_HELP)(verb)


def fitted(planned: Planned, project: Path, limit: str | None, begun: float) -> tuple[Planned, list[Observer]]:
    """The plan with as many epochs as fit into the time, and the observer that keeps to it.

    limit: as `--time` has it, None for none; begun: `time.monotonic()` at the beginning of the call.
    """
    if limit is None:
        return planned, []
    from torchstone.flows.find import fit_into
    from torchstone.flows.time_limit import TimeLimit, seconds_of

    deadline = begun + seconds_of(limit)
    planned, validation_s = fit_into(planned, project=project, seconds=deadline - time.monotonic())
    return planned, [TimeLimit(deadline, validation_s, begun=begun)]


def limits(limit: str | None, begun: float) -> list[Observer]:
    """The observer that ends a resumed run when its time is over; nothing is measured, its epochs stand."""
    if limit is None:
        return []
    from torchstone.flows.time_limit import TimeLimit, seconds_of

    return [TimeLimit(begun + seconds_of(limit), validation_s=0.0, begun=begun)]


def time_spent(limit: str | None, begun: float) -> TimeSpent | None:
    """The observer that says at the end where the time of `--time` went; None without a limit."""
    if limit is None:
        return None
    from torchstone.flows.time_limit import TimeSpent, seconds_of

    return TimeSpent(seconds_of(limit), begun)


def settings(before: Plan, after: Plan) -> list[str]:
    """What was measured, in the words of --set: a call with them measures nothing anew."""
    changed = [choice for choice in after if choice.value != before.get(choice.field)]
    return [f"{choice.field.replace('.options.', '.')}={json.dumps(choice.value)}" for choice in changed]


def measured(planned: Planned, project: Path, given: dict[str, Any]) -> Planned:
    """The plan with what was asked for measured; prints it for a person, and leaves the picture in .torchstone."""
    if not (given["find_lr"] or given["find_batch"]):
        return planned
    from torchstone.core.store import write_text
    from torchstone.flows.find import measure
    from torchstone.report.finders import batch_lines, rate_line, rate_page

    if not given["is_json"] and show.is_first_rank() and sys.stderr.isatty():
        click.echo("measuring   on this data, model and machine: it may take minutes", err=True)
    found = measure(planned, project=project, rate=given["find_lr"], batch=given["find_batch"])
    said = [("find-batch", line) for line in batch_lines(found.batch)] if found.batch else []
    if found.rate:
        picture = project / ".torchstone" / "find-lr.html"
        write_text(picture, rate_page(found.rate))
        said += [("find-lr", rate_line(found.rate)), ("", str(picture))]
    if not given["is_json"] and show.is_first_rank():
        for name, line in said:
            click.echo(f"{name:<12}{line}")
    return found.planned
