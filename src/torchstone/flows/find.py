"""`--find-lr` and `--find-batch`: measured on this data, this model and this machine, before the run."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.plan import START, Choice, Plan
from torchstone.flows.plan import Planned
from torchstone.flows.time_limit import ENDING_S, FILLED
from torchstone.flows.train import setting_of
from torchstone.parts.choices.scaled_rate import scaled_rate

SMITH = "Smith 2017, Cyclical Learning Rates"


@dataclass(frozen=True)
class Measured:
    """A plan with measured values in it, and what was measured.

    rate: the range test's curve as JSON values (rates, losses, smoothed, suggestion, reason), None if not asked for.
    batch: sizes that were tried and what follows, likewise.
    """

    planned: Planned
    rate: dict[str, Any] | None
    batch: dict[str, Any] | None


def fit_into(planned: Planned, *, project: Path, seconds: float) -> tuple[Planned, float]:
    """The plan with as many epochs as fit into `seconds`, and the seconds that a validation takes.

    The job is put together once more for the run, and the best checkpoint judges once more: both are taken off first.
    Where too little is left for the ending alone, nothing is measured. Epochs that the user fixed stay; a limit then
    ends the run. At least one epoch is planned.
    """
    choices = dict(planned.plan.choices)
    if seconds <= ENDING_S:
        reason = f"{max(seconds, 0):.0f} s were left after reading and planning: one epoch is begun; give it more"
        _put(choices, [Choice("train.epochs", 1, "derived", reason)])
        return replace(planned, plan=Plan(choices)), 0.0
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    pace_room = importlib.import_module("torchstone.engines.pytorch.finders.pace")
    begun = time.monotonic()
    job = assemble.assemble(_encoded(planned, project, assemble), assemble.start(planned.plan))
    building_s = time.monotonic() - begun
    pace = pace_room.find_pace(job)
    left = seconds - (time.monotonic() - begun) - building_s - pace.validation_s - ENDING_S
    epochs, reason = epochs_that_fit(pace.epoch_s(job), left)
    _put(choices, [Choice("train.epochs", epochs, "derived", reason, "measured on this machine")])
    return replace(planned, plan=Plan(choices)), pace.validation_s


def epochs_that_fit(epoch_s: float, left: float) -> tuple[int, str]:
    """How many epochs of `epoch_s` seconds fit into FILLED of the seconds that are left, at least 1, and why."""
    each, room = f"an epoch takes about {epoch_s:.2g} s here", max(left, 0.0)
    if epoch_s > room * FILLED:
        return 1, f"{each}, the {room:,.0f} s left for training end before that: give it more"
    return int(room * FILLED / epoch_s), f"{each}: so many fit into {FILLED:.0%} of the {room:,.0f} s left for training"


def _encoded(planned: Planned, project: Path, assemble: Any) -> Any:
    setting = setting_of(planned, project)
    return replace(setting, encoding=assemble.fit_encoding(setting))


def measure(planned: Planned, *, project: Path, rate: bool, batch: bool) -> Measured:
    """Measures what is asked for and puts it into the plan; a value that the user fixed stays as it is.

    Raises StoneError on several ranks: measure in one process, and fix the values in the recipe.
    """
    if planned.plan["train.strategy"] != "single":
        raise StoneError(
            "the finders measure in one process", where="--find-lr, --find-batch",
            fix="run torchstone plan DATA --find-lr without torchrun, and fix what it finds in the recipe",
        )  # fmt: skip
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    finders = "torchstone.engines.pytorch.finders"
    setting = _encoded(planned, project, assemble)
    choices = dict(planned.plan.choices)
    sizes = curve = None
    if batch:
        job = assemble.assemble(setting, assemble.start(planned.plan))
        find_batch = importlib.import_module(f"{finders}.batch").find_batch
        sizes = vars(find_batch(job, wanted=planned.plan["train.batch_size"]))
        sizes["trials"] = [vars(trial) for trial in sizes["trials"]]
        sizes["offer"] = offered_rate(planned.plan, int(sizes["fastest"]))
        _put(choices, _batch_choices(sizes))
        setting = replace(setting, plan=Plan(choices))
    if rate:
        job = assemble.assemble(setting, assemble.start(setting.plan))
        curve = vars(importlib.import_module(f"{finders}.rate").find_rate(job))
        _put(choices, _rate_choices(curve))
    return Measured(replace(planned, plan=Plan(choices)), curve, sizes)


def _put(choices: dict[str, Choice], measured: list[Choice]) -> None:
    for choice in measured:
        if choices[choice.field].origin != "user":
            choices[choice.field] = choice


def _rate_choices(curve: Mapping[str, Any]) -> list[Choice]:
    if curve["suggestion"] is None:
        return []
    value = float(f"{curve['suggestion']:.2g}")
    return [Choice("optimizer.options.lr", value, "derived", f"range test: {curve['reason']}", SMITH)]


def offered_rate(plan: Plan, fastest: int) -> str:
    """What to set for the batch that was fastest, with the learning rate that it would ask for; empty if it is planned.

    The rate is a starting point by the scaling rules of `parts.choices.scaled_rate`, and nothing is changed.
    """
    batch, rate = int(plan["train.batch_size"]), plan.get("optimizer.options.lr")
    if not fastest or fastest == batch:
        return ""
    said = f"{fastest} examples a step are fastest: train.batch_size={fastest}"
    if not isinstance(rate, float):
        return said
    scaled, rule = scaled_rate(str(plan["optimizer.name"]), rate, fastest, batch)
    return f"{said} optimizer.lr={scaled:g} instead of {batch} and {rate:g} ({rule}; {START})"


def _batch_choices(sizes: Mapping[str, Any]) -> list[Choice]:
    if not sizes["largest"]:
        raise StoneError(
            f"not even {sizes['trials'][0]['size']} examples fit into the budget of {sizes['budget'] / 2**30:.1f} GiB",
            fix="choose a smaller model or smaller pictures",
        )
    reason = f"{sizes['wanted']} examples a step, at most {sizes['largest']} of them fit into memory at once"
    return [Choice("train.accumulate", sizes["accumulate"], "derived", reason, "measured on this machine")]
