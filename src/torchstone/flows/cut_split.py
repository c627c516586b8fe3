"""The split: the user's own where there is one, else one that keeps classes and equal examples together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchstone.core.dataset import SPLITS
from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice, Origin
from torchstone.core.recipe import Shares
from torchstone.core.task import TargetKind
from torchstone.parts.splitters.stratified import regression_bins, stratified

if TYPE_CHECKING:
    import numpy as np


def cut_split(
    target: np.ndarray,
    kind: TargetKind,
    groups: np.ndarray,
    own: Sequence[str | None],
    shares: Shares | None,
    seed: int,
) -> tuple[np.ndarray, list[Choice]]:
    """The split of each example [N], and the choice to show.

    own: the user's split, None where there is none. A user's split without validation gets one cut from its train;
    one without test keeps none. one that is train alone counts as none. Raises StoneError where the user's split has
    no train, or meets shares that could have no effect.
    """
    import numpy as np

    labels = _labels(target, kind)
    used = shares or Shares()
    origin: Origin = "default" if shares is None else "user"
    present = [part for part in SPLITS if part in set(own)]
    if present in ([], ["train"]):
        split = stratified(labels, groups, shares=(used.train, used.validation, used.test), seed=seed)
        asked = f"{used.train:.0%}/{used.validation:.0%}/{used.test:.0%}"
        reason = f"{asked} with the same mix of labels; equal examples stay together"
        return split, [Choice("data.split", _counts(split), origin, reason, changes_if="data.split_column")]
    split = np.array([part or "train" for part in own], dtype="<U10")
    if "train" not in present:
        raise StoneError(f"the data's own split has only {', '.join(present)}", where="data.split_column",
                         fix="add the missing part, or take the split away so that one is cut")
    if "validation" in present:
        if shares is not None:
            raise StoneError("data.split has no effect: the data brings a split of its own", where="data.split",
                             fix="take data.split out of the recipe")
        reason = "the data's own" + ("" if "test" in present else "; it has no test part")
        return split, [Choice("data.split", _counts(split), "derived", reason, "the layout of the data")]
    share = used.validation / (used.train + used.validation)
    train = np.flatnonzero(split == "train")
    split[train] = stratified(labels[train], groups[train], shares=(1 - share, share, 0.0), seed=seed)
    reason = f"the data's own train and test; {share:.0%} of train became validation, because the data has none"
    return split, [Choice("data.split", _counts(split), "derived", reason, "the layout of the data")]


def _labels(target: np.ndarray, kind: TargetKind) -> np.ndarray:
    """What to stratify by: the class, the combination of labels, or a bin of the number; int64 [N]."""
    import numpy as np

    if kind == "number":
        return regression_bins(target)
    if kind == "multi":
        return np.asarray(np.unique(target, axis=0, return_inverse=True)[1]).reshape(-1)
    return target


def _counts(split: np.ndarray) -> dict[str, int]:
    return {part: int((split == part).sum()) for part in SPLITS}
