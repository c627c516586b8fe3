"""Distorted and erased pictures in the batches of a training."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_image_source import made, opened, pixels, plan

from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.sources.draws import uniform

CHANGES = {"image__distort__name": "rand_augment", "image__erase__name": "random_erasing"}


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_picture_is_the_same_alone_in_a_batch_and_in_another_process(tmp_path: Path, mode: str) -> None:
    source = opened(made(tmp_path / "p", mode=mode), plan(**CHANGES), tmp_path / "cache")
    together = pixels(source, [4, 9, 0, 7], 5)
    for place, row in enumerate([4, 9, 0, 7]):
        assert torch.equal(pixels(source, [row], 5)[0], together[place])
    copied = pickle.loads(pickle.dumps(source))
    assert torch.equal(pixels(copied, [7, 4], 5), together[[3, 0]])
    assert not torch.equal(pixels(source, [4], 6)[0], together[0])


@pytest.mark.parametrize("change", CHANGES.items())
def test_what_is_changed_is_the_training_picture_alone(tmp_path: Path, change: tuple[str, str]) -> None:
    dataset = made(tmp_path / "p")
    plain, changed = opened(dataset, plan()), opened(dataset, plan(**dict([change])))
    rows = list(range(12))
    assert torch.equal(pixels(plain, rows, None), pixels(changed, rows, None))
    is_same = (pixels(plain, rows, 0) == pixels(changed, rows, 0)).flatten(1).all(1)
    assert not is_same.all()


def test_erasing_leaves_the_cut_and_the_distortion_as_they_were(tmp_path: Path) -> None:
    dataset = made(tmp_path / "p")
    distort = {"image__distort__name": "trivial_augment"}
    without = opened(dataset, plan(**distort))
    options: dict[str, Any] = {"image__erase__options__fill": "mean", "image__erase__options__largest": 0.05}
    with_it = opened(dataset, plan(**distort, image__erase__name="random_erasing", **options))
    is_same = pixels(without, list(range(12)), 0) == pixels(with_it, list(range(12)), 0)
    assert is_same.float().mean() > 0.9
    erased = pixels(with_it, list(range(12)), 0)[~is_same]
    assert erased.abs().max() < 0.02  # the mean colour, rounded to a byte, is 0 after normalising


@pytest.mark.parametrize("world", [1, 2])
def test_workers_ranks_and_micro_batches_change_no_picture(tmp_path: Path, world: int) -> None:
    source = opened(made(tmp_path / "p"), plan(**CHANGES), tmp_path / "cache")
    assert source.is_heavy
    expected = pixels(source, list(range(12)), 1)
    for workers, accumulate in ((0, 1), (2, 2)) if world == 1 else ((0, 2),):
        seen: dict[int, torch.Tensor] = {}
        for rank in range(world):
            feed = Feed(source, np.arange(12), 6, 0, accumulate=accumulate, workers=workers, rank=rank, world=world)
            for window in feed.epoch(1):
                for batch in window.batches:
                    seen |= {row: batch.inputs[0][i].clone() for i, row in enumerate(batch.rows.tolist())}
        assert sorted(seen) == list(range(12))
        assert all(torch.equal(seen[row], expected[row]) for row in seen)


def test_streams_of_a_row_are_uncorrelated_and_the_first_is_as_it_was() -> None:
    rows = np.arange(20_000)
    first, second = uniform(0, 0, rows, 2), uniform(0, 0, rows, 2, stream=1)
    assert (first == uniform(0, 0, rows, 2, stream=0)).all()
    for one, other in ((first[:, 0], second[:, 0]), (second[:, 0], uniform(0, 0, rows, 1, stream=2)[:, 0])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.025
