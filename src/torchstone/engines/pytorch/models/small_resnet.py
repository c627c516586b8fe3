"""A residual network for small pictures, in plain PyTorch.

Legend of axes: B pictures, C channels, S side of the input in pixels, K outputs.
"""

from __future__ import annotations

from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.norms import Norm, norm_of, set_gain_to_zero
from torchstone.engines.pytorch.stochastic_depth import StochasticDepth, linear_rule


def small_resnet(
    shape: Shape, *, width: int = 24, depth: int = 1, dropout: float = 0.0, norm: Norm = "batch",
    stochastic_depth: float = 0.0,
) -> nn.Module:  # fmt: skip
    """Residual blocks for pictures of 8 to 64 pixels; made for training from scratch on a CPU.

    width: channels of the first stage; they double with each stage. depth: blocks per stage (He et al. 2016, section
    4.2). Stages follow until 4 pixels are left, at most 4; inputs above 32 pixels are halved by the first layer.
    Parameters at depth 1 and 10 classes: 77,000 for 8 pixels and width 32, 694,000 for 64 pixels and width 24.
    dropout: before the last layer, 0 <= dropout < 1. norm: `batch`, or for fewer than 8 pictures at a time `group`,
    `layer` or `rms`, which look at each picture alone, or `none`: see the parts in `norms`.
    stochastic_depth: probability that the last block is left out for a training picture, less for earlier ones
    (Huang et al. 2016); 0 to below 1.
    """
    if width < 1 or depth < 1 or not 0 <= dropout < 1:
        raise StoneError(f"width {width}, depth {depth}, dropout {dropout}; width and depth must be at least 1, "
                         "dropout from 0 to below 1", where="model")
    first = 2 if shape.size > 32 else 1
    stem = _convolution(shape.channels, width, 5 if first == 2 else 3, first, norm)
    sizes, channels = _blocks(-(-shape.size // first), width, depth)
    drops = linear_rule(stochastic_depth, len(sizes))
    blocks = [_Block(*size, norm, drop) for size, drop in zip(sizes, drops, strict=True)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(channels, shape.num_outputs)]
    model = nn.Sequential(stem, nn.ReLU(inplace=True), *blocks, *head)
    _start(model)
    return model


def _blocks(side: int, width: int, depth: int) -> tuple[list[tuple[int, int, int]], int]:
    """Channels in, channels out and stride of each block, for maps of `side` pixels; and the channels of the last."""
    sizes, channels, stage = [], width, 0
    while stage == 0 or (side > 4 and stage < 4):
        stride, wider = (1, channels) if stage == 0 else (2, 2 * channels)
        sizes += [(channels, wider, stride), *[(wider, wider, 1)] * (depth - 1)]
        side, channels, stage = -(-side // stride), wider, stage + 1
    return sizes, channels


class _Block(nn.Module):
    """Two convolutions beside a shortcut: [B, inner, S, S] to [B, outer, S/stride, S/stride]."""

    def __init__(self, inner: int, outer: int, stride: int, norm: Norm, drop: float) -> None:
        super().__init__()
        self.first = _convolution(inner, outer, 3, stride, norm)
        self.second = _convolution(outer, outer, 3, 1, norm)
        is_same = inner == outer and stride == 1
        # pooling keeps every pixel, where a strided 1 x 1 convolution reads a quarter (He et al. 2019, ResNet-D)
        self.shortcut = nn.Identity() if is_same else nn.Sequential(
            nn.AvgPool2d(stride, ceil_mode=True), _convolution(inner, outer, 1, 1, norm)
        )
        self.drop = StochasticDepth(drop)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, inputs: Tensor) -> Tensor:
        inner = self.activation(self.first(inputs))
        outputs: Tensor = self.activation(self.drop(self.second(inner)) + self.shortcut(inputs))
        return outputs


def _convolution(inner: int, outer: int, side: int, stride: int, norm: Norm) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inner, outer, side, stride, padding=side // 2, bias=norm == "none"), norm_of(norm, outer)
    )


def _start(model: nn.Module) -> None:
    """He initialisation; what a block adds starts at 0: blocks start as identities (Goyal et al. 2017)."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in model.modules():  # after its convolutions
        if isinstance(module, _Block):
            convolution, norm = module.second
            if not set_gain_to_zero(norm):
                nn.init.zeros_(convolution.weight)  # type: ignore[arg-type]
