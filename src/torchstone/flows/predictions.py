"""What saved predictions say: metrics with intervals, the confusion matrix, and the examples worth a look.

Legend of axes: N examples, K classes or labels.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchstone.core.catalog import find
from torchstone.core.dataset import Dataset
from torchstone.core.task import TargetKind

if TYPE_CHECKING:
    import numpy as np

    from torchstone.parts.metrics.per_class import ClassScore

# How many examples of a kind the page shows, how large their pictures are, and how much of a text: so that a page
# with both kinds of two splits stays below 1 MB.
NUM_SHOWN = 24
PICTURE_PIXELS = 96
TEXT_LENGTH = 400
NUM_FIELDS = 10


@dataclass(frozen=True)
class Shown:
    """One example as a person sees it.

    true, said: label, labels or number as text. loss: its share of the loss. confidence: score of what was said, None
    where there is no such thing. picture: a data URI (JPEG), or None; text, fields: what the model read.
    """

    where: str
    true: str
    said: str
    is_right: bool
    loss: float
    confidence: float | None
    picture: str | None = None
    text: str = ""
    fields: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Judged:
    """The predictions of one split.

    metrics: name → (value, low, high). confusion: int64 [K, K], None unless each example has one class.
    classes: K names. per_class: K rows, empty for numbers. truth, said: float64 [N] for numbers, else None.
    worst: highest loss first. uncertain: smallest margin first; empty for numbers.
    """

    split: str
    kind: TargetKind
    num: int
    metrics: Mapping[str, tuple[float, float, float]]
    classes: Sequence[str]
    confusion: np.ndarray | None
    per_class: Sequence[ClassScore]
    truth: np.ndarray | None
    said: np.ndarray | None
    worst: Sequence[Shown]
    uncertain: Sequence[Shown]


def judge_predictions(
    split: str, arrays: Mapping[str, np.ndarray], dataset: Dataset | None, classes: Sequence[str]
) -> Judged:
    """Judges `rows` int64 [N], `scores` float32 [N, K] (or [N]), `target` and `loss` [N] of one split.

    classes: their names; where fewer than K are known, the rest are called by their index.
    """
    from torchstone.parts.metrics.confusion import confusion
    from torchstone.parts.metrics.per_class import per_class

    target = arrays["target"]
    kind: TargetKind = "multi" if target.ndim == 2 else "number" if target.dtype.kind == "f" else "single"
    scores = arrays["scores"].reshape(len(target)) if kind == "number" else arrays["scores"]
    names = [] if kind == "number" else [*classes, *(str(k) for k in range(len(classes), scores.shape[1]))]
    table = _Table(kind, arrays["rows"], scores, target, arrays["loss"], names, dataset)
    return Judged(
        split=split,
        kind=kind,
        num=len(target),
        metrics=_metrics(kind, scores, target),
        classes=names,
        confusion=confusion(scores, target) if kind == "single" else None,
        per_class=[] if kind == "number" else per_class(scores, target),
        truth=target if kind == "number" else None,
        said=scores if kind == "number" else None,
        worst=[table.shown(i) for i in worst(arrays["loss"])],
        uncertain=[] if kind == "number" else [table.shown(i) for i in uncertain(scores, kind)],
    )


def worst(loss_N: np.ndarray) -> list[int]:
    """Positions of the highest losses, at most NUM_SHOWN; a loss that is not finite comes first."""
    import numpy as np

    order = np.argsort(-np.nan_to_num(loss_N, nan=np.inf), kind="stable")
    return [int(i) for i in order[:NUM_SHOWN]]


def uncertain(scores_NK: np.ndarray, kind: TargetKind) -> list[int]:
    """Positions of the smallest margins, at most NUM_SHOWN.

    The margin is the distance of the two highest scores, or of several labels the least distance to 0.5.
    """
    import numpy as np

    if kind == "multi":
        margin = np.abs(scores_NK - 0.5).min(1)
    elif scores_NK.shape[1] < 2:
        return []
    else:
        margin = np.diff(np.partition(scores_NK, -2, axis=1)[:, -2:], axis=1)[:, 0]
    return [int(i) for i in np.argsort(margin, kind="stable")[:NUM_SHOWN]]


def thumbnail(path: str, *, pixels: int = PICTURE_PIXELS) -> str | None:
    """A picture as a JPEG data URI of at most `pixels` on its longer side; None where it cannot be read.

    One that is smaller than half of that is enlarged by a whole factor, each of its pixels a square.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as opened:
            picture = ImageOps.exif_transpose(opened).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    factor = pixels // max(picture.size)
    if factor > 1:
        picture = picture.resize((picture.width * factor, picture.height * factor), Image.Resampling.NEAREST)
    picture.thumbnail((pixels, pixels))
    held = io.BytesIO()
    picture.save(held, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(held.getvalue()).decode("ascii")


def _metrics(kind: TargetKind, scores: np.ndarray, target: np.ndarray) -> dict[str, tuple[float, float, float]]:
    from torchstone.parts.intervals import interval
    from torchstone.parts.metrics import metrics_for

    return {
        name: (find("torchstone.parts.metrics", name)(scores, target), *interval(name, scores, target))
        for name in metrics_for(kind)
    }


@dataclass(frozen=True)
class _Table:
    kind: TargetKind
    rows: np.ndarray
    scores: np.ndarray
    target: np.ndarray
    loss: np.ndarray
    names: Sequence[str]
    dataset: Dataset | None

    def shown(self, i: int) -> Shown:
        true, said, is_right, confidence = self._answer(i)
        row = int(self.rows[i])
        where, picture, text = f"row {row}", None, ""
        fields: list[tuple[str, str]] = []
        if self.dataset is not None:
            where = str(self.dataset.where[row])
            for name, kind in self.dataset.kinds.items():
                value = self.dataset.inputs[name][row]
                if kind == "image":
                    picture = picture or thumbnail(str(value))
                elif kind == "text":
                    text = text or _cut(str(value))
                elif len(fields) < NUM_FIELDS:
                    fields.append((name, f"{value:.6g}" if kind == "number" else _cut(str(value))))
        return Shown(where, true, said, is_right, float(self.loss[i]), confidence, picture, text, fields)

    def _answer(self, i: int) -> tuple[str, str, bool, float | None]:
        score, target = self.scores[i], self.target[i]
        if self.kind == "number":
            return f"{target:.6g}", f"{score:.6g}", False, None
        if self.kind == "single":
            best = int(score.argmax())
            return self.names[int(target)], self.names[best], best == int(target), float(score[best])
        true, said = self._labels(target > 0), self._labels(score >= 0.5)
        return true, said, true == said, None

    def _labels(self, is_on: np.ndarray) -> str:
        return ", ".join(name for name, on in zip(self.names, is_on, strict=True) if on) or "none"


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1] + "…"
