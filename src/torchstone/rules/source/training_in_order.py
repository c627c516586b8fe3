"""COD313: training rows always come in one order."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import dataset_of, is_off, loaders_in, trained_loaders
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    batches_of,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per file where a DataLoader of rows is trained on for several epochs and never shuffles."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        for loader in trained_loaders(play):
            loops = [loop for loop in training_loops(play)
                     if any(one is loader for one in loaders_in(batches_of(loop)))]
            is_repeated = any(moment.loops.index(loop) > 0 for loop in loops for moment in play.inside(loop)[:1])
            is_plain = all(is_off(loader, name) for name in ("shuffle", "sampler", "batch_sampler"))
            is_own = loader.path == source.path and _is_of_rows(loader)
            if is_repeated and is_plain and is_own:
                yield found(RULE, "the loader that is trained on does not shuffle", where=at(loader))
                return


def _is_of_rows(loader: Value) -> bool:
    """Whether a loader is over a dataset that was seen being made, and is no stream or series by its name."""
    size = loader.given("batch_size", 1)
    if size is not None and size.is_const(None):
        return False
    made = alternatives(dataset_of(loader))
    return bool(made) and all(
        one.is_call("torch.utils.data.TensorDataset") or one.name.startswith("torchvision.datasets.") for one in made)


RULE = Rule(
    code="COD313",
    name="source_training_in_order",
    severity="advice",
    summary="training rows are not shuffled",
    why="Rows that stand together are learnt together: where they are sorted, each batch pulls another way.",
    fix="DataLoader(train_set, shuffle=True).",
    source="torch 2.14 documentation, DataLoader: shuffle, to have the data reshuffled at every epoch",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(train_set, shuffle=True)",
                                     "DataLoader(torch.utils.data.TensorDataset(a, b))")),
    passes=lambda: changed(TRAINING, ("DataLoader(train_set, shuffle=True)",
                                      "DataLoader(torch.utils.data.TensorDataset(a, b), shuffle=True)")),
    wrong_when="the order of rows matters, as with states carried from batch to batch",
)
