"""`replay`: the batch whose loss or gradient was not finite, run once more from the run's folder."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.run import Run
from torchstone.core.trace import read_trace
from torchstone.flows import run_files
from torchstone.flows.look import look_as
from torchstone.flows.plan import task_of
from torchstone.flows.read_pictures import Progress
from torchstone.rules.trace.non_finite import growth, told

# What of an autopsy must be the same for a replay to have reproduced the failure.
SAME = ("phase", "layer", "operation", "micro_batch")


@dataclass(frozen=True)
class Replay:
    """What came of it.

    steps: those whose batches are kept; empty where there is nothing to replay, and then all others are too.
    finding: the cause as it was seen this time, None where everything was finite. is_same: whether it was born in the
    same operation of the same layer as in the run. layers, backward: one row for each layer, in order.
    notes: why the two may differ.
    """

    steps: list[int]
    state: dict[str, Any]
    finding: Finding | None
    is_same: bool
    found: dict[str, Any]
    layers: list[dict[str, Any]]
    backward: list[dict[str, Any]]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """All of it as programs read it."""
        finding = None if self.finding is None else self.finding.to_json()
        return {
            "steps": self.steps, **self.state, "finding": finding, "is_same": self.is_same, "post_mortem": self.found,
            "layers": self.layers, "backward": self.backward, "notes": self.notes,
        }  # fmt: skip


def replay(run: Run, *, project: Path, step: int | None = None, progress: Progress | None = None) -> Replay:
    """Runs the kept batch of `step` again, by default of the newest failure, with the draws of that time.

    Raises StoneError where the data or a file of the run has changed or is missing, or no batch of `step` is kept.
    """
    keep = importlib.import_module("torchstone.engines.pytorch.postmortem.keep")
    kept = {int(path.name.split("-")[1]): path for path in reversed(keep.kept_in(run.folder))}
    if not kept:
        return Replay([], {}, None, False, {}, [], [], [])
    step = max(kept) if step is None else step
    if step not in kept:
        listed = ", ".join(str(number) for number in sorted(kept))
        raise StoneError(f"no batch of step {step} is kept; there is one of step {listed}", where=str(run.folder))
    again = importlib.import_module("torchstone.engines.pytorch.postmortem.replay")
    result = again.replay(run, _setting(run, project, progress), kept[step])
    finding = _finding(run, result.now.found, result.state)
    is_same = finding is not None and all(result.now.found.get(k) == result.then.found.get(k) for k in SAME)
    return Replay(sorted(kept), {**result.state, "loss": result.now.found.get("loss")}, finding, is_same,
                  result.now.found, result.now.layers, result.now.backward, result.notes)  # fmt: skip


def _setting(run: Run, project: Path, progress: Progress | None) -> Any:
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    recipe, plan = run_files.stored_recipe(run), run_files.read_plan(run)
    dataset = look_as(recipe, progress).dataset
    run_files.check_same_data(run, dataset)
    encoding = run_files.read_document(run, run.encoding)
    return assemble.Setting(plan, dataset, task_of(dataset), encoding, project / ".torchstone" / "cache")


def _finding(run: Run, found: dict[str, Any], state: dict[str, Any]) -> Finding | None:
    """The finding that RUN201 would make of this replay, with what the run's trace says of the steps before."""
    if found.get("phase") is None:
        return None
    trace = read_trace(run.trace)
    row = next((row for row in trace if row.get("event") == "finding" and row.get("step") == state["step"]
                and "problem" in row), {})  # fmt: skip
    problem = "loss" if found["phase"] == "forward" else "gradient"
    shown = {"num": len(state["rows"]), "examples": state["examples"], "is_culprit_known": False, **row}
    return told({**shown, "problem": problem, "step": state["step"], "post_mortem": found}, growth(trace))
