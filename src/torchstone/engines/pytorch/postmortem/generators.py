"""The generators that a step draws from, as they stand before it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

Generators = Mapping[str, Tensor]


def generators(device: torch.device) -> dict[str, Tensor]:
    """Their states, uint8; about a microsecond on a CPU."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_generators(states: Generators, device: torch.device) -> None:
    """Puts them back."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
