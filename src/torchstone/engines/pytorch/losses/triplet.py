"""Same class nearer than another class, with the triplets found in the batch.

Legend of axes: B examples, D embedding, P pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full, made_for, whole_batch
from torchstone.engines.pytorch.losses._pairs import products, unit

Mining = Literal["batch_hard", "batch_semi_hard", "batch_all"]
_INF = float("inf")


@made_for("embeddings")
def triplet(*, mining: Mining = "batch_hard", margin: float = 0.3, normalize: bool = True) -> Loss:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) over triplets of the batch, summed.

    Takes embeddings [B, D] and int64 classes [B]; distances are Euclidean. Raises StoneError for other shapes. The
    weight counts the valid triplets, also those that are far enough apart already; a batch without any (one class,
    or no class twice) has sum and weight 0, so that its step is left out. No sum over examples: a batch must not be
    cut (train.accumulate 1), and each rank looks among its own examples only. Give each batch several examples of
    every class that it holds.

    mining: `batch_hard`: per anchor the farthest of its class and the nearest of the others (Hermans et al. 2017).
        `batch_semi_hard`: per pair of a class the nearest negative that is farther than the positive, else the
        farthest negative (Schroff et al. 2015, as TensorFlow Addons did it). `batch_all`: every triplet.
    margin: above 0, in units of the distance; starting point, tune on your data.
    normalize: embeddings are brought to length 1 first; distances are then 0 to 2.
    """
    miner = {"batch_hard": _hard, "batch_semi_hard": _semi_hard, "batch_all": _all}.get(mining)
    if miner is None:
        raise StoneError(f"mining is '{mining}'; there are batch_hard, batch_semi_hard, batch_all", where="loss.mining")
    if not margin > 0:
        raise StoneError(f"margin is {margin:g}; it must be above 0", where="loss.margin", fix="start at 0.3")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        if logits.ndim != 2 or target.shape != logits.shape[:1]:
            raise StoneError(
                f"the model gives {tuple(logits.shape)}, the target has shape {tuple(target.shape)}; "
                "triplet needs embeddings [B, D] and classes [B]", where="loss",
            )  # fmt: skip
        embeddings = full(logits)
        distance_BB = _distances(unit(embeddings) if normalize else embeddings)
        other_BB = target[:, None] != target[None, :]
        same_BB = ~other_BB
        same_BB.fill_diagonal_(False)
        return miner(distance_BB, same_BB, other_BB, margin)

    return whole_batch(loss)  # type: ignore[no-any-return]


def _distances(embeddings: Tensor) -> Tensor:
    """Euclidean distances [B, B] by one product of matrices, around the mean, which takes rounding away.

    torch.cdist does the same above 25 rows, but its backward pass takes B² D steps instead of a product.
    """
    centred = embeddings - embeddings.detach().mean(0)
    lengths = centred.square().sum(1)
    squares = lengths[:, None] + lengths - 2 * products(centred, centred)
    # no slope at 0: between equal embeddings no direction is better than another
    least = torch.finfo(squares.dtype).eps * lengths.detach().mean()
    is_touching = squares <= least
    return squares.masked_fill(is_touching, 1.0).sqrt().masked_fill(is_touching, 0.0)


def _hard(distance: Tensor, same: Tensor, other: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    is_valid = same.any(1) & other.any(1)
    farthest = distance.masked_fill(~same, -_INF).amax(1)
    nearest = distance.masked_fill(~other, _INF).amin(1)
    return (farthest - nearest + margin)[is_valid].clamp_min(0).sum(), is_valid.sum()


@dataclass(frozen=True)
class _Pairs:
    """The P pairs of a class: anchors and positives [P], and their slots in a table [B, most of an anchor].

    Searching for P numbers instead of B² is what makes mining cheap: the sort of the rows remains.
    """

    anchors: Tensor
    positives: Tensor
    slots: Tensor
    width: int

    @staticmethod
    def of(same: Tensor) -> _Pairs:
        anchors, positives = same.nonzero(as_tuple=True)
        slots = same.cumsum(1)[anchors, positives] - 1
        return _Pairs(anchors, positives, slots, int(slots.max()) + 1 if len(slots) else 1)

    def take(self, table: Tensor) -> Tensor:
        """[P] entries of a table [B, B]."""
        return table.flatten().index_select(0, self.anchors * table.shape[1] + self.positives)

    def places(self, rows: Tensor, values: Tensor, *, right: bool) -> Tensor:
        """How many numbers of the anchor's sorted row are below (right: or equal to) each of the values [P]."""
        table = rows.new_full((len(rows), self.width), _INF)
        table[self.anchors, self.slots] = values
        return torch.searchsorted(rows, table, right=right)[self.anchors, self.slots]


def _semi_hard(distance: Tensor, same: Tensor, other: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        negatives, order = distance.masked_fill(~other, _INF).sort(1)
        pairs, num = _Pairs.of(same), other.sum(1)
        last = num[pairs.anchors] - 1
        place = pairs.places(negatives, pairs.take(distance), right=True).minimum(last).clamp_min(0)
        chosen = replace(pairs, positives=order[pairs.anchors, place])
        is_valid = last >= 0
    losses = (pairs.take(distance) - chosen.take(distance) + margin).clamp_min(0)
    return (losses * is_valid).sum(), is_valid.sum()


def _all(distance: Tensor, same: Tensor, other: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Every triplet without a table of B³: sorted rows tell how many triplets each distance is active in.

    The sum is linear in the distances as long as no triplet becomes active or ceases to be, so that these counts are
    its slope. A positive is active with the first `nearer` negatives of its anchor's row, hence a negative with as
    many positives as have a larger such number.
    """
    with torch.no_grad():
        negatives, order = distance.masked_fill(~other, _INF).sort(1)
        pairs = _Pairs.of(same)
        nearer = pairs.places(negatives, pairs.take(distance) + margin, right=False)
        ends = distance.new_zeros(len(distance), len(distance) + 1)
        ends.index_put_((pairs.anchors, nearer), ends.new_ones(()), accumulate=True)
        counts = ends[:, 1:].flip(1).cumsum(1).flip(1)
        farther = torch.empty_like(distance).scatter_(1, order, counts)
        num = (same.sum(1) * other.sum(1)).sum()
    return (nearer * (pairs.take(distance) + margin)).sum() - (farther * distance).sum(), num
