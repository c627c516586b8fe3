"""Every mistake of a recipe's fields, in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from torchstone.core import marks
from torchstone.core.errors import StoneError
from torchstone.core.recipe import PIECES, Recipe

Schema = Mapping[str, Any]

# What people call a field elsewhere (Keras, Lightning, HF Trainer, scikit-learn), and where it is here.
ELSEWHERE = {
    "lr": "optimizer.lr",
    "learning_rate": "optimizer.lr",
    "weight_decay": "optimizer.weight_decay",
    "momentum": "optimizer.momentum",
    "max_epochs": "train.epochs",
    "num_epochs": "train.epochs",
    "num_train_epochs": "train.epochs",
    "per_device_train_batch_size": "train.batch_size",
    "accumulate_grad_batches": "train.accumulate",
    "gradient_accumulation_steps": "train.accumulate",
    "gradient_clip_val": "train.clip_norm",
    "max_grad_norm": "train.clip_norm",
    "num_workers": "train.workers",
    "early_stopping": "train.patience",
    "random_state": "train.seed",
    "target": "data.label",
    "image_size": "image.size",
    "scheduler": "schedule",
    "criterion": "loss",
    "sync_batchnorm": "train.sync_batchnorm",
    "sync_bn": "train.sync_batchnorm",
    "auto_augment": "image.distort",
    "drop_path_rate": "model.stochastic_depth",
}


def mistakes(values: Mapping[str, Any], places: Mapping[marks.Path, str], source: str) -> list[StoneError]:
    """One error per wrong field of a recipe-to-be, in the order of its lines.

    places: path → where it was written; `source` stands for what was written nowhere (a missing field).
    """
    try:
        Recipe.model_validate(values)
    except ValidationError as invalid:
        schema = Recipe.model_json_schema()
        told: dict[marks.Path, StoneError] = {}
        for detail in invalid.errors(include_url=False):
            path = _path(detail["loc"], values)
            told.setdefault(path, _mistake(detail, path, values, places, source, schema))
        wider = {path[:n] for path in told for n in range(len(path))}  # said better by the item within
        order = list(places)
        return [told[p] for p in sorted(told.keys() - wider, key=lambda p: order.index(p) if p in places else -1)]
    return []


def _path(loc: tuple[int | str, ...], values: Any) -> marks.Path:
    """What exists of pydantic's location (which also names members of unions), plus a missing key."""
    path: list[int | str] = []
    for part in loc:
        if isinstance(values, Mapping):
            path.append(part)
            if part not in values:
                break
            values = values[part]
        elif values is None:  # an empty section
            path.append(part)
        elif isinstance(values, list) and isinstance(part, int):
            path.append(part)
            values = values[part]
    return tuple(path)


def _mistake(
    detail: Any, path: marks.Path, values: Any, places: Mapping[marks.Path, str], source: str, schema: Schema
) -> StoneError:
    name = marks.dotted(path)
    place = places.get(path)
    if detail["type"] == "missing":
        above = places.get(path[:-1], source)
        missing = f"{name} is missing; expected {expected(schema, path)}"
        return StoneError(missing, where=above, fix=_missing_fix(path))
    if detail["type"] == "extra_forbidden":
        known = list(_properties(_at(schema, path[:-1]), schema))
        near = nearest(str(path[-1]), known, schema)
        fix = f"did you mean '{near}'?" if near else None
        return StoneError(
            f"unknown field '{path[-1]}' ({found(detail['input'])}); expected one of: {', '.join(known)}",
            where=place or f"{source} {name}",
            fix=fix,
        )
    if detail["type"] == "value_error":
        return StoneError(str(detail["ctx"]["error"]), where=place or f"{source} {name}")
    value = _value(values, path)
    finite = ", and finite" if detail["type"] == "finite_number" else ""
    text = f"found {found(value)}; expected {expected(schema, path)}{finite}"
    return StoneError(text, where=place or f"{source} {name}", fix=_type_fix(value, _at(schema, path), schema))


def _missing_fix(path: marks.Path) -> str | None:
    if path == ("data",) or path == ("data", "path"):
        return "name a folder or file: 'data: {path: flowers}'"
    return None


