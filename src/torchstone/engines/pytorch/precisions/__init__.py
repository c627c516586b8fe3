"""Number formats of forward and backward; weights and optimizer state stay float32."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Precision:
    """autocast_dtype: None for plain float32. scaler: only fp16 has one (torch.amp.GradScaler)."""

    device: torch.device
    autocast_dtype: torch.dtype | None
    scaler: torch.amp.GradScaler | None

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """The context of the forward pass and the loss."""
        if self.autocast_dtype is None:
            return contextlib.nullcontext()
        import torch

        return torch.autocast(self.device.type, dtype=self.autocast_dtype)
