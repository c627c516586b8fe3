"""Words counted per class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

WORD = re.compile(r"\w+")
MOST_WORDS = 20_000


def naive_bayes(train: Sequence[str], target: np.ndarray, other: Sequence[str], num_classes: int) -> np.ndarray:
    """Multinomial naive Bayes over words and pairs of words (Manning et al. 2008, chapter 13), add-one smoothing.

    train, other: texts; target int64 [N]. Returns probabilities [M, K]. The 20,000 most frequent words and pairs count.
    """
    import numpy as np

    counted = Counter(word for text in train for word in set(_words(text)))
    index = {word: place for place, (word, _) in enumerate(counted.most_common(MOST_WORDS))}
    counts = np.ones((num_classes, max(len(index), 1)))
    for text, label in zip(train, target, strict=True):
        np.add.at(counts[label], _places(text, index), 1.0)
    per_word = np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))
    frequency = (np.bincount(target, minlength=num_classes) + 1.0) / (len(target) + num_classes)
    logs = np.stack([per_word[:, _places(text, index)].sum(axis=1) for text in other]) + np.log(frequency)
    logs -= logs.max(axis=1, keepdims=True)
    shares = np.exp(logs)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _words(text: str) -> list[str]:
    words = WORD.findall(text.lower())
    return [*words, *(f"{a} {b}" for a, b in pairwise(words))]


def _places(text: str, index: dict[str, int]) -> list[int]:
    return [index[word] for word in _words(text) if word in index]
