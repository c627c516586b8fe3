"""torchstone tells whether data, a training run and a model are what they seem.

The public names; each is imported when it is first used, so that `import torchstone` costs nothing.

    import torchstone as ts

    planned = ts.plan(ts.recipe("flowers/", "train.epochs=5"), project=Path("."))
    result = ts.train(planned.recipe, project=Path("."), planned=planned)
    loss_sum, weight = ts.losses.cross_entropy(label_smoothing=0.1)(logits, target)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchstone.core.dataset import Dataset as Dataset
    from torchstone.core.errors import StoneError as StoneError
    from torchstone.core.event import Event as Event
    from torchstone.core.event import Stop as Stop
    from torchstone.core.finding import Finding as Finding
    from torchstone.core.recipe import Recipe as Recipe
    from torchstone.core.recipe_file import read_recipe as read_recipe
    from torchstone.core.run import find_run as find_run
    from torchstone.flows.doors import hf as hf
    from torchstone.flows.doors import keras as keras
    from torchstone.flows.doors import lightning as lightning
    from torchstone.flows.evaluate import evaluate as evaluate
    from torchstone.flows.look import look as look
    from torchstone.flows.plan import make_plan as plan  # noqa: F401
    from torchstone.flows.preflight import preflight as preflight
    from torchstone.flows.train import resume as resume
    from torchstone.flows.train import train as train
    from torchstone.flows.watch import watch as watch

# name → where it lives, as module:object
_HOMES = {
    "Dataset": "torchstone.core.dataset:Dataset",
    "Event": "torchstone.core.event:Event",
    "Finding": "torchstone.core.finding:Finding",
    "Recipe": "torchstone.core.recipe:Recipe",
    "StoneError": "torchstone.core.errors:StoneError",
    "Stop": "torchstone.core.event:Stop",
    "evaluate": "torchstone.flows.evaluate:evaluate",
    "find_run": "torchstone.core.run:find_run",
    "hf": "torchstone.flows.doors:hf",
    "keras": "torchstone.flows.doors:keras",
    "lightning": "torchstone.flows.doors:lightning",
    "look": "torchstone.flows.look:look",
    "plan": "torchstone.flows.plan:make_plan",
    "preflight": "torchstone.flows.preflight:preflight",
    "read_recipe": "torchstone.core.recipe_file:read_recipe",
    "resume": "torchstone.flows.train:resume",
    "train": "torchstone.flows.train:train",
    "watch": "torchstone.flows.watch:watch",
}
# name → folder of parts: `torchstone.losses.focal` is the part `focal`
_PARTS = {
    "losses": "torchstone.engines.pytorch.losses",
    "metrics": "torchstone.parts.metrics",
    "models": "torchstone.engines.pytorch.models",
    "optimizers": "torchstone.engines.pytorch.optimizers",
    "schedules": "torchstone.parts.schedules",
}
__all__ = [*_HOMES, *_PARTS, "recipe"]


def recipe(data: str, *overrides: str) -> Any:
    """The recipe of `torchstone train DATA --set …`: overrides are written `train.epochs=5`.

    Raises StoneErrors with every unknown or ill-typed field.
    """
    from torchstone.core.recipe_file import recipe_for

    return recipe_for(data, overrides=overrides)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module, _, thing = _HOMES[name].partition(":")
        return getattr(importlib.import_module(module), thing)
    if name in _PARTS:
        from torchstone.core.catalog import Shelf

        return Shelf(_PARTS[name])
    raise AttributeError(f"torchstone has no public name '{name}'; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
