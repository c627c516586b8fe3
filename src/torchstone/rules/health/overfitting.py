"""RUN606: validation gets worse while training gets better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._pictures import points
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders

SINCE, WORSE = 3, 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader whose loss has risen by a tenth in three passes or more since its best."""
    trained = training_loaders(rows)
    passes: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "pass"):
        if row["loader"] not in trained and isinstance(row.get("own_loss"), float) and row["first_step"] > 0:
            passes[row["loader"]].append(row)
    for group in passes.values():
        losses = [row["own_loss"] for row in group]
        if not all(math.isfinite(loss) for loss in losses):
            continue
        best = min(range(len(losses)), key=losses.__getitem__)
        chosen = max((number for number, row in enumerate(group) if row.get("is_best")), default=0)
        after = losses[max(best, chosen) + 1 :]  # while the metric that chooses still gets better, nothing is lost
        is_rising = len(after) >= SINCE and min(after[-SINCE:]) > (1 + WORSE) * losses[best]
        if is_rising and _train_fell(rows, group[best], group[-1]):
            row = group[best]
            what = (f"the evaluation loss was best at step {row['first_step']} ({losses[best]:.4g}) and is "
                    f"{losses[-1]:.4g} after {len(after)} more passes, while the training loss fell")
            yield found(RULE, what, where=at({**row, "step": row["first_step"]}),
                        evidence={"best_step": row["first_step"], "best": losses[best], "last": losses[-1],
                                  "series": _series(rows, group)})


def _series(rows: Rows, group: list[Row]) -> dict[str, list[list[float]]]:
    """The curves of both losses, for a picture."""
    trained = points(group, "train_loss", step="first_step") or points(of(rows, "step"), "loss")
    return {"evaluation": points(group, "own_loss", step="first_step"), "training": trained}


def _train_fell(rows: Rows, best: Row, last: Row) -> bool:
    """Whether the training loss of the last steps is below that around the best evaluation."""
    if is_number(best.get("train_loss")) and is_number(last.get("train_loss")):
        return bool(last["train_loss"] < best["train_loss"])
    step = best["first_step"]
    losses = [(row["step"], row["loss"]) for row in of(rows, "step") if isinstance(row.get("loss"), float)]
    near = [loss for at_step, loss in losses if step - 20 <= at_step <= step]
    late = [loss for _, loss in losses[-20:]]
    return bool(near and late) and sum(late) / len(late) < sum(near) / len(near)


def _passes(*losses: float) -> list[dict[str, object]]:
    return [toy_pass(own_loss=loss, number=n, first_step=5 * n, own_num=96) for n, loss in enumerate(losses, 1)]


RULE = Rule(
    code="RUN606",
    name="overfitting",
    severity="advice",
    summary="the model overfits since its best epoch",
    why="From there on it learns the training examples by heart; the last weights are worse than the best ones.",
    fix="Keep the weights of the best epoch or stop there; more data, augmentation, weight decay or dropout help.",
    source="Prechelt 1998, Early Stopping - But When?",
    check=check,
    trips=lambda: toy_loop(more=_passes(1.0, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9)),
    passes=lambda: toy_loop(more=_passes(1.0, 0.6, 0.5, 0.49, 0.5, 0.48, 0.47)),
    wrong_when="accuracy is what counts and still rises: then probabilities only grow too sure",
    threshold=f"{WORSE:.0%} above the best in each of the last {SINCE} passes",
    confidence="likely",
    explains=("RUN806",),
)
