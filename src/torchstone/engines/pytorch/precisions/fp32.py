"""Everything in 32 bits."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.precisions import Precision


def fp32(device: torch.device) -> Precision:
    """Plain float32."""
    return Precision(device, None, None)
