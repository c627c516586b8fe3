"""Fingerprints of what loaders deal out: the same rows on both sides, order by label, changed data, shared scaling."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder, Row

# Examples of a loader whose rows are remembered, and values of a row that its fingerprint looks at.
MOST_ROWS, MOST_VALUES = 65_536, 1024
# Columns of a table whose sums are kept, to see over which rows they were scaled.
MOST_COLUMNS = 2048
# Whole numbers below this in a float target are taken for classes.
MOST_CLASSES = 20
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


@dataclass
class Prints:
    """What is known of one loader after its first pass."""

    row: Row
    rows: set[int] = field(default_factory=set)
    num: int = 0
    count: int = 0
    total: Tensor | None = None
    squares: Tensor | None = None
    entropies: list[float] = field(default_factory=list)
    labels: dict[int, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)


class Fingerprints:
    """One row "data" for each loader, filled in during its first pass."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._prints: dict[int, Prints] = {}
        loaders.on_start.append(self._start)
        loaders.on_batch.append(self._batch)
        loaders.on_pass.append(self._pass)

    def _start(self, one: Pass, loader: Any) -> None:
        prints = self._prints.get(one.loader)
        versions = versions_of(loader.dataset)
        if prints is None:
            row = self.recorder.note(
                "data", loader=one.loader, place=one.row["place"], mutations=0, mutated=[], overlap={}, scaled_with={},
                generators=generators_of(loader.dataset), workers=loader.num_workers,
                has_init=loader.worker_init_fn is not None,
            )  # fmt: skip
            self._prints[one.loader] = Prints(row, versions=versions)
            return
        changed = [name for name, version in versions.items() if prints.versions.get(name, version) != version]
        if changed:
            prints.row["mutations"] += 1
            prints.row["mutated"] = changed
            prints.row["step"] = self.recorder.step
        prints.versions = versions

    def _batch(self, one: Pass, batch: Any) -> None:
        prints = self._prints.get(one.loader)
        if one.number > 1 or prints is None:
            return
        tensors = tensors_of(batch)
        first = next((t for t in tensors if t.ndim >= 2 and t.numel()), None)
        labels = next((t for t in reversed(tensors) if is_labels(t)), None)
        if first is not None and first.device.type == "cpu" and prints.num < MOST_ROWS:
            prints.rows.update(prints_of(first))
            prints.num += len(first)
        if first is not None and first.ndim == 2 and first.is_floating_point() and first.shape[1] <= MOST_COLUMNS:
            self._add_columns(prints, first.detach().double())
        if labels is not None and labels.numel() > 1:
            values, counts = labels.unique(return_counts=True)  # type: ignore[no-untyped-call]
            prints.entropies.append(entropy(counts.tolist()))
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                prints.labels[value] = prints.labels.get(value, 0) + count

    @staticmethod
    def _add_columns(prints: Prints, values: Tensor) -> None:
        if prints.total is None or prints.squares is None:
            prints.total = torch.zeros(values.shape[1], dtype=torch.float64)
            prints.squares = torch.zeros(values.shape[1], dtype=torch.float64)
        if prints.total.shape[0] == values.shape[1]:
            prints.count += len(values)
            prints.total += values.sum(0)
            prints.squares += values.square().sum(0)

    def _pass(self, one: Pass) -> None:
        """After a first pass: how much of it other loaders have dealt out as well, and over whom it was scaled."""
        prints = self._prints.get(one.loader)
        if one.number > 1 or prints is None:
            return
        row = prints.row
        row.update(num=prints.num, num_distinct=len(prints.rows), batches=one.row["batches"],
                   batch_entropy=_mean(prints.entropies), entropy=entropy(list(prints.labels.values())),
                   centre=_offset([prints]), num_labels=len(prints.labels),
                   label_low=min(prints.labels, default=None), label_high=max(prints.labels, default=None))  # fmt: skip
        for other, theirs in self._prints.items():
            if other == one.loader or not theirs.num:
                continue
            shared = len(prints.rows & theirs.rows)
            row["overlap"][str(other)] = shared
            theirs.row["overlap"][str(one.loader)] = shared
        measured = [p for p in self._prints.values() if p.count and p.total is not None and prints.total is not None
                    and p.total.shape == prints.total.shape]  # fmt: skip
        if len(measured) > 1:
            row["centre_of_all"] = _offset(measured)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _offset(group: list[Prints]) -> float | None:
    """How far, at most over the columns, mean and standard deviation are from 0 and 1; constant columns left out."""
    if not group or any(prints.total is None for prints in group):
        return None
    num = sum(prints.count for prints in group)
    mean = sum(prints.total for prints in group if prints.total is not None) / num
    squares = sum(prints.squares for prints in group if prints.squares is not None) / num
    if num < 2 or not isinstance(mean, Tensor) or not isinstance(squares, Tensor):
        return None
    variance = (squares - mean.square()).clamp_min(0)
    varies = variance > 1e-12
    if not bool(varies.any()):
        return None
    # the deviation may have been taken with n or with n - 1
    std = variance.sqrt()[varies]
    error = torch.minimum((std - 1).abs(), (std * (num / (num - 1)) ** 0.5 - 1).abs())
    return float(torch.maximum(mean[varies].abs(), error).max())


