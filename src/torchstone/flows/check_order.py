"""Whether a recipe's sampler and its data fit together."""

from __future__ import annotations

from torchstone.core.catalog import find
from torchstone.core.errors import StoneError
from torchstone.core.recipe import Recipe
from torchstone.core.task import Task
from torchstone.parts.samplers import BY_CLASS, ByDifficulty


def order_faults(recipe: Recipe, task: Task) -> list[StoneError]:
    """A sampler by class without one class per example, one by a column that is not named, a column that none reads."""
    piece, column = recipe.sampler, recipe.data.difficulty
    name = piece.name if piece is not None else None
    if name in BY_CLASS and task.target != "single":
        text = f"'{name}' needs one class per example; the task is {task.name}"
        return [StoneError(text, where=recipe.where("sampler"), fix="use shuffled")]
    try:
        sampler = find("torchstone.parts.samplers", name)(**piece.options()) if piece is not None and name else None
    except StoneError as error:
        return [StoneError(error.what, where=recipe.where(error.where or "sampler"), fix=error.fix)]
    is_given = isinstance(sampler, ByDifficulty) and sampler.is_given
    if is_given and column is None:
        text = f"{name} goes by a difficulty that the data says, and no column of it is named"
        fix = "name a column of numbers in data.difficulty, or set sampler.by to loss"
        return [StoneError(text, where=recipe.where("sampler.by"), fix=fix)]
    if column is not None and not is_given:
        text = f"this has no effect: the sampler {name or 'shuffled'} does not go by it"
        fix = "remove the field, or set sampler to curriculum and sampler.by to given"
        return [StoneError(text, where=recipe.where("data.difficulty"), fix=fix)]
    return []
