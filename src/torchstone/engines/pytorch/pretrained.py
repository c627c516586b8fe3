"""torchvision's networks for any number of channels and outputs, from scratch or from given weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.norms import Norm, norm_of
from torchstone.engines.pytorch.weights.read import Given, read_weights
from torchstone.engines.pytorch.weights.take_over import take_over


def build(
    name: str, shape: Shape, weights: str | None, small_stem: bool = False, drops: Mapping[str, float] | None = None,
    norm: Norm = "batch",
) -> nn.Module:  # fmt: skip
    """torchvision's network `name` for `shape`; logits [B, K] of float32 [B, C, S, S].

    weights: None (from scratch), a local file or folder (see `weights.read.read_weights`; names as torchvision or
        timm has them), or `hub`: torchvision's default weights, downloaded on first use (this way needs the network,
        so the project's tests do not take it).
    small_stem: a 3 x 3 first layer that keeps the side, and no pooling after it (ResNets only).
    drops: torchvision's own `dropout` and `stochastic_depth_prob`, where the network has them; from 0 to below 1.
    norm: instead of BatchNorm (ResNets only), and then without weights, which were all learnt with BatchNorm.
    `weights.report.weights_report` tells what was taken over. Raises StoneError for weights that do not fit.
    """
    from torchvision import models

    for kind, share in (drops or {}).items():
        if not 0 <= share < 1:
            option = kind.removesuffix("_prob")
            raise StoneError(f"{option} is {share}; it must be from 0 to below 1", where=f"model.{option}")
    if norm != "batch" and weights is not None:
        raise StoneError(f"the weights were learnt with BatchNorm and norm is {norm}", where="model.norm",
                         fix="leave norm out, or start from scratch: --set model.weights=null")
    options = {**(drops or {}), **({} if norm == "batch" else {"norm_layer": partial(norm_of, norm)})}
    network: nn.Module = models.get_model(name, weights=None, num_classes=shape.num_outputs, **options)
    replaced = _adapt_first(network, shape.channels, small_stem)
    if weights is not None:
        take_over(network, _from_hub(name) if weights == "hub" else read_weights(weights), first=replaced)
    return network


def _from_hub(name: str) -> Given:
    from torchvision import models

    known = models.get_model_weights(name).DEFAULT
    return Given(known.get_state_dict(), f"hub: {known.url}", "", "torchvision")


def _adapt_first(network: nn.Module, channels: int, small_stem: bool) -> str | None:
    """Makes the first convolution fit; gives the name of its weight where it was made anew."""
    name, old = next((n, m) for n, m in network.named_modules() if isinstance(m, nn.Conv2d))
    if small_stem:
        network.maxpool = nn.Identity()
        new = nn.Conv2d(channels, old.out_channels, 3, padding=1, bias=old.bias is not None)
    elif channels == old.in_channels:
        return None
    else:
        new = nn.Conv2d(channels, old.out_channels, old.kernel_size, old.stride, old.padding,  # type: ignore[arg-type]
                        bias=old.bias is not None)
    nn.init.kaiming_normal_(new.weight, mode="fan_out", nonlinearity="relu")
    if new.bias is not None:
        nn.init.zeros_(new.bias)
    parent, _, child = name.rpartition(".")
    setattr(network.get_submodule(parent), child, new)
    return f"{name}.weight"
