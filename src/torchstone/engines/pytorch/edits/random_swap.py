"""Words that change places."""

from __future__ import annotations

from collections.abc import Sequence

from torchstone.engines.pytorch.edits import Edit, Text, check_share, longest
from torchstone.engines.pytorch.sources.geometry import Draw


def random_swap(*, share: float = 0.1) -> Edit:
    """Two random words change places, for a share of the words so many times (Wei & Zou 2019, "random swap").

    share: max(1, share x words) swaps a text, 0 to below 1; the paper advises 0.05 for few texts, 0.1 for thousands.
    A text of one word stays as it is. Not for tasks in which the order of words decides.
    """
    check_share(share)

    def edit(draw: Draw, texts: Sequence[Text]) -> list[Text]:
        numbers = draw(2 * max(1, int(share * longest(texts))))
        return [swapped(words, row, share) for words, row in zip(texts, numbers.tolist(), strict=True)]

    return edit


def swapped(words: Text, numbers: Sequence[float], share: float) -> Text:
    """`words` after max(1, share x words) swaps; two numbers of [0, 1) each choose one swap."""
    words, num = list(words), len(words)
    for place in range(max(1, int(share * num)) if num > 1 else 0):
        one = int(numbers[2 * place] * num)
        other = (one + 1 + int(numbers[2 * place + 1] * (num - 1))) % num
        words[one], words[other] = words[other], words[one]
    return words
