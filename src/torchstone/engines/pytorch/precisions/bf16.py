"""bfloat16 where it is safe; no loss scaling is needed, its exponent range is that of float32."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.precisions import Precision


def bf16(device: torch.device) -> Precision:
    """Autocast to bfloat16."""
    return Precision(device, torch.bfloat16, None)
