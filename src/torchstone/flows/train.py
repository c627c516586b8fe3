"""`train`: a plan becomes a run; a run that was cut off goes on as if nothing had happened."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchstone.core import ranks
from torchstone.core.errors import StoneError
from torchstone.core.event import Observer
from torchstone.core.finding import Finding, has_errors
from torchstone.core.ranks import is_first_rank, is_restart
from torchstone.core.recipe import Recipe
from torchstone.core.run import Run, find_run, runs_folder
from torchstone.core.store import plain_os_errors, write_json
from torchstone.core.trace import read_trace
from torchstone.flows import run_files
from torchstone.flows.asked import asked_rules
from torchstone.flows.baselines import baselines
from torchstone.flows.own_doctor import doctor_of_a_run, judge_trace
from torchstone.flows.plan import Planned, make_plan
from torchstone.flows.preflight_gate import Gate, gate_of
from torchstone.flows.read_pictures import Progress
from torchstone.flows.run_lock import locked


@dataclass(frozen=True)
class TrainResult:
    """What became of a run.

    status: finished, stopped (it can be resumed), failed, or blocked (findings of severity error stopped it before
    the first step; then there is no run). result: the content of result.json.
    """

    run: Run | None
    status: str
    result: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def train(
    recipe: Recipe, *, project: Path, run_name: str | None = None, observers: Sequence[Observer] = (),
    progress: Progress | None = None, planned: Planned | None = None, preflight: bool = True,
) -> TrainResult:  # fmt: skip
    """Plans (unless `planned` is given) and runs.

    preflight: look at the first batch before the first step; what it finds of severity error blocks the run.

    The doctor watches: each finding comes to the observers as it is first seen, as an event of kind `finding`.
    Under torchrun every rank calls it with the same `run_name`; after a restart of the ranks it resumes.
    Raises StoneError for unusable data, recipe or place.
    """
    run_name = run_name or common_name()
    check_name(run_name, project)
    if run_name is not None and is_restart() and Run(runs_folder(project) / run_name).plan.is_file():
        return resume(run_name, project=project, observers=observers)
    planned = planned or make_plan(recipe, project=project, progress=progress)
    if has_errors(planned.findings):
        return TrainResult(None, "blocked", {"status": "blocked"}, planned.findings)
    run = Run(runs_folder(project) / (run_name or new_name(project)))
    with locked(run, is_first_rank()):
        if is_first_rank():
            run_files.check_new(run)
        try:
            if is_first_rank():
                run_files.create(run, planned, asked_rules(planned.recipe.rules, has_preflight=preflight))
                if ranks.world() == 1:
                    _write_baselines(run, planned)
            return _run(run, planned, observers, project=project, gate=gate_of(run, planned) if preflight else None)
        except (StoneError, KeyboardInterrupt):
            if ranks.world() == 1:  # other ranks may read the plan, also after a restart
                run_files.give_back(run)
            raise


def common_name() -> str | None:
    """A name that all ranks of a torchrun job know without asking each other, also after a restart; None for one rank.

    It comes from the job's id, or from the process that started them. Raises StoneError where neither tells.
    """
    world = ranks.world()
    job = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    if world == 1:
        return None
    if job != "none":
        return f"ranks-{job[:8]}"
    if ranks.local_world() == world:
        return f"ranks-{os.getppid()}"
    raise StoneError(
        f"{world} ranks on several machines need to agree on the run's name: after a restart they find it by that",
        fix="name it: torchrun … -m torchstone train DATA --run-name NAME",
    )


def resume(
    name: str | None, *, project: Path, overrides: Sequence[str] = (), observers: Sequence[Observer] = ()
) -> TrainResult:
    """Goes on with a run from its newest verified checkpoint.

    overrides may change what does not change the steps already made: train.epochs, train.patience, train.workers,
    checkpoint.*. Raises StoneError for any other, for changed data, and where no checkpoint can be trusted.
    """
    run = find_run(project, name)
    with locked(run, is_first_rank()):
        planned = make_plan(run_files.recipe_here(run_files.stored_recipe(run)), project=project)
        run_files.check_same_data(run, planned.dataset)
        plan, notes = run_files.resumed_plan(run, overrides, planned.plan)
        if is_first_rank():
            run_files.write_plan(run, plan)
        return _run(run, replace(planned, plan=plan), observers, project=project, notes=notes)


def check_name(name: str | None, project: Path) -> None:
    """Raises StoneError where a new run cannot have this name; cheap, for before the data is read.

    A folder without a plan is what a killed start left behind: the name is free.
    """
    if name is None or is_restart() or not is_first_rank():
        return
    if name in ("", ".", "..") or Path(name).name != name:
        raise StoneError(f"'{name}' cannot be the name of a folder", where="--run", fix="choose one without slashes")
    run_files.check_new(Run(runs_folder(project) / name))


def new_name(project: Path) -> str:
    """A name that no run of the project has, and its folder: the time, and a number where two start in one second."""
    stem = time.strftime("%Y%m%d-%H%M%S")
    for name in (stem, *(f"{stem}-{number}" for number in range(2, 1000))):
        folder = runs_folder(project) / name
        with plain_os_errors(folder), contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return name
    raise StoneError("a thousand runs were started in this second", where=str(runs_folder(project)))


def _run(
    run: Run, planned: Planned, observers: Sequence[Observer], *, project: Path,
    notes: Sequence[str] | None = None, gate: Gate | None = None,
) -> TrainResult:  # fmt: skip
    """The engine's part, on every rank; rank 0 alone writes.

    notes: on a run that is resumed, None for a new one. gate: who looks at a new one before its first step.
    """
    engine = importlib.import_module("torchstone.engines.pytorch.drive")
    care = engine.Care(gate, doctor_of_a_run(planned.recipe.rules, run.trace))
    setting = setting_of(planned, project)
    result = engine.drive(run, setting, observers, resume=notes is not None, notes=notes or (), care=care)
    if gate is not None and result["status"] == "blocked":
        if is_first_rank():
            run_files.give_back(run)
        return TrainResult(None, "blocked", result, [*planned.findings, *gate.findings])
    result = {"metric": planned.plan["metric"], **result}
    found = judge_run(run, planned) if is_first_rank() else []
    if is_first_rank() and not run.baselines.is_file():  # of several ranks the others would have waited for them
        _write_baselines(run, planned)
    if run.baselines.is_file():
        result = {**result, **json.loads(run.baselines.read_text(encoding="utf-8"))}
    return TrainResult(run, result["status"], result, [*planned.findings, *found])


def _write_baselines(run: Run, planned: Planned) -> None:
    rows = baselines(planned.dataset, planned.task, seed=int(planned.plan["train.seed"]))
    write_json(run.baselines, {"baselines": rows})


def setting_of(planned: Planned, project: Path) -> Any:
    """What the engine assembles a job from; the encoding is left to it."""
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    return assemble.Setting(planned.plan, planned.dataset, planned.task, {}, project / ".torchstone" / "cache")


def judge_run(run: Run, planned: Planned) -> list[Finding]:
    """What the doctor told during a run and what its trace shows; findings.jsonl then holds it, after the data's."""
    found = judge_trace(read_trace(run.trace), planned.recipe.rules)
    run_files.write_findings(run, [*planned.findings, *found])
    return found
