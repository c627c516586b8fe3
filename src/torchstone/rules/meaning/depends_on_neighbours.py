"""RUN410: an example's answer depends on the others in its batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop

DIFFERENCE = 0.01


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a model in evaluation answered otherwise when half of the batch was taken away."""
    for row in of(rows, "asked"):
        part, again = row.get("part_difference"), row.get("repeat_difference")
        if part is not None and part > DIFFERENCE and (again is None or part > 10 * again):
            what = (f"in evaluation the same examples get other outputs when the rest of their batch is left out "
                    f"(by {part:.2g} of the outputs' spread)")
            yield found(RULE, what, where=at(row, place_of(rows, "loss", has_grad=False)),
                        evidence={"difference": part, "threshold": DIFFERENCE, "repeat_difference": again})
            return


def _asked(part: float, again: float) -> dict[str, object]:
    return {"event": "asked", "step": 14, "root": 0, "num": 40, "part_difference": part, "repeat_difference": again}


RULE = Rule(
    code="RUN410",
    name="depends_on_neighbours",
    severity="warning",
    summary="the model mixes the examples of a batch",
    why="A softmax, norm or reshape over the wrong axis lets examples see each other: the score changes with the batch "
        "size, and a single example cannot be predicted.",
    fix="Look for dim=0, .view(-1, …) or .mean() without dim in the forward pass; normalise over features.",
    source="Karpathy 2019, A Recipe for Training Neural Networks: use backprop to chart dependencies; labml#146",
    check=check,
    trips=lambda: toy_loop(more=[_asked(0.8, 0.0)]),
    passes=lambda: toy_loop(more=[_asked(1e-6, 0.0)]),
    wrong_when="the output is meant to be of the whole batch, as in retrieval or set models",
    threshold=f"{DIFFERENCE:g} of the outputs' spread: rounding leaves about 1e-6",
)
