"""What the best checkpoint says of every example of a split."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np

from torchstone.core import store
from torchstone.core.dataset import Split
from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.assemble import Setting, assemble, start, validation_of
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.ruler import example_losses
from torchstone.engines.pytorch.scoring import Scores, score
from torchstone.engines.pytorch.training_rows import as_they_are
from torchstone.engines.pytorch.weights.given import without_weights


def write_predictions(run: Run, setting: Setting, job: Job, *, is_first: bool) -> None:
    """Scores the validation rows with the best checkpoint and saves them; every rank calls it."""
    assert job.validation is not None
    load_best(run, job)
    result = score(job, job.validation)
    if is_first:
        save_predictions(run, setting, "validation", result)


def judge_split(run: Run, setting: Setting, split: Split) -> Scores:
    """Scores every example of a split once with the best checkpoint, in this process alone.

    Raises StoneError where the split is empty or the checkpoint cannot be trusted.
    """
    setting = replace(setting, plan=without_weights(as_they_are(setting.plan)))
    strategy = start(setting.plan, "single")
    job = assemble(setting, strategy)
    validation = validation_of(setting, job.feed.source, split)
    if validation is None:
        counts = ", ".join(f"{s} {len(setting.dataset.rows(s))}" for s in ("train", "validation", "test"))
        raise StoneError(f"the split '{split}' has no examples; there are {counts}", where=setting.dataset.source)
    load_best(run, job)
    result = score(job, validation)
    save_predictions(run, setting, split, result)
    return result


def judged_checkpoint(run: Run) -> str:
    """Which checkpoint is judged: `best`, or `last` where no epoch was validated, so that none is the best."""
    return "best" if (run.checkpoints / "best").exists() else "last"


def load_best(run: Run, job: Job) -> None:
    """Puts the weights of the judged checkpoint (averaged ones, if the run averages) into the job's model."""
    content = checkpoint.read((run.checkpoints / judged_checkpoint(run)).resolve())
    job.model.load_state_dict(content.tensors.get("averaged", content.tensors["model"]))


def save_predictions(run: Run, setting: Setting, split: Split, result: Scores) -> None:
    """predictions/SPLIT.npz: rows, scores, target and each example's own loss."""
    target = setting.dataset.target[result.rows]
    arrays = {
        "rows": result.rows,
        "scores": result.scores.astype(np.float32),
        "target": target,
        "loss": example_losses(result.scores, target, setting.task.target),
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    store.write_bytes(run.predictions / f"{split}.npz", buffer.getvalue())