def _type_fix(value: Any, schema: Schema, root: Schema) -> str | None:
    kinds = [s.get("type") for s in _members(schema, root)]
    if "boolean" in kinds and isinstance(value, str) and value.lower() in ("yes", "no", "on", "off"):
        return f"write {'true' if value.lower() in ('yes', 'on') else 'false'}"
    if isinstance(value, str) and {"integer", "number"} & set(kinds):
        bare = marks.plain(value.replace("_", "").replace(",", "").strip())
        if isinstance(bare, (int, float)):
            return f"write {bare:.12g} without quotes or separators"
    if "array" in kinds and isinstance(value, str):
        return f"write [{value}]"
    choices = [str(c) for s in _members(schema, root) for c in s.get("enum", [])]
    if choices and (near := difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)):
        return f"did you mean '{near[0]}'?"
    if "string" in kinds and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'put quotes around a name that looks like a number: "{value}"'
    return None


def nearest(word: str, known: list[str], schema: Schema) -> str | None:
    """The field that was probably meant: of the same section, of another, or under another tool's name."""
    if near := difflib.get_close_matches(word, known, n=1, cutoff=0.75):
        return near[0]
    if word in ELSEWHERE:
        return ELSEWHERE[word]
    everywhere = {full.rsplit(".", 1)[-1]: full for full in reversed(list(all_fields(schema)))}
    near = difflib.get_close_matches(word, list(everywhere), n=1, cutoff=0.75)
    if near:
        return everywhere[near[0]]
    near = difflib.get_close_matches(word, known, n=1)
    return near[0] if near else None


def all_fields(schema: Schema) -> Iterator[str]:
    """Every dotted field that a recipe may have; parts' own options are not among them."""
    for name, below in _properties(schema, schema).items():
        inner = _properties(below, schema)
        yield name
        if name not in PIECES:
            yield from (f"{name}.{key}" for key in inner)


def expected(schema: Schema, path: marks.Path) -> str:
    """What may stand at a path, in words."""
    if marks.dotted(path) in PIECES:
        return "a part's name, or a section with its name and options"
    return " or ".join(_describe(member, schema) for member in _members(_at(schema, path), schema)) or "nothing"


def _describe(schema: Schema, root: Schema) -> str:
    if "const" in schema:
        return f"{schema['const']}"
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind = str(schema.get("type"))
    if kind == "array":
        items = schema.get("items", {})
        return f"a list, each item {' or '.join(_describe(m, root) for m in _members(items, root))}"
    words = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a text"}
    if kind == "object":
        fields = _properties(schema, root)
        return f"a section with {', '.join(fields)}" if fields else "a section of names and values"
    return words.get(kind, kind) + _bounds(schema)


def _bounds(schema: Schema) -> str:
    says = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    return "".join(f", {word} {schema[key]}" for key, word in says.items() if key in schema)


def _resolve(schema: Schema, root: Schema) -> Schema:
    if "$ref" in schema:
        target: Schema = root["$defs"][str(schema["$ref"]).rsplit("/", 1)[-1]]
        return target
    return schema


def _members(schema: Schema, root: Schema) -> list[Schema]:
    """The alternatives of a union without null, each resolved."""
    options = [_resolve(s, root) for s in _resolve(schema, root).get("anyOf", [schema])]
    return [s for s in options if s.get("type") != "null"]


def _properties(schema: Schema, root: Schema) -> dict[str, Schema]:
    members = _members(schema, root) if schema else []
    return {name: below for member in members for name, below in member.get("properties", {}).items()}


def _at(schema: Schema, path: marks.Path) -> Schema:
    here = schema
    for part in path:
        for member in _members(here, schema):
            if isinstance(part, int) and "items" in member:
                here = member["items"]
                break
            if part in member.get("properties", {}):
                here = member["properties"][part]
                break
            if isinstance(member.get("additionalProperties"), Mapping):
                here = member["additionalProperties"]
                break
    return here


def _value(values: Any, path: marks.Path) -> Any:
    for part in path:
        values = values[part]
    return values


def found(value: Any) -> str:
    """A value as an error shows it: with its kind, cut short."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return f"a section with {', '.join(map(str, list(value)[:4])) or 'nothing in it'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text '{value}'" if len(value) <= 60 else f"the text '{value[:57]}…'"
    return f"{value}"
