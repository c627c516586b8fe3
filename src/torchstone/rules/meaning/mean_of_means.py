"""RUN420: a validation loss in which the last, smaller batch counts as much as a full one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders

PASSES, SHOWN, LARGE = 2, 0.01, 0.05


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader over two passes of which the script has added up the means of unequal batches.

    A warning where the two means differ by a twentieth in both, advice where they differ by a hundredth.
    """
    trained = training_loaders(rows)
    passes: dict[int, list[tuple[Row, Row]]] = defaultdict(list)
    for row in of(rows, "pass"):
        seen = sums(row)
        if seen and row["loader"] not in trained and gap(seen) >= SHOWN:
            passes[row["loader"]].append((row, seen))
    for group in passes.values():
        if len(group) < PASSES:
            continue
        (row, seen), smallest = group[-1], min(gap(one) for _, one in group)
        what = (f"{seen['added_up']} adds up the means of {row['batches']} batches, the last of which is smaller: "
                f"{seen['mean_of_means']:.5g}, where the mean over all {seen['num']} examples is "
                f"{seen['mean']:.5g}")
        yield found(RULE, what, where=at(row), severity="warning" if smallest >= LARGE else "advice", evidence={
            "mean_of_means": seen["mean_of_means"], "mean": seen["mean"], "passes": len(group)})  # fmt: skip


def sums(row: Row) -> Row | None:
    """What a pass's row says of means that were added up: of a loss function of torch, else of a formula."""
    if row.get("added_up"):
        return {"added_up": row["added_up"], "mean_of_means": row.get("own_mean_of_means"), "mean": row.get("own_loss"),
                "num": row.get("own_num")}  # fmt: skip
    own: Row | None = row.get("own_means")
    return own


def gap(seen: Row) -> float:
    """How far the two means of a pass lie apart, as a share of the right one."""
    one, other = seen["mean_of_means"], seen["mean"]
    if not is_number(one) or not is_number(other) or not other:
        return 0.0
    return float(abs(one - other) / abs(other))


def _passes(means: float) -> list[dict[str, object]]:
    return [toy_pass(number=n, first_step=14 * n, own_loss=0.50, own_mean_of_means=means, own_num=96,
                     added_up="total_loss") for n in (1, 2)]  # fmt: skip


RULE = Rule(
    code="RUN420",
    name="mean_of_means",
    severity="warning",
    summary="the evaluation loss is a mean of means over unequal batches",
    why="An example of the small last batch counts many times as much as another; the loss changes with the batch "
        "size, and so may which epoch is best.",
    fix="Add up loss.item() * len(batch), and divide by the number of examples.",
    source="catalyst#799; pytorch/tutorials#179; tez#19",
    check=check,
    trips=lambda: toy_loop(more=_passes(0.56)),
    passes=lambda: toy_loop(more=_passes(0.501)),
    wrong_when="the number is not what is reported or chosen by",
    threshold=f"a difference of {SHOWN:.0%} is told as advice, of {LARGE:.0%} as a warning, in {PASSES} passes",
)
