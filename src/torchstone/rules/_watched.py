"""Reading the rows of a watched loop, and small loops for the examples of rules.

docs/watched-rows.md lists the rows and their keys. A row that lacks a key says nothing about it: rules stay silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from torchstone.core.finding import Where

Row = Mapping[str, Any]
Rows = Sequence[Row]
# (number of the step from 1, its row) → what differs in that row.
Change = Callable[[int, dict[str, Any]], dict[str, Any]]


class Seen(list[Row]):
    """Rows that are asked for by their kinds many times: each kind is picked out once."""

    def __init__(self, rows: Iterable[Row]) -> None:
        super().__init__(rows)
        self.kinds: dict[str, list[Row]] = {}
        for row in self:
            self.kinds.setdefault(str(row.get("event")), []).append(row)
        self.loops = list(_loops(self.kinds.get("step", [])))


def of(rows: Rows, event: str) -> list[Row]:
    """The rows of one kind of event, in order."""
    if isinstance(rows, Seen):
        return rows.kinds.get(event, [])
    return [row for row in rows if row.get("event") == event]


def steps_by_optimizer(rows: Rows) -> Iterator[tuple[int, list[Row]]]:
    """Each optimizer's number and its own steps, in order."""
    yield from rows.loops if isinstance(rows, Seen) else _loops(of(rows, "step"))


def _loops(steps: Iterable[Row]) -> Iterator[tuple[int, list[Row]]]:
    for index, own in groupby(sorted(steps, key=_owner), key=_owner):
        yield index, list(own)


def _owner(step: Row) -> int:
    return int(step.get("optimizer", 0))


def first_streak(rows: Iterable[Row], is_sick: Callable[[Row], bool], length: int) -> Row | None:
    """The row that ends the first `length` sick ones in a row; None where there are not so many."""
    streak = 0
    for row in rows:
        streak = streak + 1 if is_sick(row) else 0
        if streak == length:
            return row
    return None


def at(row: Row, place: str | None = None, layer: str | None = None) -> Where:
    """Where a row happened: its step, and the line of a place such as `train.py:71` (its own if none is given).

    A row that is brought up to date, such as a scheduler's, says in `at_step` when that was last done.
    """
    path, _, line = str(place if place is not None else row.get("place") or "").rpartition(":")
    known = bool(path) and line.isdigit()
    step = row.get("at_step", row.get("step"))
    return Where(path=path if known else None, line=int(line) if known else None, step=step, layer=layer)


def place_of(rows: Rows, event: str, **keys: Any) -> str | None:
    """The place of the first row of an event with these values."""
    for row in of(rows, event):
        if all(row.get(key) == value for key, value in keys.items()) and row.get("place"):
            return str(row["place"])
    return None


def some(names: Sequence[str], number: int = 4) -> str:
    """A few names, and that there are more."""
    listed = ", ".join(names[:number])
    return f"{listed}, …" if len(names) > number else listed


def toy_step(number: int, optimizer: int = 0) -> dict[str, Any]:
    """The row of a sound optimizer step."""
    return {
        "event": "step", "step": number, "optimizer": optimizer, "own_step": number, "lr": 1e-3, "has_closure": False,
        "accumulated": 1, "is_cleared": True, "is_stale": False, "clip": None, "skipped": None, "num_trained": 4,
        "num_grads": 4, "update_ratio": 1e-3 if number % 10 == 1 else None,
        "grad_norm": 1.0 if number % 10 == 1 else None, "weight_norm": 10.0 if number % 10 == 1 else None,
        "backwards": 1, "leaf_backwards": 0, "kinds": ["NllLossBackward0"], "is_scaled": False, "training": True,
        "has_modes": True, "graphs_alive": 0, "forwards": 1, "batches": 1, "loss": 0.3 + 2.0 * 0.98**number,
        "autocast": None, "is_unscaled": False,
    }  # fmt: skip


