"""Parts built once with their options before anything is trained, so that what they refuse is known with the plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError


def refusal(piece: str, folder: str, name: str, options: Mapping[str, Any]) -> StoneError | None:
    """Why the part cannot be built with these options; None where it can.

    piece: the dotted field, such as `optimizer`, which says what a part of its kind takes besides options. Models are
    built by `model_size`; a part that takes what is not there yet (an adapter: the model) is not tried.
    """
    part = catalog.find(folder, name)
    first: dict[str, tuple[Any, ...]] = {"optimizer": (toy_groups(),), "averaging": (nn.Linear(2, 2),), "mix": (2,)}
    if piece not in first and _needs_more(part):
        return None
    random_state = torch.random.get_rng_state()
    try:
        part(*first.get(piece, ()), **options)
    except StoneError as error:
        return error
    except (ValueError, TypeError, AssertionError) as error:
        return StoneError(f"{name} cannot be built: {error}", where=piece)
    finally:
        torch.random.set_rng_state(random_state)
    return None


def _needs_more(part: Callable[..., Any]) -> bool:
    parameters = inspect.signature(part).parameters.values()
    return any(p.default is p.empty and p.kind is not p.KEYWORD_ONLY for p in parameters)


def toy_groups() -> list[dict[str, Any]]:
    """Parameter groups of two small weights, as an optimizer takes them; one of them is what muon asks for."""
    weights = [nn.Parameter(torch.zeros(2, 2)) for _ in range(2)]
    return [{"params": [weight], "name": name} for weight, name in zip(weights, ("hidden", "decayed"), strict=True)]
