"""`plan`: recipe, data and machine in; every value of the run out, with origin, reason and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchstone.core import catalog
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.finding import Finding, has_errors
from torchstone.core.piece_check import check_recipe_pieces
from torchstone.core.plan import Choice, Plan, Planning
from torchstone.core.recipe import PIECES, Recipe
from torchstone.core.task import Task
from torchstone.flows.check_order import order_faults
from torchstone.flows.check_together import check_together
from torchstone.flows.choose_values import known_facts, planned_choices
from torchstone.flows.judge import judge
from torchstone.flows.look import Look, find_task, look_as
from torchstone.flows.option_ranges import check_values
from torchstone.flows.read_pictures import Progress
from torchstone.flows.rulebook import check_codes
from torchstone.parts import metrics
from torchstone.parts.choices.imbalance import counted_weights

# Where the parts of each field live.
FOLDERS = {
    "model": "torchstone.engines.pytorch.models",
    "adapter": "torchstone.engines.pytorch.adapters",
    "loss": "torchstone.engines.pytorch.losses",
    "optimizer": "torchstone.engines.pytorch.optimizers",
    "schedule": "torchstone.parts.schedules",
    "averaging": "torchstone.engines.pytorch.averaging",
    "sampler": "torchstone.parts.samplers",
    "mix": "torchstone.engines.pytorch.mixes",
    "clipping": "torchstone.engines.pytorch.clipping",
    "image.augment": "torchstone.engines.pytorch.transforms",
    "image.distort": "torchstone.engines.pytorch.distortions",
    "image.erase": "torchstone.engines.pytorch.erasures",
    "text.augment": "torchstone.engines.pytorch.edits",
    "init": "torchstone.engines.pytorch.inits",
    "data.resample": "torchstone.parts.resamplers",
}
# Options that the engine works out itself, or that the plan shows under another field.
HIDDEN = {("optimizer", "betas"), ("optimizer", "eps")}


@dataclass(frozen=True)
class Planned:
    """A plan, the data that it is for, and what was found in both."""

    recipe: Recipe
    plan: Plan
    look: Look
    task: Task
    findings: list[Finding]

    @property
    def dataset(self) -> Dataset:
        """The data as it was read."""
        return self.look.dataset


def make_plan(recipe: Recipe, *, project: Path, progress: Progress | None = None) -> Planned:
    """Looks at the data and the machine and fills in what the recipe leaves out.

    Raises StoneError where the data or the recipe cannot be used.
    """
    check_codes(recipe.rules, recipe.where)
    check_recipe_pieces(recipe, FOLDERS)
    seen = look_as(recipe, progress)
    dataset = seen.dataset
    task = task_of(dataset)
    check_fit(recipe, task, dataset)
    findings = [*seen.findings, *judge(dataset, "torchstone.rules.dataset", recipe.rules)]
    facts = known_facts(recipe, dataset, task)
    choices = planned_choices(recipe, task, facts, seen.choices)
    chosen = {piece: choices[f"{piece}.name"].value for piece in PIECES if f"{piece}.name" in choices}
    check_recipe_pieces(recipe, FOLDERS, planned=chosen)
    plan = Plan(counted_weights(overlaid(recipe, choices), facts))
    check_values(recipe, plan, FOLDERS, model_refusal=facts.pop("model_refusal", None))
    findings += judge(Planning(plan, task, facts), "torchstone.rules.recipe", recipe.rules)
    if not has_errors(findings):  # which end a training before it is put together
        check_together(recipe, plan, dataset, task, facts)
    return Planned(recipe, plan, seen, task, findings)


def task_of(dataset: Dataset) -> Task:
    """The task part of a dataset."""
    return find_task(dataset.task)


def check_fit(recipe: Recipe, task: Task, dataset: Dataset) -> None:
    """Raises StoneErrors for fields that would have no effect, and for a metric that does not fit the task."""
    errors = []
    for section, modality in (("image", "image"), ("text", "text")):
        given = getattr(recipe, section).model_dump(exclude_unset=True)
        if given and task.modality != modality:
            errors += [
                StoneError(
                    f"this has no effect: the task is {task.name}", where=recipe.where(f"{section}.{name}"),
                    fix="remove the field",
                )
                for name in given
            ]  # fmt: skip
    errors += _unfit_pieces(recipe, task)
    known = [*metrics.metrics_for(task.target), "loss"]
    asked = {"metric": recipe.metric}
    asked |= {"train.stop_on.metric": recipe.train.stop_on.metric} if recipe.train.stop_on else {}
    for field, name in asked.items():
        if name is not None and name not in known:
            text = f"found '{name}'; {task.name} has {', '.join(known)}"
            errors.append(StoneError(text, where=recipe.where(field)))
    if errors:
        raise StoneErrors(errors)


def _unfit_pieces(recipe: Recipe, task: Task) -> list[StoneError]:
    """Parts that cannot do their work on this kind of data."""
    errors = []
    if recipe.mix is not None and (recipe.mix.name or recipe.mix.options()) and task.modality != "image":
        text = f"only pictures can be mixed; the task is {task.name}"
        errors.append(StoneError(text, where=recipe.where("mix"), fix="remove the field"))
    errors += order_faults(recipe, task)
    errors += _foreign_loss(recipe, task)
    errors += _foreign_model(recipe, task)
    if recipe.data.resample is not None and (task.modality, task.target) != ("table", "single"):
        text = f"only rows of a table with one class each are resampled; the task is {task.name}"
        fix = "remove the field" + ("; see sampler" if task.target == "single" else "")
        errors.append(StoneError(text, where=recipe.where("data.resample"), fix=fix))
    return errors


def _foreign_loss(recipe: Recipe, task: Task) -> list[StoneError]:
    """A loss that takes what no task gives: pairs, views, embeddings without a head."""
    name = recipe.loss.name if recipe.loss is not None else None
    if name is None:
        return []
    takes = getattr(catalog.find(FOLDERS["loss"], name), "takes", "scores")
    if takes == "scores" or (takes == "cosines" and task.target == "single"):
        return []
    what = f"{name} takes {takes}; {task.name} has one output for each class, label or number"
    fix = f"for a loop of your own: torchstone.losses.{name}; by recipe use "
    other = "arcface, which learns embeddings of classes" if task.target == "single" else "the planned loss"
    return [StoneError(what, where=recipe.where("loss"), fix=fix + other)]


def _foreign_model(recipe: Recipe, task: Task) -> list[StoneError]:
    """A model that reads something else than the task has; those of ours say by their name what they read."""
    name, folder = recipe.model.name if recipe.model is not None else None, FOLDERS["model"]
    if name is None or not catalog.find(folder, name).__module__.startswith(f"{folder}."):
        return []
    fitting = [known for known in catalog.names(folder) if _reads(known) == task.modality]
    if _reads(name) == task.modality:
        return []
    text = f"{name} does not read what {task.name} has"
    return [StoneError(text, where=recipe.where("model"), fix=f"one of: {', '.join(fitting)}; or leave it to the plan")]


def _reads(model: str) -> str:
    kind = model.partition("_")[0]
    return kind if kind in ("text", "table") else "image"


def overlaid(recipe: Recipe, planned: Mapping[str, Choice]) -> dict[str, Choice]:
    """The planned choices with the user's over them, and the defaults of each part's own options below both."""
    choices = dict(planned)
    given = recipe.model_dump(exclude_unset=True, exclude={"rules", "version"})
    for piece in PIECES:
        *sections, name = piece.split(".")
        section: dict[str, Any] = given
        for key in sections:
            section = section.get(key, {})
        _overlay_piece(recipe, choices, piece, section.pop(name, None))
    for field, value in _leaves(given):
        if field == "data.split" and field in planned:  # the counts that the shares gave say more
            reason = f"{recipe.where(field)}: {planned[field].reason}"
            choices[field] = replace(planned[field], origin="user", reason=reason)
            continue
        choices[field] = _user_choice(recipe, field, value, choices.get(field))
    return choices


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for key, value in tree.items():
        field = f"{prefix}{key}"
        if isinstance(value, dict) and field != "data.split":
            leaves += _leaves(value, field + ".")
        else:
            leaves.append((field, value))
    return leaves


def _user_choice(recipe: Recipe, field: str, value: Any, planned: Choice | None) -> Choice:
    instead = ""
    if planned is not None and planned.value != value:
        instead = f"; the plan's own choice: {planned.value} ({planned.reason})"
    written = field.replace(".options.", ".")
    place = recipe.where(written)
    return Choice(field, value, "user", f"{'given in the call' if place == written else place}{instead}")


def _overlay_piece(recipe: Recipe, choices: dict[str, Choice], piece: str, given: Mapping[str, Any] | None) -> None:
    """One part: the user's name and options, the planned options of the same part, its signature's defaults."""
    options = dict(given or {})
    name = options.pop("name", None)
    planned = choices.get(f"{piece}.name")
    if name is not None and (planned is None or planned.value != name):
        for field in [f for f in choices if f.startswith(f"{piece}.options.")]:
            del choices[field]
        choices[f"{piece}.name"] = _user_choice(recipe, f"{piece}.name", name, planned)
    elif name is not None and planned is not None:
        choices[f"{piece}.name"] = Choice(f"{piece}.name", name, "user", recipe.where(piece), planned.source)
    for option, value in options.items():
        field = f"{piece}.options.{option}"
        choices[field] = _user_choice(recipe, field, value, choices.get(field))
    chosen = choices.get(f"{piece}.name")
    if chosen is None or chosen.value is None:
        return
    for known in catalog.options(catalog.find(FOLDERS[piece], chosen.value)):
        field = f"{piece}.options.{known.name}"
        if known.default is not ... and (piece, known.name) not in HIDDEN:
            value = list(known.default) if isinstance(known.default, tuple) else known.default
            choices.setdefault(field, Choice(field, value, "default", f"the default of {chosen.value}", source=""))
