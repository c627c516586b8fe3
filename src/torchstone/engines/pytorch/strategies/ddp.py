"""Data parallel: every rank holds the whole model, gradients are summed.

Why not torch's DistributedDataParallel: it divides by the number of ranks instead of the true weight, lets
rank 0's BatchNorm statistics win, expects every rank to have a batch in every step, and lays its buckets out anew
after the first step, so that with three or more ranks a resumed run may round differently. Here the buckets are
fixed, sums stay sums, and a rank without examples takes part with zeros.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

# Before any group is made: its functions take the group of that moment as their default and so hold it for good.
# Imported late (as an optimizer does, by way of torch._dynamo), they keep gloo's threads alive beyond `close`, and one
# that lets go of a tensor while the interpreter ends aborts the process (torch 2.14.1, Python 3.11).
import torch.distributed.nn.functional
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

# Elements per bucket: 6.5 million float32 are 25 MiB, the default of DistributedDataParallel (torch 2.14).
BUCKET_ELEMENTS = 6_500_000

T = TypeVar("T", bound=Tensor)


class Ddp:
    """Ranks of a torchrun job over gloo or NCCL."""

    def __init__(self, device: torch.device, timeout_minutes: float) -> None:
        self.device = device
        backend = "nccl" if device.type == "cuda" else "gloo"
        timeout = timedelta(minutes=timeout_minutes)
        store, rank, world = _meeting_place(timeout)
        dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=timeout)
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self._buckets: list[_Bucket] = []
        self._bucket_of: dict[nn.Parameter, _Bucket] = {}
        self._is_syncing = False
        self._next = 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """Rank 0's weights and buffers on every rank; hooks send gradients off as soon as a bucket is full."""
        model.to(self.device)
        for value in model.state_dict().values():
            dist.broadcast(value, src=0)
        parameters = [p for p in reversed(list(model.parameters())) if p.requires_grad]
        self._buckets = [_Bucket(bucket) for bucket in bucketed(parameters)]
        self._bucket_of = {p: bucket for bucket in self._buckets for p in bucket.parameters}
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._ready)  # type: ignore[no-untyped-call]
        return model

    def share(self, optimizer: torch.optim.Optimizer) -> None:
        """Every rank keeps all of its state, and makes the same step."""

    def whole(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state itself."""
        return state

    def own(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state itself."""
        return state

    def before_backward(self, is_last: bool) -> None:
        """Opens the buckets for the last backward pass of a window."""
        self._is_syncing = is_last

    def _ready(self, parameter: Tensor) -> None:
        if not self._is_syncing:
            return
        assert isinstance(parameter, nn.Parameter)
        self._bucket_of[parameter].num_waiting -= 1
        # in order only: ranks must start their collectives in one and the same order
        while self._next < len(self._buckets) and self._buckets[self._next].num_waiting == 0:
            self._buckets[self._next].send()
            self._next += 1

    def reduce_gradients(self) -> None:
        """Sends what is left (unused parameters, ranks without examples) and waits for all."""
        for bucket in self._buckets[self._next :]:
            bucket.send()
        for bucket in self._buckets:
            bucket.receive()
        self._next, self._is_syncing = 0, False

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over ranks."""
        total = torch.tensor(list(values), dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return [float(value) for value in total.tolist()]

    def gather(self, value: Tensor) -> list[Tensor]:
        """The tensors of all ranks, padded for the journey and cut again."""
        value = value.to(self.device).contiguous()
        lengths = [int(n) for n in self.sums([len(value) if r == self.rank else 0 for r in range(self.world)])]
        padded = value.new_zeros((max(lengths), *value.shape[1:]))
        padded[: len(value)] = value
        all_padded = [torch.empty_like(padded) for _ in range(self.world)]
        if padded.numel():
            dist.all_gather(all_padded, padded)
        return [part[:length].cpu() for part, length in zip(all_padded, lengths, strict=True)]

    def agreed(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Float tensors averaged over ranks, of others the largest; the given ones are not touched."""
        equal = {}
        for name, value in sorted(tensors.items()):
            equal[name] = value.detach().clone()
            if value.is_floating_point():
                dist.all_reduce(equal[name])
                equal[name] /= self.world
            else:
                dist.all_reduce(equal[name], op=dist.ReduceOp.MAX)
        return equal

    def barrier(self) -> None:
        """Returns when every rank has come here."""
        dist.barrier()

    def close(self) -> None:
        """Leaves the group."""
        dist.destroy_process_group()


def _meeting_place(timeout: timedelta) -> tuple[Any, int, int]:
    """Where the ranks find each other: the store of torchrun, this rank, and the number of ranks.

    torchrun (2.14.1) keeps one store over all restarts, where a rank that comes early finds the address of a dead one
    ("Gloo connectFullMesh failed … Connection refused"). So every start has keys of its own; on one machine, that is:
    over several, torchrun counts the restarts of each machine by itself.
    """
    store, rank, world = next(rendezvous("env://", timeout=timeout))
    if os.environ.get("LOCAL_WORLD_SIZE") == str(world):
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"start-{start}", store)  # type: ignore[attr-defined]
    return store, rank, world


class _Bucket:
    """Gradients that travel together, with one flag each that says whether a rank has a gradient at all."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.num_waiting = len(parameters)
        self._flat: Tensor | None = None
        self._work: dist.Work | None = None

    def send(self) -> None:
        first = self.parameters[0]
        pieces = [
            torch.zeros(p.numel(), dtype=p.dtype, device=p.device) if p.grad is None else p.grad.detach().reshape(-1)
            for p in self.parameters
        ]
        flags = torch.tensor([float(p.grad is not None) for p in self.parameters], dtype=first.dtype)
        self._flat = torch.cat([*pieces, flags.to(first.device)])
        self._work = dist.all_reduce(self._flat, async_op=True)

    def receive(self) -> None:
        assert self._work is not None
        assert self._flat is not None
        self._work.wait()
        sizes = [p.numel() for p in self.parameters]
        *pieces, flags = torch.split(self._flat, [*sizes, len(sizes)])
        for parameter, piece, flag in zip(self.parameters, pieces, flags.tolist(), strict=True):
            parameter.grad = piece.view_as(parameter) if flag else None
        self.num_waiting, self._flat, self._work = len(self.parameters), None, None


def bucketed(parameters: Sequence[T]) -> list[list[T]]:
    """The tensors in their order, cut into lists of one dtype with at most `BUCKET_ELEMENTS`, or one larger."""
    buckets: list[list[T]] = []
    size = 0
    for parameter in parameters:
        fits = buckets and size + parameter.numel() <= BUCKET_ELEMENTS and buckets[-1][0].dtype == parameter.dtype
        if not fits:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter)
        size += parameter.numel()
    return buckets


def ddp(device: torch.device, *, timeout_minutes: float = 10.0) -> Ddp:
    """Data parallel over the ranks of torchrun; a rank that does not answer for `timeout_minutes` ends the run."""
    if "RANK" not in os.environ:
        raise RuntimeError("ddp is started by torchrun, which sets RANK and WORLD_SIZE")
    return Ddp(device, timeout_minutes)
