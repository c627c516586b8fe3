"""Random numbers without a generator: each is a pure function of (seed, epoch, row, place in the row's list)."""

from __future__ import annotations

import numpy as np

# Constants of splitmix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators").
_GAMMA = 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MASK = 2**64 - 1


def _mix(state: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: uint64 to uint64, one to one, each input bit changes about half of the output."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    mixed: np.ndarray = state ^ (state >> np.uint64(31))
    return mixed


def uniform(seed: int, epoch: int, rows: np.ndarray, count: int, *, stream: int = 0) -> np.ndarray:
    """`count` numbers for each of B rows, even over [0, 1): float64 [B, count].

    The numbers of a row depend on seed, epoch and row alone: not on the batch, its order, the worker or the rank.
    seed, epoch: integers >= 0; rows: int64 [B]. stream: each use of a row's numbers has its own, so that turning one
    augmentation on leaves what another draws as it was.
    """
    key = _mix(np.array([seed & _MASK], dtype=np.uint64) + np.uint64(_GAMMA))
    if stream:
        key = _mix(key ^ np.array([stream * _GAMMA & _MASK], dtype=np.uint64))
    key = _mix(key + np.array([(epoch + 1) * _GAMMA & _MASK], dtype=np.uint64))
    state = _mix(key + (np.asarray(rows).astype(np.uint64) + np.uint64(1)) * np.uint64(_GAMMA))
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GAMMA)
    bits = _mix(state[:, None] + steps[None, :])
    # 53 bits are what a float64 holds exactly
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
