"""Louder or softer."""

from __future__ import annotations

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.audio import Change, even


def gain(*, most_db: float = 6.0) -> Change:
    """Each waveform [B, T] times one factor of its own, even in decibels from -most_db to +most_db.

    most_db: 0 or more; 6 dB double or halve the amplitude: a starting point, tune it. Nothing is clipped to [-1, 1].
    """
    if most_db < 0:
        raise StoneError(f"most_db is {most_db}; it must be 0 or more", where="gain")

    def change(waves_BT: Tensor, generator: torch.Generator) -> Tensor:
        decibels_B = even(-most_db, most_db, waves_BT, generator)
        return waves_BT * torch.pow(10.0, decibels_B / 20)[:, None]

    return change
