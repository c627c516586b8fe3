"""Train, validation and test with the same mix of classes, and equal examples on one side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from torchstone.core.dataset import SPLITS
from torchstone.core.errors import StoneError

TRAIN, VALIDATION, TEST = range(3)


def stratified(
    labels: np.ndarray, groups: np.ndarray, *, shares: Sequence[float] = (0.7, 0.15, 0.15), seed: int = 0
) -> np.ndarray:
    """Which part each of N examples goes to: an array [N] of "train", "validation" and "test".

    labels: integers [N]: the class index, or the bin of a number (`regression_bins`).
    groups: integers [N]: examples with the same number (exact duplicates) go to the same part.
    shares: train, validation, test; they add up to 1 and train's is above 0.
    seed: which of the possible splits; the same seed gives the same split on every machine.

    The rules, per class and counted in groups:
    - 1 group: train. 2 or 3: one to validation, the rest to train. 4 or more: at least one to each part
      that has a share. Every class therefore has a training example.
    - Otherwise each part gets the share of the class's examples, rounded down or up; a part that was rounded
      down in one class is the first to be rounded up in the next, so that many small classes do not starve it.
    - Larger groups are placed first, so repeated examples tend to train.
    - A group whose members have different labels counts for the rarest of them (of equally rare ones for that
      of its first member), and is moved to train where a class would have no training example otherwise.
    The order in which classes are numbered plays no part. Raises StoneError for shares that make no sense and
    for arrays of different lengths.
    """
    labels, groups = np.asarray(labels), np.asarray(groups)
    _check(labels, groups, shares)
    if len(labels) == 0:
        return np.empty(0, dtype="<U10")
    _, first, group_of = np.unique(groups, return_index=True, return_inverse=True)
    generator = np.random.Generator(np.random.PCG64(seed))
    rank = np.empty(len(first), dtype=np.int64)
    # Groups are shuffled in the order of their first example: their numbers carry no meaning.
    rank[np.argsort(first)] = generator.permutation(len(first))
    part_of_group = np.empty(len(first), dtype=np.int64)
    sizes = np.bincount(group_of)
    carry = np.zeros(3)
    for members in _classes(_label_of_groups(labels, group_of), sizes, rank):
        part_of_group[members] = _place(sizes[members], np.asarray(shares, dtype=np.float64), carry)
    _train_sees_all(part_of_group, labels, group_of, rank)
    return np.asarray(SPLITS)[part_of_group[group_of]]


def regression_bins(target: np.ndarray, num: int = 10) -> np.ndarray:
    """Bins of a number for `stratified`: int64 [N], about equally full, equal values in one bin.

    At most `num` bins, fewer where one would hold less than 10 examples. Raises StoneError for NaN or infinity.
    """
    target = np.asarray(target, dtype=np.float64)
    if broken := int((~np.isfinite(target)).sum()):
        raise StoneError(f"{broken} of {len(target)} target numbers are missing or infinite",
                         fix="leave these rows out or mend their label")
    count = max(1, min(num, len(target) // 10))
    if count == 1:
        return np.zeros(len(target), dtype=np.int64)
    edges = np.quantile(target, np.arange(1, count) / count)
    return np.searchsorted(edges, target, side="right").astype(np.int64)


def _check(labels: np.ndarray, groups: np.ndarray, shares: Sequence[float]) -> None:
    if labels.shape != groups.shape or labels.ndim != 1:
        raise StoneError(f"labels have shape {labels.shape}, groups {groups.shape}; both must be [N]")
    if len(shares) != 3 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6 or shares[0] <= 0:
        raise StoneError(
            f"the shares of train, validation and test are {', '.join(f'{share:g}' for share in shares)}; "
            "they must add up to 1, none below 0, and train above 0",
            where="data.split", fix="for example: {train: 0.7, validation: 0.15, test: 0.15}",
        )


def _label_of_groups(labels: np.ndarray, group_of: np.ndarray) -> np.ndarray:
    """The label that each group counts for: the rarest of its members', the first of equally rare ones."""
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.lexsort((np.arange(len(labels)), counts[index], group_of))
    is_first = np.diff(group_of[order], prepend=-1) != 0
    of_group: np.ndarray = index[order[is_first]]
    return of_group


def _classes(label_of_group: np.ndarray, sizes: np.ndarray, rank: np.ndarray) -> Iterator[np.ndarray]:
    """The groups of each class, large ones first, else shuffled; classes in the order of their lowest rank."""
    order = np.lexsort((rank, -sizes, label_of_group))
    bounds = np.flatnonzero(np.diff(label_of_group[order])) + 1
    yield from sorted(np.split(order, bounds), key=lambda members: int(rank[members].min()))


def _place(sizes: np.ndarray, shares: np.ndarray, carry: np.ndarray) -> np.ndarray:
    """The part of each group of one class; `sizes` descending. Updates `carry`, what rounding owes to each part."""
    ideal = sizes.sum() * shares
    missing = _rounded(ideal, carry).astype(np.float64)
    part = np.full(len(sizes), -1, dtype=np.int64)
    part[0] = TRAIN
    for position, kept in zip(range(len(sizes) - 1, 0, -1), _kept_for(len(sizes), shares), strict=False):
        part[position] = kept
    taken = part >= 0
    np.subtract.at(missing, part[taken], sizes[taken])
    for position in np.flatnonzero(~taken & (sizes > 1)).tolist():
        part[position] = int(np.argmax(missing))
        missing[part[position]] -= sizes[position]
    single = np.flatnonzero(part < 0)
    if len(single):
        wanted = np.maximum(missing, 0)
        counts = _rounded(len(single) * wanted / wanted.sum(), np.zeros(3))
        part[single] = np.repeat(np.arange(3), counts)
    carry += ideal - np.bincount(part, weights=sizes, minlength=3)
    return part


def _kept_for(num_groups: int, shares: np.ndarray) -> list[int]:
    """The parts that must get one group of a class with so many."""
    kept = [part for part in (VALIDATION, TEST) if shares[part] > 0]
    return kept if num_groups >= 4 else kept[:1]


def _rounded(ideal: np.ndarray, carry: np.ndarray) -> np.ndarray:
    """Whole numbers with the sum of `ideal`, each rounded down or up; the units go where most is owed."""
    counts = np.floor(ideal + 1e-9).astype(np.int64)
    rest = np.where(ideal - counts > 1e-9, ideal - counts + carry, -np.inf)
    left = round(float(ideal.sum())) - int(counts.sum())
    counts[np.argsort(-rest, kind="stable")[:left]] += 1
    return counts


def _train_sees_all(part_of_group: np.ndarray, labels: np.ndarray, group_of: np.ndarray, rank: np.ndarray) -> None:
    """Moves to train one group of each class that lies only in groups that counted for other classes."""
    in_train = part_of_group[group_of] == TRAIN
    for label in np.setdiff1d(labels, labels[in_train]):
        holding = np.unique(group_of[labels == label])
        part_of_group[holding[np.argmin(rank[holding])]] = TRAIN
