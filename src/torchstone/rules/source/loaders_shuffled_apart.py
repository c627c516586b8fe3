"""COD308: inputs and labels come from two loaders that shuffle each by itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import is_on, loaders_in
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import losses
from torchstone.parts.source.value import Value, origins
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per zip of two shuffled loaders whose items go into one loss as input and target."""
    for play in source.plays:
        sick = []
        for moment, loss in losses(play):
            if loss[2] is None or loss[3] is None:
                continue
            given, target = _shuffled(loss[2]), _shuffled(loss[3])
            if given and target and not {id(one) for one in given} & {id(one) for one in target}:
                sick.append(moment)
        for moment in own(source, sick):
            yield found(RULE, "input and target of the loss come from two loaders, each shuffled by itself",
                        where=at(moment))


def _shuffled(value: Value) -> list[Value]:
    """The shuffled loaders that a value comes from."""
    return [loader for one in origins(value, lambda value: value.kind != "call" or value.receiver is not None
                                      or value.name in ("zip", "enumerate"))
            for loader in loaders_in(one) if is_on(loader, "shuffle") and loader.given("generator") is None]


RULE = Rule(
    code="COD308",
    name="source_loaders_shuffled_apart",
    severity="error",
    summary="inputs and labels are shuffled apart",
    why="Each input meets the label of another: there is nothing to be learnt.",
    fix="Put inputs and labels into one dataset, such as TensorDataset(x, y), with one loader.",
    source="torch 2.14 documentation, DataLoader: shuffle draws a new order from the loader's own generator",
    check=check,
    trips=lambda: sketch(
        "import torch\nfrom torch.utils.data import DataLoader\nmodel = torch.nn.Linear(4, 1)\n"
        "xs, ys = DataLoader(a, shuffle=True), DataLoader(b, shuffle=True)\n"
        "for x, y in zip(xs, ys):\n    loss = torch.nn.functional.mse_loss(model(x), y)\n"
    ),
    passes=lambda: sketch(
        "import torch\nfrom torch.utils.data import DataLoader\nmodel = torch.nn.Linear(4, 1)\n"
        "xs = DataLoader(TensorDataset(a, b), shuffle=True)\n"
        "for x, y in xs:\n    loss = torch.nn.functional.mse_loss(model(x), y)\n"
    ),
    wrong_when="the pairs are meant to be drawn by chance",
)