def prints_of(values: Tensor) -> list[int]:
    """One number per row of values [N, …], equal for equal rows; long rows count by evenly spaced values."""
    flat = values.detach().reshape(len(values), -1)
    stride = -(-flat.shape[1] // MOST_VALUES)
    kept = flat[:, ::stride].contiguous()
    if kept.dtype == torch.bfloat16:
        kept = kept.float()
    if values.ndim == 2 and not values.is_floating_point():  # sequences: another batch pads them to another length
        return [hash(np.trim_zeros(row, "b").tobytes()) for row in kept.numpy()]
    return [hash(row.tobytes()) for row in kept.numpy()]


def is_labels(values: Tensor) -> bool:
    """Whether these are class numbers [N]: integers, or floats that are a few whole numbers."""
    if values.ndim != 1 or values.dtype == torch.int64:
        return values.ndim == 1
    if not values.is_floating_point() or not values.numel():
        return False
    return bool((values == values.round()).all()) and float(values.min()) >= 0 and float(values.max()) < MOST_CLASSES


def entropy(counts: list[int]) -> float:
    """The entropy of class counts, in nats."""
    shares = np.array(counts, dtype=np.float64)
    shares = shares[shares > 0] / max(shares.sum(), 1)
    return float(-(shares * np.log(shares)).sum())


def versions_of(dataset: Any) -> dict[str, int]:
    """How often each tensor that a dataset holds has been changed in place, and a checksum of each numpy array."""
    held: dict[str, Any] = dict(vars(dataset)) if hasattr(dataset, "__dict__") else {}
    held |= {f"tensors[{i}]": value for i, value in enumerate(held.pop("tensors", ()) or ())}
    arrays = {name: checksum(value) for name, value in held.items() if isinstance(value, np.ndarray)}
    return arrays | {name: value._version for name, value in held.items() if isinstance(value, Tensor)}


def checksum(values: Any) -> int:
    """A number that changes where evenly spaced values of a numpy array do; 0 for arrays of objects."""
    if values.dtype.hasobject or not values.flags.c_contiguous:
        return 0
    flat = values.reshape(-1)
    return zlib.crc32(np.ascontiguousarray(flat[:: max(1, len(flat) // MOST_ROWS)]).tobytes())


def generators_of(dataset: Any) -> list[str]:
    """Random generators that a dataset or one of its parts holds: worker processes get copies of them."""
    found = []
    for name, value in _held(dataset):
        if isinstance(value, _GENERATORS):
            found.append(name)
        members = value if isinstance(value, (list, tuple)) and len(value) <= 20 else [value]
        for part in (one for member in members for one in (member, *_transforms(member))):
            found += [f"{name}.{inner}" for inner, kept in _held(part) if isinstance(kept, _GENERATORS)]
    return found


def _transforms(member: Any) -> list[Any]:
    listed = getattr(member, "transforms", None)
    return list(listed) if isinstance(listed, (list, tuple)) else []


def _held(thing: Any) -> list[tuple[str, Any]]:
    own = isinstance(thing, (Tensor, np.ndarray, torch.nn.Module, type)) or not hasattr(thing, "__dict__")
    return [] if own else list(vars(thing).items())
