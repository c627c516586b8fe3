"""RUN416: a language model that sees the tokens it has to say."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop

LEAST = 1e-3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model whose answers changed where only later tokens were changed."""
    for row in of(rows, "looked_ahead"):
        if row.get("is_changed") and row["difference"] > LEAST:
            what = (f"answers at the first {row['middle']} places change by {row['difference']:.2g} deviations when "
                    "only tokens after them are changed; the targets are those tokens")
            yield found(RULE, what, where=at(row, place_of(rows, "loss", has_grad=True)),
                        evidence={"difference": row["difference"], "places": row["middle"]})
            return


def _looked(difference: float) -> list[dict[str, object]]:
    row = {"event": "looked_ahead", "step": 20, "root": 0, "middle": 16, "is_changed": True, "difference": difference}
    return toy_loop(more=[row])


RULE = Rule(
    code="RUN416",
    name="sees_the_future",
    severity="error",
    summary="the next token is to be said, and the model is shown it",
    why="The loss falls far below what is possible, and what is generated is nonsense: no future is there then.",
    fix="Give attention a causal mask (is_causal=True, or a triangular one), and pad convolutions on the left only.",
    source="Ben Braiek & Khomh 2023, TheDeepChecker: dependency of outputs on inputs; Karpathy 2019, A Recipe for "
           "Training Neural Networks: use backprop to chart dependencies",
    check=check,
    trips=lambda: _looked(0.4),
    passes=lambda: _looked(0.0),
    wrong_when="targets are shifted inputs by chance, as in a bidirectional tagger",
    threshold=f"a difference above {LEAST:g} standard deviations of the answers: rounding stays far below",
)
