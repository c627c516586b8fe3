"""COD306: rows that a model is evaluated on are rows that it is trained on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import dataset_of, evaluated_loaders, trained_loaders
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value, origins
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at

LEARNT = (".mean", ".std", ".min", ".max", ".var", "torch.mean", "torch.std", "numpy.mean", "numpy.std", ".median",
          ".quantile", ".fit", ".sum")


def check(source: Source) -> Iterator[Finding]:
    """One finding per evaluated loader whose rows, cut out by constant numbers, overlap those of a trained loader."""
    seen: set[int] = set()
    for play in source.plays:
        trained = [cut for loader in trained_loaders(play) for cut in _cuts(loader)]
        for loader in evaluated_loaders(play):
            for owner, low, high in _cuts(loader):
                shared = next(((max(low, other[1]), min(high, other[2])) for other in trained if other[0] is owner
                               and max(low, other[1]) < min(high, other[2])), None)
                if shared is not None and loader.path == source.path and loader.line not in seen:
                    seen.add(loader.line)
                    yield found(RULE, f"rows {shared[0]} to {shared[1]} are in the training data too", where=at(loader),
                                evidence={"first": shared[0], "end": shared[1]})


def _cuts(loader: Value) -> list[tuple[Value, int, int]]:
    """What a loader's rows were cut out of, from which row to before which, where both are known."""
    found_: list[tuple[Value, int, int]] = []
    for one in origins(dataset_of(loader), lambda value: _ends(value) is None and not value.is_call(*LEARNT)):
        ends = _ends(one)
        if ends is not None and one.receiver is not None:
            found_.append((one.receiver, *ends))
    return found_


def _ends(value: Value) -> tuple[int, int] | None:
    """The rows of x[a:b], by constants that are not negative, without a step."""
    node = value.args[0].node if value.kind == "item" and value.args else None
    if not isinstance(node, ast.Slice) or node.step is not None:
        return None
    given = list(value.args[0].args)
    low = given.pop(0) if node.lower is not None else None
    high = given.pop(0) if node.upper is not None else None
    numbers = [0 if low is None else low.const, 2**62 if high is None else high.const]
    if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers):
        return None
    return (numbers[0], numbers[1]) if high is not None else None


RULE = Rule(
    code="COD306",
    name="source_splits_overlap",
    severity="error",
    summary="held-out rows are training rows",
    why="The score on rows that the model was trained on tells nothing of new ones.",
    fix="Cut the rows into parts that do not meet, and check it by their ids.",
    source="scikit-learn documentation, Cross-validation: testing on the training data is a methodological mistake",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(train_set, ", "DataLoader(rows[:80], "),
                          ("DataLoader(val_set)", "DataLoader(rows[60:80])")),
    passes=lambda: changed(TRAINING, ("DataLoader(train_set, ", "DataLoader(rows[:80], "),
                           ("DataLoader(val_set)", "DataLoader(rows[80:100])")),
    wrong_when="the loader is to show the score on the training rows",
)
