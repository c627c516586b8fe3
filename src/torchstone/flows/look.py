"""Looks at data: which task it is, what its columns are, how it is split, and what was odd in its files."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from torchstone.core.catalog import find, names
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.plan import Choice
from torchstone.core.recipe import Data, Recipe, Rules
from torchstone.core.records import ReadReport
from torchstone.core.task import Task
from torchstone.flows.assemble_dataset import assemble_dataset
from torchstone.flows.examples import Examples
from torchstone.flows.find_files import find_files
from torchstone.flows.judge import judge
from torchstone.flows.load_tables import load_tables
from torchstone.flows.read_folders import read_folders
from torchstone.flows.read_pictures import Progress
from torchstone.flows.read_rows import read_rows

TASKS = "torchstone.parts.tasks"
_WORDS = {"image": "pictures", "text": "texts", "table": "rows of features"}


@dataclass(frozen=True)
class Look:
    """What a look at data gives: the dataset, what was odd while reading it, and what was decided on the way.

    What the dataset itself shows (leaks, imbalance, …) is judged by the rules of `rules/dataset`.
    """

    dataset: Dataset
    findings: list[Finding]
    choices: list[Choice]


def look(
    data: Data,
    *,
    task: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    rules: Rules | None = None,
) -> Look:
    """The dataset at `data.path`, read and split.

    task: its name, None to find it out. seed: of the split. progress: called as (done, total, what).
    rules: which rules judge what was read. Raises StoneError or StoneErrors for data that cannot be used.
    """
    wanted = None if task is None else find_task(task)
    report = ReadReport(source=data.path)
    layout = find_files(Path(data.path), report)
    if layout.pictures:
        examples = read_folders(layout, data, wanted, report, progress)
    else:
        loaded = load_tables(layout.tables, report)
        examples = read_rows(loaded, layout.folder, data, wanted, report, progress)
    chosen, choice = _task(examples, wanted)
    dataset, split_choices = assemble_dataset(examples, chosen, data.split, seed, report)
    findings = judge(report, "torchstone.rules.reading", rules or Rules())
    return Look(dataset, findings, [choice, *examples.choices, *split_choices])


def look_as(recipe: Recipe, progress: Progress | None = None) -> Look:
    """The dataset that a recipe speaks of, read and split as the recipe wants it; see `look`."""
    return look(
        recipe.data, task=recipe.task, seed=recipe.train.seed or 0, progress=progress, rules=recipe.rules
    )


def find_task(name: str) -> Task:
    """The task of this name, in either spelling; raises StoneError with the nearest where there is none."""
    known = [task.replace("_", "-") for task in names(TASKS)]
    if name.replace("_", "-") not in known:
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise StoneError(f"no task is called '{name}'", where="task", fix=fix)
    found = find(TASKS, name.replace("-", "_"))
    assert isinstance(found, Task)
    return found


def _task(examples: Examples, wanted: Task | None) -> tuple[Task, Choice]:
    if wanted is not None:
        return wanted, Choice("task", wanted.name, "user", "given")
    for name in names(TASKS):
        found = find_task(name)
        if (found.modality, found.target) == (examples.modality, examples.target.kind):
            reason = f"{len(examples):,} {_WORDS[found.modality]}; {examples.target.reason}"
            return found, Choice("task", found.name, "derived", reason, "rule of the reader", "--set task=NAME")
    raise StoneError(f"no task learns a {examples.target.kind} target from {_WORDS[examples.modality]}")
