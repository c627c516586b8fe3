"""Each of two views finds the other among all views of the batch.

Legend of axes: B examples of this rank, N of all ranks, D embedding; the first views stand before the second ones.
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
def nt_xent(*, temperature: float = 0.5, is_learnt: bool = False, gather: bool = True) -> Loss:
    """Cross-entropy of each view's partner among the 2 N - 1 other views, by cosine / temperature, summed.

    Takes embeddings [B, 2, D], two views of each example; targets [B] are not looked at. The weight is 2 B. Raises
    StoneError for other shapes. No sum over examples: the others of the batch are the wrong answers, so that a batch
    must not be cut (train.accumulate 1). Source: Chen et al. 2020 (SimCLR), equation 1.

    temperature: above 0; the paper's best are 0.1 to 0.5: starting point, tune on your data. is_learnt: it is
        trained, as 1 / temperature at most 100; the loss then has a weight (`losses.with_weights_of`).
    gather: other views come from all ranks of a distributed run, and gradients go back to all of them; every rank
        must then have examples in every step. Outside training each rank has its own only.
    """

    def loss(embeddings: Tensor, target: Tensor, scale: Tensor | float) -> tuple[Tensor, Tensor | float]:
        views = [unit(side) for side in two_sides(full(embeddings), target)]
        everyone, start, num = torch.cat(views), 0, len(views[0])
        if gather and is_shared():
            parts = [gathered(view) for view in views]
            everyone, start, num = torch.cat([part for part, _ in parts]), parts[0][1], len(parts[0][0])
        own = torch.arange(start, start + len(embeddings), device=embeddings.device)
        own = torch.cat([own, own + num])
        logits = products(torch.cat(views), everyone) * scale
        logits = logits.scatter(1, own[:, None], float("-inf"))  # not itself
        return functional.cross_entropy(logits, (own + num) % (2 * num), reduction="sum"), float(len(own))

    return whole_batch(with_temperature(loss, temperature, is_learnt=is_learnt))  # type: ignore[no-any-return]
