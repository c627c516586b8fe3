"""The only file that writes: every write is whole or not there at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from torchstone.core.errors import StoneError


@contextlib.contextmanager
def plain_os_errors(path: Path) -> Iterator[None]:
    """Turns a full disk, a missing right or a broken path into a `StoneError` that names `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoneError(
                "the disk is full; nothing that was written before is harmed",
                where=str(path),
                fix="free some space, then go on with: torchstone train --resume NAME",
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise StoneError(
                "this place cannot be written to",
                where=str(path),
                fix="choose another with --project DIR, or change its rights",
            ) from error
        raise StoneError(f"cannot write: {error.strerror or error}", where=str(path)) from error


def fsync_folder(folder: Path) -> None:
    """Makes a rename in `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def written_aside(path: Path, *, buffering: int = -1) -> Iterator[BinaryIO]:
    """A file that is synced and renamed to `path` at the end of the block; nothing is left when the block raises.

    Raises StoneError where `path` is a device or a pipe, which the new file would replace.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise StoneError("this is a device or a pipe, no file", where=str(path), fix="name a file to be written")
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(aside, "wb", buffering=buffering) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
    fsync_folder(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes `data` aside, syncs it, and renames it into place."""
    with plain_os_errors(path), written_aside(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Writes one JSON document; numbers that JSON lacks (NaN, inf) are refused by `clean`ing them first."""
    write_text(path, json.dumps(clean(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def clean(value: Any) -> Any:
    """`value` with every NaN and infinity as null and every tuple as list, as strict JSON wants it."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def point(link: Path, target: str) -> None:
    """Makes `link` a symbolic link to `target` (relative to the link's folder), replacing an old one at once."""
    with plain_os_errors(link):
        aside = link.with_name(f".{link.name}.{secrets.token_hex(4)}.tmp")
        os.symlink(target, aside)
        os.replace(aside, link)
        fsync_folder(link.parent)
