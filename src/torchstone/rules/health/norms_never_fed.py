"""RUN617: an averaged model whose batch norms hold what they were made with."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

CHANGES = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per copy in evaluation whose weights follow those that are trained, and whose statistics do not."""
    for row in of(rows, "copy"):
        if row["num_norms"] and row["num_changes"] >= CHANGES:
            what = (f"the weights of a {row['class']} outside of all optimizers follow the training, and its "
                    f"{row['num_norms']} batch norms still hold mean 0 and variance 1: they were never fed nor copied")
            yield found(RULE, what, where=at(row),
                        evidence={"norms": row["num_norms"], "changes": row["num_changes"]})


def _copy(num_norms: int) -> list[dict[str, object]]:
    row = {"event": "copy", "step": 0, "place": "train.py:9", "class": "Net", "num_norms": num_norms, "num_changes": 4}
    return toy_loop(more=[row])


RULE = Rule(
    code="RUN617",
    name="norms_never_fed",
    severity="error",
    summary="an average of weights without the statistics of its batch norms",
    why="In evaluation batch norms use running statistics; with those of a new model the answers are nonsense, however "
        "good the weights are.",
    fix="Copy the buffers too at each update, or call torch.optim.swa_utils.update_bn(loader, model) at the end.",
    source="torch 2.14 documentation, AveragedModel: use_buffers, update_bn",
    check=check,
    trips=lambda: _copy(4),
    passes=lambda: _copy(0),
    threshold=f"weights that were other ones at {CHANGES} looks, ten steps apart; statistics of exactly 0 and 1",
)
