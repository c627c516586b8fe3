"""TensorBoard's event files: the scalars of each run below a folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.flows.name_curves import PARTS, tokens
from torchstone.flows.read_curves_points import Log, Points, series_of
from torchstone.parts.formats.tfevents import Reading, is_event_file, scalars

# Numbers read of one file; what follows is left out and said.
LARGEST = 2_000_000


def event_files(folder: Path) -> list[Path]:
    """The event files at any depth below a folder, in the order of their names, which begin with their time."""
    return sorted(path for path in folder.rglob("*tfevents*") if path.is_file())


def read_events(path: Path) -> list[Log]:
    """One log per run below a folder, or of a single file. Raises StoneError where none holds a scalar."""
    files = event_files(path) if path.is_dir() else [path]
    folders: dict[Path, list[Path]] = defaultdict(list)
    for file in files:
        folders[file.parent].append(file)
    root = path if path.is_dir() else path.parent
    runs: dict[Path, dict[str, Points]] = defaultdict(dict)
    notes: dict[Path, list[str]] = defaultdict(list)
    for folder, own in folders.items():
        points, said = _read_folder(own)
        is_part = folder != root and bool(points) and _is_part(folder.name, list(points))
        run = folder.parent if is_part else folder
        runs[run] |= {f"{folder.name}/{name}" if is_part else name: one for name, one in points.items()}
        notes[run] += said
    logs = [_log(run, points, notes[run]) for run, points in runs.items() if points]
    if not logs:
        told = "; ".join(note for own in notes.values() for note in own)
        raise StoneError(f"no scalar in {len(files)} event files{f' ({told})' if told else ''}", where=str(path),
                         fix="log losses with add_scalar(name, value, step)")
    return logs


def _log(run: Path, points: dict[str, Points], notes: list[str]) -> Log:
    series, more = series_of(points)
    return Log(str(run), "TensorBoard", series, (*notes, *more))


def _read_folder(files: list[Path]) -> tuple[dict[str, Points], list[str]]:
    points: dict[str, Points] = {}
    notes: list[str] = []
    for file in files:
        notes += _read_file(file, points)
    return points, notes


def _read_file(path: Path, points: dict[str, Points]) -> Iterator[str]:
    """Adds the scalars of a file; yields what is to be said of it. Raises StoneError where it is no event file."""
    reading = Reading()
    with open(path, "rb") as file:
        head = file.read(12)
        if not head:
            yield f"{path.name} is empty"
            return
        if not is_event_file(head):
            raise StoneError("this is no event file of TensorBoard: its first record has a wrong checksum",
                             where=str(path), fix="copy it again, or name the folder of another run")
        file.seek(0)
        for count, one in enumerate(scalars(file, reading)):
            if count == LARGEST:
                yield f"{path.name}: only the first {LARGEST:,} numbers are read"
                break
            if not one.tag.startswith("_hparams_"):
                points.setdefault(one.tag, Points()).add(float(one.step), one.value)
    if reading.ending:
        yield f"{path.name}: {reading.ending}"
    if reading.num_damaged:
        yield f"{path.name}: {reading.num_damaged:,} records are damaged and left out"


def _is_part(folder: str, tags: list[str]) -> bool:
    """Whether a folder is half of a run: `train` beside `validation` of Keras, `Loss_train` of add_scalars."""
    words = tokens(folder)
    common = {word for tag in tags for word in tokens(tag)}
    rest = [word for word in words if word not in common]
    return bool(rest) and all(word in PARTS for word in rest) and not re.search(r"\d", folder)
