"""The data of a run as an ejected script reads it: the same files, the split beside the script."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.recipe import Recipe
from torchstone.flows.eject_script import Script, cannot
from torchstone.parts.columns.missing import MARKERS
from torchstone.parts.formats.content import HEAD_BYTES, content
from torchstone.parts.formats.delimited import Dialect, sniff
from torchstone.parts.formats.encoding import decode


def add_data(script: Script, dataset: Dataset, recipe: Recipe, encoding: dict[str, Any]) -> str:
    """How the script reads the data; returns the text of its split file.

    Raises StoneError for files that a plain reader would read otherwise.
    """
    for name in ("data.resample.name", "data.difficulty"):
        if script.take(name):
            raise cannot(name, script.plan[name], "a script deals out the rows as they are")
    if dataset.columns("image"):
        return _add_pictures(script, dataset, encoding)
    path = Path(recipe.data.path).absolute()
    folder = path if path.is_dir() else path.parent
    files = list(dict.fromkeys(place.rpartition(":")[0] for place in dataset.where.tolist()))
    script.settings["data"] = {"folder": str(folder), "files": files}
    _add_format(script, [folder / name for name in files])
    if dataset.columns("text"):
        _add_texts(script, dataset)
    else:
        _add_columns(script, dataset, encoding)
    _add_label(script, dataset, recipe)
    return split_file(["place", "split"], zip(dataset.where.tolist(), dataset.split.tolist(), strict=True))


def split_file(columns: Sequence[str], rows: Any) -> str:
    """A table as CSV text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _add_format(script: Script, paths: list[Path]) -> None:
    """How these files are written, which must be one and the same way."""
    ways = {_way(path) for path in paths}
    if len(ways) > 1:
        raise cannot("data.path", [path.name for path in paths], "its files are written in different ways")
    kind, encoding, dialect = ways.pop()
    script.flags.add(kind)
    words = []
    if dialect is not None:
        words += [f"delimiter={dialect.delimiter!r}".replace("'", '"')] if dialect.delimiter != "," else []
        words += ["skipinitialspace=True"] if dialect.skip_blank else []
        words += [] if dialect.quotes else ["quoting=csv.QUOTE_NONE"]
    script.values |= {"encoding": encoding, "dialect": "".join(f", {word}" for word in words)}


def _way(path: Path) -> tuple[str, str, Dialect | None]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoneError("the file is not here", where=str(path), fix="bring it back") from error
    if content(data[:HEAD_BYTES]) == "parquet":
        return "parquet", "", None
    decoded = decode(data, path.name)
    start = decoded.text.lstrip()[:1]
    if start == "{":
        return "jsonl", decoded.encoding, None
    if start == "[" and content(decoded.text[:HEAD_BYTES].encode()) == "json":
        raise cannot("data.path", path.name, "of JSON a script reads one object per line")
    return "csv", decoded.encoding, sniff(decoded.text)


def _add_columns(script: Script, dataset: Dataset, encoding: dict[str, Any]) -> None:
    import numpy as np

    settings = script.settings["data"]
    numbers, categories = dataset.columns("number"), dataset.columns("category")
    for kind, names in (("numbers", numbers), ("categories", categories)):
        if names:
            settings[kind] = names
            script.flags.add(kind)
    has_gaps = any(not np.isfinite(dataset.inputs[name]).all() for name in numbers)
    has_missing = has_gaps or any(None in dataset.inputs[name].tolist() for name in categories)
    script.flags |= {"gaps"} if has_gaps else set()
    script.flags |= {"heavy"} if any(learnt["knots"] for learnt in encoding["numbers"]) else set()
    if has_missing and "parquet" not in script.flags:
        script.flags.add("missing_text")
        listed = ", ".join(f'"{marker}"' for marker in sorted(MARKERS))
        script.values["missing"] = "\n    [" + _wrapped(listed) + "]\n"
    given = [f"numbers_NC{''}" if kind == "numbers" else "categories_NC, sizes"
             for kind, names in (("numbers", numbers), ("categories", categories)) if names]  # fmt: skip
    is_number = dataset.target.dtype.kind == "f"
    script.values |= {"inputs": ", ".join(given), "about_target": "values, mean, std" if is_number else "classes"}


