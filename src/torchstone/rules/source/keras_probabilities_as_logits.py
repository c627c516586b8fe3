"""COD216: a Keras cross-entropy takes probabilities for logits."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.keras_models import compiled
from torchstone.parts.source.read import Source
from torchstone.rules._sketches import KERAS, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per compile() with from_logits=True and a last layer that applies softmax or sigmoid."""
    for play in source.plays:
        for one in compiled(play):
            is_squashed = one.activation in ("softmax", "sigmoid")
            if one.moment.path == source.path and is_squashed and one.from_logits:
                what = f"the last layer (line {one.last.line}) applies {one.activation}, and so does the loss"
                yield found(RULE, what, where=at(one.moment), evidence={"layer_line": one.last.line})


RULE = Rule(
    code="COD216",
    name="source_keras_probabilities_as_logits",
    severity="error",
    summary="softmax or sigmoid before a Keras loss with from_logits=True",
    why="The loss applies it once more: it cannot fall far, and gradients are small.",
    fix="Leave out the activation of the last layer, or from_logits=True.",
    source="Keras 3 documentation, losses: from_logits",
    check=check,
    trips=lambda: changed(KERAS, ("Dense(3)", 'Dense(3, activation="softmax")')),
    passes=lambda: changed(KERAS),
    wrong_when="not known to be wrong",
)
