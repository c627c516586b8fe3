"""Glorot initialisation, drawn from a normal distribution."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.inits import Init, check_gain, of_each_layer


def xavier_normal(*, gain: float = 1.0) -> Init:
    """Keeps the variance through linear layers and tanh, half forwards, half backwards; normal (Glorot & Bengio 2010).

    gain: times the standard deviation; 5/3 is torch's for tanh. Linear and convolution layers; their biases are set
    to 0.
    """
    check_gain(gain)
    return of_each_layer(lambda weight, generator: nn.init.xavier_normal_(weight, gain=gain, generator=generator))
