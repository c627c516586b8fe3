"""An ejected script tried out beside the run's own parts before it is handed over: the same data, weights and steps."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchstone.core import store
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.assemble import Setting, assemble, start
from torchstone.engines.pytorch.feed import Window
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.step import take_step
from torchstone.parts.schedules.plateau import Plateau

LOOKS = 500  # at the schedule
STEPS = 3  # tried out: enough for the optimizer's state, the rate and the average to have told


def check(setting: Setting, files: Mapping[str, str], name: str) -> None:
    """Compares the script `name` among `files` (names to texts) with the run's own parts on the CPU.

    Raises StoneError that names the first difference: an example, a first weight, or a weight after the first steps.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            store.write_text(Path(folder) / file, text)
        state = torch.get_rng_state()
        try:
            _compare(_loaded(Path(folder) / name), _on_cpu(setting))
        finally:
            torch.set_rng_state(state)


def _on_cpu(setting: Setting) -> Setting:
    choices = dict(setting.plan.choices)
    choices["train.device"] = replace(choices["train.device"], value="cpu")
    return replace(setting, plan=Plan(choices))


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("torchstone_ejected", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    module.DEVICE = torch.device("cpu")  # type: ignore[attr-defined]
    return module


def _compare(script: ModuleType, setting: Setting) -> None:
    job = assemble(setting, start(setting.plan, "single"))
    try:
        data = script.load_data(Path(script.SETTINGS["data"]["folder"]))
    except (KeyError, ValueError, OSError) as error:
        raise StoneError(
            f"a plain reader cannot read this data: {type(error).__name__}: {error}", where=setting.dataset.source,
            fix="write it as a plain table: numbers as 1234.5, one form for what is missing",
        ) from error  # fmt: skip
    _same_examples(script, job, setting, data)
    windows = script.windows(script.epoch_order(data, 0))
    if [rows.tolist() for rows in windows] != [rows.tolist() for rows in job.feed.window_rows(0)]:
        raise _different("the examples of the steps of the first epoch", setting)
    _same_schedule(script, job, setting)
    training = script.begin(data)
    _same_weights(job, training, "the first weights", setting)
    _same_steps(script, job, setting, (training, data))


def _same_examples(script: ModuleType, job: Job, setting: Setting, data: Any) -> None:
    """Every row of a table or text, of pictures one batch of each split: as evaluation sees it."""
    for split in ("train", "validation"):
        rows = setting.dataset.rows(split)
        rows = rows[:64] if setting.task.modality == "image" else rows
        if not len(rows):
            continue
        own = job.feed.source.batch(rows, None)
        inputs, target = data.batch(rows)
        kept = [value for value in own.inputs if value.shape[1:].numel()]
        for mine, theirs in zip([*kept, own.target], [*inputs, target], strict=True):
            if mine.shape == theirs.shape and torch.equal(mine.to(theirs.dtype), theirs):
                continue
            raise _different(f"the example {_first(mine, theirs, rows, setting)}", setting)


def _first(mine: Tensor, theirs: Tensor, rows: np.ndarray, setting: Setting) -> str:
    """The place of the first row that differs; of tensors of two shapes, both shapes."""
    if mine.shape != theirs.shape:
        return f"shapes {tuple(mine.shape)} and {tuple(theirs.shape)}"
    place = int((mine != theirs).reshape(len(mine), -1).any(1).nonzero()[0])
    return str(setting.dataset.where[rows[place]])


def _same_schedule(script: ModuleType, job: Job, setting: Setting) -> None:
    """The multiplier of the learning rate over the whole run, at `LOOKS` steps at most."""
    schedule, total = job.schedule, job.total_steps
    assert not isinstance(schedule, Plateau), "it goes by validation: refused"
    for step in sorted({round(place) for place in np.linspace(0, total - 1, min(LOOKS, total)).tolist()}):
        if script.multiplier(step, total, **script.SETTINGS["schedule"]) != schedule(step, total):
            raise _different(f"the learning rate of step {step}", setting)


def _same_weights(job: Job, training: Any, what: str, setting: Setting) -> None:
    theirs = training.model.state_dict()
    for name, value in job.model.state_dict().items():
        if name not in theirs or not torch.equal(value, theirs[name]):
            raise _different(f"{what} ({name})", setting)


def _same_steps(script: ModuleType, job: Job, setting: Setting, tried: tuple[Any, Any]) -> None:
    """The first steps of both, from the same state of the generator that dropout draws from."""
    training, data = tried
    begun = torch.get_rng_state()
    progress = Progress()
    job.model.train()
    steps = [window for window, _ in zip(job.feed.epoch(0), range(STEPS), strict=False)]
    for window in steps:
        take_step(job, window, progress, 0.0)
    torch.set_rng_state(begun)
    training.model.train()
    for window in steps:
        _script_step(script, training, data, (window, job.total_steps))
    _same_weights(job, training, f"the weights after {len(steps)} steps", setting)


def _script_step(script: ModuleType, training: Any, data: Any, step: tuple[Window, int]) -> None:
    window, total = step
    script.set_rates(training, total)
    script.train_step(training, data, window.rows)
    training.step += 1


def _different(what: str, setting: Setting) -> StoneError:
    return StoneError(
        f"the script that was made is not this run: {what} differs", where=setting.dataset.source,
        fix="nothing was written; keep the run with torchstone, and report this with the plan (torchstone plan --all)",
    )  # fmt: skip
