"""The options that verbs share, and what they mean for a recipe."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from torchstone.core.recipe import Recipe, Rules

F = TypeVar("F", bound=Callable[..., Any])

RECIPE_NAME = "torchstone.yaml"

as_json = click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
traceback = click.option(
    "--traceback", is_flag=True, expose_value=False, help="Show where an unforeseen error came from."
)
project = click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where .torchstone/ lives; else the recipe's folder, else the current one.",
)
changes = click.option(
    "--set", "sets", multiple=True, metavar="FIELD=VALUE", help="Lay one field over the recipe; may be repeated."
)
ignore = click.option(
    "--ignore", multiple=True, metavar="CODE", help="Do not ask this rule or family; may be repeated."
)
label = click.option("--label", metavar="COLUMN", help="The column to be learnt; a,b,c for several.")
features = click.option("--features", metavar="A,B,C", help="The columns to learn from.")
epochs = click.option("--epochs", type=int, help="Short for --set train.epochs=N.")


def data_options(verb: F) -> F:
    """The options of every verb that reads data through a recipe."""
    for option in reversed((label, features, epochs, changes, project, as_json, traceback)):
        verb = option(verb)
    return verb


def overrides(given: dict[str, Any]) -> list[str]:
    """What the flags of `data_options` say, in the words of --set; a --set of the same field wins."""
    found = []
    if given.get("label"):
        names = given["label"].split(",")
        found.append(f"data.label={json.dumps(names if len(names) > 1 else names[0], ensure_ascii=False)}")
    if given.get("features"):
        found.append(f"data.features={json.dumps(given['features'].split(','), ensure_ascii=False)}")
    if given.get("epochs") is not None:
        found.append(f"train.epochs={given['epochs']}")
    if given.get("deterministic"):
        found.append("train.deterministic=true")
    return [*found, *given.get("sets", ())]


def rules_from(ignore: tuple[str, ...]) -> Rules:
    """What --ignore says; raises StoneError where there is no such rule."""
    from torchstone.core.recipe import Rules
    from torchstone.flows.rulebook import check_codes

    return check_codes(Rules(ignore=list(ignore)), lambda field: "--ignore")


def call(verb: str, path: str | None, given: dict[str, Any]) -> str:
    """The call of another verb on the same data with the same options, as one types it into a shell."""
    words = ["torchstone", verb, *([path] if path else [])]
    for name in ("label", "features", "epochs", "project"):
        if given.get(name) is not None:
            words += [f"--{name}", str(given[name])]
    words += [word for setting in given.get("sets", ()) for word in ("--set", setting)]
    return shlex.join(words)


def recipe_from(path: str | None, given: dict[str, Any]) -> tuple[Recipe, Path]:
    """The recipe of a call and the project's folder.

    path: a recipe (.yaml, .yml), data (anything else), or None for the recipe in the current folder.
    Raises StoneError where neither is there.
    """
    from torchstone.core.errors import StoneError
    from torchstone.core.recipe_file import read_recipe, recipe_for

    if path is None and not Path(RECIPE_NAME).is_file():
        fix = "name your data: torchstone train DATA (a folder, or a .csv, .jsonl or .parquet file)"
        raise StoneError(f"there is no {RECIPE_NAME} here and no data was named", where=str(Path.cwd()), fix=fix)
    path = path or RECIPE_NAME
    if Path(path).suffix.lower() in (".yaml", ".yml"):
        recipe, home = read_recipe(Path(path), overrides=overrides(given)), Path(path).absolute().parent
    else:
        recipe, home = recipe_for(path, overrides=overrides(given)), Path.cwd()
    return recipe, given.get("project") or home
