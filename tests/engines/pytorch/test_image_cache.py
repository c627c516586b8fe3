"""The picture cache: whole or not there, shared, bounded."""

from __future__ import annotations

import fcntl
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from torchstone.engines.pytorch.sources.picture_cache import CacheFull, PictureCache, TornCache, make_room, write

LARGE = 1 << 40


def pictures(count: int = 5, channels: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    return [rng.integers(0, 256, (3 + i, 9 - i, channels), dtype=np.uint8) for i in range(count)]


@pytest.mark.parametrize("channels", [1, 3])
def test_every_picture_comes_back_in_its_own_size(tmp_path: Path, channels: int) -> None:
    given = pictures(channels=channels)
    write(tmp_path / "a.pictures", given, channels=channels, limit=LARGE)
    cache = PictureCache(tmp_path / "a.pictures")
    assert len(cache) == 5
    assert cache.heights.tolist() == [3, 4, 5, 6, 7]
    for place, picture in zip((4, 0, 2), cache.pictures(np.array([4, 0, 2])), strict=True):
        assert (picture == given[place]).all()
        assert picture.shape == given[place].shape
        assert not picture.flags.writeable


def test_a_cache_travels_to_another_process_as_its_path(tmp_path: Path) -> None:
    write(tmp_path / "a.pictures", pictures(), channels=3, limit=LARGE)
    packed = pickle.dumps(PictureCache(tmp_path / "a.pictures"))
    assert len(packed) < 500
    assert (pickle.loads(packed).pictures(np.array([3]))[0] == pictures()[3]).all()


def test_a_torn_cache_is_noticed_wherever_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.pictures"
    write(path, pictures(), channels=3, limit=LARGE)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(TornCache):
            PictureCache(path)


def test_a_flipped_bit_in_the_index_or_the_end_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.pictures"
    given = pictures()
    write(path, given, channels=3, limit=LARGE)
    whole = path.read_bytes()
    for place in range(sum(picture.nbytes for picture in given), len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(TornCache):
            PictureCache(path)


def test_nothing_is_left_when_writing_fails_or_the_limit_is_passed(tmp_path: Path) -> None:
    def broken() -> Iterator[np.ndarray]:
        yield pictures()[0]
        raise ValueError("broken")

    with pytest.raises(ValueError):
        write(tmp_path / "a.pictures", broken(), channels=3, limit=LARGE)
    with pytest.raises(CacheFull) as caught:
        write(tmp_path / "a.pictures", pictures(), channels=3, limit=200)
    assert caught.value.needed > 200
    assert list(tmp_path.iterdir()) == []


def test_room_is_made_by_removing_what_was_used_longest_ago(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / f"{name}.pictures", pictures(), channels=3, limit=LARGE)
    size = (tmp_path / "a.pictures").stat().st_size
    for age, name in enumerate("bca"):
        _age(tmp_path / f"{name}.pictures", 100 - age)
    PictureCache(tmp_path / "b.pictures")  # used now, and closed again
    assert make_room(tmp_path, 2 * size) == [tmp_path / "c.pictures"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pictures", "b.pictures"]


def test_a_cache_in_use_is_never_removed_and_a_dead_writers_remains_are(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.pictures", pictures(), channels=3, limit=LARGE)
    used = PictureCache(tmp_path / "a.pictures")
    (tmp_path / ".c.pictures.0123.tmp").write_bytes(b"half")
    with open(tmp_path / ".d.pictures.0123.tmp", "wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_SH)
        make_room(tmp_path, 0)
        assert sorted(path.name for path in tmp_path.iterdir()) == [".d.pictures.0123.tmp", "a.pictures"]
    assert (used.pictures(np.array([1]))[0] == pictures()[1]).all()


def _age(path: Path, seconds: float) -> None:
    import os

    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


@pytest.mark.integration
def test_two_processes_that_start_at_once_build_it_once(tmp_path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
import numpy as np
from torchstone.engines.pytorch.sources.picture_cache import PictureCache, only_one, write
path = Path(sys.argv[1]) / "a.pictures"
with only_one(path):
    is_built = not path.exists()
    if is_built:
        time.sleep(0.5)
        write(path, [np.full((4, 4, 3), 7, dtype=np.uint8)], channels=3, limit=1000)
    cache = PictureCache(path)
assert (cache.pictures(np.array([0]))[0] == 7).all()
print(is_built)
"""
    runs = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
            for _ in range(3)]  # fmt: skip
    assert sorted(run.communicate()[0].strip() for run in runs) == ["False", "False", "True"]
