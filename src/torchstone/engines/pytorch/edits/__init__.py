"""What happens to the words of a training text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.geometry import Draw

# A text: its words, each a list of token numbers. No word is empty.
Text = list[list[int]]
# (draw, B texts) -> B texts; what becomes of a text depends on its own numbers alone. The given texts are not changed,
# and a text with words keeps at least one.
Edit = Callable[[Draw, Sequence[Text]], list[Text]]


def check_share(share: float, name: str = "share") -> None:
    """Raises StoneError unless 0 <= share < 1."""
    if not 0 <= share < 1:
        raise StoneError(f"{name} is {share}; it must be from 0 to below 1", where=f"text.augment.{name}")


def longest(texts: Sequence[Text]) -> int:
    """Words of the longest text."""
    return max((len(words) for words in texts), default=0)
