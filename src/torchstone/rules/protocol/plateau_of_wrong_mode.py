"""RUN333: a plateau schedule that waits for the wrong direction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_schedule

NUM = 2
HIGH = ("acc", "auc", "iou", "dice", "bleu", "r2", "f1", "score", "recall", "precision", "kappa", "mcc", "reward")
LOW = ("loss", "err", "mse", "rmse", "mae", "ppl", "perplexity", "nll", "wer", "cost")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per plateau schedule whose metric has a name that says the other direction."""
    for row in of(rows, "schedule"):
        names = row.get("metric_names") or []
        high, low = [n for n in names if is_like(n, HIGH)], [n for n in names if is_like(n, LOW)]
        mode, steps = row.get("mode"), len(row.get("metrics") or [])
        if steps < NUM or (high and low) or not ((mode == "min" and high) or (mode == "max" and low)):
            continue
        name, wish = (high or low)[0], "fall" if mode == "min" else "rise"
        what = f"{row['kind']} with mode='{mode}' is given '{name}', and lowers the rate unless that {wish}s"
        yield found(RULE, what, where=at(row),
                    evidence={"mode": mode, "name": name, "values": list(row["metrics"])[:8]})


def is_like(name: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is a part of a name, or, if it is short, stands by itself in it."""
    pieces = re.split(r"[^a-z0-9]+", name.lower())
    return any(word in pieces or (len(word) >= 3 and any(piece.startswith(word) or piece.endswith(word)
                                                         for piece in pieces)) for word in words)



def _schedule(name: str) -> list[dict[str, object]]:
    row = toy_schedule(kind="ReduceLROnPlateau", mode="min", metrics=[0.4, 0.6], metric_names=["value", name])
    return toy_loop(more=[row])


RULE = Rule(
    code="RUN333",
    name="plateau_of_wrong_mode",
    severity="error",
    summary="the plateau schedule watches for the wrong direction",
    why="Each improvement counts as a bad epoch: the rate is cut while the model still learns.",
    fix="mode='max' for a score that should rise (accuracy, R2, IoU), mode='min' for a loss.",
    source="torch 2.14 documentation, ReduceLROnPlateau; selene#115; ViS4mer#4",
    check=check,
    trips=lambda: _schedule("val_acc"),
    passes=lambda: _schedule("val_loss"),
    wrong_when="the name misleads: a score that is better when lower",
    threshold=f"{NUM} steps; the name of the value in the script is the evidence",
    confidence="likely",
)
