"""One folder with every kind of odd picture and file that people have: what can be read is read, the rest is named."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from torchstone.core.plan import Choice, Plan
from torchstone.core.recipe import Data
from torchstone.engines.pytorch.sources import image
from torchstone.flows.look import Look, look

SIDE = 24
READABLE = ("CMYK.jpg", "sixteen bit.png", "palette.png", "animated.gif", "EXIF.jpg", "UPPER.JPEG", "ünï çødé 🌼.png",
            "transparent.png", "grey.png", "plain.webp")  # fmt: skip
UNREADABLE = ("cut.jpg", "zero.png", "note.jpg", "gone.png", "huge.png")


def colours(seed: int) -> Image.Image:
    values = np.random.default_rng(seed).integers(0, 255, (3, 3, 3), dtype=np.uint8)
    return Image.fromarray(values).resize((SIDE, SIDE), Image.Resampling.BICUBIC)


def fill(folder: Path) -> None:
    """The readable ones, the unreadable ones, and what is no data at all."""
    folder.mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    colours(1).convert("CMYK").save(folder / "CMYK.jpg")
    Image.fromarray(np.linspace(0, 65535, SIDE * SIDE).reshape(SIDE, SIDE).astype(np.uint16)).save(
        folder / "sixteen bit.png"
    )
    colours(2).convert("P").save(folder / "palette.png")
    colours(3).save(folder / "animated.gif", save_all=True, append_images=[colours(4), colours(5)])
    colours(6).save(folder / "EXIF.jpg", exif=exif)
    colours(7).save(folder / "UPPER.JPEG")
    colours(8).save(folder / "ünï çødé 🌼.png")
    colours(9).convert("RGBA").save(folder / "transparent.png")
    colours(10).convert("L").save(folder / "grey.png")
    colours(11).save(folder / "plain.webp")
    whole = folder / "cut.jpg"
    colours(12).resize((200, 200)).save(whole)
    whole.write_bytes(whole.read_bytes()[:900])
    (folder / "zero.png").touch()
    (folder / "note.jpg").write_text("this is a note")
    (folder / "gone.png").symlink_to(folder / "nowhere.png")
    Image.new("1", (20_000, 20_000)).save(folder / "huge.png")
    for name in ("Thumbs.db", ".DS_Store"):
        (folder / name).write_bytes(b"junk")
    (folder / ".ipynb_checkpoints").mkdir()
    colours(13).save(folder / ".ipynb_checkpoints" / "plain-checkpoint.png")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Look:
    root = tmp_path_factory.mktemp("zoo") / "my pictures"
    fill(root / "class A")
    fill(root / "класс Б")
    (root / ".ipynb_checkpoints").mkdir()
    return look(Data(path=str(root)))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_what_can_be_read_is_there_and_nothing_else(seen: Look) -> None:
    dataset = seen.dataset
    assert list(dataset.classes) == ["class A", "класс Б"]
    assert sorted(dataset.where) == sorted(f"{c}/{name}" for c in dataset.classes for name in READABLE)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_what_cannot_be_read_is_named_each(seen: Look) -> None:
    told = " ".join(f"{finding.what} {finding.where} {finding.evidence}" for finding in seen.findings)
    assert [name for name in UNREADABLE if name not in told] == []


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_every_odd_picture_reaches_the_model_as_its_first_frame_upright(seen: Look) -> None:
    plan = Plan({c.field: c for c in (
        Choice("image.size", SIDE, "user", ""), Choice("image.augment.name", "none", "user", ""),
        Choice("image.cache_gib", 0.0, "user", ""), Choice("train.seed", 0, "user", ""),
        Choice("train.threads", 1, "user", ""),
    )})  # fmt: skip
    encoding = image.fit(seen.dataset, plan)
    assert encoding["channels"] == 3
    source = image.open_source(seen.dataset, encoding, plan, cache_folder=None)
    batch = source.batch(np.arange(len(seen.dataset)), None)
    assert batch.inputs[0].shape == (20, 3, SIDE, SIDE)
    assert bool(batch.inputs[0].isfinite().all())
    picture = dict(zip(seen.dataset.where, batch.inputs[0], strict=True))
    upright = np.asarray(colours(6).rotate(-90, expand=True))  # orientation 6: turned by 90 degrees to be upright
    turned = picture["class A/EXIF.jpg"].mean(0).numpy()
    grey = upright.mean(2)
    assert np.corrcoef(turned.ravel(), grey.ravel())[0, 1] > 0.95
    first = picture["class A/animated.gif"].mean(0).numpy()
    assert np.corrcoef(first.ravel(), np.asarray(colours(3)).mean(2).ravel())[0, 1] > 0.95


def test_names_with_spaces_and_other_scripts_survive(seen: Look) -> None:
    column = next(name for name, kind in seen.dataset.kinds.items() if kind == "image")
    assert all(os.path.isfile(path) for path in seen.dataset.inputs[column])
