"""COD217: a Keras model ends in the softmax of one number."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.keras_models import compiled
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per compile() of a model whose last layer is Dense(1, activation="softmax")."""
    for play in source.plays:
        for one in compiled(play):
            if one.moment.path == source.path and one.units == 1 and one.activation == "softmax":
                yield found(RULE, "the model ends in the softmax of a single number, which is always 1",
                            where=at(one.moment), evidence={"layer_line": one.last.line})


TWIN = """
from tensorflow import keras
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", loss="binary_crossentropy")
"""
RULE = Rule(
    code="COD217",
    name="source_keras_softmax_of_one",
    severity="error",
    summary="softmax over a single output in Keras",
    why="The softmax of one number is 1: every prediction is the same and nothing is learnt.",
    fix='Use activation="sigmoid" with binary_crossentropy, or one output per class.',
    source="stackoverflow.com/q/50306988; Keras 3 documentation, activations: softmax",
    check=check,
    trips=lambda: sketch(TWIN.replace("sigmoid", "softmax")),
    passes=lambda: sketch(TWIN),
    wrong_when="not known to be wrong",
)
