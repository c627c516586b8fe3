"""Two views of an example find each other among the views of all others.

Legend of axes: B examples of this rank, N of all ranks, D embedding.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.engines.pytorch.losses import Loss, full, made_for, whole_batch
from torchstone.engines.pytorch.losses._gathered import gathered, is_shared
from torchstone.engines.pytorch.losses._pairs import products, two_sides, unit
from torchstone.engines.pytorch.losses._temperature import with_temperature


@made_for("two views of each example")
def info_nce(
    *, temperature: float = 0.07, is_learnt: bool = False, symmetric: bool = False, gather: bool = True
) -> Loss:
    """Cross-entropy of each first view's own partner among all second views, by cosine / temperature, summed.

    Takes embeddings [B, 2, D], two views of each example; targets [B] are not looked at. The weight counts the
    cross-entropies: B, or 2 B if symmetric. Raises StoneError for other shapes. No sum over examples: the others of
    the batch are the wrong answers, so that a batch must not be cut (train.accumulate 1). Source: van den Oord et
    al. 2018, symmetric: Radford et al. 2021 (CLIP).

    temperature: above 0; 0.07 is where CLIP starts. is_learnt: it is trained, as 1 / temperature at most 100
        (CLIP, section 2.5); the loss then has a weight, which `losses.with_weights_of` gives to the model.
    symmetric: second views look for first views too.
    gather: wrong answers come from all ranks of a distributed run, and gradients go back to all of them; every rank
        must then have examples in every step. Outside training each rank has its own only.
    """

    def loss(embeddings: Tensor, target: Tensor, scale: Tensor | float) -> tuple[Tensor, Tensor | float]:
        first, second = (unit(side) for side in two_sides(full(embeddings), target))
        total = _one_way(first, second, scale, gather=gather)
        if not symmetric:
            return total, float(len(first))
        return total + _one_way(second, first, scale, gather=gather), 2.0 * len(first)

    return whole_batch(with_temperature(loss, temperature, is_learnt=is_learnt))  # type: ignore[no-any-return]


def _one_way(queries: Tensor, keys: Tensor, scale: Tensor | float, *, gather: bool) -> Tensor:
    start = 0
    if gather and is_shared():
        keys, start = gathered(keys)
    logits_BN = products(queries, keys) * scale
    partner = torch.arange(start, start + len(queries), device=queries.device)
    return functional.cross_entropy(logits_BN, partner, reduction="sum")
