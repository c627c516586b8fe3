"""The files that a run begins with, and what a resumed run may change of them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from torchstone.core import ranks, store
from torchstone.core.dataset import SPLITS, Dataset, ids_digest
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.finding import Finding
from torchstone.core.plan import Choice, Plan
from torchstone.core.recipe import Recipe
from torchstone.core.recipe_file import recipe_for
from torchstone.core.run import PAPERS, Run
from torchstone.flows.contact_sheet import NAMES
from torchstone.flows.plan import Planned

# What a resumed run may be given anew: none of it changes a step that was already made.
CHANGEABLE = ("train.epochs", "train.patience", "train.workers", "train.rank_timeout_minutes",
              "checkpoint.every_steps", "checkpoint.every_minutes", "checkpoint.keep")  # fmt: skip
PACKAGES = ("torchstone", "torch", "torchvision", "numpy", "safetensors", "tokenizers", "transformers", "peft",
            "polars", "pillow", "simplejpeg", "opencv-python-headless", "pydantic")  # fmt: skip

# What a run has in its folder before its first event, beside the files that `Run` names.
MADE = (*PAPERS, *NAMES, "weights.json", "lock")


def create(run: Run, planned: Planned, asked: Mapping[str, Sequence[str]] | None = None) -> None:
    """Fills the run's folder, which is locked, with recipe, plan, environment, data and findings.

    asked: the codes of the rules that are asked of it, by their subject.
    Raises StoneError where the name is taken.
    """
    check_new(run)
    recipe = planned.recipe.model_dump(exclude_unset=True)
    store.write_json(run.folder / "recipe.json", recipe)
    store.write_json(run.data, data_card(planned.dataset))
    store.write_json(run.environment, environment(planned.plan))
    if asked is not None:
        store.write_json(run.asked, asked)
    write_findings(run, planned.findings)
    write_plan(run, planned.plan)  # last: a folder with a plan is a run


def check_new(run: Run) -> None:
    """Raises StoneError where there is such a run already."""
    if run.plan.is_file():
        raise StoneError(
            f"there is a run called '{run.name}' already", where=str(run.folder),
            fix=f"go on with it: torchstone train --resume {run.name}; or choose another --run NAME",
        )  # fmt: skip


def give_back(run: Run) -> None:
    """Removes what a run that never began has written, and its folder: a mistake that shows late leaves nothing.

    Nothing happens where an event was written or a checkpoint begun; what others have put there stays.
    """
    has_events = run.trace.is_file() and run.trace.stat().st_size > 0
    if has_events or run.checkpoints.exists():
        return
    own = (run.encoding, run.plan, run.findings, run.baselines, run.trace, *(run.folder / name for name in MADE))
    for path in own:  # the encoding and the plan first: a new plan must not find the old encoding
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # something of somebody else's is in it
        run.folder.rmdir()


def write_plan(run: Run, plan: Plan) -> None:
    """plan.yaml: one entry per field with value, origin, reason and source."""
    import yaml

    rows = {"version": 1, "choices": plan.to_rows()}
    store.write_text(run.plan, yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=110))


def read_plan(run: Run) -> Plan:
    """The plan of a run; raises StoneError where it cannot be read."""
    import yaml

    try:
        return Plan.from_rows(yaml.safe_load(run.plan.read_text(encoding="utf-8"))["choices"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise _damaged(run, run.plan, error) from error


def read_document(run: Run, path: Path, *needed: str) -> dict[str, Any]:
    """A JSON object among the files of a run; raises StoneError where it is missing, damaged, or lacks a needed key."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(run, path, error) from error
    if not isinstance(document, dict) or not document or not document.keys() >= set(needed):
        raise _damaged(run, path, f"expected an object with {', '.join(needed) or 'content'}")
    return document


def _damaged(run: Run, path: Path, reason: object) -> StoneError:
    kind = f"{type(reason).__name__}: " if isinstance(reason, Exception) else ""
    fix = "bring the file back from a copy, or start a new run"
    what = f"run {run.name} is damaged: {path.name} cannot be read: {kind}{reason}"
    return StoneError(what, where=str(path), fix=fix)


def data_card(dataset: Dataset) -> dict[str, Any]:
    """What a run's data was, for those who come later."""
    return {
        "digest": dataset.digest,
        "source": dataset.source,
        "task": dataset.task,
        "target": dataset.target_name,
        "classes": list(dataset.classes),
        "columns": dict(dataset.kinds),
        "counts": {split: len(dataset.rows(split)) for split in SPLITS},
        "digests": {split: ids_digest(dataset.ids[dataset.rows(split)]) for split in SPLITS},
    }


