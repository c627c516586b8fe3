"""float16 with a loss scaler, for devices that lack bfloat16."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.precisions import Precision


def fp16(device: torch.device) -> Precision:
    """Autocast to float16 with `torch.amp.GradScaler`; on a CPU it works but is many times slower."""
    return Precision(device, torch.float16, torch.amp.GradScaler(device.type))
