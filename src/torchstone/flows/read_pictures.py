"""Reads every picture once: its digest, and whether it decodes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torchstone.parts.formats.picture import check_picture

# (done, total, what is being done)
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Picture:
    """What reading a file gave: the SHA-256 of its bytes, and why it is no picture (None: it decodes)."""

    digest: str
    fault: str | None


def read_pictures(paths: Sequence[str], progress: Progress | None = None) -> dict[str, Picture]:
    """Path → what was read; a path that stands twice is read once."""
    read: dict[str, Picture] = {}
    unique = list(dict.fromkeys(paths))
    for done, path in enumerate(unique, start=1):
        read[path] = _read(path)
        if progress is not None:
            progress(done, len(unique), "pictures read")
    return read


def _read(path: str) -> Picture:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        is_link = os.path.islink(path) and not os.path.exists(path)
        fault = "the link points nowhere" if is_link else f"cannot be read: {error.strerror or error}"
        return Picture(hashlib.sha256(f"no bytes: {fault}".encode()).hexdigest(), fault)
    return Picture(hashlib.sha256(data).hexdigest(), check_picture(data))
