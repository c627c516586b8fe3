"""`evaluate`: the best checkpoint on a split, every example once, each metric with its interval."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any, cast

from torchstone.core.catalog import find
from torchstone.core.dataset import Split
from torchstone.core.run import Run
from torchstone.core.trace import TraceWriter, read_trace
from torchstone.flows import run_files
from torchstone.flows.look import look_as
from torchstone.flows.plan import task_of
from torchstone.flows.read_pictures import Progress
from torchstone.parts import intervals, metrics


def evaluate(run: Run, *, project: Path, split: str = "test", progress: Progress | None = None) -> dict[str, Any]:
    """{"run", "split", "checkpoint", "n", "metrics": {name: {"value", "low", "high"}}, "looks"}.

    looks: how often the split was scored so far. The bounds are those of a 95 % interval.
    Raises StoneError where data or checkpoint have changed, or a file of the run is missing or damaged.
    """
    engine = importlib.import_module("torchstone.engines.pytorch.judgement")
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    recipe, plan = run_files.stored_recipe(run), run_files.read_plan(run)
    dataset = look_as(recipe, progress).dataset
    run_files.check_same_data(run, dataset)
    task = task_of(dataset)
    encoding = run_files.read_document(run, run.encoding)
    setting = assemble.Setting(plan, dataset, task, encoding, project / ".torchstone" / "cache")
    result = engine.judge_split(run, setting, cast(Split, split))
    target = dataset.target[result.rows]
    values = {}
    for name in metrics.metrics_for(task.target):
        low, high = intervals.interval(name, result.scores, target)
        value = find("torchstone.parts.metrics", name)(result.scores, target)
        values[name] = {"value": value, "low": low, "high": high}
    which = engine.judged_checkpoint(run)
    answer = {"run": run.name, "split": split, "checkpoint": which, "n": result.num, "metrics": values}
    return {**answer, "looks": _count_look(run, split, answer)}


def _count_look(run: Run, split: str, answer: dict[str, Any]) -> int:
    """Records that a split was scored: a test set that is looked at often is a validation set."""
    path = run.folder / "evaluations.jsonl"
    writer = TraceWriter(path)
    writer.append({"time": time.time(), **answer})
    writer.close()
    return sum(row["split"] == split for row in read_trace(path))
