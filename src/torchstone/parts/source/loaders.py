"""Loaders of data: which a play trains on, which it evaluates on, and their options."""

from __future__ import annotations

import re

from torchstone.parts.source.moment import Play
from torchstone.parts.source.training import batches_of, evaluation_loops, training_loops
from torchstone.parts.source.value import Value, alternatives

# Where DataLoader takes its options, after the dataset.
PLACES = {"dataset": 0, "batch_size": 1, "shuffle": 2, "sampler": 3, "batch_sampler": 4, "num_workers": 5,
          "drop_last": 8}  # fmt: skip
HELD_OUT = re.compile(r"(val|valid|validation|test|dev|eval)(_|$|loader)")


def loaders_in(value: Value | None) -> list[Value]:
    """The DataLoaders of torch that a value may be."""
    return [one for one in alternatives(value)
            if one.kind == "call" and one.receiver is None and one.name.rpartition(".")[2] == "DataLoader"
            and "**" not in one.keywords]


def trained_loaders(play: Play) -> list[Value]:
    """The DataLoaders that the training loops of a play go over, each once."""
    loops = {loop: None for one in training_loops(play) for loop in [one]}
    return list(dict.fromkeys(one for loop in loops for one in loaders_in(batches_of(loop))))


def evaluated_loaders(play: Play) -> list[Value]:
    """The DataLoaders that a play evaluates a model on and never trains on, each once."""
    trained = trained_loaders(play)
    found = [one for loop in evaluation_loops(play) for one in loaders_in(batches_of(loop))]
    return [one for one in dict.fromkeys(found) if not any(one is each for each in trained)]


def held_out_loaders(play: Play) -> list[Value]:
    """The DataLoaders that a play only evaluates on, and those called after validation or test, each once."""
    made = [moment.value for moment in play.calls() if HELD_OUT.match(moment.value.alias.lower())]
    return list(dict.fromkeys([*evaluated_loaders(play), *(one for value in made for one in loaders_in(value))]))


def option(loader: Value, name: str) -> Value | None:
    """An option of a DataLoader, by keyword or place."""
    return loader.given(name, PLACES[name])


def dataset_of(loader: Value) -> Value | None:
    """The dataset of a DataLoader."""
    return option(loader, "dataset")


def is_on(loader: Value, name: str) -> bool:
    """Whether an option is plainly True."""
    given = option(loader, name)
    return given is not None and given.is_const(True)


def is_off(loader: Value, name: str) -> bool:
    """Whether an option is not given, or plainly False or None."""
    given = option(loader, name)
    return given is None or given.is_const(False, None)
