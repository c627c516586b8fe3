"""Bands of frequencies and stretches of time masked in a spectrogram."""

from __future__ import annotations

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.audio import Change, even


def spec_augment(
    *, num_bands: int = 2, widest_band: int = 27, num_stretches: int = 2, longest_stretch: int = 100,
    longest_share: float = 1.0, value: float = 0.0,
) -> Change:  # fmt: skip
    """Masks over bands and stretches of each spectrogram [B, F, T] (SpecAugment without warping, Park et al. 2019).

    num_bands, widest_band: masks of f frequency bands, f even in 0 … widest_band, at most F. num_stretches,
    longest_stretch: masks of t frames, t even in 0 … longest_stretch, at most longest_share of T. The defaults are the
    paper's LibriSpeech double (table 1: mF 2, F 27, mT 2, T 100, p 1.0), made for 80 bands and 10 ms a frame; its
    Switchboard mild is 2, 15, 2, 70, 0.2. Each starts evenly among the places where it fits.
    value: what is written; 0 is the mean of a spectrogram that was normalised, as the paper wants it.
    """
    if min(num_bands, widest_band, num_stretches, longest_stretch) < 0 or not 0 <= longest_share <= 1:
        raise StoneError("counts and widths must be 0 or more, longest_share from 0 to 1", where="spec_augment")

    def change(spectrograms_BFT: Tensor, generator: torch.Generator) -> Tensor:
        _, bands, time = spectrograms_BFT.shape
        longest = min(longest_stretch, int(longest_share * time))
        is_masked_BF = _masks(spectrograms_BFT, bands, num_bands, min(widest_band, bands), generator)
        is_masked_BT = _masks(spectrograms_BFT, time, num_stretches, longest, generator)
        return spectrograms_BFT.masked_fill(is_masked_BF[:, :, None] | is_masked_BT[:, None, :], value)

    return change


def _masks(like: Tensor, length: int, num: int, widest: int, generator: torch.Generator) -> Tensor:
    """The union of `num` runs of 0 … widest places for each of B examples, bool [B, length]."""
    places = torch.arange(length, device=like.device)
    is_masked = torch.zeros(len(like), length, dtype=torch.bool, device=like.device)
    wide = torch.empty(len(like), dtype=torch.float64, device=like.device)
    for _ in range(num):
        widths = even(0, widest + 1, wide, generator).long()
        starts = (even(0, 1, wide, generator) * (length - widths + 1)).long()
        is_masked |= (places >= starts[:, None]) & (places < (starts + widths)[:, None])
    return is_masked
