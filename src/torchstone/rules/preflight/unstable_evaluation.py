"""RUN708: evaluation that is a draw."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.meaning.random_in_evaluation import DIFFERENCE
from torchstone.rules.preflight._rows import Rows, measured, toy_rows


def check(rows: Rows) -> Iterator[Finding]:
    """One finding each where model or data of evaluation give something else the second time."""
    for row in measured(rows, "evaluation"):
        if row["difference"] > DIFFERENCE:
            what = f"in eval mode the same batch gives other outputs when run again (by {row['difference']:.2g} of " \
                   "their spread)"
            yield found(RULE, what, evidence={"difference": row["difference"], "threshold": DIFFERENCE})
    for row in measured(rows, "augmentation"):
        if row.get("is_evaluation_random"):
            yield found(RULE, "the same examples come differently each time they are made for evaluation",
                        evidence={"is_evaluation_random": True})


RULE = Rule(
    code="RUN708",
    name="unstable_evaluation",
    severity="warning",
    summary="the same examples are judged differently each time",
    why="Every score is a draw, and a worse one: the best checkpoint is chosen by luck.",
    fix="Use nn.Dropout, or F.dropout(x, p, training=self.training); scaled_dot_product_attention wants dropout_p=0 in "
        "evaluation. Augment training examples alone.",
    source="pytorch#26338, #124464; transformers#33844",
    check=check,
    trips=lambda: toy_rows("evaluation", difference=0.4),
    passes=lambda: toy_rows("evaluation", difference=1e-6),
    wrong_when="the model samples on purpose, as a variational autoencoder does",
    threshold=f"{DIFFERENCE:g} of the outputs' spread",
)
