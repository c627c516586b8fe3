"""What a path holds: class folders of pictures, or tables."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torchstone.core.dataset import SPLITS, Split
from torchstone.core.errors import StoneError
from torchstone.core.records import ReadReport
from torchstone.parts.columns.label import split_word
from torchstone.parts.formats.content import HEAD_BYTES, TABLE_SUFFIXES, Content, content
from torchstone.parts.formats.picture import SUFFIXES, is_picture

# Left behind by systems and tools; never data.
_LITTER = frozenset(["thumbs.db", "desktop.ini", "__macosx", "@eadir", "$recycle.bin", "__pycache__"])
_UNUSABLE: dict[Content, tuple[str, str]] = {
    "empty": ("the file is empty (0 bytes)", "give a table with a header and rows"),
    "picture": ("one picture", "give the folder: a subfolder per class, or a table of paths and labels"),
    "sound": ("a sound; pictures, texts and tables can be read", "give a table of features of the sounds"),
    "archive": ("a packed archive", "unpack it and give the folder or file inside"),
    "series": ("a time-series file (.ts or .arff); pictures, texts and tables can be read", "write it as a CSV"),
    "binary": ("neither a picture nor a table", "give a CSV, JSONL or Parquet file, or a folder per class"),
}


@dataclass(frozen=True)
class PictureFile:
    """A file that should be a picture: its path, its name below the data's folder, its class and its split."""

    path: str
    name: str
    label: str
    split: Split | None


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table, and the split that its name says."""

    path: Path
    split: Split | None


@dataclass(frozen=True)
class Layout:
    """Either pictures or tables; `reason` says how that was seen."""

    folder: Path
    pictures: list[PictureFile]
    tables: list[TableFile]
    reason: str


def find_files(path: Path, report: ReadReport) -> Layout:
    """What lies at `path`; counts what is passed over in `report`. Raises StoneError for nothing usable."""
    if path.is_dir():
        return _folder(path, report)
    if not path.exists():
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, siblings, n=1)
        fix = f"did you mean {path.parent / near[0]}?" if near else "check the path"
        raise StoneError("there is no such file or folder", where=str(path), fix=fix)
    kind = file_content(path)
    if kind in ("binary", "archive") and path.suffix.lower() in TABLE_SUFFIXES and kind == "binary":
        kind = "text"  # a damaged table: its reader says what is wrong
    if kind in _UNUSABLE:
        raise StoneError(_UNUSABLE[kind][0], where=str(path), fix=_UNUSABLE[kind][1])
    return Layout(path.parent, [], [TableFile(path, None)], f"one file of {kind}")


def file_content(path: Path) -> Content:
    """What the file's first bytes say; raises StoneError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return content(file.read(HEAD_BYTES))
    except OSError as error:
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: OSError) -> StoneError:
    """The error for a file or folder that the system does not hand out."""
    return StoneError(f"cannot be read: {error.strerror or error}", where=str(path), fix="check its rights")


def _folder(path: Path, report: ReadReport) -> Layout:
    entries = list(_visible(path, report))
    folders = [entry for entry in entries if entry.is_dir()]
    files = [entry for entry in entries if not entry.is_dir()]
    tables = [file for file in files if _is_table(file)]
    named = [TableFile(file, split) for file in tables if (split := _named_split(file)) is not None]
    if any(table.split == "train" for table in named):
        _pass_over([file for file in files if file not in [t.path for t in named]], report)
        named.sort(key=lambda table: (SPLITS.index(table.split or "train"), table.path.name))
        return Layout(path, [], named, "files named " + ", ".join(table.path.name for table in named))
    split_folders = [(folder, split) for folder in folders if (split := split_word(folder.name)) is not None]
    if any(split == "train" for _, split in split_folders):
        pictures = [p for folder, split in split_folders for p in _classes(path, folder, split, report)]
        if pictures:
            _pass_over([*files, *(f for f in folders if split_word(f.name) is None)], report)
            return Layout(path, pictures, [], "folders " + ", ".join(f.name for f, _ in split_folders))
    if len(folders) == 1 and not tables and _holds_classes(folders[0]):
        _pass_over(files, report)
        return _folder(folders[0], report)
    with_pictures = [folder for folder in folders if any(_pictures(folder, ReadReport("")))]
    if len(tables) == 1 and len(with_pictures) < 2:
        return Layout(path, [], [TableFile(tables[0], None)], f"the only table in the folder: {tables[0].name}")
    if with_pictures and not (tables and len(with_pictures) < 2):
        _pass_over(files, report)
        return Layout(path, list(_classes(path, path, None, report)), [], "a folder per class")
    raise _nothing(path, files, folders, tables)


