"""Turned over."""

from __future__ import annotations

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.audio import Change, even


def polarity(*, probability: float = 0.5) -> Change:
    """Each waveform [B, T] times -1 with some probability, 0 to 1; an ear hears no difference."""
    if not 0 <= probability <= 1:
        raise StoneError(f"probability is {probability}; it must be from 0 to 1", where="polarity")

    def change(waves_BT: Tensor, generator: torch.Generator) -> Tensor:
        is_turned_B = even(0.0, 1.0, waves_BT.double(), generator) < probability
        return torch.where(is_turned_B[:, None], -waves_BT, waves_BT)

    return change
