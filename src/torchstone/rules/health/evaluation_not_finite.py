"""RUN615: an evaluation loss that is not finite, while the training loss is a number."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader, at its first loss that is NaN or infinite, unless training was so before."""
    trained, told = training_loaders(rows), set()
    for row in of(rows, "pass"):
        loss = row.get("own_loss")
        if row["loader"] in trained or row["loader"] in told or not isinstance(loss, float) or math.isfinite(loss):
            continue
        step = row.get("last_step") or row["first_step"]
        if any(is_before(bad, step) for bad in of(rows, "non_finite")) or not _is_trained(rows, step):
            continue
        told.add(row["loader"])
        named = f" of '{row['target']}'" if row.get("target") else ""
        low, high = row.get("target_low"), row.get("target_high")
        is_known = is_number(low) and is_number(high)
        targets = f"; its targets{named} reach from {low:.4g} to {high:.4g}" if is_known else ""
        times = sum(one["loader"] == row["loader"] and isinstance(one.get("own_loss"), float)
                    and not math.isfinite(one["own_loss"]) for one in of(rows, "pass"))  # fmt: skip
        what = f"the evaluation loss at step {step} is {loss}, while that of training is a number{targets}"
        place = at({**row, "step": step})
        where = Where(place.path, place.line, step=step, field=row.get("target"))
        yield found(RULE, what, where=where, evidence={"value": str(loss), "times": times, "low": low, "high": high})


def is_before(bad: Row, step: int) -> bool:
    """Whether a loss or gradient of training was not finite by then."""
    return bool(bad["step"] <= step + 1)


def _is_trained(rows: Rows, step: int) -> bool:
    """Whether the last training loss before was a number, as far as one is known."""
    losses = [row["loss"] for row in of(rows, "step") if row["step"] <= step and isinstance(row.get("loss"), float)]
    return not losses or math.isfinite(losses[-1])


RULE = Rule(
    code="RUN615",
    name="evaluation_not_finite",
    severity="warning",
    summary="the evaluation loss is NaN or infinite, and that of training is not",
    why="The best epoch, early stopping and a schedule that follows the loss have nothing to go by, and no mean over "
        "these examples means anything.",
    fix="Look for held-out examples with extreme or missing numbers; a logarithm of 0 in the loss is another cause.",
    source="IEEE 754: no finite result comes out of a sum with an infinity; no threshold",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(own_loss=math.inf, own_num=96)]),
    passes=lambda: toy_loop(more=[toy_pass(own_loss=0.4, own_num=96)]),
    wrong_when="an evaluation loss may be infinite by definition, as a negative log-likelihood of what cannot be",
)