def toy_loop(num: int = 40, change: Change | None = None, more: Iterable[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """A sound loop of `num` steps of one optimizer, with `change(number, row)` laid over each step, and other rows."""
    rows: list[dict[str, Any]] = [toy_model(), toy_optimizer()]
    for number in range(1, num + 1):
        row = toy_step(number)
        rows.append({**row, **(change(number, row) if change else {})})
    return [*rows, *more, {"event": "end", "step": num, "steps": num}]


def toy_model(**different: Any) -> dict[str, Any]:
    """The row of a sound model of four parameters, with dropout."""
    return {
        "event": "model", "step": 0, "model": 0, "class": "Net", "num_parameters": 4, "num_trained": 4,
        "num_weights": 1000, "is_norm_alone": False, "unregistered": [], "misspelt": [], "frozen_norms": [],
        "has_modes": True, "wrapper": None, "forwards": 100, "parent": None, "unowned": [], "num_unowned": 0,
        "unowned_looks": 0, **different,
    }  # fmt: skip


def toy_optimizer(**different: Any) -> dict[str, Any]:
    """The row of a sound optimizer over those parameters."""
    return {
        "event": "optimizer", "step": 0, "optimizer": 0, "kind": "AdamW", "num_parameters": 4,
        "groups": [{"lr": 1e-3, "weight_decay": 0.01, "num": 4, "num_vectors": 2}], "parameters": [1, 2, 3, 4],
        "silent": [], "num_silent": 0, "silent_weights": 0, "weights": 1000, "num_strangers": 0, "own_steps": 40,
        "place": "train.py:10", **different,
    }  # fmt: skip


def toy_pass(**different: Any) -> dict[str, Any]:
    """The row of a sound pass over a validation loader of 96 examples."""
    return {
        "event": "pass", "step": 14, "loader": 1, "number": 1, "place": "train.py:30", "of": 96, "batch_size": 40,
        "drop_last": False, "order": "sequential", "sampler_epoch": None, "workers": 0, "dataset": "TensorDataset",
        "sampler_size": 96, "batches": 3, "examples": 96, "backwards": 0, "forwards": 3, "forwards_with_grad": 0,
        "forwards_in_training": 0, "losses": 3, "modes_matter": True, "is_whole": True, "first_step": 14,
        "last_step": 14, **different,
    }  # fmt: skip


def toy_schedule(**different: Any) -> dict[str, Any]:
    """The row of a sound scheduler that is stepped after each of 40 optimizer steps."""
    return {
        "event": "schedule", "step": 1, "schedule": 0, "optimizer": 0, "kind": "CosineAnnealingLR", "steps": 40,
        "pending": 0, "inside": 0, "optimizer_steps": 40, "at_step": 40, "last_epoch": 40, "t_max": 40,
        "total_steps": None, "milestones": None, "mode": None, "metrics": [], "place": "train.py:20", **different,
    }  # fmt: skip


def toy_loss(**different: Any) -> dict[str, Any]:
    """The row of a sound call of cross-entropy in training, on logits [32, 4]."""
    return {
        "event": "loss", "step": 0, "function": "cross_entropy", "has_grad": True, "reduction": "mean",
        "place": "train.py:15", "root": 0, "input_shape": [32, 4], "target_shape": [32], "target_dtype": "torch.int64",
        "low": -1.2, "high": 1.4, "std": 0.5, "sum_error": 1.3, "entropy": 1.38, "num_labels": 4, "node": "Addmm",
        "weighted": False, "value": 1.41, **different,
    }  # fmt: skip


def toy_input(**different: Any) -> dict[str, Any]:
    """The row of a sound input of a forward pass in training: 32 examples of mean 0 and deviation 1."""
    return {
        "event": "input", "step": 0, "root": 0, "has_grad": True, "training": True, "shape": [32, 20], "num_bad": 0,
        "low": -3.1, "high": 3.0, "mean": 0.01, "std": 1.0, **different,
    }  # fmt: skip


def toy_non_finite(**different: Any) -> dict[str, Any]:
    """The row of a loss that was NaN: a logarithm of 0 in the model."""
    return {
        "event": "non_finite", "step": 20, "problem": "loss", "value": math.nan, "place": "train.py:16",
        "phase": "forward", "layer": "head", "class": "Linear", "operation": "log", "origin": None, "data": [],
        "operands": [{"shape": [32, 4], "dtype": "float32", "num": 128, "low": 0.0, "high": 2.0, "nan": 0, "inf": 0,
                      "zeros": 3, "negatives": 0}], "num_used": 1, **different,
    }  # fmt: skip


def toy_data(**different: Any) -> dict[str, Any]:
    """The row of a sound loader's first pass: 448 rows, all distinct, labels mixed in each batch."""
    return {
        "event": "data", "step": 0, "loader": 0, "place": "train.py:25", "mutations": 0, "mutated": [], "overlap": {},
        "scaled_with": {}, "generators": [], "workers": 0, "has_init": False, "num": 448, "num_distinct": 448,
        "batches": 14, "batch_entropy": 1.3, "entropy": 1.38, "centre": 0.0, "centre_of_all": 0.1, **different,
    }  # fmt: skip


def training_loaders(rows: Rows) -> set[int]:
    """The loaders over which backward passes ran."""
    return {row["loader"] for row in of(rows, "pass") if row["backwards"]}
