"""REV104: the schedule steps after the optimizer."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import of, toy_loop, toy_schedule
from torchstone.rules.protocol.scheduler_before_optimizer import is_sick
from torchstone.rules.review._ask import (
    by_the_loop,
    ledger,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    steps,
    unsure,
)
from torchstone.rules.review._toy import watched


def scheduler_after_optimizer(run: Reviewed) -> Answer:
    """Whether the learning rate moves on after the optimizer's step, once for each."""
    if run.kind == "run":
        return _own(run)
    schedules = of(run.rows, "schedule")
    for row in schedules:
        if is_sick(row):
            return refused(f"{row['kind']} stepped before the optimizer, {row['pending']} of {row['steps']} times",
                           seen_row(row, f"pending {row['pending']}"))
    early = [row for row in schedules if row["pending"] or not row["steps"]]
    if early:
        return unsure(f"{early[0]['kind']} stepped {early[0]['steps']} times, {early[0]['pending']} of them early",
                      seen_row(early[0], f"pending {early[0]['pending']}"))
    if schedules:
        return passed(f"{len(schedules)} scheduler(s) stepped after the optimizer, each time",
                      *(seen_row(row, f"{row['kind']}: {row['steps']} steps, pending 0") for row in schedules[:3]))
    rates = {row.get("lr") for row in steps(run)}
    if len(rates) == 1:
        row = steps(run)[0]
        return left_out("the rate is the same at every step that was seen", seen_row(row, f"lr {row.get('lr')}"))
    return not_seen(run, "a scheduler of torch, while the rate changes" if rates else "a scheduler")


def _own(run: Reviewed) -> Answer:
    made = [(line, row) for line, row in run.of("step") if row.get("lr") is not None]
    rates = [row["lr"] for _, row in made]
    lines = plan_lines(run, "schedule.name", "schedule.options.warmup")
    if rates and min(rates) == max(rates):
        return left_out(f"the rate is {rates[0]:g} at all {len(rates):,} steps", *lines)
    proofs = [ledger(run, *made[n], f"lr {rates[n]:g}") for n in (0, -1)] if made else []
    return by_the_loop(run, "the rate is a function of the optimizer steps that were made: it is set before each step "
                            "and moves on only with it", "rates.py", "def set_rates", *proofs, *lines)


RULE: Rule = Rule(
    code="REV104",
    name="scheduler_after_optimizer",
    severity="error",
    summary="the scheduler stepped before the optimizer",
    why="The first rate of the schedule is skipped, and every later one comes a step early.",
    fix="Call scheduler.step() after optimizer.step().",
    source="torch 2.14 documentation, torch.optim, How to adjust learning rate",
    check=lambda run: said_no(RULE, scheduler_after_optimizer(run)),
    trips=lambda: watched(toy_loop(more=[toy_schedule(pending=40)])),
    passes=lambda: watched(toy_loop(more=[toy_schedule()])),
)
