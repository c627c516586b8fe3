"""Run by two ranks: SyncBatchNorm on shares of one batch, its numbers to a safetensors file by each rank."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from ranks_script import leave
from safetensors.torch import save_file
from torch import Tensor, nn

from conftest import toy_job
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.recompute import recompute
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies import Strategy
from torchstone.engines.pytorch.strategies.ddp import ddp
from torchstone.engines.pytorch.sync_batchnorm import SyncBatchNorm, check_windows, synchronised

CUT = 5  # of 12 examples the first rank has so many


def whole(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Inputs and the gradient of their outputs, far from mean zero."""
    draw = torch.Generator().manual_seed(len(shape))
    far = 100 * torch.arange(shape[1]).view(1, -1, *[1] * (len(shape) - 2))
    inputs = 3 * torch.randn(shape, generator=draw, dtype=torch.float64) + far
    return inputs.to(dtype), torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype)


def norm_like(shape: tuple[int, ...], kind: type[nn.Module], dtype: torch.dtype) -> nn.Module:
    norm = kind(shape[1], momentum=0.3).to(dtype)  # type: ignore[call-arg]
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(0.5, 2, shape[1]))
        norm.bias.copy_(torch.linspace(-1, 1, shape[1]))
    return norm


def passed(norm: nn.Module, inputs: Tensor, grad: Tensor) -> dict[str, Tensor]:
    """Outputs, gradients and statistics of one training pass."""
    inputs = inputs.clone().requires_grad_()
    outputs = norm(inputs)
    outputs.backward(grad)
    parts = {"outputs": outputs.detach(), "inputs": inputs.grad, "weight": norm.weight.grad, "bias": norm.bias.grad}
    return {**parts, **{name: buffer.clone() for name, buffer in norm.named_buffers()}}  # type: ignore[dict-item]


SHAPES = {"vectors": (12, 4), "maps": (12, 3, 5, 5)}
DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


def picture_job(strategy: Strategy, is_synchronised: bool, is_recomputed: bool) -> object:
    """A small residual network on 24 random pictures of 8 pixels."""
    torch.manual_seed(0)
    model: nn.Module = small_resnet(Shape(3, channels=1, size=8), width=8)
    draw = torch.Generator().manual_seed(1)
    source = TensorSource([torch.randn(26, 1, 8, 8, generator=draw)], torch.arange(26) % 3)
    if is_synchronised:
        model = synchronised(model)
    if is_recomputed:
        recompute(model)
    job = toy_job(model=strategy.wrap(model), strategy=strategy, source=source, average=None, batch_size=12, epochs=2)
    return replace(job, feed=replace(job.feed, rank=strategy.rank, world=strategy.world, rows=np.arange(24)))


def trained(strategy: Strategy, is_synchronised: bool, is_recomputed: bool = False) -> dict[str, Tensor]:
    """Weights and statistics after two epochs."""
    job = picture_job(strategy, is_synchronised, is_recomputed)
    check_windows(job.feed, 2)  # type: ignore[attr-defined]
    fit(job, Progress())  # type: ignore[arg-type]
    return {name: value.detach().clone() for name, value in job.model.state_dict().items()}  # type: ignore[attr-defined]


def torch_refuses() -> bool:
    """Whether torch's own layer does not work on a CPU."""
    try:
        nn.SyncBatchNorm(3)(torch.randn(4, 3))
    except ValueError as error:
        return "GPU" in str(error)
    return False


def main() -> None:
    """All checks."""
    strategy = ddp(torch.device("cpu"), timeout_minutes=1)
    share = slice(0, CUT) if strategy.rank == 0 else slice(CUT, None)
    found: dict[str, Tensor] = {}
    for form, shape in SHAPES.items():
        for kind, dtype in DTYPES.items():
            inputs, grad = whole(shape, dtype)
            norm = norm_like(shape, SyncBatchNorm, torch.float32 if dtype is torch.bfloat16 else dtype)
            for name, value in passed(norm, inputs[share], grad[share]).items():
                found[f"{form} {kind} {name}"] = value.contiguous()
    found["torch refuses"] = torch.tensor(float(torch_refuses()))
    found |= {f"trained {name}": value for name, value in trained(strategy, True).items()}
    found |= {f"recomputed {name}": value for name, value in trained(strategy, True, True).items()}
    save_file(found, str(Path(sys.argv[1]) / f"{strategy.rank}.safetensors"))
    leave(strategy)


if __name__ == "__main__":
    main()
