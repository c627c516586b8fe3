"""Random rotations."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.inits import Init, check_gain, of_each_layer


def orthogonal(*, gain: float = 1.0) -> Init:
    """Random orthogonal matrices: a linear layer keeps all lengths (Saxe et al. 2014).

    gain: times each; sqrt(2) for ReLUs. Kernels count as matrices [out, in x places]. Linear and convolution layers;
    their biases are set to 0.
    """
    check_gain(gain)
    return of_each_layer(lambda weight, generator: nn.init.orthogonal_(weight, gain=gain, generator=generator))
