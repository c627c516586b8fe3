"""What the best checkpoint says of every example of a split."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from torchstone.core import store
from torchstone.core.dataset import Split
from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.assemble import Setting, assemble, start, validation_of
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.scoring import Scores, score


def write_predictions(run: Run, setting: Setting, job: Job, *, is_first: bool) -> None:
    """Scores the validation rows with the best checkpoint and saves them; every rank calls it."""
    assert job.validation is not None
    with best_weights(run, job):
        result = score(job, job.validation)
    if is_first:
        save_predictions(run, setting, "validation", result)


def judge_split(run: Run, setting: Setting, split: Split) -> Scores:
    """Scores every example of a split once with the best checkpoint, in this process alone.

    Raises StoneError where the split is empty or the checkpoint cannot be trusted.
    """
    strategy = start(setting.plan)
    job = assemble(setting, strategy)
    assert isinstance(job.feed.source, object)
    validation = validation_of(setting, job.feed.source, split)
    if validation is None:
        counts = ", ".join(f"{s} {len(setting.dataset.rows(s))}" for s in ("train", "validation", "test"))
        raise StoneError(f"the split '{split}' has no examples; there are {counts}", where=setting.dataset.source)
    with best_weights(run, job):
        result = score(job, validation)
    save_predictions(run, setting, split, result)
    return result


@contextmanager
def best_weights(run: Run, job: Job) -> Iterator[None]:
    """The weights of the best checkpoint (averaged ones, if the run averages); put back is nothing."""
    content = checkpoint.read((run.checkpoints / "best").resolve())
    job.model.load_state_dict(content.tensors.get("averaged", content.tensors["model"]))
    yield


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


def example_losses(scores: np.ndarray, target: np.ndarray, kind: str) -> np.ndarray:
    """Per example, float32 [N]: negative log-probability; mean of it over labels; or squared error of a number."""
    tiny = 1e-12
    if kind == "single":
        return -np.log(np.maximum(scores[np.arange(len(target)), target], tiny)).astype(np.float32)
    if kind == "multi":
        right = np.where(target > 0, scores, 1 - scores)
        return -np.log(np.maximum(right, tiny)).mean(axis=1).astype(np.float32)
    return ((scores - target) ** 2).astype(np.float32)


def is_finite(result: Scores) -> bool:
    """Whether every score is a number."""
    return bool(torch.from_numpy(np.asarray(result.scores)).isfinite().all())
