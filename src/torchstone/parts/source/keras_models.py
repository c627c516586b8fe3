"""Keras: the last layer of a model that is compiled, its activation, and the loss it is compiled with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.value import Value, alternatives

ROOTS = ("keras", "tensorflow", "tf_keras")
# Names of losses that take probabilities unless they are told from_logits=True, without underscores and case.
CROSS_ENTROPIES = ("binarycrossentropy", "categoricalcrossentropy", "sparsecategoricalcrossentropy",
                   "binaryfocalcrossentropy", "categoricalfocalcrossentropy")  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """A model.compile(loss=…) whose last layer and loss are both known.

    units: outputs of the last layer, None where not written as a number. activation: its name, "" for none.
    loss: the name without underscores and case ("binarycrossentropy"). from_logits: as given; False by default.
    """

    moment: Moment
    last: Value
    units: int | None
    activation: str
    loss: str
    from_logits: bool


def compiled(play: Play) -> Iterator[Compiled]:
    """Every compile() of a Keras model of which both ends are plainly written."""
    for moment in play.calls(".compile"):
        loss = moment.value.given("loss", 1)
        for model in alternatives(moment.value.receiver):
            last = _last_layer(play, model, moment)
            known = _loss(loss)
            if last is None or known is None:
                continue
            activation = _activation(last)
            if activation is not None:
                yield Compiled(moment, last, _units(last), activation, *known)


def is_keras(value: Value | None, *tails: str) -> bool:
    """Whether a value is a call of something of Keras so named ("Dense")."""
    if value is None or value.kind != "call" or value.receiver is not None:
        return False
    return value.name.partition(".")[0] in ROOTS and value.name.rpartition(".")[2] in tails


def _last_layer(play: Play, model: Value, moment: Moment) -> Value | None:
    """The layer whose output is the model's."""
    if is_keras(model, "Sequential"):
        added = [one.value.args[0] for one in play.calls(".add")
                 if one.value.receiver is model and one.index < moment.index and one.value.args]  # fmt: skip
        layers = model.given("layers", 0)
        if added:
            return added[-1]
        if layers is not None and layers.kind == "sequence" and layers.name != "comprehension" and layers.args:
            return layers.args[-1]
        return None
    if is_keras(model, "Model"):
        output = model.given("outputs", 1)
        if output is not None and output.kind == "call" and output.name == "__call__":
            return output.receiver
    return None


def _units(layer: Value) -> int | None:
    units = layer.given("units", 0) if is_keras(layer, "Dense") else None
    return units.const if units is not None and type(units.const) is int else None


def _activation(layer: Value) -> str | None:
    """The activation of the last layer: "" for none, None where it is not known."""
    if is_keras(layer, "Softmax"):
        return "softmax"
    if is_keras(layer, "Activation"):
        return _name(layer.given("activation", 0))
    if not is_keras(layer, "Dense") or "**" in layer.keywords:
        return None
    given = layer.given("activation", 1)
    if given is None or given.is_const(None):
        return ""
    name = _name(given)
    return "" if name == "linear" else name


def _name(value: Value | None) -> str | None:
    """A name as a text, or the end of a dotted one."""
    if value is None:
        return None
    if value.kind == "const":
        return value.const if isinstance(value.const, str) else None
    return value.name.rpartition(".")[2] if value.kind == "name" else None


def _loss(value: Value | None) -> tuple[str, bool] | None:
    """A cross-entropy by its name, and whether it takes logits; None for others and where that is not known."""
    if value is None:
        return None
    name = value.name.rpartition(".")[2] if value.kind == "call" and value.receiver is None else _name(value)
    plain = (name or "").replace("_", "").lower()
    if plain not in CROSS_ENTROPIES:
        return None
    given = value.keywords.get("from_logits") or (value.args[0] if value.args else None)
    if "**" in value.keywords or (given is not None and not isinstance(given.const, bool)):
        return None
    return plain, given is not None and given.is_const(True)
