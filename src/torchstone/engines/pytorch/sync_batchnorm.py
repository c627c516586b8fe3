"""BatchNorm over the examples of all ranks, on any device.

torch's own SyncBatchNorm (2.14) refuses tensors on a CPU, so this is one in plain PyTorch.

Legend of axes: B examples of this rank, C channels, W ranks.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.feed import Feed

_Norm = nn.modules.batchnorm._BatchNorm


class SyncBatchNorm(_Norm):
    """BatchNorm whose mean and variance are those of the batches of all ranks together; inputs [B, C, …].

    Parameters, buffers and their names are those of nn.BatchNorm2d, so that weights go from one to the other. In
    evaluation, in one process, and without gradients (where statistics are measured anew) each rank works alone.
    Otherwise every rank must call it as often as the others, each with one example or more; their numbers may differ.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"found {input.dim()} axes; [B, C, …] was expected")

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input, in its shape and dtype."""
        is_shared = self.training and torch.is_grad_enabled() and dist.is_initialized() and dist.get_world_size() > 1
        if not is_shared:
            return super().forward(input)
        self._check_input_dim(input)
        normal: Tensor
        normal, mean_C, variance_C, num = _Shared.apply(input, self.weight, self.bias, self.eps)
        self._keep(mean_C, variance_C, num)
        return normal

    @torch.no_grad()
    def _keep(self, mean_C: Tensor, variance_C: Tensor, num: Tensor) -> None:
        """Running statistics, with the unbiased variance, as nn.BatchNorm2d keeps them."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked += 1
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean_C.to(self.running_mean), share)
        self.running_var.lerp_((variance_C * num / (num - 1)).to(self.running_var), share)


class _Shared(torch.autograd.Function):
    """Two messages a layer and step: counts, means and variances forward, two sums per channel backward."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Any:
        mean_C, variance_C, num = _over_ranks(inputs)
        inverse_C = torch.rsqrt(variance_C + eps)
        scale_C = inverse_C if weight is None else inverse_C * weight
        shift_C = -mean_C * scale_C if bias is None else bias - mean_C * scale_C
        values = _precise(inputs)
        outputs = values * _wide(scale_C, values) + _wide(shift_C, values)
        ctx.save_for_backward(inputs, mean_C, inverse_C, num, weight)
        ctx.has_bias = bias is not None
        ctx.mark_non_differentiable(mean_C, variance_C, num)
        return outputs.to(inputs.dtype), mean_C, variance_C, num

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = _precise(grads[0])
        inputs, mean_C, inverse_C, num, weight = ctx.saved_tensors
        axes = [axis for axis in range(inputs.dim()) if axis != 1]
        normal = (_precise(inputs) - _wide(mean_C, grad)) * _wide(inverse_C, grad)
        sums = torch.stack([grad.sum(axes), (grad * normal).sum(axes)]).double()
        mine = sums.to(grad.dtype, copy=True)  # the message overwrites `sums`
        dist.all_reduce(sums)
        grad_mean_C, normal_mean_C = sums / num
        inner = grad - _wide(grad_mean_C, grad) - normal * _wide(normal_mean_C, grad)
        scale_C = inverse_C if weight is None else inverse_C * weight
        grad_inputs = (inner * _wide(scale_C, grad)).to(inputs.dtype)
        # those of the parameters stay this rank's own: the strategy sums them with all others
        grad_weight = None if weight is None else mine[1].to(weight.dtype)
        return grad_inputs, grad_weight, mine[0] if ctx.has_bias else None, None


def _over_ranks(inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of each channel over all ranks, float64 [C], and how many values each is of.

    Each rank's own mean and variance are combined (Chan et al. 1979), which loses no digits as sums of squares would.
    """
    axes = [axis for axis in range(inputs.dim()) if axis != 1]
    num = inputs.numel() // inputs.shape[1]
    variance_C, mean_C = torch.var_mean(_precise(inputs), dim=axes, correction=0)
    mine = torch.cat([mean_C, variance_C, mean_C.new_full((1,), num)]).double()
    gathered = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, mine)
    all_WC = torch.stack(gathered)
    means_WC, variances_WC, nums_W1 = all_WC[:, : len(mean_C)], all_WC[:, len(mean_C) : -1], all_WC[:, -1:]
    total = nums_W1.sum()
    mean = (means_WC * nums_W1).sum(0) / total
    variance = ((variances_WC + (means_WC - mean).square()) * nums_W1).sum(0) / total
    return mean, variance, total


def _precise(values: Tensor) -> Tensor:
    """The values in float32 at least."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _wide(values_C: Tensor, like: Tensor) -> Tensor:
    return values_C.to(like.dtype).view(1, -1, *[1] * (like.dim() - 2))


def synchronised(model: nn.Module) -> nn.Module:
    """The same model with every BatchNorm replaced by a SyncBatchNorm that has its weights and statistics.

    Raises StoneError for a model without BatchNorm.
    """
    found = [(name, module) for name, module in model.named_modules() if isinstance(module, _Norm)]
    if not found:
        raise StoneError("this model has no BatchNorm to keep in step", where="train.sync_batchnorm",
                         fix="leave the field out")
    for name, old in found:
        new = SyncBatchNorm(old.num_features, old.eps, old.momentum, old.affine, old.track_running_stats)
        new.load_state_dict(old.state_dict(), assign=True)  # the tensors themselves, of any device and dtype
        new.train(old.training)
        if not name:
            return new
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, new)
    return model


def check_windows(feed: Feed, epochs: int) -> None:
    """Raises StoneError where in some window one rank would wait for another that has nothing left to do."""
    if (num := feed.uneven_window(epochs)) is not None:
        raise StoneError(
            f"a batch of {num} examples gives {feed.world} processes unequal numbers of micro-batches, and with "
            "train.sync_batchnorm each waits for the others", where="train.batch_size",
            fix="choose one that leaves no small rest of the training examples, or fewer train.accumulate",
        )  # fmt: skip
