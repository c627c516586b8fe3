"""torchvision's networks for any number of channels and outputs, from scratch or from given weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape


@dataclass(frozen=True)
class WeightsReport:
    """What came from given weights, by the names of the tensors.

    matched: taken over; adapted: taken over after summing the colours for grey pictures; fresh: stayed as
    initialised (the last layer for other classes, a replaced stem); unused: in the weights alone.
    """

    matched: tuple[str, ...]
    adapted: tuple[str, ...]
    fresh: tuple[str, ...]
    unused: tuple[str, ...]

    def __str__(self) -> str:
        total = len(self.matched) + len(self.adapted) + len(self.fresh)
        return (f"{len(self.matched) + len(self.adapted)} of {total} tensors from the weights"
                f"; fresh: {', '.join(self.fresh) or 'none'}; unused: {', '.join(self.unused) or 'none'}")


def build(name: str, shape: Shape, weights: str | None, small_stem: bool = False) -> nn.Module:
    """torchvision's network `name` for `shape`; logits [B, K] of float32 [B, C, S, S].

    weights: None (from scratch), a local .safetensors, .pth or .pt file of a state dict, or `hub`: torchvision's
        default weights, downloaded on first use (this way needs the network, so the project's tests do not take it).
    small_stem: a 3 x 3 first layer that keeps the side, and no pooling after it (ResNets only).
    The network's attribute `weights_report` says what was taken over. Raises StoneError for weights that do not fit.
    """
    from torchvision import models

    network: nn.Module = models.get_model(name, weights=None, num_classes=shape.num_outputs)
    first = _adapt_first(network, shape.channels, small_stem)
    if weights is not None:
        state = models.get_model_weights(name).DEFAULT.get_state_dict() if weights == "hub" else read_weights(weights)
        # nn.Module's own __setattr__ is typed for tensors and modules only
        vars(network)["weights_report"] = _take_over(network, state, first, weights)
    return network


def weights_report(network: nn.Module) -> WeightsReport | None:
    """What a network of `build` took over; None if it starts from scratch."""
    report = vars(network).get("weights_report")
    return report if isinstance(report, WeightsReport) else None


def read_weights(path: str) -> dict[str, Tensor]:
    """The tensors of a file by name; a .pth is read with weights_only, so no code in it can run.

    Raises StoneError where there is no such file, or it holds anything else.
    """
    suffix = Path(path).suffix.lower()
    if not Path(path).is_file():
        raise StoneError("there is no such file", where=f"model.weights: {path}",
                         fix="give the path of a .safetensors file, or hub")
    try:
        if suffix == ".safetensors":
            from safetensors.torch import load_file

            state: object = load_file(path)
        elif suffix in (".pth", ".pt"):
            state = torch.load(path, map_location="cpu", weights_only=True)
        else:
            raise StoneError(f"found the suffix '{suffix}'; .safetensors, .pth or .pt was expected", where=path)
    except StoneError:
        raise
    except Exception as error:  # each reader has its own errors for a damaged file
        raise StoneError(f"these weights cannot be read: {error}".splitlines()[0], where=path,
                         fix="save the state dict with safetensors.torch.save_file") from error
    return _tensors(state, path)


def _tensors(state: object, path: str) -> dict[str, Tensor]:
    while isinstance(state, Mapping) and (inner := state.get("state_dict", state.get("model"))) is not None:
        state = inner
    if not isinstance(state, Mapping) or not state or not all(isinstance(value, Tensor) for value in state.values()):
        raise StoneError("this holds no state dict (names and tensors)", where=path,
                         fix="save model.state_dict() with safetensors.torch.save_file")
    return {str(key).removeprefix("module."): value for key, value in state.items()}


def _adapt_first(network: nn.Module, channels: int, small_stem: bool) -> str:
    """Makes the first convolution fit; gives the name of its weight."""
    name, old = next((n, m) for n, m in network.named_modules() if isinstance(m, nn.Conv2d))
    if small_stem:
        network.maxpool = nn.Identity()
        new = nn.Conv2d(channels, old.out_channels, 3, padding=1, bias=old.bias is not None)
    elif channels == old.in_channels:
        return f"{name}.weight"
    else:
        new = nn.Conv2d(channels, old.out_channels, old.kernel_size, old.stride, old.padding,  # type: ignore[arg-type]
                        bias=old.bias is not None)
    nn.init.kaiming_normal_(new.weight, mode="fan_out", nonlinearity="relu")
    if new.bias is not None:
        nn.init.zeros_(new.bias)
    parent, _, child = name.rpartition(".")
    setattr(network.get_submodule(parent), child, new)
    return f"{name}.weight"


def _take_over(network: nn.Module, state: Mapping[str, Tensor], first: str, where: str) -> WeightsReport:
    own = network.state_dict()
    head = list(own)[-1].rpartition(".")[0]
    given, adapted = dict(state), []
    if first in given and own[first].shape[1] == 1 and given[first].ndim == 4 and given[first].shape[1] == 3:
        # a grey picture has the same value in all three colours
        given[first] = given[first].sum(dim=1, keepdim=True)
        adapted = [first]
    fits = {name for name, value in own.items() if name in given and given[name].shape == value.shape}
    allowed = {name for name in own if name.startswith(head + ".")} | {first}
    missing = [name for name in own if name not in fits and name not in allowed]
    if missing:
        raise StoneError(
            f"{len(fits)} of {len(own)} tensors fit; among those that do not: {', '.join(missing[:3])}", where=where,
            fix="give weights of this very network, or choose another with model.name",
        )
    adapted = [name for name in adapted if name in fits]
    network.load_state_dict({name: given[name] for name in fits}, strict=False)
    return WeightsReport(
        matched=tuple(name for name in own if name in fits and name not in adapted), adapted=tuple(adapted),
        fresh=tuple(name for name in own if name not in fits),
        unused=tuple(name for name in state if name not in own),
    )
