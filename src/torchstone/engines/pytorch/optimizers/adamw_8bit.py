"""AdamW whose memory is a quarter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.core.errors import missing_extra
from torchstone.engines.pytorch.optimizers import Groups
from torchstone.engines.pytorch.optimizers._around import Around

# Under this key bitsandbytes hides its tensors from FSDP (0.50).
_WRAPPED = "__bnb_optimizer_quant_state__"


def adamw_8bit(
    groups: Groups,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """AdamW that keeps its means in 8 bits, block by block (Dettmers et al. 2022), by bitsandbytes.

    Tensors below 4,096 weights keep 32 bits. lr: starting point, tune on your data. betas, eps: AdamW's own.
    weight_decay: of groups without their own. Raises StoneError without the extra `eightbit`.
    """
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError:
        raise missing_extra("bitsandbytes", "eightbit", "the optimizer adamw_8bit") from None
    return EightBit([AdamW8bit(list(groups), lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)])


class EightBit(Around):
    """An optimizer of bitsandbytes whose saved state is flat: tensors and numbers by parameter."""

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step from the gradients that are there."""
        loss: float | None = self.parts[0].step(closure)
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The state with what bitsandbytes wraps beside the rest."""
        saved = super().state_dict()
        flat = {index: {**values.pop(_WRAPPED, {}), **values} for index, values in saved["state"].items()}
        return {**saved, "state": flat}
