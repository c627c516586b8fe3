"""Words that are left out."""

from __future__ import annotations

from collections.abc import Sequence

from torchstone.engines.pytorch.edits import Edit, Text, check_share, longest
from torchstone.engines.pytorch.sources.geometry import Draw


def random_deletion(*, share: float = 0.1) -> Edit:
    """Each word is left out with some probability (Wei & Zou 2019, "random deletion").

    share: the probability, 0 to below 1; the paper advises 0.05 for few texts, 0.1 for thousands. A text whose words
    all fall keeps a random one of them.
    """
    check_share(share)

    def edit(draw: Draw, texts: Sequence[Text]) -> list[Text]:
        numbers = draw(1 + longest(texts))
        return [thinned(words, row, share) for words, row in zip(texts, numbers.tolist(), strict=True)]

    return edit


def thinned(words: Text, numbers: Sequence[float], share: float) -> Text:
    """The words whose number is at least `share`; the first number of [0, 1) chooses the one that stays if none is."""
    kept = [word for word, number in zip(words, numbers[1:], strict=False) if number >= share]
    return kept or words[int(numbers[0] * len(words)) :][:1]
