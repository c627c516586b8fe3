"""Folders and pictures that are not as they should be: named, counted, never a crash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.recipe import Data, Rules
from torchstone.flows.judge import judge
from torchstone.flows.look import Look, look


def paint(path: Path, shade: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (9, 7), (shade % 256, shade // 256, 90)).save(path, "PNG")


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    for i in range(12):
        paint(tmp_path / "rose" / f"{i}.png", i)
        paint(tmp_path / "tulip" / f"{i}.png", 50 + i)
    return tmp_path


def see(path: Path) -> Look:
    return look(Data(path=str(path)))


def findings(seen: Look, code: str) -> list[Finding]:
    return [finding for finding in seen.findings if finding.code == code]


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(StoneError, match="the folder is empty") as caught:
        see(tmp_path)
    assert caught.value.where == str(tmp_path)
    assert caught.value.fix


def test_a_path_that_is_not_there(flowers: Path) -> None:
    with pytest.raises(StoneError) as caught:
        see(flowers / "roze")
    assert caught.value.fix == f"did you mean {flowers / 'rose'}?"


def test_one_class(tmp_path: Path) -> None:
    paint(tmp_path / "rose" / "1.png", 1)
    paint(tmp_path / "rose" / "2.png", 2)
    with pytest.raises(StoneError, match="nothing to learn: the label 'folder' is 'rose' in all 2"):
        see(tmp_path)


def test_a_class_with_one_example(flowers: Path) -> None:
    paint(flowers / "lily" / "1.png", 200)
    seen = see(flowers)
    assert seen.dataset.classes == ("lily", "rose", "tulip")
    assert seen.dataset.split[0] == "train"
    found = judge(seen.dataset, "torchstone.rules.dataset", Rules())
    assert any("lily" in finding.what for finding in found)


def test_hidden_folders_and_litter_are_counted_and_no_class(flowers: Path) -> None:
    paint(flowers / ".ipynb_checkpoints" / "1.png", 1)
    paint(flowers / "rose" / ".ipynb_checkpoints" / "1.png", 1)
    for name in ("Thumbs.db", "rose/.DS_Store", "rose/Thumbs.db", "rose/notes.txt"):
        (flowers / name).write_bytes(b"x")
    seen = see(flowers)
    assert seen.dataset.classes == ("rose", "tulip")
    assert len(seen.dataset) == 24
    (finding,) = findings(seen, "DAT104")
    assert finding.evidence == {
        "hidden folder": 2, "hidden or system file": 3, ".txt file, not a picture": 1,
    }  # fmt: skip


def test_an_empty_class_folder_is_named_and_shifts_no_index(flowers: Path) -> None:
    (flowers / "lily").mkdir()
    seen = see(flowers)
    assert seen.dataset.classes == ("rose", "tulip")
    (finding,) = findings(seen, "DAT107")
    assert "'lily'" in finding.what


def test_broken_pictures_are_each_named_and_left_out(flowers: Path) -> None:
    whole = (flowers / "rose" / "0.png").read_bytes()
    (flowers / "rose" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (flowers / "rose" / "zero.JPG").write_bytes(b"")
    (flowers / "rose" / "text.jpg").write_text("hello")
    (flowers / "rose" / "gone.png").symlink_to(flowers / "nowhere.png")
    Image.new("1", (20_000, 20_000)).save(flowers / "rose" / "huge.png")
    seen = see(flowers)
    named = {finding.where.path: finding.what for finding in findings(seen, "DAT101")}
    assert set(named) == {f"rose/{name}" for name in ("cut.png", "zero.JPG", "text.jpg", "gone.png", "huge.png")}
    assert "0 bytes" in named["rose/zero.JPG"]
    assert "not a picture" in named["rose/text.jpg"]
    assert "the link points nowhere" in named["rose/gone.png"]
    assert "400,000,000 pixels" in named["rose/huge.png"]
    assert {finding.severity for finding in findings(seen, "DAT101")} == {"error"}
    assert len(seen.dataset) == 24


def test_one_broken_picture_in_two_hundred_is_a_warning(flowers: Path) -> None:
    for i in range(200):
        paint(flowers / "rose" / f"more{i}.png", 300 + i)
    (flowers / "rose" / "zero.png").write_bytes(b"")
    assert [finding.severity for finding in findings(see(flowers), "DAT101")] == ["warning"]


def test_no_picture_that_decodes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(b"")
    with pytest.raises(StoneError, match="none of the 2 pictures decodes"):
        see(tmp_path)


def test_suffixes_in_capitals_unicode_blanks_and_wrong_suffixes(tmp_path: Path) -> None:
    for i in range(8):
        paint(tmp_path / "Rosé rouge" / f"é {i}.PNG", i)
        paint(tmp_path / "山 茶" / f"{i}.JPEG", 50 + i)
        paint(tmp_path / "日" / f"picture{i}", 90 + i)
    seen = see(tmp_path)
    assert seen.dataset.classes == ("Rosé rouge", "山 茶", "日")
    assert len(seen.dataset) == 24


def test_pictures_without_classes(tmp_path: Path) -> None:
    paint(tmp_path / "1.png", 1)
    with pytest.raises(StoneError, match="1 pictures, and nothing says their classes"):
        see(tmp_path)
    with pytest.raises(StoneError, match="one picture"):
        see(tmp_path / "1.png")


def test_nothing_is_written_into_the_data(flowers: Path) -> None:
    before = {path: (os.stat(path).st_mtime_ns, os.stat(path).st_size) for path in flowers.rglob("*")}
    see(flowers)
    assert {path: (os.stat(path).st_mtime_ns, os.stat(path).st_size) for path in flowers.rglob("*")} == before


def test_class_folders_inside_one_more_folder(tmp_path: Path) -> None:
    for i in range(8):
        paint(tmp_path / "download" / "photos" / "rose" / f"{i}.png", i)
        paint(tmp_path / "download" / "photos" / "tulip" / f"{i}.png", 50 + i)
    seen = see(tmp_path)
    assert seen.dataset.classes == ("rose", "tulip")
    assert seen.dataset.where[0] == "rose/0.png"


def test_class_folders_of_texts_are_told_the_way_out(tmp_path: Path) -> None:
    for name in ("ham", "spam"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text("hello you")
    with pytest.raises(StoneError, match=r"the class folders hold texts, such as ham/1\.txt") as caught:
        see(tmp_path)
    assert "columns text and label" in str(caught.value.fix)


def test_an_unknown_task(flowers: Path) -> None:
    with pytest.raises(StoneError, match="no task is called 'image-clasification'") as caught:
        look(Data(path=str(flowers)), task="image-clasification")
    assert caught.value.fix == "did you mean image-classification?"
