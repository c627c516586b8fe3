"""Noise over the sound."""

from __future__ import annotations

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.audio import Change, even


def noise(*, lowest_db: float = 10.0, highest_db: float = 40.0) -> Change:
    """White Gaussian noise added to each waveform [B, T] at a signal-to-noise ratio of its own, even in decibels.

    lowest_db, highest_db: the ratio of the two powers, 0 dB for equal ones: a starting point, tune it. A silent
    waveform stays silent. For noise of your own recordings see `at_ratio`.
    """
    if lowest_db > highest_db:
        raise StoneError(f"lowest_db is {lowest_db}, highest_db {highest_db}; lowest_db <= highest_db is needed",
                         where="noise")

    def change(waves_BT: Tensor, generator: torch.Generator) -> Tensor:
        ratios_B = even(lowest_db, highest_db, waves_BT, generator)
        white_BT = torch.randn(waves_BT.shape, generator=generator, dtype=torch.float32).to(waves_BT)
        return at_ratio(waves_BT, white_BT, ratios_B)

    return change


def at_ratio(waves_BT: Tensor, noise_BT: Tensor, ratio_db_B: Tensor) -> Tensor:
    """`waves_BT` plus `noise_BT`, scaled so that the ratio of their mean powers is ratio_db_B (float [B], decibels).

    10 log10(mean(wave²) / mean(scaled noise²)) is exact for each example; silence and noise that is zero add nothing.
    """
    signal_B1 = waves_BT.square().mean(1, keepdim=True)
    power_B1 = noise_BT.square().mean(1, keepdim=True)
    wanted_B1 = signal_B1 * torch.pow(10.0, -ratio_db_B / 10)[:, None]
    scale_B1 = torch.where(power_B1 > 0, wanted_B1 / power_B1, torch.zeros_like(power_B1)).sqrt()
    return waves_BT + scale_B1 * noise_BT
