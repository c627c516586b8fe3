"""Batches of pictures: a pure function of rows and epoch, with and without a cache."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.plan import Choice, Plan
from torchstone.engines.pytorch.sources import resize, stored
from torchstone.engines.pytorch.sources.buffers import Buffers
from torchstone.engines.pytorch.sources.image import ImageSource, fit, open_source, shape


def made(folder: Path, count: int = 12, mode: str = "RGB", split: list[str] | None = None) -> Dataset:
    """`count` pictures of different sizes and contents; every fourth a JPEG."""
    folder.mkdir(exist_ok=True)
    rng, names = np.random.default_rng(count), []
    for i in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)).convert(mode)
        path = folder / f"{i}.{'jpg' if i % 4 == 0 else 'png'}"
        coarse.resize((40 + 3 * i, 30 + i), Image.Resampling.BICUBIC).save(path)
        names.append(str(path))
    paths = np.array(names, dtype=object)
    parts = np.array(split or ["train"] * count, dtype=object)
    return Dataset(
        task="image-classification", source=str(folder), ids=paths, where=paths, inputs={"image": paths},
        kinds={"image": "image"}, target=np.arange(count) % 3, target_name="folder", classes=("a", "b", "c"),
        split=parts, groups=np.arange(count), digest="",
    )


def plan(**changes: Any) -> Plan:
    values = {"image.size": 16, "image.augment.name": "crop_flip", "image.cache_gib": 1.0, "train.seed": 3,
              "train.threads": 1} | {key.replace("__", "."): value for key, value in changes.items()}  # fmt: skip
    return Plan({field: Choice(field, value, "user", "test") for field, value in values.items()})


def opened(dataset: Dataset, wishes: Plan, cache: Path | None = None) -> ImageSource:
    return open_source(dataset, fit(dataset, wishes), wishes, cache_folder=cache)


def pixels(source: ImageSource, rows: list[int], epoch: int | None) -> torch.Tensor:
    return source.batch(np.array(rows), epoch).inputs[0].clone()


def test_a_batch_is_normalised_float32_with_targets_and_rows(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p")
    source = opened(dataset, plan())
    batch = source.batch(np.array([5, 1, 3]), 0)
    assert batch.inputs[0].shape == (3, 3, 16, 16)
    assert batch.inputs[0].dtype == torch.float32
    assert batch.target.tolist() == [2, 1, 0]
    assert batch.target.dtype == torch.int64
    assert batch.rows.tolist() == [5, 1, 3]
    assert len(source) == 12
    assert source.is_heavy


def test_evaluation_is_the_picture_itself_normalised(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    dataset = made(tmp_path / "p", 3)
    Image.fromarray(values).save(dataset.inputs["image"][1])
    wishes = plan(image__augment__name="none")
    encoding = fit(dataset, wishes)
    source = open_source(dataset, encoding, wishes)
    mean, std = (np.array(encoding[key])[:, None, None] for key in ("mean", "std"))
    expected = (values.transpose(2, 0, 1) / 255 - mean) / std
    assert np.allclose(pixels(source, [1], None)[0].numpy(), expected, atol=1e-5)


def test_the_training_part_has_mean_zero_and_deviation_one(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p", 8)
    for i, path in enumerate(dataset.inputs["image"]):
        noise = np.random.default_rng(i).integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path, format="PNG")
    batch = pixels(opened(dataset, plan(image__augment__name="none")), list(range(8)), None)
    assert torch.allclose(batch.mean((0, 2, 3)), torch.zeros(3), atol=1e-4)
    assert torch.allclose(batch.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-3)


@pytest.mark.parametrize("augment", ["crop_flip", "shift", "none"])
def test_a_picture_is_the_same_alone_in_a_batch_and_in_another_process(tmp_path: Path, augment: str) -> None:
    dataset = made(tmp_path / "p")
    source = opened(dataset, plan(image__augment__name=augment), tmp_path / "cache")
    together = pixels(source, [4, 9, 0, 7], 5)
    for place, row in enumerate([4, 9, 0, 7]):
        assert torch.equal(pixels(source, [row], 5)[0], together[place])
    copied = pickle.loads(pickle.dumps(source))
    assert torch.equal(pixels(copied, [7, 4], 5), together[[3, 0]])


def test_epochs_rows_and_seeds_see_different_crops(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p")
    source, other = opened(dataset, plan()), opened(dataset, plan(train__seed=4))
    first = pixels(source, [2], 0)
    assert not torch.equal(first, pixels(source, [2], 1))
    assert not torch.equal(first, pixels(other, [2], 0))
    assert torch.equal(pixels(source, [2], None), pixels(other, [2], None))


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_cache_changes_no_pixel(tmp_path: Path, mode: str) -> None:
    dataset = made(tmp_path / "p", mode=mode, split=["train", "test", "validation"] * 4)
    plain, cached = opened(dataset, plan()), opened(dataset, plan(), tmp_path / "cache")
    again = opened(dataset, plan(), tmp_path / "cache")
    for epoch in (0, 1, None):
        assert torch.equal(pixels(plain, list(range(12)), epoch), pixels(cached, list(range(12)), epoch))
        assert torch.equal(pixels(plain, [3, 0], epoch), pixels(again, [3, 0], epoch))
    assert cached.notes == []
    assert not cached.is_heavy


def test_the_test_part_is_not_decoded_before_it_is_asked_for(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p", split=["train"] * 8 + ["test"] * 4)
    source = opened(dataset, plan(), tmp_path / "cache")
    pixels(source, [0, 1], 0)
    assert len(list((tmp_path / "cache").glob("*.pictures"))) == 1
    pixels(source, [9], None)
    assert len(list((tmp_path / "cache").glob("*.pictures"))) == 2


def test_later_runs_read_the_cache_and_not_the_files(tmp_path: Path) -> None:
    dataset, wishes = made(tmp_path / "p"), plan()
    encoding = fit(dataset, wishes)
    first = pixels(open_source(dataset, encoding, wishes, cache_folder=tmp_path / "c"), [1, 4], 0)
    for path in dataset.inputs["image"]:
        Path(path).unlink()
    assert torch.equal(pixels(open_source(dataset, encoding, wishes, cache_folder=tmp_path / "c"), [1, 4], 0), first)


def test_a_damaged_cache_is_made_anew_and_told(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p")
    first = pixels(opened(dataset, plan(), tmp_path / "c"), [1, 4], 0)
    (path,) = (tmp_path / "c").glob("*.pictures")
    path.write_bytes(path.read_bytes()[:-7])
    source = opened(dataset, plan(), tmp_path / "c")
    assert torch.equal(pixels(source, [1, 4], 0), first)
    assert "damaged" in source.notes[0]


def test_pictures_that_do_not_fit_are_decoded_each_time_and_told_once(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p")
    source = opened(dataset, plan(image__cache_gib=1e-6), tmp_path / "c")
    assert source.is_heavy
    assert "cached -> decoded again in each epoch" in source.notes[0]
    pixels(source, [0], 0)
    assert len(source.notes) == 1


def test_a_folder_that_cannot_be_written_costs_speed_and_not_the_run(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p")
    (tmp_path / "c").write_text("a file stands where the folder should be")
    source = opened(dataset, plan(), tmp_path / "c")
    assert torch.equal(pixels(source, [0], 0), pixels(opened(dataset, plan()), [0], 0))
    assert "decoded again" in source.notes[0]
    assert source.is_heavy


@pytest.mark.parametrize("threads", [1, 3])
def test_all_unreadable_files_of_a_part_are_told_at_once(tmp_path: Path, threads: int) -> None:
    dataset = made(tmp_path / "p")
    wishes = plan(train__threads=threads)
    encoding = fit(dataset, wishes)
    for i in (2, 7):
        Path(dataset.inputs["image"][i]).write_text("no picture")
    with pytest.raises(StoneErrors) as caught:
        open_source(dataset, encoding, wishes, cache_folder=tmp_path / "c").batch(np.array([0]), 0)
    assert [error.where for error in caught.value.errors] == [dataset.inputs["image"][i] for i in (2, 7)]
    assert list((tmp_path / "c").glob("*.pictures")) == []


def test_grey_sets_have_one_channel_and_a_single_colour_picture_makes_three(tmp_path: Path) -> None:
    grey, mixed = made(tmp_path / "g", mode="L"), made(tmp_path / "m", mode="L")
    Image.new("RGB", (40, 40), "red").save(mixed.inputs["image"][11])
    assert shape(fit(grey, plan()), 3).channels == 1
    assert shape(fit(mixed, plan()), 3).channels == 3
    assert pixels(opened(grey, plan()), [0, 1], 0).shape == (2, 1, 16, 16)


def test_the_encoding_is_json_learnt_on_the_training_part_alone(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p", split=["train"] * 6 + ["validation"] * 6)
    before = fit(dataset, plan())
    assert json.loads(json.dumps(before)) == before
    Image.new("RGB", (50, 50), "white").save(dataset.inputs["image"][9])
    assert fit(dataset, plan()) == before


def test_a_memory_of_a_batch_is_not_used_again_while_someone_looks(tmp_path: Path) -> None:
    source = opened(made(tmp_path / "p"), plan(), tmp_path / "c")
    kept = [source.batch(np.array([row]), 0).inputs[0] for row in range(8)]
    views = [source.batch(np.array([row]), 0).inputs[0][0, 1] for row in range(8)]
    for row in range(8):
        fresh = pixels(source, [row], 0)
        assert torch.equal(kept[row], fresh)
        assert torch.equal(views[row], fresh[0, 1])


def test_an_idle_buffer_is_given_out_again() -> None:
    buffers = Buffers(np.float32)
    first = buffers.take(2, 3)
    address = first.ctypes.data
    assert buffers.take(2, 3).ctypes.data != address
    del first
    assert buffers.take(5).ctypes.data == address


def test_what_opencv_resized_is_not_evaluated_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resize.importlib.util, "find_spec", lambda name: None)
    assert resize.installed() == "pillow"
    with pytest.raises(StoneError, match="opencv"):
        resize.resizing("cv2")


def test_pillow_and_opencv_agree_on_a_smooth_picture(tmp_path: Path) -> None:
    dataset, wishes = made(tmp_path / "p"), plan()
    encoding = fit(dataset, wishes)
    assert encoding["resizer"] == "cv2"
    both = [pixels(open_source(dataset, encoding | {"resizer": name}, wishes), list(range(12)), 2)
            for name in ("cv2", "pillow")]  # fmt: skip
    assert (both[0] - both[1]).abs().mean() < 0.05


def test_a_kept_picture_has_eight_sevenths_of_the_size_or_all_its_pixels(tmp_path: Path) -> None:
    path = str(tmp_path / "a.png")
    for side, kept in ((300, (256, 341)), (310, (256, 341)), (150, (150, 200)), (320, (256, 341))):
        Image.new("RGB", (side * 4 // 3, side)).save(path)
        found = stored.read(path, stored.Rule(224, 3, "cv2")).shape[:2]
        assert found == (kept if side > 256 * 1.25 or side < 256 else (side, side * 4 // 3))
