"""RUN350: ranks that should hold one model hold several."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, place_of, toy_loop

APART, CHECKS = 1e-3, 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the weights of two ranks lay apart at two looks, the later one included."""
    seen = [row for row in of(rows, "alike") if row["of"] == "weights" and row.get("difference") is not None]
    sick = [row for row in seen if row["difference"] > APART and is_tied(row)]
    if len(sick) < CHECKS or seen[-1]["difference"] <= APART:
        return
    row, first = sick[-1], sick[0]
    when = "from the first step on" if first["at_step"] <= 1 else f"since step {first['at_step']} or before"
    what = (f"the weights of this rank and of rank {row['other']} differ {when}: by {row['difference']:.2g} of their "
            f"spread after {row['at_step']} steps")
    severity = "error" if row["wrappers"] else "warning"
    fix = None if row["wrappers"] else (
        "Broadcast the first weights from rank 0 (or seed all ranks alike before the model is built), and average the "
        "gradients of every parameter; DistributedDataParallel does both.")  # fmt: skip
    yield found(RULE, what, where=at(row, place_of(rows, "optimizer")), severity=severity, fix=fix,  # type: ignore[arg-type]
                evidence={"difference": row["difference"], "other": row["other"], "first": first["at_step"]})


def is_tied(row: Row) -> bool:
    """Whether the ranks mean to hold one model: wrapped, or with a collective call at each step."""
    return bool(row["wrappers"]) or row["collectives"] >= row["at_step"]


def alike(**different: object) -> dict[str, object]:
    """A row of a sound look at another rank's weights."""
    return {"event": "alike", "step": 9, "of": "weights", "other": 1, "at_step": 8, "world": 2, "is_same": False,
            "difference": 0.0, "wrappers": ["DistributedDataParallel"], "collectives": 0, **different}  # fmt: skip


RULE = Rule(
    code="RUN350",
    name="ranks_diverged",
    severity="error",
    summary="the ranks train different models",
    why="Gradients that are averaged belong to no model any more; one rank's is saved, and results get worse with "
        "every step that they drift apart.",
    fix="Do the same on all ranks between backward and step: clip, skip, and rate; take no step of one rank alone.",
    source="pytorch#104336; LongLive#71; deepspeed#1801 (BLOOM-176B: one rank clipped); Jiang et al. 2025, TrainCheck",
    check=check,
    trips=lambda: toy_loop(more=[alike(difference=0.4), alike(difference=0.9, at_step=16)]),
    passes=lambda: toy_loop(more=[alike(), alike(difference=1e-7, at_step=16)]),
    wrong_when="each rank holds its own part of the model, or averages weights only now and then",
    threshold=f"{APART:g} of the weights' spread at {CHECKS} looks; without a wrapper only where every step sends",
)