def _wrapped(text: str) -> str:
    import textwrap

    return "\n     ".join(textwrap.wrap(text, 110))


def _add_texts(script: Script, dataset: Dataset) -> None:
    columns = dataset.columns("text")
    if len(columns) > 1:
        raise cannot("data.text", columns, "a script reads one column of text")
    if script.part("text.augment", ()) is not None:
        return
    settings = script.settings["data"]
    settings |= {"text": columns[0], "vocabulary": int(script.take("text.vocabulary") or 8000)}
    longest = script.take("text.max_length")
    if longest:
        script.flags.add("max_length")
        settings["max_length"] = longest
    lowercase = script.take("text.lowercase")
    script.flags |= {"lowercase"} if lowercase is not False else set()


def _add_label(script: Script, dataset: Dataset, recipe: Recipe) -> None:
    settings = script.settings["data"]
    label = script.take("data.label")
    if dataset.target.ndim == 1:
        settings["label"] = label
    elif isinstance(label, list):
        settings["labels"] = label
        script.flags.add("flags")
    else:
        settings |= {"label": label, "separator": recipe.data.label_separator or "|"}
        script.flags.add("separated")


def _add_pictures(script: Script, dataset: Dataset, encoding: dict[str, Any]) -> str:
    """Pictures: their files, classes and splits stand in the split file, whatever the data's own layout is."""
    paths = dataset.inputs[dataset.columns("image")[0]].tolist()
    folder = os.path.commonpath([os.path.dirname(path) for path in paths])
    script.settings["data"] = {"folder": folder}
    script.settings["image"] = {"size": int(encoding["size"]), "channels": int(encoding["channels"])}
    script.seen.add("image.size")
    script.flags |= _kinds_of_pictures(paths)
    script.flags |= {"cv2"} if encoding["resizer"] == "cv2" else set()
    for piece in ("image.distort", "image.erase"):
        script.part(piece, ())
    augment = script.part("image.augment", ("none", "shift", "crop_flip")) or "none"
    options = script.options("image.augment")
    script.settings |= {"augment": options} if options else {}
    script.flags |= {augment, "drawn"} if augment != "none" else set()
    script.flags |= {"middle"} if encoding["evaluation"] is not None else {"whole"}
    names = [os.path.relpath(path, folder) for path in paths]
    rows = zip(names, _labels(script, dataset), dataset.split.tolist(), strict=True)
    return split_file(["place", "label", "split"], rows)


def _labels(script: Script, dataset: Dataset) -> list[str]:
    if dataset.target.ndim == 1:
        return [dataset.classes[number] for number in dataset.target.tolist()]
    separator = next((mark for mark in "|;\t" if not any(mark in name for name in dataset.classes)), None)
    if separator is None:
        raise cannot("data.label", list(dataset.classes), "no sign is left to stand between these names")
    script.settings["data"]["separator"] = separator
    script.flags.add("separated")
    rows = dataset.target.tolist()
    return [separator.join(name for name, is_so in zip(dataset.classes, row, strict=True) if is_so) for row in rows]


def _kinds_of_pictures(paths: list[str]) -> set[str]:
    """What the script's reader must know; raises StoneError for what a plain one does not."""
    from PIL import Image

    found = set()
    for path in paths:
        with Image.open(path) as image:
            if image.mode[0] in "IF" or image.mode in ("CMYK", "YCCK"):
                raise cannot("data.path", path, f"pictures of mode {image.mode} need more than a plain reader")
            found |= {"jpeg"} if image.format in ("JPEG", "MPO") else set()
            found |= {"transparent"} if image.has_transparency_data else set()
    return found
