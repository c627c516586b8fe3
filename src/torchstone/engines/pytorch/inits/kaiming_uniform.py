"""He initialisation, drawn from a uniform distribution."""

from __future__ import annotations

from typing import Literal

from torch import nn

from torchstone.engines.pytorch.inits import Init, of_each_layer


def kaiming_uniform(*, mode: Literal["fan_in", "fan_out"] = "fan_in", slope: float = 0.0) -> Init:
    """Keeps the variance of activations through ReLUs; uniform (He et al. 2015).

    mode: fan_in keeps the variance forwards, fan_out that of the gradients backwards. slope: of a leaky ReLU's
    negative side, 0 for a plain one. Linear and convolution layers; their biases are set to 0.
    """
    return of_each_layer(
        lambda weight, generator: nn.init.kaiming_uniform_(
            weight, a=slope, mode=mode, nonlinearity="leaky_relu", generator=generator
        )
    )
