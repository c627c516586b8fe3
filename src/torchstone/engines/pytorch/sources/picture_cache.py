"""Decoded pictures in one memory-mapped file, each in its own size.

Layout: the pixels of all pictures one after the other; the index (offsets int64 [N], heights int32 [N], widths
int32 [N]); the end (`_END`: mark, N, channels, bytes of pixels, SHA-256 of the index and of these counts).
The file is written aside, synced and renamed, so a file of that name is whole; the end is checked when it is opened.
Readers hold a shared lock on the file, so that making room never takes one away that is in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from torchstone.core.store import written_aside

_MARK = b"stone-pictures-1"
_END = struct.Struct("<16sqqq32s")
SUFFIX = ".pictures"


class TornCache(Exception):
    """A cache file whose length or index is not what its end says."""


class CacheFull(Exception):
    """The pictures take more bytes than allowed; `needed` is what they took when writing stopped."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"more than {needed:,} bytes are needed")
        self.needed = needed


class PictureCache:
    """N pictures of C channels, read where they lie.

    heights, widths: int64 [N].
    """

    def __init__(self, path: Path) -> None:
        """Opens and verifies a cache; raises TornCache, or OSError where there is none."""
        self._path = path
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(path, "rb"))
            fcntl.flock(file, fcntl.LOCK_SH)
            self._open(file)
            stack.pop_all()
        self._file = file
        # the newest use decides what is removed first
        with contextlib.suppress(OSError):
            os.utime(path)

    def _open(self, file: BinaryIO) -> None:
        length = os.fstat(file.fileno()).st_size
        if length < _END.size:
            raise TornCache(f"{length} bytes")
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mark, count, self.channels, pixels, digest = _END.unpack(view[-_END.size :])
        if mark != _MARK or length != pixels + 16 * count + _END.size:
            raise TornCache(f"{length} bytes where its end says otherwise")
        index = view[pixels : pixels + 16 * count]
        if digest != _digest(index, count, self.channels, pixels):
            raise TornCache("its index has changed")
        self._pixels = np.frombuffer(view, dtype=np.uint8, count=pixels)
        self._offsets = np.frombuffer(index, dtype="<i8", count=count).tolist()
        self.heights = np.frombuffer(index, dtype="<i4", count=count, offset=8 * count).astype(np.int64)
        self.widths = np.frombuffer(index, dtype="<i4", count=count, offset=12 * count).astype(np.int64)

    def __len__(self) -> int:
        return len(self._offsets)

    def __reduce__(self) -> tuple[type[PictureCache], tuple[Path]]:
        # another process maps the file itself instead of receiving its pixels
        return PictureCache, (self._path,)

    def pictures(self, places: np.ndarray) -> list[np.ndarray]:
        """The pictures of these places, uint8 [h, w, C] each, read-only views."""
        pixels, offsets, channels = self._pixels, self._offsets, self.channels
        sizes = zip(places.tolist(), self.heights[places].tolist(), self.widths[places].tolist(), strict=True)
        return [
            pixels[offsets[p] : offsets[p] + h * w * channels].reshape(h, w, channels) for p, h, w in sizes
        ]


def write(path: Path, pictures: Iterable[np.ndarray], *, channels: int, limit: int) -> None:
    """Writes pictures, uint8 [h, w, channels] each, to a new cache.

    limit: bytes; raises CacheFull when the pixels pass it. Nothing is left behind when anything is raised.
    """
    with written_aside(path, buffering=1 << 20) as file:
        # a lock that the clean-up of others respects while this one is being written
        fcntl.flock(file, fcntl.LOCK_SH)
        _write_all(file, pictures, channels, limit)


def _write_all(file: BinaryIO, pictures: Iterable[np.ndarray], channels: int, limit: int) -> None:
    offsets, heights, widths, position = [], [], [], 0
    for picture in pictures:
        offsets.append(position)
        heights.append(picture.shape[0])
        widths.append(picture.shape[1])
        position += picture.nbytes
        if position > limit:
            raise CacheFull(position)
        file.write(np.ascontiguousarray(picture).data)
    columns = (np.array(offsets, "<i8"), np.array(heights, "<i4"), np.array(widths, "<i4"))
    index = b"".join(column.tobytes() for column in columns)
    file.write(index)
    file.write(_END.pack(_MARK, len(offsets), channels, position, _digest(index, len(offsets), channels, position)))


def _digest(index: bytes, count: int, channels: int, pixels: int) -> bytes:
    return hashlib.sha256(index + struct.pack("<qqq", count, channels, pixels)).digest()


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Waits until no other process builds the cache `path`, then keeps the others waiting."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_room(folder: Path, limit: int) -> list[Path]:
    """Removes the caches that were used longest ago until `limit` bytes hold the rest; those in use stay.

    Also removes what a killed writer left. Gives what was removed.
    """
    removed = [path for path in folder.glob(f".*{SUFFIX}.*.tmp") if _remove_idle(path)]
    caches = sorted(((p.stat().st_mtime, p.stat().st_size, p) for p in folder.glob(f"*{SUFFIX}")), reverse=True)
    total = 0
    for _, size, path in caches:
        total += size
        if total > limit and _remove_idle(path):
            total -= size
            removed.append(path)
    return removed


def _remove_idle(path: Path) -> bool:
    """Removes a file that no reader or writer has locked; says whether it did."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        return True
    return False
