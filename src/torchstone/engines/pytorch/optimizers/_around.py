"""Optimizers made of others: one set of groups, one state, saved and restored as if it were one optimizer."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers import Groups


class Around(torch.optim.Optimizer, abc.ABC):
    """What wraps one or more optimizers: its groups are theirs, one behind the other (the same mappings).

    The state has torch's own layout, with parameters numbered through; what a wrapper keeps per parameter beside
    the inner state stands in `extra`, and in the saved state under the same number.
    """

    def __init__(self, parts: Sequence[torch.optim.Optimizer]) -> None:
        self.parts = list(parts)
        self.extra: dict[torch.Tensor, dict[str, torch.Tensor]] = {}
        super().__init__([group for part in self.parts for group in part.param_groups], {})

    @abc.abstractmethod
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step from the gradients that are there."""

    def state_dict(self) -> dict[str, Any]:
        """The states of all parts and of the wrapper, as of one optimizer."""
        state: dict[int, dict[str, Any]] = {}
        groups: list[dict[str, Any]] = []
        start = 0
        for part in self.parts:
            saved = part.state_dict()
            state |= {start + index: dict(values) for index, values in saved["state"].items()}
            groups += [{**g, "params": [start + index for index in g["params"]]} for g in saved["param_groups"]]
            start = sum(len(group["params"]) for group in groups)
        for index, parameter in enumerate(self._parameters()):
            if parameter in self.extra:
                state.setdefault(index, {}).update(self.extra[parameter])
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The inverse of `state_dict`; raises ValueError, as torch does, for groups of other sizes."""
        parameters = self._parameters()
        extra_names = self._extra_names()
        state = {index: dict(values) for index, values in state_dict["state"].items()}
        self.extra = {}
        for index, values in state.items():
            held = {name: values.pop(name) for name in extra_names if name in values}
            if held:
                mine = parameters[index]
                self.extra[mine] = {k: v.to(mine.device, copy=True).reshape(mine.shape) for k, v in held.items()}
        groups, start = list(state_dict["param_groups"]), 0
        for part in self.parts:
            mine_groups, groups = groups[: len(part.param_groups)], groups[len(part.param_groups) :]
            num = sum(len(group["params"]) for group in part.param_groups)
            part.load_state_dict({
                "state": {i - start: v for i, v in state.items() if start <= i < start + num and v},
                "param_groups": [{**g, "params": [i - start for i in g["params"]]} for g in mine_groups],
            })
            start += num
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def _extra_names(self) -> tuple[str, ...]:
        """What the wrapper keeps per parameter."""
        return ()

    def _parameters(self) -> list[torch.Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]


def inner(groups: Groups, name: str, options: dict[str, Any], allowed: Sequence[str]) -> torch.optim.Optimizer:
    """The optimizer part `name` with `options`; raises StoneError where it may not be wrapped or lacks an option."""
    if name not in allowed:
        raise StoneError(f"base is '{name}'; it may be {', '.join(allowed)}", where="optimizer.base")
    part = catalog.find("torchstone.engines.pytorch.optimizers", name)
    known = [option.name for option in catalog.options(part)]
    for option in options:
        if option not in known:
            raise StoneError(f"{name} has no option '{option}'; its options: {', '.join(known)}",
                             where=f"optimizer.base_options.{option}")
    made: torch.optim.Optimizer = part(groups, **options)
    return made
