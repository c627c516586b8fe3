"""RUN423: a sequence model that is asked for padding."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

CALLS, SHARE = 3, 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the sequences of each training batch read are filled up with one token that is scored."""
    calls = [row for row in of(rows, "loss") if row["has_grad"] and row["function"] in ("cross_entropy", "nll_loss")]
    sick = [row for row in calls if row.get("tail") and row["tail"]["share"] >= SHARE and row["reduction"] != "none"]
    if len(sick) < CALLS or len(sick) != len(calls) or len({row["tail"]["token"] for row in sick}) > 1:
        return
    tail, ignored = sick[-1]["tail"], sick[-1].get("ignored")
    other = "" if ignored in (None, -100) else f"; ignored is {ignored}"
    what = (f"{tail['rows']} of {tail['of']} sequences are filled up with token {tail['token']}, {tail['share']:.0%} "
            f"of all places, and the loss counts them{other}")
    yield found(RULE, what, where=at(sick[-1]), evidence={**tail, "ignored": ignored})


def _loss(share: float) -> dict[str, object]:
    return toy_loss(tail={"token": 0, "rows": 28, "of": 32, "share": share})


RULE = Rule(
    code="RUN423",
    name="padding_scored",
    severity="warning",
    summary="the loss counts padding",
    why="Padding is easy to say: the loss looks better than it is, and the more so the longer the batch's longest "
        "sequence.",
    fix="cross_entropy(…, ignore_index=PAD), or set those targets to -100.",
    source="torch 2.14 documentation, cross_entropy: ignore_index; the share: starting point",
    check=check,
    trips=lambda: toy_loop(more=[_loss(0.4)] * 3),
    passes=lambda: toy_loop(more=[_loss(0.02)] * 3),
    wrong_when="the token that ends sequences may stand at the end many times",
    threshold=f"{SHARE:.0%} of all places, in {CALLS} batches, at ends only and in runs of different lengths",
    confidence="likely",
)
