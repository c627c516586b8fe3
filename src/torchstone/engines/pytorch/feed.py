"""Which examples make which optimizer step: a pure function of (seed, epoch), cut the same way for any world.

Where the sampler goes by the difficulty of the examples it is a function of that, too (`difficulty.py`).

A *window* is what one optimizer step sees: `batch_size` examples over all ranks. It is cut into one share per
rank, and a share into micro-batches. The last window of an epoch may be shorter; no example is dropped or
repeated, and a rank may then have nothing.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from torchstone.engines.pytorch.batch import Batch, Source
from torchstone.engines.pytorch.difficulty import Difficulty
from torchstone.engines.pytorch.mixes import Mix, seeded
from torchstone.parts.samplers import ByDifficulty, Sampler
from torchstone.parts.samplers.shuffled import shuffled


def cut(rows: np.ndarray, pieces: int, least: int = 1) -> list[np.ndarray]:
    """`rows` in `pieces` runs, as even as can be; with fewer than `least` rows for each, the last runs are empty."""
    if pieces == 1:
        return [rows]
    filled = max(1, min(pieces, len(rows) // least))
    return [*np.array_split(rows, filled), *(rows[:0] for _ in range(pieces - filled))]


@dataclass(frozen=True)
class Window:
    """The examples of one optimizer step: `rows` over all ranks, `batches` of this rank in order."""

    index: int
    rows: np.ndarray
    batches: Sequence[Batch]


EACH_ONCE = shuffled()


@lru_cache(maxsize=64)  # asked at every step: a list of a million rows' windows takes as long as a small step
def _starts(num: int, batch_size: int) -> tuple[int, ...]:
    """Where each window starts. A last one of a single example borrows from the one before: BatchNorm needs two.

    (With windows of two there is nothing to borrow; then they become one of three.)
    """
    starts = list(range(0, num, batch_size))
    if batch_size > 1 and len(starts) > 1 and num - starts[-1] == 1:
        last = starts.pop()
        starts += [last - 1] if batch_size > 2 else []
    return tuple(starts)


@lru_cache(maxsize=16)
def _windows_of(sampler: ByDifficulty, num: int, batch_size: int, epochs: int, planned: int) -> int:
    return sum(len(_starts(sampler.count(num, epoch, planned), batch_size)) for epoch in range(epochs))


@dataclass(frozen=True)
class Feed:
    """Deals out the training rows of a source, epoch by epoch.

    rows: the rows of the source that are for training; labels: their classes, int64, for samplers that need them.
    sampler: which of the rows an epoch deals out, and in which order; by default each once. mix: mixes the examples
    of a micro-batch, None for not. accumulate: micro-batches per window on each rank.
    difficulty: what a sampler by difficulty goes by; needed with one, and with no other.
    workers: processes that make batches ahead; only for a source that is heavy.
    """

    source: Source
    rows: np.ndarray
    batch_size: int
    seed: int
    accumulate: int = 1
    workers: int = 0
    rank: int = 0
    world: int = 1
    sampler: Sampler | ByDifficulty = EACH_ONCE
    labels: np.ndarray | None = None
    mix: Mix | None = None
    difficulty: Difficulty | None = None

    def order(self, epoch: int) -> np.ndarray:
        """The rows that an epoch deals out, in order: a pure function of seed, epoch and difficulty."""
        if isinstance(self.sampler, ByDifficulty):
            assert self.difficulty is not None
            places = self.sampler.deal(self.difficulty.values, self.seed, epoch, self.difficulty.epochs)
        else:
            labels = np.zeros(len(self.rows), dtype=np.int64) if self.labels is None else self.labels
            places = self.sampler(labels, self.seed, epoch)
        dealt: np.ndarray = self.rows[places]
        return dealt

    @cached_property
    def _num_always(self) -> int:
        return len(self.order(0))

    def num_in(self, epoch: int) -> int:
        """Examples of an epoch; more or fewer than there are rows if the sampler repeats or leaves out."""
        if isinstance(self.sampler, ByDifficulty):
            assert self.difficulty is not None
            return self.sampler.count(len(self.rows), epoch, self.difficulty.epochs)
        return self._num_always

    @property
    def num_per_epoch(self) -> int:
        """Examples of the last epoch, of all epochs where they are equally long."""
        return self.num_in(0 if self.difficulty is None else self.difficulty.epochs - 1)

    @property
    def windows_per_epoch(self) -> int:
        """Optimizer steps of the last epoch, of all epochs where they are equally long."""
        return len(_starts(self.num_per_epoch, self.batch_size))

    def windows_of(self, epochs: int) -> int:
        """Optimizer steps of the first `epochs` epochs together; known before the first."""
        if isinstance(self.sampler, ByDifficulty):
            assert self.difficulty is not None
            return _windows_of(self.sampler, len(self.rows), self.batch_size, epochs, self.difficulty.epochs)
        return epochs * self.windows_per_epoch

    def window_rows(self, epoch: int) -> list[np.ndarray]:
        """The rows of each window of an epoch over all ranks, in order."""
        order = self.order(epoch)
        starts = _starts(len(order), self.batch_size)
        return [order[start:end] for start, end in zip(starts, [*starts[1:], len(order)], strict=True)]

    def epoch(self, epoch: int, first: int = 0) -> Iterator[Window]:
        """The windows of an epoch from window `first` on."""
        windows = self.window_rows(epoch)[first:]
        shares = [self._share(rows) for rows in windows]
        batches = self._batches([part for share in shares for part in share], epoch)
        for index, (rows, share) in enumerate(zip(windows, shares, strict=True), start=first):
            yield Window(index, rows, [self._mixed(next(batches), epoch) for _ in share])

    def _mixed(self, batch: Batch, epoch: int) -> Batch:
        return batch if self.mix is None else self.mix(batch, seeded(self.seed, epoch, batch.rows))

    def _share(self, rows: np.ndarray) -> list[np.ndarray]:
        # a rank or micro-batch is left empty rather than with a single example, unless full windows have no more
        least = 1 if self.batch_size <= self.world * self.accumulate else 2
        mine = cut(rows, self.world, least)[self.rank]
        return [part for part in cut(mine, self.accumulate, least) if len(part)]

    def uneven_window(self, epochs: int) -> int | None:
        """Examples of a window of the first `epochs` epochs in which some rank has fewer micro-batches than another."""
        totals = {self.num_in(epoch) for epoch in range(epochs)}
        lengths = {b - a for n in totals for a, b in itertools.pairwise([*_starts(n, self.batch_size), n])}
        ranks = [replace(self, rank=rank) for rank in range(self.world)]
        return next((n for n in sorted(lengths) if len({len(one._share(np.arange(n))) for one in ranks}) > 1), None)

    def _batches(self, parts: list[np.ndarray], epoch: int) -> Iterator[Batch]:
        if self.workers == 0 or not self.source.is_heavy or not parts:
            return (self.source.batch(part, epoch) for part in parts)
        return iter(
            DataLoader(
                _Parts(self.source, parts, epoch),
                batch_size=None,
                sampler=range(len(parts)),
                num_workers=self.workers,
                prefetch_factor=4,
                # its own generator: the loader would draw its base seed from the one that dropout uses
                generator=torch.Generator(),
                worker_init_fn=leave_signals_to_the_loop,
            )
        )


def leave_signals_to_the_loop(worker: int) -> None:
    """Ctrl-C and SIGTERM often reach the whole group of processes: the loop still needs its batches to end a step."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class _Parts(Dataset[Batch]):
    """Micro-batches by number, for the worker processes of a DataLoader."""

    def __init__(self, source: Source, parts: list[np.ndarray], epoch: int) -> None:
        self.source, self.parts, self.epoch = source, parts, epoch

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> Batch:
        return self.source.batch(self.parts[index], self.epoch)
