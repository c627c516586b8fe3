"""Pictures in the size in which they are kept: decoded each time, or once into a cache."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from torchstone.core.dataset import SPLITS, Dataset
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.engines.pytorch.sources import picture_cache
from torchstone.engines.pytorch.sources.decode import read_picture
from torchstone.engines.pytorch.sources.picture_cache import CacheFull, PictureCache, TornCache
from torchstone.engines.pytorch.sources.resize import resizing

# The shorter side is kept at 8/7 of the input (256 for 224, as in He et al. 2016), so that a random crop has room.
_ROOM = 8 / 7
# A picture that is at most this much larger is kept as it is: resizing it costs more than reading its extra pixels.
_SLACK = 1.25
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Rule:
    """How a picture is kept: for an input of `size` pixels, with `channels` 1 or 3, resized by `resizer`."""

    size: int
    channels: int
    resizer: str

    @property
    def side(self) -> int:
        """The shorter side of a kept picture in pixels, where the file has that many."""
        return round(self.size * _ROOM)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cache lies: folder, its limit in bytes over all caches, versions of the decoders, decoding threads."""

    folder: Path
    limit: int
    versions: str
    threads: int = 0


class Pictures(Protocol):
    """Gives pictures by row number, uint8 [h, w, C] each; is_heavy: by decoding them."""

    @property
    def is_heavy(self) -> bool:
        """Whether pictures are decoded at every call."""
        ...

    def take(self, rows: np.ndarray) -> list[np.ndarray]:
        """The pictures of these rows, in their order."""
        ...


def read(path: str, rule: Rule) -> np.ndarray:
    """A file's picture as it is kept, uint8 [h, w, C]; raises StoneError as `decode.read_picture`."""
    picture = read_picture(path, channels=rule.channels, shorter=rule.side)
    height, width = picture.shape[:2]
    shrink = rule.side / min(height, width)
    if shrink >= 1 / _SLACK:
        return picture
    small = np.empty((max(1, round(height * shrink)), max(1, round(width * shrink)), rule.channels), dtype=np.uint8)
    resizing(rule.resizer).resize(picture, small)
    return small


class Decoded:
    """Pictures that are decoded again each time."""

    is_heavy = True

    def __init__(self, paths: np.ndarray, rule: Rule) -> None:
        self.paths, self.rule = paths, rule

    def take(self, rows: np.ndarray) -> list[np.ndarray]:
        """The pictures of these rows; raises StoneError at the first file that cannot be read."""
        return [read(str(path), self.rule) for path in self.paths[rows]]


class Cached:
    """Pictures that are decoded once, split by split when its first picture is asked for, and then read.

    So training never decodes the test part. A cache that another process is building is waited for. Where a cache
    cannot be kept, `notes` says why and that split is decoded each time.
    """

    def __init__(self, dataset: Dataset, decoded: Decoded, place: Place, notes: list[str]) -> None:
        self._decoded, self._place, self._notes = decoded, place, notes
        self._split = np.array([SPLITS.index(name) for name in dataset.split.tolist()], dtype=np.int64)
        self._rows = {code: np.flatnonzero(self._split == code) for code in range(len(SPLITS))}
        self._order = np.zeros(len(dataset), dtype=np.int64)
        for rows in self._rows.values():
            self._order[rows] = np.arange(len(rows))
        self._keys = {code: _key(dataset.ids[rows], decoded.rule, place) for code, rows in self._rows.items()}
        self._caches: dict[int, PictureCache | None] = {}

    @property
    def is_heavy(self) -> bool:
        """Whether a cache that was asked for could not be kept."""
        return any(cache is None for cache in self._caches.values())

    def take(self, rows: np.ndarray) -> list[np.ndarray]:
        """The pictures of these rows; raises StoneErrors naming every unreadable file of a split when it is built."""
        codes = self._split[rows]
        if len(rows) and (codes == codes[0]).all():
            return self._of_split(int(codes[0]), rows)
        return [self._of_split(int(code), rows[i : i + 1])[0] for i, code in enumerate(codes)]

    def _of_split(self, code: int, rows: np.ndarray) -> list[np.ndarray]:
        if code not in self._caches:
            self._caches[code] = self._open(code)
        cache = self._caches[code]
        return self._decoded.take(rows) if cache is None else cache.pictures(self._order[rows])

    def _open(self, code: int) -> PictureCache | None:
        path = self._place.folder / f"{self._keys[code]}{picture_cache.SUFFIX}"
        try:
            with picture_cache.only_one(path):
                return self._verified(path, code) or self._built(path, code)
        except (CacheFull, OSError) as error:
            self._notes.append(f"image cache: {error} ({path}): cached -> decoded again in each epoch")
            return None

    def _verified(self, path: Path, code: int) -> PictureCache | None:
        try:
            cache = PictureCache(path)
        except FileNotFoundError:
            return None
        except TornCache as error:
            self._notes.append(f"image cache: {path} is damaged ({error}): it is made anew")
            return None
        return cache if len(cache) == len(self._rows[code]) else None

    def _built(self, path: Path, code: int) -> PictureCache:
        rule, place = self._decoded.rule, self._place
        paths = [str(path) for path in self._decoded.paths[self._rows[code]]]
        pictures = _all_or_errors(paths, rule, place.threads or min(8, os.cpu_count() or 1))
        picture_cache.write(path, pictures, channels=rule.channels, limit=place.limit)
        cache = PictureCache(path)
        picture_cache.make_room(place.folder, place.limit)
        return cache


def _key(ids: np.ndarray, rule: Rule, place: Place) -> str:
    """The name of a cache: what its pixels depend on, and nothing else (ids are digests of the files' content)."""
    described = [rule.side, rule.channels, rule.resizer, place.versions, *map(str, ids)]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:32]


def _all_or_errors(paths: list[str], rule: Rule, threads: int) -> Iterator[np.ndarray]:
    """Every picture in order; after the last one, StoneErrors with the first unreadable files, if there are any."""
    errors: list[StoneError] = []
    for result in _in_threads(paths, rule, threads):
        if not isinstance(result, StoneError):
            yield result
        elif len(errors) < _MOST_ERRORS:
            errors.append(result)
    if errors:
        raise StoneErrors(errors) if len(errors) > 1 else errors[0]


def _in_threads(paths: list[str], rule: Rule, threads: int) -> Iterator[np.ndarray | StoneError]:
    """Decoders release the interpreter's lock; a few pictures per thread are ahead of the reader, never all."""
    if threads == 1:
        for path in paths:
            yield _read_or_error(path, rule)
        return
    ahead = 4 * threads
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(_read_or_error, path, rule) for path in paths[:ahead])
        for path in paths[ahead:]:
            done = waiting.popleft().result()
            waiting.append(pool.submit(_read_or_error, path, rule))
            yield done
        yield from (future.result() for future in waiting)


def _read_or_error(path: str, rule: Rule) -> np.ndarray | StoneError:
    try:
        return read(path, rule)
    except StoneError as error:
        return error
