"""Adam that looks one step ahead."""

from __future__ import annotations

from typing import Any

import torch

from torchstone.engines.pytorch.optimizers import Groups


def nadam(
    groups: Groups,
    *,
    lr: float = 2e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    momentum_decay: float = 4e-3,
    weight_decay: float = 0.0,
) -> torch.optim.Optimizer:
    """Adam with Nesterov's momentum (Dozat 2016), and weight decay on the weights as in adamw.

    lr: starting point, tune on your data. betas, eps, momentum_decay: the paper's. weight_decay: of groups without
    their own. torch's own implementation; its running product of momenta stays float32 when it is loaded.
    """
    optimizer = torch.optim.NAdam(
        list(groups), lr=lr, betas=betas, eps=eps, momentum_decay=momentum_decay, weight_decay=weight_decay,
        decoupled_weight_decay=True,
    )  # fmt: skip
    optimizer.register_load_state_dict_pre_hook(_keep_product)
    return optimizer


def _keep_product(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> dict[str, Any]:
    """torch would cast `mu_product` to the type of the weights, bfloat16 for some (2.14); a number it leaves alone."""
    held = {
        index: {key: float(value) if key == "mu_product" else value for key, value in values.items()}
        for index, values in state["state"].items()
    }
    return {**state, "state": held}
