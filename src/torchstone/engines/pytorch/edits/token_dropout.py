"""Tokens that are read as unknown."""

from __future__ import annotations

from collections.abc import Sequence

from torchstone.engines.pytorch.edits import Edit, Text, check_share
from torchstone.engines.pytorch.sources.geometry import Draw
from torchstone.engines.pytorch.words import UNKNOWN


def token_dropout(*, share: float = 0.1) -> Edit:
    """Each token is read as the unknown one with some probability (after Iyyer et al. 2015, section 3.1).

    share: the probability, 0 to below 1. The text models' own word_dropout does the same inside the model, with
    numbers that depend on the step and the rank; here they depend on seed, epoch and text alone. Use one of the two.
    """
    check_share(share)

    def edit(draw: Draw, texts: Sequence[Text]) -> list[Text]:
        numbers = draw(max((sum(map(len, words)) for words in texts), default=0))
        return [_dropped(words, row, share) for words, row in zip(texts, numbers.tolist(), strict=True)]

    return edit


def _dropped(words: Text, numbers: Sequence[float], share: float) -> Text:
    left = iter(numbers)
    return [[UNKNOWN if next(left) < share else token for token in word] for word in words]
