"""A residual network for small pictures, in plain PyTorch.

Legend of axes: B pictures, C channels, S side of the input in pixels, K outputs.
"""

from __future__ import annotations

from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape


def small_resnet(shape: Shape, *, width: int = 24, depth: int = 1, dropout: float = 0.0) -> nn.Module:
    """Residual blocks with BatchNorm for pictures of 8 to 64 pixels; made for training from scratch on a CPU.

    width: channels of the first stage; they double with each stage. depth: blocks per stage (He et al. 2016, section
    4.2). Stages follow until 4 pixels are left, at most 4; inputs above 32 pixels are halved by the first layer.
    Parameters at depth 1 and 10 classes: 77,000 for 8 pixels and width 32, 694,000 for 64 pixels and width 24.
    dropout: before the last layer, 0 <= dropout < 1.
    """
    if width < 1 or depth < 1 or not 0 <= dropout < 1:
        raise StoneError(f"width {width}, depth {depth}, dropout {dropout}; width and depth must be at least 1, "
                         "dropout from 0 to below 1", where="model")
    first = 2 if shape.size > 32 else 1
    stem = _convolution(shape.channels, width, 5 if first == 2 else 3, first)
    layers: list[nn.Module] = [stem, nn.ReLU(inplace=True)]
    side, channels, stage = -(-shape.size // first), width, 0
    while stage == 0 or (side > 4 and stage < 4):
        stride, wider = (1, channels) if stage == 0 else (2, 2 * channels)
        layers.append(_Block(channels, wider, stride))
        layers += [_Block(wider, wider, 1) for _ in range(depth - 1)]
        side, channels, stage = -(-side // stride), wider, stage + 1
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(channels, shape.num_outputs)]
    model = nn.Sequential(*layers)
    _start(model)
    return model


class _Block(nn.Module):
    """Two convolutions beside a shortcut: [B, inner, S, S] to [B, outer, S/stride, S/stride]."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = _convolution(inner, outer, 3, stride)
        self.second = _convolution(outer, outer, 3, 1)
        is_same = inner == outer and stride == 1
        # pooling keeps every pixel, where a strided 1 x 1 convolution reads a quarter (He et al. 2019, ResNet-D)
        self.shortcut = nn.Identity() if is_same else nn.Sequential(
            nn.AvgPool2d(stride, ceil_mode=True), _convolution(inner, outer, 1, 1)
        )
        self.activation = nn.ReLU(inplace=True)

    def forward(self, inputs: Tensor) -> Tensor:
        inner = self.activation(self.first(inputs))
        outputs: Tensor = self.activation(self.second(inner) + self.shortcut(inputs))
        return outputs


def _convolution(inner: int, outer: int, side: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inner, outer, side, stride, padding=side // 2, bias=False), nn.BatchNorm2d(outer)
    )


def _start(model: nn.Module) -> None:
    """He initialisation; the last norm of a block starts at 0: blocks start as identities (Goyal et al. 2017)."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, _Block):
            nn.init.zeros_(module.second[1].weight)  # type: ignore[arg-type]
