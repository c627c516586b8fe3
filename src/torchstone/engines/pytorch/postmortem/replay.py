"""A kept window once more, in this process: the run's model, the weights from before the step, the same draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.assemble import Setting, assemble, start
from torchstone.engines.pytorch.freezing import to_train_mode
from torchstone.engines.pytorch.postmortem.autopsy import Autopsy, examine
from torchstone.engines.pytorch.postmortem.keep import kept_batches
from torchstone.engines.pytorch.weights.given import without_weights


@dataclass(frozen=True)
class Replayed:
    """then: the autopsy of the run itself; now: that of this replay; state: step, epoch, rank and rows of the window.

    notes: why the two may differ.
    """

    then: Autopsy
    now: Autopsy
    state: dict[str, Any]
    notes: list[str]


def replay(run: Run, setting: Setting, kept: Path) -> Replayed:
    """Runs the window in `kept` again, as the rank that failed ran it.

    Raises StoneError where the kept window or its checkpoint is missing or damaged.
    """
    content = checkpoint.read(kept, called="kept batch", fix="replay another one with --step, or train again")
    state = content.state
    weights = run.checkpoints / state["checkpoint"]
    if not weights.is_dir():
        raise StoneError(f"the weights of step {state['step']} are gone: {weights.name} is not there",
                         where=str(run.checkpoints), fix="bring the checkpoint back from a copy")
    strategy = start(setting.plan, "single")
    job = assemble(replace(setting, plan=without_weights(setting.plan)), strategy)
    progress, notes = snapshot.restore(job, _as_of_rank(checkpoint.read(weights), state["rank"]))
    if job.unfreezing is not None:
        job.unfreezing.at(job.model, progress.epoch)
    to_train_mode(job.model, job.resting)
    if state["torch"] != torch.__version__:
        notes.append(f"kept with torch {state['torch']}, replayed with {torch.__version__}: rounding may differ")
    if state["world"] > 1:
        notes.append(f"rank {state['rank']} of {state['world']} alone: what ranks share is not replayed")
    batches = kept_batches(content, job.feed)
    now = examine(job, batches, state["num"], content.tensors["generators"], state["scale"])
    rows = [int(row) for batch in batches for row in batch.rows]
    told = {name: state[name] for name in ("step", "epoch", "window", "rank", "world", "checkpoint", "scale")}
    then = Autopsy(**state["autopsy"])
    return Replayed(then, now, {**told, "rows": rows, "examples": [job.names(row) for row in rows[:20]]}, notes)


def _as_of_rank(content: checkpoint.Content, rank: int) -> checkpoint.Content:
    """The checkpoint as if that rank had been alone: its own buffers and generators."""
    own = {f"0.{name.partition('.')[2]}": value for name, value in content.tensors["ranks"].items()
           if name.partition(".")[0] == str(rank)}
    return checkpoint.Content({**content.tensors, "ranks": own}, {**content.state, "world": 1})
