"""What losses are asked for: no distribution, ends that are never scored, padding that is, classes left out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.inputs import Inputs
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.recorder import Recorder, Row

IGNORED = -100
FEWEST_ROWS = 8
# Rows of a matrix of similarities above which it is not looked at.
MOST_SIDE = 2048


class Targets:
    """Fills a few more keys into the rows of losses."""

    def __init__(self, recorder: Recorder, losses: Losses, inputs: Inputs) -> None:
        self.recorder, self._inputs = recorder, inputs
        losses.on_row.append(self._see)
        inputs.on_targets.append(self._see_tokens)

    def _see(self, row: Row, input: Tensor, target: Tensor) -> None:
        if target.is_floating_point() and target.shape == input.shape and target.ndim >= 2 and target.numel():
            row["target_sum_error"] = float((target.float().sum(dim=1) - 1).abs().max())
        row["keeps_self"] = keeps_self(input, target)
        ignored, alike = row.get("ignored"), [t for t in self._inputs.tokens if t.numel() == target.numel()]
        is_class = ignored is not None and target.ndim == 1 and input.ndim == 2 and 0 <= ignored < input.shape[1]
        if is_class and not target.is_floating_point() and not alike and len(target) in self._inputs.lengths:
            row["num_ignored"], row["num_targets"] = int(target.eq(int(ignored or 0)).sum()), len(target)

        series = self._inputs.series
        is_series = series is not None and not target.is_floating_point() and target.numel() == series[..., 0].numel()
        if series is not None and is_series and not row.get("weighted"):
            row["tail"] = tail_of_zeros(target.reshape(series.shape[:2]), series, ignored)

    def _see_tokens(self, row: Row, target: Tensor) -> None:
        alike = [t for t in self._inputs.tokens if t.ndim == 2 and t.numel() == target.numel()]
        seen = [last for t in alike if (last := last_scored(t, target.reshape(t.shape))) is not None]
        if seen:
            row["last_scored"] = seen[0]
        if alike and target.numel() > FEWEST_ROWS:
            row["tail"] = tail_of(target.reshape(alike[0].shape), row.get("ignored"))


def tail_of(target: Tensor, ignored: int | None) -> dict[str, Any] | None:
    """The token that fills up sequences [B, T] of different lengths and is scored; None where there is no such token.

    It stands at the ends of rows only, in runs of many different lengths. share: of all places that it takes up.
    """
    token = int(target[:, -1].mode().values)
    if token == (IGNORED if ignored is None else ignored) or target.shape[1] < 4:
        return None
    is_token: Tensor = target.eq(token)
    length = is_token.flip(1).long().cumprod(dim=1).sum(dim=1)  # of the run at the end of each row
    rows = int((length >= 2).sum())
    if int(is_token.sum()) != int(length.sum()) or rows < max(4, len(target) // 4):
        return None
    if int(length.unique().numel()) < 3:  # type: ignore[no-untyped-call]
        return None
    return {"token": token, "rows": rows, "of": len(target), "share": float(length.sum()) / target.numel()}


def tail_of_zeros(target: Tensor, series: Tensor, ignored: int | None) -> dict[str, Any] | None:
    """The class asked for at the ends [B, T] of series [B, T, F] that are filled up with zeros; None without such ends.

    Zeros stand at ends only, in runs of many different lengths, and one class stands at all of them.
    """
    is_zero = series.detach().eq(0).all(dim=-1)
    length = is_zero.flip(1).long().cumprod(dim=1).sum(dim=1)
    rows, classes = int((length >= 1).sum()), target[is_zero].unique()  # type: ignore[no-untyped-call]
    is_filled = int(is_zero.sum()) == int(length.sum()) and rows >= max(4, len(target) // 4)
    if not is_filled or len(classes) != 1 or int(length.unique().numel()) < 3:  # type: ignore[no-untyped-call]
        return None
    if int(classes) == (IGNORED if ignored is None else ignored):
        return None
    return {"token": int(classes), "rows": rows, "of": len(target), "share": float(length.sum()) / target.numel()}


def last_scored(tokens: Tensor, target: Tensor) -> dict[str, int] | None:
    """Of sequences [B, T] scored up to where they end: how many there are, and how many different last targets.

    Only for targets that are the tokens themselves or those after them, with nothing but ignored ones behind.
    """
    is_scored = target != IGNORED
    if not bool((is_scored[:, 1:] & ~is_scored[:, :-1]).any(dim=1).logical_not().all()) or not bool(is_scored.any()):
        return None
    same = (target == tokens)[is_scored].all()
    after = (target[:, :-1] == tokens[:, 1:])[is_scored[:, :-1] & is_scored[:, 1:]].all()
    ends = is_scored.sum(dim=1)
    # targets that were shifted and filled up, as transformers does it, leave the last place of every row unscored
    width = target.shape[1] - int(not bool(is_scored[:, -1].any()))
    short = (ends > 0) & (ends < width)
    if not (bool(same) or bool(after)) or int(short.sum()) < FEWEST_ROWS:
        return None
    last = target[short].gather(1, (ends[short] - 1).unsqueeze(1)).reshape(-1)
    return {"rows": int(short.sum()), "of": len(target), "different": len(set(last.tolist()))}


def keeps_self(input: Tensor, target: Tensor) -> bool:
    """Whether the logits [N, N] are similarities of N things to one another, each to itself too, and none is asked so.

    They are symmetric, the diagonal is the largest of its row and one number throughout, and no target is on it.
    """
    if input.ndim != 2 or input.shape[0] != input.shape[1] or not FEWEST_ROWS <= len(input) <= MOST_SIDE:
        return False
    num = len(input)
    if target.ndim != 1 or target.is_floating_point() or len(target) != num:
        return False
    values, places = input.float(), torch.arange(num, device=input.device)
    diagonal, size = values.diagonal(), values.abs().max()
    if not bool(size.isfinite()) or bool((target == places).any()):
        return False
    is_one = bool((diagonal - diagonal[0]).abs().max() <= 1e-3 * size)
    is_largest = bool((values.max(dim=1).values - diagonal).max() <= 1e-3 * size)
    return is_one and is_largest and bool((values - values.t()).abs().max() <= 1e-3 * size)
