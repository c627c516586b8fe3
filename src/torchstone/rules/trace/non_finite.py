"""RUN201: a loss or gradient that is no number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._non_finite import Cause, cause
from torchstone.rules._numbers import is_number
from torchstone.rules.trace._steps import Trace, steps, toy_run

# How many times the first loss the last one must be for the run, not an example, to be at fault.
GROWN = 10.0


def check(trace: Trace) -> Iterator[Finding]:
    """One finding, at the first step whose loss or gradient norm is not finite; overflows of fp16 are RUN202's."""
    for row in trace:
        if row.get("event") == "finding" and row.get("problem") in ("loss", "gradient"):
            yield told(row, growth(trace))
            return
    for row in steps(trace):
        if row.get("scale", 1.0) != 1.0 or row.get("skipped") == "no target counts":
            continue
        for field, called in (("loss", "loss"), ("grad_norm", "gradient norm")):
            if field in row and not is_number(row[field]):
                yield found(RULE, f"the {called} of step {row['step']} is not a finite number",
                            where=Where(step=row["step"]), evidence={"step": row["step"], "field": field})
                return


def growth(trace: Trace) -> tuple[float, float] | None:
    """The first and the last finite loss, where the last is more than `GROWN` times the first: the run blew up."""
    losses = [float(row["loss"]) for row in steps(trace) if is_number(row.get("loss"))]
    return (losses[0], losses[-1]) if len(losses) > 1 and losses[-1] > GROWN * abs(losses[0]) else None


def told(row: dict[str, Any], grown: tuple[float, float] | None) -> Finding:
    """The finding of a loop that stopped before the update, named the examples, and looked at the batch once more.

    row: problem, step, examples, num, is_culprit_known; post_mortem, where there is one.
    """
    examples = [str(example) for example in row.get("examples", [])]
    how = None if grown is None else f"the loss had grown from {grown[0]:.3g} to {grown[1]:.3g} before"
    autopsy = row.get("post_mortem") or {}
    why = cause(autopsy, how) if autopsy or how else None
    is_of_examples = bool(row.get("is_culprit_known")) and (why is None or why.kind != "explosion")
    parts = [why.what] if why is not None and not (is_of_examples and why.kind == "unknown") else []
    if is_of_examples and (why is None or why.kind != "data"):
        parts.append(f"it comes from {_listed(examples, row)}")
    elif not parts or (why is not None and why.kind not in ("explosion", "data")):
        parts.append(f"its batch was {_listed(examples, row)}, none of which is at fault alone")
    return found(
        RULE,
        f"the {row['problem']} of step {row['step']} is not a finite number; {'; '.join(parts)}",
        where=Where(step=row["step"], example=examples[0] if is_of_examples and examples else None,
                    layer=str(autopsy["layer"]) if autopsy.get("layer") else None),
        evidence={"step": row["step"], "field": row["problem"], "examples": examples,
                  "is_culprit_known": bool(row.get("is_culprit_known")), "grown": list(grown) if grown else None,
                  "cause": why.kind if why else None, **_seen(autopsy)},
        fix=_fix(why),
    )  # fmt: skip


def _listed(examples: list[str], row: dict[str, Any]) -> str:
    num = int(row.get("num", 0))
    return ", ".join(examples[:3]) + (f" and {num - 3:,} more" if num > 3 else "")


def _fix(why: Cause | None) -> str | None:
    if why is None or why.kind == "unknown":
        return None
    if why.kind == "explosion":
        return "Lower optimizer.lr, tenfold for a start, or set train.clip_norm."
    return f"{why.fix or RULE.fix} torchstone replay shows the batch layer by layer."


def _seen(autopsy: dict[str, Any]) -> dict[str, Any]:
    """What of an autopsy is evidence."""
    names = ("phase", "layer", "class", "operation", "operands", "output", "wide", "data", "weights", "gradients")
    return {name: autopsy[name] for name in names if autopsy.get(name) is not None}


RULE = Rule(
    code="RUN201",
    name="non_finite",
    severity="error",
    summary="the loss or the gradient is infinite or not a number",
    why="One update with it makes every weight NaN, and nothing learnt before is left.",
    fix="Mend broken values in the named examples; if they are sound, lower optimizer.lr or set train.clip_norm.",
    source="trl#6702: one bad batch, and the log of the run went on looking healthy",
    check=check,
    threshold="yes or no; a loss of 10 times the first one before it puts the blame on the run (our choice)",
    trips=lambda: toy_run(change=lambda step, row: {"loss": None} if step == 50 else {}),
    passes=toy_run,
    needs=("loss", "grad_norm"),
    explains=("RUN801", "RUN803", "RUN804", "RUN805", "RUN813"),
)
