"""What losses are asked for: targets that are no distribution, and ends of sequences that are never scored."""

from __future__ import annotations

from torch import Tensor

from torchstone.engines.attach.inputs import Inputs
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.recorder import Recorder, Row

IGNORED = -100
FEWEST_ROWS = 8


class Targets:
    """Fills a few more keys into the rows of losses."""

    def __init__(self, recorder: Recorder, losses: Losses, inputs: Inputs) -> None:
        self.recorder, self._inputs = recorder, inputs
        losses.on_row.append(self._see)
        inputs.on_targets.append(self._see_tokens)

    def _see(self, row: Row, input: Tensor, target: Tensor) -> None:
        if target.is_floating_point() and target.shape == input.shape and target.ndim >= 2 and target.numel():
            row["target_sum_error"] = float((target.float().sum(dim=1) - 1).abs().max())

    def _see_tokens(self, row: Row, target: Tensor) -> None:
        alike = [t for t in self._inputs.tokens if t.ndim == 2 and t.numel() == target.numel()]
        seen = [last for t in alike if (last := last_scored(t, target.reshape(t.shape))) is not None]
        if seen:
            row["last_scored"] = seen[0]


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
