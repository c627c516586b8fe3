"""Small normal numbers."""

from __future__ import annotations

from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.inits import Init, of_each_layer


def truncated_normal(*, std: float = 0.02) -> Init:
    """Normal numbers without those beyond two standard deviations, the same for every layer.

    std: above 0, before the cut; 0.02 is BERT's (Devlin et al. 2019, its published code). Linear and convolution
    layers; their biases are set to 0.
    """
    if std <= 0:
        raise StoneError(f"std is {std}; it must be above 0", where="init.std")
    return of_each_layer(
        lambda weight, generator: nn.init.trunc_normal_(weight, std=std, a=-2 * std, b=2 * std, generator=generator)
    )
