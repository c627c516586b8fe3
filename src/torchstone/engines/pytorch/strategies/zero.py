"""Data parallel with the optimizer's state shared out over the ranks: stage 1 of ZeRO (Rajbhandari et al. 2020).

Weights and gradients are whole on every rank, as with `ddp`, so that norms, clipping and averages stay what they are.
Each parameter has an owner: it alone keeps the optimizer's state of it and updates it, then sends it to the others.
Parameters are never cut, so that an optimizer that looks at a whole matrix sees it, and the weights are those of `ddp`
bit for bit. How an optimizer is made to leave a parameter alone: it has no gradient while the step is taken.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from torchstone.engines.pytorch.optimizers.sam import Sam
from torchstone.engines.pytorch.optimizers.schedule_free import ScheduleFree
from torchstone.engines.pytorch.strategies.ddp import Ddp, bucketed

State = dict[str, Any]


class Zero:
    """`Ddp`, and an owner for each parameter of the optimizer."""

    def __init__(self, ranks: Ddp) -> None:
        self._ranks = ranks
        self.rank, self.world, self.device = ranks.rank, ranks.world, ranks.device
        self._parameters: list[Tensor] = []
        self._owners: list[int] = []
        self._gradients: list[Tensor | None] = []
        self._parcels: list[tuple[int, list[Tensor]]] = []

    def wrap(self, model: nn.Module) -> nn.Module:
        """As `ddp` does."""
        return self._ranks.wrap(model)

    def share(self, optimizer: torch.optim.Optimizer) -> None:
        """From now on `step` updates what this rank owns, and receives the rest from its owners."""
        self._parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self._owners = owners([parameter.numel() for parameter in self._parameters], self.world)
        self._parcels = [
            (rank, parcel) for rank in range(self.world) for parcel in bucketed(self._owned_by(rank))
        ]  # fmt: skip
        # SAM's climb needs every gradient; its descent is a step of the optimizer within
        stepping = optimizer.parts[0] if isinstance(optimizer, Sam) else optimizer
        hiding = stepping.register_step_pre_hook(lambda *_: self._hide_foreign())
        # before hooks that make state for what has a gradient (ours of sgd does)
        hooks = stepping._optimizer_step_pre_hooks
        assert isinstance(hooks, OrderedDict)
        hooks.move_to_end(hiding.id, last=False)
        stepping.register_step_post_hook(lambda *_: self._exchange())
        if isinstance(optimizer, ScheduleFree):
            optimizer.collect = self._averages

    def whole(self, state: State) -> State:
        """The state of all ranks' parameters in host memory, on rank 0; the others get their own back."""
        mine_alone = self.own(state)["state"]
        values = [(index, key, value) for index, held in mine_alone.items() for key, value in held.items()]
        lists = [_read(list_) for list_ in self.gather(_written(values))]
        mine = iter([value for _, _, value in values if isinstance(value, Tensor)])
        if self.rank:
            for value in mine:
                dist.send(value.detach().to(self.device).contiguous().reshape(-1), dst=0)
            return state
        found: dict[int, State] = {}
        for rank, entries in enumerate(lists):
            for index, key, kind, said in entries:
                value = said
                if kind and rank:
                    value = self._received(getattr(torch, kind), said, rank)
                elif kind:
                    value = next(mine)
                found.setdefault(index, {})[key] = value
        return {**state, "state": dict(sorted(found.items()))}

    def own(self, state: State) -> State:
        """The part of a whole state that belongs to this rank's parameters."""
        kept = {index: held for index, held in state["state"].items() if self._owners[index] == self.rank}
        return {**state, "state": kept}

    def _received(self, dtype: torch.dtype, shape: Sequence[int], rank: int) -> Tensor:
        value = torch.empty(shape, dtype=dtype, device=self.device)
        dist.recv(value.view(-1), src=rank)
        return value.cpu()

    def _owned_by(self, rank: int) -> list[Tensor]:
        return [p for p, owner in zip(self._parameters, self._owners, strict=True) if owner == rank]

    def _hide_foreign(self) -> None:
        self._gradients = [parameter.grad for parameter in self._parameters]
        for parameter, owner in zip(self._parameters, self._owners, strict=True):
            if owner != self.rank:
                parameter.grad = None

    @torch.no_grad()
    def _exchange(self) -> None:
        """Brings the gradients back, and every weight that was updated from its owner."""
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient
        self._gradients = []
        for owner, parcel in self._parcels:
            # gradients are the same on all ranks, so that all agree on which weights have moved
            _send_round([p for p in parcel if p.grad is not None], owner, is_mine=owner == self.rank)

    @torch.no_grad()
    def _averages(self, held: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
        """What the owners hold for each parameter; the parameter itself where the owner holds nothing yet."""
        found = {p: held[p] if p in held else p.detach().clone() for p in self._parameters}
        for owner, parcel in self._parcels:
            _send_round([found[p] for p in parcel], owner, is_mine=owner == self.rank)
        return found

    def before_backward(self, is_last: bool) -> None:
        """As `ddp` does."""
        self._ranks.before_backward(is_last)

    def reduce_gradients(self) -> None:
        """As `ddp` does."""
        self._ranks.reduce_gradients()

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over ranks."""
        return self._ranks.sums(values)

    def gather(self, value: Tensor) -> list[Tensor]:
        """The tensors of all ranks."""
        return self._ranks.gather(value)

    def agreed(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Float tensors averaged over ranks, of others the largest."""
        return self._ranks.agreed(tensors)

    def barrier(self) -> None:
        """Returns when every rank has come here."""
        self._ranks.barrier()

    def close(self) -> None:
        """Leaves the group."""
        self._ranks.close()


def owners(sizes: Sequence[int], world: int) -> list[int]:
    """The rank that owns each parameter: from the largest on, each goes to the rank that has least (Graham 1969).

    The fullest rank has at most 4/3 of what the best cut of whole parameters would give it. Of equals the first wins,
    so that all ranks come to the same answer.
    """
    loads = [0] * world
    found = [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        found[index] = loads.index(min(loads))
        loads[found[index]] += sizes[index]
    return found


def _send_round(values: list[Tensor], owner: int, *, is_mine: bool) -> None:
    """The owner's values into those of all ranks, in place; small ones travel together."""
    if not values:
        return
    if len(values) == 1 and values[0].is_contiguous():
        dist.broadcast(values[0].detach(), src=owner)
        return
    flat = torch.cat([value.detach().reshape(-1) for value in values])
    dist.broadcast(flat, src=owner)
    if not is_mine:
        for value, piece in zip(values, torch.split(flat, [value.numel() for value in values]), strict=True):
            value.copy_(piece.view_as(value))


def _written(values: Iterable[tuple[int, str, Any]]) -> Tensor:
    """Which state a rank has, as bytes of JSON: dtype and shape of tensors, numbers themselves."""
    rows = [
        (index, key, str(value.dtype).removeprefix("torch."), list(value.shape))
        if isinstance(value, Tensor) else (index, key, "", value)
        for index, key, value in values
    ]  # fmt: skip
    return torch.frombuffer(bytearray(json.dumps(rows).encode()), dtype=torch.uint8)


def _read(written: Tensor) -> Iterator[tuple[int, str, str, Any]]:
    rows: list[tuple[int, str, str, Any]] = json.loads(bytes(written.tolist()))
    return iter(rows)


def zero(device: torch.device, *, timeout_minutes: float = 10.0) -> Zero:
    """As ddp, with the optimizer's state shared out over the ranks: same weights, less memory (ZeRO, stage 1).

    Each rank keeps about 1/ranks of the state, for one more message of the weights' size a step. Worth it where
    weights, gradients and state are too large together; where weights and gradients alone are, FSDP2 would be needed,
    which is not built here. timeout_minutes: a rank that does not answer for so long ends the run.
    """
    if "RANK" not in os.environ:
        raise RuntimeError("zero is started by torchrun, which sets RANK and WORLD_SIZE")
    return Zero(Ddp(device, timeout_minutes))
