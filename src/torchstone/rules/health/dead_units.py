"""RUN604: a layer of units that never fire."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._pictures import bars
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop

SHARE, SAMPLES, EXAMPLES = 0.8, 4, 100


def check(rows: Rows) -> Iterator[Finding]:
    """One finding, at the first layer with four fifths of its units silent over all samples."""
    for row in of(rows, "units"):
        if row["samples"] < SAMPLES or row["examples"] < EXAMPLES or row.get("num_dead") is None:
            continue
        share = row["num_dead"] / max(row["num"], 1)
        if share >= SHARE:
            what = (f"{row['num_dead']:.0f} of {row['num']} units behind {row['layer']} never fired in "
                    f"{row['samples']} batches ({row['examples']} examples)")
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer"), layer=row["layer"]),
                        evidence={"share": share, "threshold": SHARE, "samples": row["samples"],
                                  "bars": bars("share of units that never fired", _shares(rows), SHARE)})
            return


def _shares(rows: Rows) -> list[tuple[str, float]]:
    """Every layer's share of dead units."""
    seen = [row for row in of(rows, "units") if row.get("num_dead") is not None]
    return [(row["layer"], row["num_dead"] / max(row["num"], 1)) for row in seen]


def _units(dead: float) -> dict[str, object]:
    return {"event": "units", "step": 48, "layer": "body.5", "samples": 6, "examples": 192, "num": 64, "num_dead": dead}


RULE = Rule(
    code="RUN604",
    name="dead_units",
    severity="error",
    summary="most units of a layer are dead",
    why="A ReLU whose input is always negative passes neither signal nor gradient: the layer learns nothing any more.",
    fix="Lower the learning rate, check the biases' first values and the scale of the inputs; LeakyReLU or GELU do not "
        "die.",
    source="Lu et al. 2020, Dying ReLU and Initialization; Zhang et al. 2021, AutoTrainer (ICSE)",
    check=check,
    trips=lambda: toy_loop(more=[_units(64.0)]),
    passes=lambda: toy_loop(more=[_units(20.0)]),
    wrong_when="sparse codes are meant; half of the units silent is common and is not reported",
    threshold=f"{SHARE:.0%} of a layer, over {SAMPLES} batches and {EXAMPLES} examples or more",
    confidence="likely",
    explains=("RUN605", "RUN607", "RUN303", "RUN338", "RUN204"),
)
