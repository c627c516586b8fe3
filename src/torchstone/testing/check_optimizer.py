"""What every optimizer must keep."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    Make = Callable[[list[dict[str, Any]]], torch.optim.Optimizer]


def check_optimizer(make: Make, *, steps: int = 300) -> None:
    """Raises AssertionError where an optimizer breaks the contract that the loop builds on.

    make: groups → optimizer, with a rate that suits a bowl of curvature 1. Checked: it walks to the bottom; each
    group keeps its name and its weight decay; the rate of a group may be changed between steps; stopped, saved,
    loaded into a fresh one and continued, it gives the same weights bit for bit.
    """
    import torch

    start = torch.linspace(-1, 1, 6).reshape(2, 3)
    weight, optimizer = _fresh(make, start)
    names = [(group["name"], group["weight_decay"]) for group in optimizer.param_groups]
    assert names == [("decayed", 0.01), ("not decayed", 0.0)], f"the groups became {names}"
    _walk(weight, optimizer, steps // 2)
    middle = weight.detach().clone()
    held = io.BytesIO()
    torch.save(optimizer.state_dict(), held)
    _walk(weight, optimizer, steps // 2)
    distance = float((weight.detach() - 3).abs().max())
    assert distance < 0.5, f"after {steps} steps it is {distance:.2f} from the bottom"
    again, other = _fresh(make, middle)
    held.seek(0)
    other.load_state_dict(torch.load(held, weights_only=True))
    _walk(again, other, steps // 2)
    assert torch.equal(again, weight), "after a save and a load it goes another way"
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = weight.detach().clone()
    _walk(weight, optimizer, 1)
    assert torch.equal(weight, before), "a rate of 0 still moves the weights"


def _fresh(make: Make, start: torch.Tensor) -> tuple[torch.nn.Parameter, torch.optim.Optimizer]:
    import torch

    weight, bias = torch.nn.Parameter(start.clone()), torch.nn.Parameter(torch.zeros(3))
    return weight, make([
        {"params": [weight], "weight_decay": 0.01, "name": "decayed"},
        {"params": [bias], "weight_decay": 0.0, "name": "not decayed"},
    ])


def _walk(weight: torch.nn.Parameter, optimizer: torch.optim.Optimizer, steps: int) -> None:
    """Steps down the bowl around 3."""
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        ((weight - 3) ** 2).sum().div(2).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
