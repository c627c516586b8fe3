"""What a model gave: logits, probabilities or their logarithms, as far as reading tells."""

from __future__ import annotations

from typing import Literal

from torchstone.parts.source.value import Value, alternatives, peel, seen_through

Output = Literal["logits", "softmax", "log_softmax", "sigmoid", "relu", "unknown"]
FUNCTIONS: dict[Output, tuple[str, ...]] = {
    "softmax": ("torch.softmax", "torch.nn.functional.softmax", ".softmax", "torch.special.softmax"),
    "log_softmax": ("torch.log_softmax", "torch.nn.functional.log_softmax", ".log_softmax"),
    "sigmoid": ("torch.sigmoid", "torch.nn.functional.sigmoid", ".sigmoid", ".sigmoid_", "torch.special.expit"),
    "relu": ("torch.relu", "torch.nn.functional.relu", ".relu", ".relu_", "torch.nn.functional.relu_"),
}
LAYERS: dict[str, Output] = {
    "torch.nn.Softmax": "softmax", "torch.nn.Softmax2d": "softmax", "torch.nn.LogSoftmax": "log_softmax",
    "torch.nn.Sigmoid": "sigmoid", "torch.nn.ReLU": "relu", "torch.nn.Linear": "logits",
    "torch.nn.LazyLinear": "logits", "torch.nn.Bilinear": "logits", "torch.nn.Conv1d": "logits",
    "torch.nn.Conv2d": "logits", "torch.nn.Conv3d": "logits", "torch.nn.ConvTranspose1d": "logits",
    "torch.nn.ConvTranspose2d": "logits",
}  # fmt: skip


def ends(value: Value | None) -> list[Value]:
    """What made the numbers of a value, one for each branch: seen through shapes, types, models, and rows picked."""
    return seen_through(peel(value), _behind_an_item)


def _behind_an_item(value: Value) -> list[Value]:
    """What rows were picked of, where all that it may be is known."""
    inner = peel(value.receiver) if value.kind == "item" and value.receiver is not None else []
    return inner if all(kind_of(one) != "unknown" for one in inner) else []


def kind_of(value: Value) -> Output:
    """What the very last step that made a value makes."""
    for kind, names in FUNCTIONS.items():
        if value.is_call(*names):
            return kind
    if not value.is_call(".__call__"):
        return "unknown"
    kinds = {LAYERS.get(one.name, "unknown") if one.kind == "call" and one.receiver is None else "unknown"
             for one in alternatives(value.receiver)}
    return kinds.pop() if len(kinds) == 1 else "unknown"


def output_of(value: Value | None) -> tuple[Output, Value | None]:
    """What a value is, where all branches agree, and the step that made it; "unknown" and None otherwise."""
    made = ends(value)
    kinds = {kind_of(one) for one in made}
    return (kinds.pop(), made[0]) if len(kinds) == 1 else ("unknown", None)


# What changes neither numbers nor shape.
KEEPS_SHAPE = ("to", "cuda", "cpu", "float", "double", "half", "bfloat16", "contiguous", "clone")


def width_of(value: Value | None) -> int | None:
    """How many outputs the Linear has that gave a value just as it is; None where it was reshaped or is not known.

    One output per candidate, reshaped to (batch, candidates), is a common and sound way to choose among them.
    """
    options = alternatives(value)
    one = options[0] if len(options) == 1 else None
    for _ in range(16):
        if one is None or one.kind != "call":
            return None
        inner = one.result if one.result is not None else one.receiver if one.name in KEEPS_SHAPE else None
        if inner is None:
            break
        options = alternatives(inner)
        one = options[0] if len(options) == 1 else None
    layers = alternatives(one.receiver) if one is not None and one.is_call(".__call__") else []
    if len(layers) != 1 or not layers[0].is_call("torch.nn.Linear", "torch.nn.LazyLinear"):
        return None
    given = alternatives(layers[0].given("out_features", 1 if layers[0].name == "torch.nn.Linear" else 0))
    number = given[0].const if len(given) == 1 and given[0].kind == "const" else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None
