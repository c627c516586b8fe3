"""Small reviewed runs for the examples of rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchstone.core.finding import Finding
from torchstone.core.plan import Choice, Plan
from torchstone.core.review import Reviewed
from torchstone.rules._watched import Seen

LOOP, TRAIN, VALIDATION = "a" * 64, "b" * 64, "c" * 64
_PAPERS = dict.fromkeys(("recipe.json", "data.json", "environment.json", "plan.yaml"), "d" * 64)
_VALUES = {
    "model.name": "small_resnet", "loss.name": "cross_entropy", "optimizer.name": "adamw", "schedule.name": "cosine",
    "schedule.options.warmup": 0.05, "train.precision": "fp32", "train.clip_norm": 1.0, "train.accumulate": 1,
    "train.recompute": False, "sampler.name": "shuffled", "metric": "accuracy",
}  # fmt: skip


def trace(*more: dict[str, Any], start: dict[str, Any] | None = None, num: int = 8) -> list[dict[str, Any]]:
    """The ledger of a sound run of one epoch of `num` steps, with other rows behind its start."""
    first = {"event": "start", "step": 0, "time": 1000.0, "world": 1, "papers": _PAPERS, "loop": LOOP,
             "is_anomaly_on": False, **(start or {})}  # fmt: skip
    made = [{"event": "step", "step": n, "time": 1000.0 + n, "lr": min(n, 3) * 1e-3, "weight": 16.0, "grad_norm": 2.0,
             "clipped_norm": 1.0} for n in range(1, num + 1)]  # fmt: skip
    best = {"event": "validation", "step": num, "metrics": {"accuracy": 0.9}, "is_best": True}
    return [first, *more, *made, examples(step=num), best]


def examples(**different: Any) -> dict[str, Any]:
    """The ledger's row of what came in an epoch: each of 128 training examples once."""
    rank = {"examples": 128, "distinct": 128, "digest": TRAIN}
    return {"event": "examples", "step": 8, "epoch": 0, "windows": [0, 7], "examples": 128, "distinct": 128,
            "by_split": {"train": 128, "validation": 0, "test": 0, "synthetic": 0}, "digest": TRAIN, "shared": 0,
            "ranks": [rank], **different}  # fmt: skip


def run(values: dict[str, Any] | None = None, origin: Any = "derived", **different: Any) -> Reviewed:
    """A sound run of ours that has ended; values: fields of its plan that differ, with their origin."""
    merged = {**_VALUES, **(values or {})}
    choices = {name: Choice(name, value, origin, "as told") for name, value in merged.items()}
    known: dict[str, Any] = {
        "name": "r1", "kind": "run", "folder": "runs/r1", "status": "finished", "plan": Plan(choices), "trace": trace(),
        "lines": {name: line for line, name in enumerate(choices, start=3)}, "loop": LOOP, "papers": _PAPERS,
        "environment": {"packages": {"torchstone": "0.1.0"}, "seed": 0, "command": ["torchstone"], "git": None,
                        "has_accelerator": True, "accelerator": "an accelerator", "has_bf16": True},
        "data": {"digest": "e" * 64, "source": "data", "task": "image-classification", "classes": ["a", "b"],
                 "counts": {"train": 128, "validation": 32, "test": 32},
                 "digests": {"train": TRAIN, "validation": VALIDATION, "test": "f" * 64}},
        "result": {"status": "finished", "best": {"step": 8, "metrics": {"accuracy": 0.9}}},
        "checkpoint": {"name": "best", "step": 8, "files": {"model.safetensors": "1" * 64}, "wrong": []},
        "written": dict.fromkeys(_PAPERS, 999.0),
    }  # fmt: skip
    return Reviewed(**{**known, **different})


def watched(rows: Iterable[dict[str, Any]], **different: Any) -> Reviewed:
    """A loop that was watched, with these rows."""
    return Reviewed(**{"name": "rows.jsonl", "kind": "watched", "rows": Seen(rows), **different})


def finding(code: str, what: str = "as told") -> Finding:
    """A finding of another rule."""
    return Finding(code, "error", what, "why", "fix")
