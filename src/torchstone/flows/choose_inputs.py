"""Which columns go in, and whether they are pictures, text or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.core.recipe import Data
from torchstone.core.records import Cell
from torchstone.core.task import Modality, Task
from torchstone.flows.find_files import file_content
from torchstone.flows.load_tables import neighbours
from torchstone.parts.columns.column import (
    TEXT_DISTINCT,
    constant,
    identifier,
    is_nested,
    is_text,
    read_column,
    words,
)
from torchstone.parts.columns.missing import is_empty
from torchstone.parts.formats.content import Content
from torchstone.parts.formats.picture import SUFFIXES

# In this order; case does not matter. The first ones need not hold whole sentences to be text.
SURE_TEXT_NAMES = ("text", "sentence", "utterance", "review", "comment", "message", "tweet", "sms")
TEXT_NAMES = (
    *SURE_TEXT_NAMES,
    *("content", "body", "document", "question", "query", "title", "headline", "description"),
)
_RULE = "rule of the reader (column names and cells)"
_SAMPLE = 5
_PATH_CHARS = 1024


@dataclass(frozen=True)
class Chosen:
    """The columns that go in, all of them for a table; `base` is the folder of the pictures."""

    modality: Modality
    names: list[str]
    choice: Choice
    base: Path | None = None


def choose_inputs(
    cells: Mapping[str, Sequence[Cell]], where: str, folder: Path, data: Data, wanted: Task | None
) -> Chosen:
    """The inputs among the columns that are neither label nor split.

    A column of paths to pictures wins, then a column of texts (see `_texts`), else all columns are features. `data`
    and `wanted` overrule. Raises StoneError for paths that lead to no file or to sounds, and where the task asks for
    what no column holds.
    """
    modality = _asked(data, wanted)
    if modality in (None, "image"):
        names = [data.image] if data.image is not None else list(cells)
        found = _pictures({name: cells[name] for name in names}, where, folder, is_asked=modality == "image")
        if found is not None:
            return found if data.image is None else _given(found, "data.image")
    if modality in (None, "text"):
        if data.text is not None:
            return Chosen("text", [data.text], Choice("data.text", data.text, "user", "given"))
        names = _texts(cells, is_asked=modality == "text")
        if names:
            return _text(names, cells)
    if modality in ("image", "text"):
        raise StoneError(
            f"no column holds {'paths to pictures' if modality == 'image' else 'texts'}; columns: {', '.join(cells)}",
            where=where,
            fix=f"name it in data.{modality}, or choose another task",
        )
    return Chosen("table", list(cells), Choice("data.features", list(cells), "derived", "", _RULE))


def _asked(data: Data, wanted: Task | None) -> Modality | None:
    given: list[tuple[str, Modality]] = []
    given += [("data.image", "image")] if data.image is not None else []
    given += [("data.text", "text")] if data.text is not None else []
    given += [("data.features", "table")] if data.features is not None and len(data.features) > 1 else []
    given += [(f"task {wanted.name}", wanted.modality)] if wanted is not None else []
    if len({modality for _, modality in given}) > 1:
        said = " and ".join(f"{field} ({modality})" for field, modality in given)
        raise StoneError(f"{said} contradict each other", where="data", fix="keep one of them")
    return given[0][1] if given else None


def _given(chosen: Chosen, field: str) -> Chosen:
    return Chosen(chosen.modality, chosen.names, Choice(field, chosen.names[0], "user", "given"), chosen.base)


def _pictures(
    cells: Mapping[str, Sequence[Cell]], where: str, folder: Path, *, is_asked: bool
) -> Chosen | None:
    bases = None
    for name, column in cells.items():
        sample = _sample(column)
        if not sample:
            continue
        bases = bases or neighbours(folder)
        base, kind = _resolve(sample, bases)
        if kind == "sound":
            raise StoneError(
                f"column '{name}' names sounds; pictures, texts and tables can be read",
                where=where,
                fix="name the columns to learn from with --features",
            )
        if base is not None and (kind == "picture" or _look_like_pictures(sample) or is_asked):
            reason = f"its cells are paths to pictures, found below {base.name or base}"
            choice = Choice("data.image", name, "derived", reason, _RULE, "--features NAME")
            return Chosen("image", [name], choice, base)
        if base is None and _look_like_pictures(sample):
            tried = ", ".join(str(base) for base in bases[:5])
            raise StoneError(
                f"column '{name}' names pictures, but there is no file '{sample[0]}'; looked below {tried}",
                where=where,
                fix="give paths from the folder of the table, or name the inputs with --features",
            )
    return None


def _sample(column: Sequence[Cell]) -> list[str]:
    present = (cell for cell in column if not is_empty(cell))
    sample = [cell for cell, _ in zip(present, range(_SAMPLE), strict=False)]
    is_path = all(isinstance(cell, str) and len(cell) < _PATH_CHARS and "\n" not in cell for cell in sample)
    return sample if is_path else []


def _look_like_pictures(sample: Sequence[str]) -> bool:
    return all(text.lower().endswith(SUFFIXES) for text in sample)


def _resolve(sample: Sequence[str], bases: Sequence[Path]) -> tuple[Path | None, Content | None]:
    """The first folder below which one of these paths is a file, and what that file holds."""
    for base in bases:
        for text in sample:
            path = base / text
            if path.is_file():
                return base, file_content(path)
    return None, None


def _texts(cells: Mapping[str, Sequence[Cell]], *, is_asked: bool) -> list[str]:
    """The columns of texts, the one to learn from first; none where the columns are rather features.

    A column is text because it holds written language, or by its name (SURE_TEXT_NAMES). Text wins over features
    where a name (TEXT_NAMES) says so, or where nothing else is there that describes a row; otherwise (a name or an
    address beside numbers) all are features. A single column of words that hardly repeat is text.
    """
    texts = [name for name, column in cells.items() if is_text(column)]
    sure = [name for name in cells if name.strip().lower() in SURE_TEXT_NAMES and _are_distinct_words(cells[name])]
    named = [name for name in _by_name(cells) if name in texts or name in sure]
    others = [name for name in cells if name not in texts and not is_nested(cells[name])]
    if len(cells) == 1 and others and _are_distinct_words(cells[others[0]]):
        return others
    if not is_asked and not named and any(_describes(cells[name]) for name in others):
        return []
    if is_asked and not texts and not named:
        return [name for name in others if all(isinstance(c, str) or is_empty(c) for c in cells[name])][:1]
    rest = sorted((name for name in texts if name not in named), key=lambda name: -_mean_words(cells[name]))
    return [*named, *rest]


def _describes(cells: Sequence[Cell]) -> bool:
    column = read_column(cells)
    return constant(column) is None and identifier(column) is None


def _by_name(cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    lower = {name.strip().lower(): name for name in cells}
    return [lower[known] for known in TEXT_NAMES if known in lower]


def _are_distinct_words(column: Sequence[Cell]) -> bool:
    present = [cell for cell in column if not is_empty(cell)]
    is_words = all(isinstance(cell, str) and any(c.isalpha() for c in cell) for cell in present)
    return is_words and len(set(present)) > TEXT_DISTINCT * len(present) > 0


def _mean_words(column: Sequence[Cell]) -> float:
    present = [cell for cell in column if not is_empty(cell)]
    return sum(words(cell) for cell in present) / max(1, len(present))


def _text(names: Sequence[str], cells: Mapping[str, Sequence[Cell]]) -> Chosen:
    unused = [name for name in cells if name != names[0]]
    reason = f"written text, {_mean_words(cells[names[0]]):.1f} words on average"
    reason += f"; not used: {', '.join(unused[:20])}" if unused else ""
    return Chosen("text", [names[0]], Choice("data.text", names[0], "derived", reason, _RULE, "--features NAME"))
