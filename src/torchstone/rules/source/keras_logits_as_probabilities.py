"""COD215: a Keras cross-entropy takes raw outputs for probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.keras_models import compiled
from torchstone.parts.source.read import Source
from torchstone.rules._sketches import KERAS, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per compile() with a cross-entropy by default and a last Dense without activation."""
    for play in source.plays:
        for one in compiled(play):
            if one.moment.path == source.path and one.activation == "" and not one.from_logits:
                what = f"the last layer (line {one.last.line}) has no activation, and the loss expects probabilities"
                yield found(RULE, what, where=at(one.moment), evidence={"layer_line": one.last.line})


RULE = Rule(
    code="COD215",
    name="source_keras_logits_as_probabilities",
    severity="error",
    summary="a Keras cross-entropy without from_logits=True over a layer without activation",
    why="Raw outputs are clipped to between 0 and 1 as if they were probabilities: most gradients are lost.",
    fix="Give the loss from_logits=True, or the last layer its softmax or sigmoid.",
    source="Keras 3 documentation, losses: from_logits=False by default",
    check=check,
    trips=lambda: changed(KERAS, ("from_logits=True", "")),
    passes=lambda: changed(KERAS),
    wrong_when="the last layer is subclassed and applies the activation itself",
)
