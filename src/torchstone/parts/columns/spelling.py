"""Labels that are probably one and the same."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable


def spellings(labels: Iterable[str]) -> list[tuple[tuple[str, int], ...]]:
    """Groups of labels that differ only by case, blanks or Unicode form (NFKC).

    Each group is ((spelling, count), …), the commonest first.
    """
    groups: dict[str, list[tuple[str, int]]] = {}
    for label, count in Counter(labels).items():
        folded = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
        groups.setdefault(folded, []).append((label, count))
    return [tuple(sorted(group, key=lambda pair: (-pair[1], pair[0]))) for group in groups.values() if len(group) > 1]
