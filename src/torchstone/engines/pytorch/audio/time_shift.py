"""Earlier or later."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.audio import Change, even


def time_shift(*, share: float = 0.1, fill: Literal["silence", "around"] = "silence") -> Change:
    """Each waveform [B, T] moved by a whole number of samples of its own, up to a share of its length either way.

    share: 0 to 1. fill: what comes where nothing is left: `silence` (0), or `around`, the samples of the other end.
    """
    if not 0 <= share <= 1:
        raise StoneError(f"share is {share}; it must be from 0 to 1", where="time_shift")

    def change(waves_BT: Tensor, generator: torch.Generator) -> Tensor:
        time = waves_BT.shape[1]
        most = int(share * time)
        shifts_B = even(0, 2 * most + 1, waves_BT.double(), generator).long() - most
        places_BT = torch.arange(time, device=waves_BT.device)[None, :] - shifts_B[:, None]
        moved_BT = waves_BT.gather(1, places_BT.remainder(time))
        is_there_BT = (places_BT >= 0) & (places_BT < time)
        return moved_BT if fill == "around" else moved_BT * is_there_BT

    return change