def _holds_classes(folder: Path) -> bool:
    inside = [entry for entry in _visible(folder, ReadReport("")) if entry.is_dir()]
    if len(inside) == 1 and not inside[0].is_symlink():
        return _holds_classes(inside[0])
    return len(inside) > 1 and any(any(_pictures(entry, ReadReport(""))) for entry in inside)


def _is_table(file: Path) -> bool:
    is_named = file.suffix.lower() in TABLE_SUFFIXES
    if not (is_named or split_word(file.stem)) or not file.is_file():
        return False
    return is_named or file_content(file) in ("text", "json", "parquet")


def _named_split(file: Path) -> Split | None:
    """The split that a file's name says: one of its words is train, test, …"""
    stem = "".join(c if c.isalnum() else " " for c in file.stem)
    found = {split for word in stem.split() if (split := split_word(word)) is not None}
    return found.pop() if len(found) == 1 else None


def _classes(root: Path, folder: Path, split: Split | None, report: ReadReport) -> Iterator[PictureFile]:
    # The root was listed, and its hidden entries counted, before.
    for entry in _visible(folder, ReadReport("") if folder == root else report):
        if not entry.is_dir():
            if folder != root:
                report.ignore("file outside the class folders")
            continue
        is_empty = True
        for path in _pictures(entry, report):
            is_empty = False
            yield PictureFile(path, os.path.relpath(path, root), entry.name, split)
        if is_empty:
            report.empty_classes.append(os.path.relpath(entry, root))


def _visible(folder: Path, report: ReadReport) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise cannot_read(folder, error) from error
    for entry in entries:
        if entry.name.startswith(".") or entry.name.lower() in _LITTER:
            report.ignore("hidden folder" if entry.is_dir() else "hidden or system file")
        else:
            yield entry


def _pictures(folder: Path, report: ReadReport, above: frozenset[str] = frozenset()) -> Iterator[str]:
    """The files below `folder` that are pictures by content or should be by suffix; links in a circle end."""
    real = os.path.realpath(folder)
    if real in above:
        return
    for entry in _visible(folder, report):
        if entry.is_dir():
            yield from _pictures(entry, report, above | {real})
        elif entry.suffix.lower() in SUFFIXES or _holds_picture(entry):
            yield str(entry)
        else:
            report.ignore(f"{entry.suffix.lower() or 'suffixless'} file, not a picture")


def _holds_picture(file: Path) -> bool:
    try:
        with open(file, "rb") as opened:
            return is_picture(opened.read(16))
    except OSError:
        return False


def _pass_over(entries: list[Path], report: ReadReport) -> None:
    for entry in entries:
        report.ignore("folder beside the data" if entry.is_dir() else f"{entry.suffix.lower()} file beside the data")


def _nothing(path: Path, files: list[Path], folders: list[Path], tables: list[Path]) -> StoneError:
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables[:10])
        fix = f"name one, e.g. {tables[0]}; or call them train.csv and test.csv"
        return StoneError(f"{len(tables)} tables and none is called train: {names}", where=str(path), fix=fix)
    loose = sum(1 for file in files if file.suffix.lower() in SUFFIXES)
    if loose:
        fix = "move each picture into a folder named after its class, or give a table of paths and labels"
        return StoneError(f"{loose:,} pictures, and nothing says their classes", where=str(path), fix=fix)
    fix = "give a folder with a subfolder of pictures per class, or a CSV, JSONL or Parquet file"
    inner = [file for folder in folders for file in sorted(folder.iterdir())[:3] if file.is_file()]
    for file in [*files[:20], *inner[:20]]:
        if (kind := file_content(file)) in ("sound", "series", "archive"):
            what = f"no data that can be read; {file.name} is {_UNUSABLE[kind][0]}"
            return StoneError(what, where=str(path), fix=fix)
    if texts := [file for file in inner if file.suffix.lower() == ".txt"]:
        what = f"the class folders hold texts, such as {texts[0].relative_to(path)}, not pictures"
        return StoneError(what, where=str(path), fix="put them into one table with the columns text and label")
    if not files and not folders:
        return StoneError("the folder is empty", where=str(path), fix=fix)
    found = f"{len(folders):,} folders and {len(files):,} files"
    return StoneError(f"neither pictures in class folders nor a table; found {found}", where=str(path), fix=fix)