def environment(plan: Plan) -> dict[str, Any]:
    """Packages, machine, git state, seed, threads."""
    facts = import_module("torchstone.engines.pytorch.machine").environment()
    return {
        **facts,
        "threads": plan["train.threads"],
        "seed": plan["train.seed"],
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "git": git_state(Path.cwd()),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit and number of changed files of the repository around `folder`; None outside one."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit, "num_changed": len(_git(folder, "status", "--porcelain").splitlines())}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def write_findings(run: Run, findings: Iterable[Finding]) -> None:
    """findings.jsonl: one JSON object per line."""
    rows = [json.dumps(store.clean(finding.to_json()), ensure_ascii=False) for finding in findings]
    store.write_text(run.findings, "".join(f"{row}\n" for row in rows))


def stored_recipe(run: Run) -> Recipe:
    """The recipe that a run was started with."""
    path = run.folder / "recipe.json"
    try:
        return Recipe.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoneError(f"the run's recipe cannot be read: {error}", where=str(path)) from error


def recipe_here(recipe: Recipe) -> Recipe:
    """The recipe, without its strategy where one process goes on with what several began, or several with one's."""
    given = recipe.model_dump(exclude_unset=True)
    strategy = given.get("train", {}).pop("strategy", None)
    fits = strategy is None or (strategy == "single") == (ranks.world() == 1)
    return recipe if fits else Recipe.model_validate(given)


def check_same_data(run: Run, dataset: Dataset) -> None:
    """Raises StoneError where the data is not, byte for byte, what the run was started with."""
    expected = str(read_document(run, run.data, "digest")["digest"])
    if expected != dataset.digest:
        raise StoneError(
            f"the data has changed since run {run.name} was started: digest {dataset.digest[:12]}…, then "
            f"{expected[:12]}…",
            where=dataset.source,
            fix="bring the old data back, or start a new run",
        )


def resumed_plan(run: Run, overrides: Sequence[str], fresh: Plan) -> tuple[Plan, list[str]]:
    """The stored plan with the overrides that a resumed run may have, and notes on what they do.

    fresh: the plan that is made here and now; how the ranks meet is taken from it.
    """
    plan, notes = read_plan(run), []
    changed = recipe_for("", overrides=overrides).model_dump(exclude_unset=True, exclude={"data"})
    fields = {f"{section}.{name}": v for section, values in changed.items() for name, v in _items(values)}
    refused = [field for field in fields if field not in CHANGEABLE]
    if refused:
        raise StoneErrors([
            StoneError(
                f"a run that is resumed keeps its {field}; it may change {', '.join(CHANGEABLE)}",
                where=f"--set {field}", fix="start a new run for another value",
            ) for field in refused
        ])  # fmt: skip
    if fields.get("train.epochs", made := epochs_made(run)) < made:
        raise StoneError(
            f"{made} epochs are made already; it cannot end after {fields['train.epochs']}", where="--set train.epochs",
            fix=f"give {made} or more, or start a new run",
        )  # fmt: skip
    choices = dict(plan.choices)
    if fresh["train.strategy"] != plan["train.strategy"]:
        meeting = ("train.strategy", "train.rank_timeout_minutes")
        choices |= {field: fresh.choices[field] for field in meeting if field in fresh.choices}
        notes.append(f"train.strategy: {plan['train.strategy']} → {fresh['train.strategy']}")
    for field, value in fields.items():
        old = choices.get(field, Choice(field, None, "default", ""))
        notes += _notes(field, old.value, value, plan)
        choices[field] = replace(old, value=value, origin="user", reason="set when the run was resumed")
    return Plan(choices), notes


def epochs_made(run: Run) -> int:
    """Whole epochs that the newest checkpoint holds; 0 where there is none to read."""
    try:
        state = json.loads((run.checkpoints / "last" / "state.json").read_text(encoding="utf-8"))
        return int(state["progress"]["epoch"])
    except (OSError, ValueError, KeyError, TypeError):  # a broken one is named when the run is restored
        return 0


def _items(values: Any) -> list[tuple[str, Any]]:
    return list(values.items()) if isinstance(values, dict) else [("", values)]


def _notes(field: str, old: Any, new: Any, plan: Plan) -> list[str]:
    if field != "train.epochs" or old == new:
        return [f"{field}: {old} → {new}"]
    schedule = plan["schedule.name"]
    return [
        f"train.epochs: {old} → {new}. The {schedule} schedule is stretched over {new} epochs: the steps to come "
        f"follow the longer curve, those already made followed the one over {old}; the result is not that of a run "
        f"planned with {new} epochs from the start"
    ]
