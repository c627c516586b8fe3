"""A look at folders of pictures."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PIL import Image

from torchstone.core.dataset import SPLITS
from torchstone.core.errors import StoneError
from torchstone.core.recipe import Data
from torchstone.flows.look import Look, look


def paint(path: Path, shade: int, format: str = "PNG") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (9, 7), (shade % 256, shade // 256, 90)).save(path, format)


def see(path: Path, **fields: object) -> Look:
    return look(Data(path=str(path), **fields))  # type: ignore[arg-type]


def test_a_folder_per_class_is_classes_by_sorted_names_with_ids_of_the_bytes(tmp_path: Path) -> None:
    for i in range(20):
        paint(tmp_path / "tulip" / f"{i}.png", i)
        paint(tmp_path / "rose" / "deep" / f"{i}.JPG", 100 + i, "JPEG")
    dataset = see(tmp_path).dataset
    assert dataset.task == "image-classification"
    assert dataset.classes == ("rose", "tulip")
    assert dataset.kinds == {"image": "image"}
    assert dataset.where[0] == "rose/deep/0.JPG"
    assert dataset.target.tolist() == [0] * 20 + [1] * 20
    path = dataset.inputs["image"][25]
    assert path == str(tmp_path / "tulip" / "13.png")
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest().startswith(dataset.ids[25])


def test_the_users_split_folders_are_kept_and_a_class_missing_in_one_shifts_nothing(tmp_path: Path) -> None:
    for part, classes in (("train", "abc"), ("valid", "ac"), ("test", "bc")):
        for name in classes:
            for i in range(4):
                paint(tmp_path / part / name / f"{i}.png", hash((part, name, i)) % 60000)
    dataset = see(tmp_path).dataset
    assert dataset.classes == ("a", "b", "c")
    assert [len(dataset.rows(part)) for part in SPLITS] == [12, 8, 8]
    for where, target in zip(dataset.where, dataset.target, strict=True):
        assert "abc"[target] == where.split("/")[1]


def test_equal_pictures_share_a_group_even_across_classes(tmp_path: Path) -> None:
    for i in range(10):
        paint(tmp_path / "a" / f"{i}.png", i)
        paint(tmp_path / "b" / f"{i}.png", i if i == 0 else 100 + i)
    seen = see(tmp_path)
    groups = dict(zip(seen.dataset.where, seen.dataset.groups, strict=True))
    assert groups["a/0.png"] == groups["b/0.png"]
    assert len(set(groups.values())) == 19


def test_fields_for_tables_are_refused_for_folders(tmp_path: Path) -> None:
    paint(tmp_path / "a" / "1.png", 1)
    paint(tmp_path / "b" / "1.png", 2)
    with pytest.raises(StoneError, match=r"data\.label has no effect"):
        see(tmp_path, label="x")
    with pytest.raises(StoneError, match="text-classification cannot be learnt"):
        look(Data(path=str(tmp_path)), task="text-classification")


def test_a_renamed_folder_changes_the_digest_and_a_moved_one_does_not(tmp_path: Path) -> None:
    for i in range(6):
        paint(tmp_path / "one" / "a" / f"{i}.png", i)
        paint(tmp_path / "one" / "b" / f"{i}.png", 50 + i)
    first = see(tmp_path / "one").dataset.digest
    (tmp_path / "one").rename(tmp_path / "two")
    assert see(tmp_path / "two").dataset.digest == first
    (tmp_path / "two" / "b").rename(tmp_path / "two" / "c")
    assert see(tmp_path / "two").dataset.digest != first


def test_a_folder_linked_into_itself_ends(tmp_path: Path) -> None:
    for i in range(5):
        paint(tmp_path / "a" / f"{i}.png", i)
        paint(tmp_path / "b" / f"{i}.png", 50 + i)
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    assert len(see(tmp_path).dataset) == 10


def test_one_table_beside_class_folders_does_not_hide_them(tmp_path: Path) -> None:
    for i in range(5):
        paint(tmp_path / "a" / f"{i}.png", i)
        paint(tmp_path / "b" / f"{i}.png", 50 + i)
    (tmp_path / "classes.csv").write_text("id,name\n0,a\n1,b\n")
    assert len(see(tmp_path).dataset) == 10


def test_a_relative_path_gives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(6):
        paint(tmp_path / "one" / "a" / f"{i}.png", i)
        paint(tmp_path / "one" / "b" / f"{i}.png", 50 + i)
    expected = see(tmp_path / "one").dataset
    monkeypatch.chdir(tmp_path)
    found = see(Path("one")).dataset
    assert found.digest == expected.digest
    assert found.inputs["image"].tolist() == expected.inputs["image"].tolist()
