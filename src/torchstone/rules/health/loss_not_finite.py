"""RUN601: the loss is no number any more."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._non_finite import Cause, cause
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, of, place_of, toy_input, toy_loop, toy_non_finite

STREAK, GROWN, LARGE_UPDATE, SCALED_STREAK = 2, 10.0, 0.5, 10
AUTOPSY = ("phase", "layer", "class", "operation", "operands", "output", "data", "weights", "gradients", "kept",
           "not_kept")  # fmt: skip
UNKNOWN_FIX = (
    "Look for a logarithm, a root or a division of zero in the loss (add an epsilon), and for broken inputs."
)
RATE_FIX = "Lower the learning rate, tenfold for a start; warm up, or clip gradients."


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the loss of two steps in a row is bad, or a bad one has spoilt the weights, with the cause."""
    steps = [row for row in of(rows, "step") if row.get("loss") is not None]
    born = next((row for row in of(rows, "non_finite") if row.get("num_used")), None)
    index = _first_bad(steps)
    if index is None and not any(_is_certain(row) for row in of(rows, "non_finite")):
        return
    step = steps[index] if index is not None else born
    assert step is not None
    is_earlier = born is not None and (index is None or born["step"] <= step["step"])
    row = born if is_earlier and born is not None else step
    before = [one for one in steps if one["step"] <= row["step"] or (index is not None and one is steps[index])]
    why = _cause(rows, before, born)
    what = f"the {row.get('problem', 'loss')} is {_value(row)} from step {row['step']} on"
    autopsy = {name: born[name] for name in AUTOPSY if born.get(name)} if born else {}
    kept = f"; its batch is kept in {born['kept']}" if born and born.get("kept") else ""
    yield found(RULE, f"{what}: {why.what}{kept}", fix=why.fix,
                where=at(row, place_of(rows, "loss", has_grad=True) or row.get("place"), autopsy.get("layer")),
                evidence={"first": row["step"], "before": [one["loss"] for one in before[-4:-1]], "cause": why.kind,
                          "threshold": STREAK, **autopsy})  # fmt: skip


def _first_bad(steps: list[Row]) -> int | None:
    """The step at which a streak of bad losses begins, or the last of all where it is bad."""
    bad = {index for index, row in enumerate(steps) if not math.isfinite(row["loss"])}
    first = next((index for index in sorted(bad) if index + 1 in bad or index + 1 == len(steps)), None)
    return first if len(bad) >= min(STREAK, len(steps)) else None


def _is_certain(born: Row) -> bool:
    """Whether weights are lost already, or a loss scaler skips one step after the other for a loss that is bad."""
    is_stuck = born.get("is_scaled") and born.get("most_in_a_row", 0) >= SCALED_STREAK
    return bool(born.get("is_spoilt") or is_stuck)


def _value(row: Row) -> str:
    if row.get("problem") == "gradient":
        return "not finite"
    value = row.get("value", row.get("loss"))
    return "not finite" if value is None else str(value)


def _cause(rows: Rows, before: list[Row], born: Row | None) -> Cause:
    """What the graph of the first bad loss shows; else what went before it, or what the first inputs held."""
    growth = _growth(before)
    told = None
    if born is not None:
        told = cause(born, growth)
        if told.kind == "explosion":
            return Cause("explosion", told.what, RATE_FIX)
        if told.kind != "unknown":
            return told
    if any(row.get("num_bad") for row in of(rows, "input")):
        return Cause("data", "an input held NaN or infinity", "Find the examples with torch.isfinite, and mend or drop "
                                                              "them.")
    if growth is not None:
        return Cause("explosion", f"the run blew up: {growth}", RATE_FIX)
    if before and before[-1].get("autocast") == "float16":
        return Cause("overflow", "the forward pass runs in float16, whose largest number is 65,504",
                     "Use bfloat16 or a GradScaler.")
    seen = told.what if told is not None and born is not None and born.get("layer") else None
    return Cause("unknown", seen or "nothing that was seen explains it", UNKNOWN_FIX)


def _growth(before: list[Row]) -> str | None:
    losses = [row["loss"] for row in before if math.isfinite(row["loss"])]
    ratios = [row["update_ratio"] for row in before if is_number(row.get("update_ratio"))]
    parts = []
    if losses and losses[-1] > GROWN * abs(losses[0]):
        parts.append(f"the loss had grown from {losses[0]:.3g} to {losses[-1]:.3g} before")
    if ratios and max(ratios) > LARGE_UPDATE:
        parts.append(f"an update was {max(ratios):.2g} times the weights")
    return " and ".join(parts) or None


RULE = Rule(
    code="RUN601",
    name="loss_not_finite",
    severity="error",
    summary="the loss is NaN or infinite",
    why="Every weight that such a gradient reaches is lost; what was learnt before is gone with the first step.",
    fix="Look at the step before: inputs, learning rate, logarithms of zero.",
    source="trl#6702; torch 2.14 documentation, Automatic Mixed Precision",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"loss": math.inf} if number > 20 else {}, more=[toy_input()]),
    passes=lambda: toy_loop(more=[toy_non_finite(num_used=0, num_skipped=1)]),
    threshold=f"{STREAK} steps in a row, or one that made weights NaN, or {SCALED_STREAK} in a row that a loss scaler "
              f"skipped; blown up: a loss {GROWN:g} times the first, or updates above {LARGE_UPDATE}",
    explains=("RUN602", "RUN604", "RUN605", "RUN303", "RUN503", "RUN501", "RUN613", "RUN801", "RUN803", "RUN804",
              "RUN805", "RUN813"),
    is_of_one_cause=lambda mine, other: other.code != "RUN501" or mine.evidence.get("cause") == "data",
)  # fmt: skip
