"""Which examples make which step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import get_worker_info

from conftest import blobs
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.feed import Feed, cut
from torchstone.engines.pytorch.sources.tensors import TensorSource


def source_of(num: int) -> TensorSource:
    return TensorSource([torch.arange(num, dtype=torch.float32)[:, None]], torch.zeros(num, dtype=torch.int64))


@settings(max_examples=60, deadline=None)
@given(
    num=st.integers(1, 60), batch_size=st.integers(1, 20), accumulate=st.integers(1, 4), world=st.integers(1, 4),
    epoch=st.integers(0, 3),
)  # fmt: skip
def test_every_example_is_dealt_once_an_epoch_for_any_cut(
    num: int, batch_size: int, accumulate: int, world: int, epoch: int
) -> None:
    feed = Feed(source_of(num), np.arange(num), batch_size, seed=7, accumulate=accumulate, world=world)
    ranks = [list(replace(feed, rank=rank).epoch(epoch)) for rank in range(world)]
    seen = np.concatenate([b.rows for windows in ranks for w in windows for b in w.batches])
    assert sorted(seen.tolist()) == list(range(num))
    assert {len(windows) for windows in ranks} == {feed.windows_per_epoch}
    for windows in zip(*ranks, strict=True):  # the window is the same for every world
        together = np.concatenate([b.rows for w in windows for b in w.batches])
        assert together.tolist() == windows[0].rows.tolist()


@pytest.mark.parametrize(("num", "batch_size", "world", "accumulate"), [(65, 64, 1, 1), (75, 10, 3, 1), (41, 8, 2, 2)])
def test_no_piece_has_a_single_example_where_batchnorm_would_fail(
    num: int, batch_size: int, world: int, accumulate: int
) -> None:
    feed = Feed(source_of(num), np.arange(num), batch_size, seed=0, accumulate=accumulate, world=world)
    pieces = [b for rank in range(world) for w in replace(feed, rank=rank).epoch(0) for b in w.batches]
    assert min(len(b.rows) for b in pieces) >= 2
    assert sum(len(b.rows) for b in pieces) == num


def test_a_batch_size_of_one_means_one() -> None:
    feed = Feed(source_of(5), np.arange(5), 1, seed=0)
    assert [len(w.rows) for w in feed.epoch(0)] == [1] * 5


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    feed = Feed(source_of(100), np.arange(100), 8, seed=1)
    assert feed.order(2).tolist() == replace(feed, batch_size=9, rank=1, world=2).order(2).tolist()
    assert feed.order(2).tolist() != feed.order(3).tolist()
    assert feed.order(2).tolist() != replace(feed, seed=2).order(2).tolist()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    list(Feed(blobs(), np.arange(90), 8, seed=1).epoch(0))
    assert torch.equal(before, torch.get_rng_state())


def test_starting_within_an_epoch_gives_its_tail() -> None:
    feed = Feed(source_of(50), np.arange(50), 8, seed=1)
    whole = [w.rows.tolist() for w in feed.epoch(1)]
    assert [w.rows.tolist() for w in feed.epoch(1, first=3)] == whole[3:]
    assert list(feed.epoch(1, first=len(whole))) == []


class FromWorker(TensorSource):
    """A source that says in which process it made a batch."""

    is_heavy = True

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        made = super().batch(rows, epoch)
        return Batch((*made.inputs, torch.tensor(get_worker_info() is not None)), made.target, rows)


def test_workers_give_the_same_batches_in_the_same_order_and_leave_the_generator_alone() -> None:
    inputs, target = torch.randn(30, 2), torch.arange(30)
    feed = Feed(FromWorker([inputs], target), np.arange(30), 4, seed=1, accumulate=2)
    alone = [b for w in feed.epoch(0) for b in w.batches]
    before = torch.get_rng_state()
    helped = [b for w in replace(feed, workers=2).epoch(0) for b in w.batches]
    assert torch.equal(before, torch.get_rng_state())
    assert all(bool(b.inputs[1]) for b in helped)
    assert not any(bool(b.inputs[1]) for b in alone)
    assert [b.target.tolist() for b in alone] == [b.target.tolist() for b in helped]


def test_cut_is_even_and_whole() -> None:
    assert [len(part) for part in cut(np.arange(10), 3)] == [4, 3, 3]
    assert [len(part) for part in cut(np.arange(5), 3, least=2)] == [3, 2, 0]
    assert [len(part) for part in cut(np.arange(1), 3, least=2)] == [1, 0, 0]
    assert [len(part) for part in cut(np.arange(0), 2)] == [0, 0]


@pytest.mark.parametrize(("num", "batch_size", "sizes"), [
    (9, 4, [4, 3, 2]), (8, 4, [4, 4]), (10, 4, [4, 4, 2]), (5, 2, [2, 3]), (1, 4, [1]), (3, 1, [1, 1, 1]),
])  # fmt: skip
def test_window_sizes(num: int, batch_size: int, sizes: list[int]) -> None:
    feed = Feed(source_of(num), np.arange(num), batch_size, seed=0)
    assert [len(w.rows) for w in feed.epoch(0)] == sizes
