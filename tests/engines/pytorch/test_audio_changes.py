"""Changes of sound: measured on what comes out, and pure in their generator."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.audio import Change
from torchstone.engines.pytorch.audio.gain import gain
from torchstone.engines.pytorch.audio.noise import at_ratio, noise
from torchstone.engines.pytorch.audio.polarity import polarity
from torchstone.engines.pytorch.audio.spec_augment import spec_augment
from torchstone.engines.pytorch.audio.time_shift import time_shift

CHANGES: list[Change] = [gain(), noise(), polarity(), time_shift(), time_shift(fill="around")]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def waves(num: int = 400, time: int = 160) -> Tensor:
    return torch.randn(num, time, generator=seeded(99))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_pure_in_its_generator_and_leaves_its_input(change: Change) -> None:
    given = waves()
    kept, state = given.clone(), torch.get_rng_state()
    one, same, other = change(given, seeded(1)), change(given, seeded(1)), change(given, seeded(2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(given, kept)
    assert torch.equal(torch.get_rng_state(), state)
    assert one.shape == given.shape
    assert one.dtype == torch.float32
    assert change(waves(0), seeded()).shape == (0, 160)


def test_gains_are_even_in_decibels() -> None:
    decibels = 20 * (gain(most_db=6)(waves(), seeded()) / waves()).mean(1).log10()
    assert float(decibels.abs().max()) <= 6.0001
    counts = torch.histc(decibels, 8, -6, 6)
    assert float(((counts - 50) ** 2 / 50).sum()) < 24.3  # 99.9 % point of chi-square with 7 degrees of freedom


def test_the_ratio_of_signal_to_noise_is_what_was_drawn() -> None:
    loud = waves() * torch.logspace(-4, 2, 400)[:, None]
    added = noise(lowest_db=3, highest_db=3)(loud, seeded()).double() - loud.double()
    ratio = 10 * torch.log10(loud.double().square().mean(1) / added.square().mean(1))
    assert torch.allclose(ratio, torch.full((400,), 3.0, dtype=torch.float64), atol=1e-3)
    assert abs(float(torch.corrcoef(torch.stack([loud.double()[300], added[300]]))[0, 1])) < 0.3


def test_noise_of_ones_own_is_scaled_to_the_ratio_by_hand() -> None:
    wave, hum = torch.tensor([[2.0, -2.0]]), torch.tensor([[1.0, 1.0]])
    assert torch.allclose(at_ratio(wave, hum, torch.tensor([0.0])), torch.tensor([[4.0, 0.0]]))
    assert torch.allclose(at_ratio(wave, hum, torch.tensor([20.0])), torch.tensor([[2.2, -1.8]]))


def test_silence_stays_silent_and_silent_noise_adds_nothing() -> None:
    silence = torch.zeros(2, 50)
    assert not noise()(silence, seeded()).any()
    assert torch.equal(at_ratio(waves(2, 50), silence, torch.zeros(2)), waves(2, 50))


def test_polarity_turns_a_share_of_the_waveforms_over() -> None:
    turned = polarity(probability=0.3)(waves(), seeded())
    is_turned = (turned == -waves()).all(1)
    assert ((turned == waves()).all(1) ^ is_turned).all()
    assert abs(float(is_turned.float().mean()) - 0.3) < 3.5 * math.sqrt(0.21 / 400)


def test_a_shift_moves_whole_samples_and_fills_with_silence_or_the_other_end() -> None:
    given = torch.arange(1.0, 11).repeat(300, 1)
    around = time_shift(share=0.3, fill="around")(given, seeded(4))
    silent = time_shift(share=0.3)(given, seeded(4))
    shifts = []
    for row, cut in zip(around, silent, strict=True):
        shift = next(s for s in range(-3, 4) if torch.equal(row, given[0].roll(s)))
        expected = given[0].roll(shift)
        expected[:shift] = 0 if shift > 0 else expected[:shift]
        if shift < 0:
            expected[shift:] = 0
        assert torch.equal(cut, expected if shift else given[0])
        shifts.append(shift)
    counts = np.bincount(np.array(shifts) + 3, minlength=7)
    assert ((counts - 300 / 7) ** 2 / (300 / 7)).sum() < 22.5  # chi-square, 6 degrees of freedom


def runs(is_masked: np.ndarray) -> list[tuple[int, int]]:
    """Start and width of the one run of masked places in each row; width 0 where there is none."""
    return [(int(row.argmax()), int(row.sum())) for row in is_masked]


def test_one_band_and_one_stretch_are_drawn_as_the_paper_says() -> None:
    given = torch.ones(4000, 20, 30)
    masks = spec_augment(num_bands=1, widest_band=7, num_stretches=1, longest_stretch=100, longest_share=0.2)
    out = masks(given, seeded())
    is_masked = (out == 0).numpy()
    bands, stretches = is_masked.all(2), is_masked.all(1)
    assert (is_masked == (bands[:, :, None] | stretches[:, None, :])).all()
    for found, length, widest in ((runs(bands), 20, 7), (runs(stretches), 30, 6)):
        assert all(row[start : start + width].all() for row, (start, width) in
                   zip(bands if length == 20 else stretches, found, strict=True))
        counts = np.bincount([width for _, width in found], minlength=widest + 1)
        expected = 4000 / (widest + 1)
        assert len(counts) == widest + 1
        assert ((counts - expected) ** 2 / expected).sum() < 24.3
        starts = np.bincount([start for start, width in found if width == 5], minlength=length - 4)
        assert len(starts) == length - 4  # every place where five fit, and no other
        assert ((starts - starts.mean()) ** 2 / starts.mean()).sum() < 54  # at most 25 degrees of freedom


def test_masks_write_the_given_value_and_differ_between_examples() -> None:
    given = torch.randn(50, 80, 120, generator=seeded(1))
    out = spec_augment(value=-7.0)(given, seeded(3))
    assert torch.equal(out[out != -7.0], given[out != -7.0])
    assert len({(row == -7.0).numpy().tobytes() for row in out}) > 45
    assert torch.equal(out, spec_augment(value=-7.0)(given, seeded(3)))
    none = spec_augment(num_bands=0, num_stretches=0)
    assert torch.equal(none(given, seeded()), given)


def test_wrong_options_are_told() -> None:
    for wrong in (lambda: gain(most_db=-1), lambda: noise(lowest_db=5, highest_db=4), lambda: polarity(probability=2),
                  lambda: time_shift(share=-0.1), lambda: spec_augment(longest_share=2)):  # fmt: skip
        with pytest.raises(StoneError):
            wrong()
