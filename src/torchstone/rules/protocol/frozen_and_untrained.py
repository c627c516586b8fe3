"""RUN354: a frozen part that was never trained and never loaded."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model that trains on top of frozen weights that are what layers begin with.

    A warning where the frozen part is a library's model, which is meant to be pretrained; else advice.
    """
    for row in of(rows, "untrained"):
        what = (f"{row['num']} frozen layers from {row['layer']} on still hold the weights that they began with: "
                f"{row['trained']:,} weights are trained on top of {row['weights']:,} random ones")
        library = row.get("library")
        yield found(RULE, what + (f" of a model of {library}" if library else ""),
                    where=at(row, place_of(rows, "optimizer"), row["layer"]),
                    severity="warning" if library else "advice",
                    evidence={"layers": row["num"], "frozen": row["weights"], "trained": row["trained"]})  # fmt: skip


def _row(library: str | None) -> dict[str, object]:
    return {"event": "untrained", "step": 20, "root": 0, "num": 8, "weights": 90_000, "trained": 130,
            "layer": "body.0", "library": library}  # fmt: skip


RULE = Rule(
    code="RUN354",
    name="frozen_and_untrained",
    severity="warning",
    summary="the frozen part of the model is random",
    why="Pretrained weights were meant and never loaded: a model built from its config alone begins at random, and "
        "what is trained on top sees noise.",
    fix="Load them: from_pretrained(NAME) in place of Model(config), weights=… of torchvision, or load_state_dict "
        "before freezing. Or train the part.",
    source="torch 2.14: layers begin within 1/sqrt(fan in), norms with scale 1 and offset 0; transformers "
           "documentation, from_config does not load weights",
    check=check,
    trips=lambda: toy_loop(more=[_row("transformers")]),
    passes=toy_loop,
    wrong_when="random features are meant, as in a reservoir or a random projection",
    threshold="every frozen matrix and norm as it begins, more than half of the weights of all matrices, the same 10 "
              "steps later",
    confidence="likely",
    explains=("RUN605", "RUN607"),
)
