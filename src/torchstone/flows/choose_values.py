"""The values of a plan in the order in which they depend on each other: data, model, optimizer, memory, precision."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchstone.core import catalog
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.core.recipe import Recipe
from torchstone.core.task import Task
from torchstone.flows.facts import facts_of
from torchstone.parts.choices.family import family_of
from torchstone.parts.choices.memory import choose_memory, choose_strategy, is_memory_short, strategy_refusal
from torchstone.parts.choices.precision import asks_for_probe, choose_precision
from torchstone.parts.choices.run import choose_run
from torchstone.parts.choices.scaled_rate import offer_rate
from torchstone.parts.choices.which_optimizer import choose_clipping, choose_optimizer

ENGINE = "torchstone.engines.pytorch"


def known_facts(recipe: Recipe, dataset: Dataset, task: Task) -> dict[str, Any]:
    """What the choices read: facts of the data, of the machine, and what the recipe fixes."""
    facts = facts_of(dataset, task) | machine_facts(recipe.train.device)
    pieces = {field: getattr(recipe, field) for field in ("model", "adapter", "loss", "optimizer", "sampler")}
    for field, piece in {**pieces, "resample": recipe.data.resample}.items():
        if piece is not None and piece.name:
            facts[field] = piece.name
        if piece is not None and piece.options():
            facts[f"{field}_options"] = piece.options()
    facts |= {"accumulate": recipe.train.accumulate} if recipe.train.accumulate else {}
    facts["has_average"] = bool(recipe.averaging and recipe.averaging.name)
    facts["strategies"] = catalog.names(f"{ENGINE}.strategies")
    # without the cache every batch is decoded anew
    distorts = recipe.image.distort is not None and recipe.image.distort.name is not None
    facts["is_heavy"] = task.modality == "image" and (recipe.image.cache_gib == 0 or distorts)
    facts["is_small"] = task.modality == "table" or max(facts.get("median_height", 64), 0) <= 32
    return facts


def machine_facts(device: str | None = None) -> dict[str, Any]:
    """What the machine offers, asked of the engine; device: the one that the recipe names."""
    facts: dict[str, Any] = importlib.import_module(f"{ENGINE}.machine").machine_facts(device)
    return facts


def planned_choices(recipe: Recipe, task: Task, facts: dict[str, Any], seen: Sequence[Choice]) -> dict[str, Choice]:
    """The choices before the user's are laid over them; `facts` gains what follows from the first of them."""
    choices = {choice.field: choice for choice in [*seen, *choose_run(task, facts), *_modality_choices(task, facts)]}
    batch = int(choices["train.batch_size"].value)
    model, options = _model(recipe, choices)
    facts |= {
        "family": family_of(model, task.modality),
        "is_pretrained": bool(options.get("weights") or (options.get("folder") and "weights" not in options)),
        "batch_size": recipe.train.batch_size or batch,
        "epochs": recipe.train.epochs or choices["train.epochs"].value,
        **_model_size(model, options, recipe, choices, facts),
    }
    said = {"strategies": [recipe.train.strategy]} if recipe.train.strategy else {}
    facts["is_memory_short"] = is_memory_short({**facts, **said})
    lay(choices, choose_optimizer(facts), "optimizer")
    rate, name = choices.get("optimizer.options.lr"), str(choices["optimizer.name"].value)
    if rate is not None and name == "adamw":  # the rates of the others follow the batch already
        choices[rate.field] = offer_rate(rate, name, facts["batch_size"], batch)
    chosen = str(facts.get("optimizer", name))
    strategy = _strategy(recipe, {**facts, "optimizer": chosen})
    facts["state_owners"] = facts.get("world", 1) if (recipe.train.strategy or strategy.value) == "zero" else 1
    lay(choices, [*choose_memory(facts, chosen), strategy], "train")
    if asks_for_probe(facts):
        speed = importlib.import_module(f"{ENGINE}.bf16_speed").bf16_speed
        facts["bf16_speed"] = speed("convolution" if facts["family"] == "cnn" else "product")
    lay(choices, [choose_precision(facts), choose_clipping(facts)], "train")
    return choices


def _strategy(recipe: Recipe, facts: Mapping[str, Any]) -> Choice:
    refused = strategy_refusal(recipe.train.strategy, facts) if recipe.train.strategy else None
    if refused is not None:
        raise StoneError(refused[0], where=recipe.where("train.strategy"), fix=refused[1])
    return choose_strategy(facts)


def lay(choices: dict[str, Choice], over: Sequence[Choice], piece: str) -> None:
    """Puts choices over others; where the part of `piece` becomes another, the old one's options go."""
    new = {choice.field: choice for choice in over}
    name = new.get(f"{piece}.name")
    if name is not None and name.value != choices[f"{piece}.name"].value:
        for field in [field for field in choices if field.startswith(f"{piece}.options.")]:
            del choices[field]
    choices.update(new)


def _modality_choices(task: Task, facts: Mapping[str, Any]) -> list[Choice]:
    module = importlib.import_module(f"torchstone.parts.choices.{task.modality}")
    choices: list[Choice] = getattr(module, f"choose_{task.modality}")(facts)
    return choices


def _model(recipe: Recipe, choices: Mapping[str, Choice]) -> tuple[str, dict[str, Any]]:
    """The model's name and options as they will be, but for the defaults of its signature."""
    planned = choices["model.name"].value if "model.name" in choices else None
    named = recipe.model.name if recipe.model and recipe.model.name else planned
    start = "model.options."
    own = {f.removeprefix(start): c.value for f, c in choices.items() if f.startswith(start) and named == planned}
    return str(named), own | (recipe.model.options() if recipe.model else {})


def _model_size(
    model: str, options: Mapping[str, Any], recipe: Recipe, choices: Mapping[str, Choice], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """The facts of `model_size`, by name; model_refusal where the part refuses its options, none of other inputs."""
    def value(field: str) -> int:
        section, name = field.split(".")
        given = getattr(getattr(recipe, section), name)
        return int(given or (choices[field].value if field in choices else 0))

    room = importlib.import_module(f"{ENGINE}.model_size")
    try:
        size = room.size_of(model, shape_of(value, facts), options, facts["modality"])
    except StoneError as error:
        return {"model_refusal": error}
    return {} if size is None else vars(size)


def shape_of(value: Callable[[str], int], facts: Mapping[str, Any]) -> Any:
    """The engine's `Shape` of a model's inputs and outputs, as far as it is known before an encoding is learnt.

    value: dotted field of the plan → its value, 0 for none.
    """
    return importlib.import_module(f"{ENGINE}.model_size").about(
        num_outputs=max(facts["num_classes"], 1), channels=facts.get("channels", 0), size=value("image.size"),
        vocabulary=value("text.vocabulary"), max_length=value("text.max_length"),
        numbers=facts.get("num_numbers", 0), categories=facts.get("num_categories", 0),
    )  # fmt: skip
