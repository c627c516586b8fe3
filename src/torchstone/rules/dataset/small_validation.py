"""DAT209: a validation part too small to tell models apart."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import spread

HALF_WIDTH = 0.2


def half_width(num: int) -> float:
    """Half of Wilson's 95 % interval of a share of one half, from `num` examples: how far off accuracy may be."""
    z = 1.959964
    return z * math.sqrt(0.25 / num + z * z / (4 * num * num)) / (1 + z * z / num)


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where validation is empty, or so small that its interval is wider than the threshold."""
    num = len(dataset.rows("validation"))
    if num == 0:
        yield found(RULE, "there is no validation example: no epoch can be called the best one",
                    evidence={"examples": 0})
    elif half_width(num) > HALF_WIDTH:
        width = half_width(num)
        # an error of a number has no such simple interval, but as few examples know it no better
        less = f"know an accuracy of 50 % only to ±{100 * width:.0f} points" if dataset.classes else (
            "know an error only roughly: one odd example moves it"
        )
        yield found(
            RULE,
            f"{num:,} validation examples {less}",
            evidence={"examples": num, "half_width": width, "threshold": HALF_WIDTH},
        )


RULE = Rule(
    code="DAT209",
    name="small_validation",
    severity="warning",
    summary="the validation part is too small to tell one model from another",
    why="The best epoch is then chosen by luck, and early stopping with it.",
    fix="Give validation a larger share (data.split), or collect more examples.",
    source="Wilson 1927; half of the 95 % interval at a share of one half",
    check=check,
    trips=lambda: spread(100, shares=(85, 10, 5)),
    passes=lambda: spread(200),
    wrong_when="differences between the models are larger than the interval",
    threshold="±20 points, which is 20 examples or fewer (our choice)",
)
