"""A run's whole state as tensors and numbers, and back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.checkpoint import Content
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.scoring import averaged_state, exported_state


def take(job: Job, progress: Progress) -> Content:
    """Copies everything to host memory; every rank calls it, rank 0's copy is the one to write."""
    optimizer, numbers = _flatten(job.strategy.whole(job.optimizer.state_dict()))
    tensors = {
        "model": _copy(exported_state(job)),
        "optimizer": _copy(optimizer),
        "ranks": _ranks(job),
    }
    averaged = averaged_state(job)
    if averaged is not None:
        tensors["averaged"] = _copy(averaged)
    if job.feed.difficulty is not None:
        tensors["difficulty"] = job.feed.difficulty.tensors()
    state = {
        "progress": progress.to_json(),
        "optimizer": numbers,
        "scaler": None if job.precision.scaler is None else job.precision.scaler.state_dict(),
        "average": 0 if job.average is None else job.average.num,
        "world": job.strategy.world,
        "torch": torch.__version__,
    }
    return Content(tensors, state)


def restore(job: Job, content: Content) -> tuple[Progress, list[str]]:
    """Puts a checkpoint's content back into the job; returns where the run stands, and notes for the user."""
    notes: list[str] = []
    _load_model(job, content.tensors["model"])
    saved = _unflatten(content.tensors["optimizer"], content.state["optimizer"])
    job.optimizer.load_state_dict(job.strategy.own(saved))
    if job.average is not None and "averaged" in content.tensors:
        job.average.load(content.tensors["averaged"], content.state.get("average", 0))
        job.statistics.forget()
    if job.feed.difficulty is not None:
        job.feed.difficulty.load(content.tensors.get("difficulty", {}))
    scaler = content.state["scaler"]
    if job.precision.scaler is not None and scaler is not None:
        job.precision.scaler.load_state_dict(scaler)
    if content.state["world"] == job.strategy.world:
        _load_ranks(job, content.tensors["ranks"])
    else:
        notes.append(
            f"saved by {content.state['world']} ranks, resumed by {job.strategy.world}: examples keep their order, "
            "dropout draws anew, so the weights will not equal those of the uninterrupted run"
        )
    if content.state["torch"] != torch.__version__:
        notes.append(
            f"saved with torch {content.state['torch']}, resumed with {torch.__version__}: rounding may differ"
        )
    return Progress.from_json(content.state["progress"]), notes


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}


def _load_model(job: Job, state: dict[str, Tensor]) -> None:
    missing, unexpected = job.model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise StoneError(
            f"the checkpoint does not fit the model: missing {missing[:5]}, unexpected {unexpected[:5]}",
            fix="resume with the recipe that the run was started with",
        )


def _flatten(state: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, numbers = {}, {}
    for index, values in state["state"].items():
        for key, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"{index}.{key}"] = value
            else:
                numbers[f"{index}.{key}"] = value
    return tensors, {"numbers": numbers, "groups": state["param_groups"]}


def _unflatten(tensors: dict[str, Tensor], saved: dict[str, Any]) -> dict[str, Any]:
    state: dict[int, dict[str, Any]] = {}
    for name, value in [*tensors.items(), *saved["numbers"].items()]:
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = value
    groups = [
        {key: tuple(value) if isinstance(value, list) and key != "params" else value for key, value in group.items()}
        for group in saved["groups"]
    ]
    return {"state": state, "param_groups": groups}


def _ranks(job: Job) -> dict[str, Tensor]:
    """What differs between ranks: the generator that dropout draws from, and buffers such as BatchNorm's."""
    gathered = {}
    for name, value in [*_generators(job).items(), *job.model.named_buffers(), *_averaged_buffers(job).items()]:
        for rank, part in enumerate(job.strategy.gather(value.detach().reshape(-1))):
            gathered[f"{rank}.{name}"] = part.to("cpu", copy=True)
    return gathered


def _averaged_buffers(job: Job) -> dict[str, Tensor]:
    if job.average is None:
        return {}
    buffers = {name for name, _ in job.model.named_buffers()}
    return {f"averaged.{name}": value for name, value in sorted(job.average.state().items()) if name in buffers}


def _generators(job: Job) -> dict[str, Tensor]:
    states = {"generator": torch.get_rng_state(), "python": _python_state(), "numpy": _numpy_state()}
    if job.strategy.device.type == "cuda":
        states["generator.cuda"] = torch.cuda.get_rng_state(job.strategy.device)
    return states


@torch.no_grad()
def _load_ranks(job: Job, tensors: dict[str, Tensor]) -> None:
    rank = job.strategy.rank
    torch.set_rng_state(tensors[f"{rank}.generator"])
    _set_python_state(tensors[f"{rank}.python"].tolist())
    _set_numpy_state(tensors[f"{rank}.numpy"].tolist())
    if f"{rank}.generator.cuda" in tensors and job.strategy.device.type == "cuda":
        torch.cuda.set_rng_state(tensors[f"{rank}.generator.cuda"], job.strategy.device)
    for name, buffer in [*job.model.named_buffers(), *_averaged_buffers(job).items()]:
        buffer.copy_(tensors[f"{rank}.{name}"].view(buffer.shape))


def _python_state() -> Tensor:
    """Python's global generator as float64 (its words have 32 bits): the parts here draw from none, others' may."""
    _, words, gauss = random.getstate()
    return torch.tensor([*words, float(gauss is not None), gauss or 0.0], dtype=torch.float64)


def _set_python_state(values: list[float]) -> None:
    *words, has_gauss, gauss = values
    random.setstate((3, tuple(int(word) for word in words), gauss if has_gauss else None))


def _numpy_state() -> Tensor:
    """numpy's global generator as float64: 624 words, position, and the kept normal number, if there is one."""
    _, words, position, has_gauss, gauss = np.random.get_state()
    return torch.tensor([*np.asarray(words).tolist(), position, has_gauss, gauss], dtype=torch.float64)


def _set_numpy_state(values: list[float]) -> None:
    *words, position, has_gauss, gauss = values
    np.random.set_state(("MT19937", np.array(words).astype(np.uint32), int(position), int(has_gauss), gauss))
