"""What modules do in a mode in which they should not: dropout turned off, norms not set up, freezing in train()."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.spectral_norm import SpectralNorm

from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.recorder import Recorder

DROPOUTS = nn.modules.dropout._DropoutNd
# An estimate of a weight's largest singular value below this share of it is no estimate yet.
SHARE = 0.8


class Modes:
    """Fills keys into the rows of models: dropout, frozen_late, unset_norms."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._optimizers = recorder, optimizers
        self._dropouts: dict[int, list[Any]] = {}
        self._freezers: dict[int, list[tuple[nn.Module, str, nn.Parameter]]] = {}
        self._flags: dict[int, tuple[list[bool], int]] = {}
        models.on_forward.append(self._forward)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        module = root.ref()
        if module is None:
            return
        if root.has_grad and root.training:
            self._look_at_dropout(root, module)
        self._look_at_flags(root, module)  # in evaluation, too: steps may be slept through
        if not root.has_grad and not root.training and not root.forwards_with_grad and "unset_norms" not in root.row:
            root.row["unset_norms"] = unset_norms(module)
            root.row["unset_place"] = self.recorder.place("unset norms") if root.row["unset_norms"] else None

    def _look_at_dropout(self, root: Root, module: nn.Module) -> None:
        layers = self._dropouts.get(root.index)
        if layers is None:
            layers = self._dropouts[root.index] = [one for one in module.modules() if isinstance(one, DROPOUTS)]
        if not layers:
            return
        rate = max(float(one.p) for one in layers)
        seen = root.row.get("dropout")
        if seen is None:
            root.row["dropout"] = {"layers": len(layers), "first": rate, "rate": rate, "is_steady": True,
                                   "off_at": None}  # fmt: skip
            return
        if rate == 0 and seen["rate"] > 0:
            seen["off_at"] = self.recorder.step
        elif rate > 0:
            seen["off_at"], seen["is_steady"] = None, seen["is_steady"] and rate == seen["first"]
        seen["rate"] = rate

    def _look_at_flags(self, root: Root, module: nn.Module) -> None:
        """Parameters that were trained, and are frozen now by a module's own train()."""
        owned = self._freezers.get(root.index)
        if owned is None:
            owned = self._freezers[root.index] = freezers(module)
        if not owned:
            return
        flags, step = [p.requires_grad for _, _, p in owned], self.recorder.step
        before, since = self._flags.get(root.index, (flags, step))
        self._flags[root.index] = flags, step
        if before == flags or step == 0 or "frozen_late" in root.row:
            return
        moved = {number for wheel in self._optimizers.wheels() for number in wheel.ever}
        late = [one for one, was, now in zip(owned, before, flags, strict=True)
                if was and not now and id(one[2]) in moved]  # fmt: skip
        if late:
            root.row["frozen_late"] = {
                "class": type(late[0][0]).__name__, "names": [name for _, name, _ in late[:4]], "num": len(late),
                "weights": sum(p.numel() for _, _, p in late), "at_step": since,
            }  # fmt: skip


def freezers(module: nn.Module) -> list[tuple[nn.Module, str, nn.Parameter]]:
    """The parameters of modules whose own train() says something of requires_grad, or of freezing."""
    found, known = [], set()
    for path, one in module.named_modules():
        train = type(one).train
        if train.__qualname__ == "Module.train" or not says_freeze(train):
            continue
        for name, parameter in one.named_parameters():
            if id(parameter) not in known:
                known.add(id(parameter))
                found.append((one, f"{path}.{name}".lstrip("."), parameter))
    return found


def says_freeze(function: Any) -> bool:
    """Whether a function's source speaks of freezing."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return False
    return "requires_grad" in source or "freeze" in source


@torch.no_grad()
def unset_norms(module: nn.Module) -> list[dict[str, Any]]:
    """Layers under torch.nn.utils.spectral_norm whose norm is not estimated: they are divided by something else."""
    found = []
    for name, one in module.named_modules():
        for hook in one._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm):
                weight: Tensor = hook.reshape_weight_to_matrix(getattr(one, f"{hook.name}_orig")).float()
                u, v = (getattr(one, f"{hook.name}_{side}").float() for side in ("u", "v"))
                largest, estimate = float(torch.linalg.matrix_norm(weight, 2)), float(torch.dot(u, weight.mv(v)))
                if largest > 0 and abs(estimate) < SHARE * largest:
                    found.append({"layer": name, "estimate": estimate, "largest": largest})
    return found
