"""The curves of one training run, whoever logged them: what the rules of `rules/curves` judge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Curve:
    """One logged quantity. steps: in the log's own unit (steps, epochs or rows), never falling; values: NaN and
    infinity as they were logged. one_in: which share of the logged points is kept, 1 for all of them.
    """

    name: str
    steps: tuple[float, ...]
    values: tuple[float, ...]
    one_in: int = 1

    def __len__(self) -> int:
        return len(self.values)

    def finite(self) -> Curve:
        """The curve without its points that are no finite numbers."""
        if all(map(math.isfinite, self.values)):
            return self
        kept = [(step, value) for step, value in zip(self.steps, self.values, strict=True) if math.isfinite(value)]
        return replace(self, steps=tuple(step for step, _ in kept), values=tuple(value for _, value in kept))


@dataclass(frozen=True)
class History:
    """What is known of one run; a curve that was not logged is None.

    train, validation: losses. train_score, score: the same metric on training examples and on held-out ones; lower is
    better where `is_lower_better`. rate: learning rate. update_ratio: size of an update beside its weights.
    is_game: adversaries or a policy, whose losses chase a moving target and mean little by themselves.
    """

    run: str
    train: Curve | None = None
    validation: Curve | None = None
    train_score: Curve | None = None
    score: Curve | None = None
    is_lower_better: bool = False
    rate: Curve | None = None
    update_ratio: Curve | None = None
    is_game: bool = False

    def curves(self) -> Mapping[str, Curve]:
        """The curves that there are, by what they are."""
        named = {
            "training loss": self.train, "validation loss": self.validation, "training score": self.train_score,
            "validation score": self.score, "learning rate": self.rate, "update ratio": self.update_ratio,
        }  # fmt: skip
        return {name: curve for name, curve in named.items() if curve is not None}
