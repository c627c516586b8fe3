"""Edits of training texts: what they do to words, how often, and to which texts."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hand_made import a_dataset, a_plan
from tokenizers import Tokenizer

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.edits import Edit
from torchstone.engines.pytorch.edits.eda import eda
from torchstone.engines.pytorch.edits.random_deletion import random_deletion
from torchstone.engines.pytorch.edits.random_swap import random_swap, swapped
from torchstone.engines.pytorch.edits.token_dropout import token_dropout
from torchstone.engines.pytorch.sources.draws import uniform
from torchstone.engines.pytorch.sources.text import TextSource, fit, open_source

NUM = 3000
LONG = [[[10 * word, 10 * word + 1] for word in range(1, 21)]] * NUM  # twenty words of two tokens
EDITS = {"random_swap": random_swap, "random_deletion": random_deletion, "eda": eda, "token_dropout": token_dropout}


def edited(edit: Edit, texts: list[Any], seed: int = 0) -> list[Any]:
    return edit(lambda count: uniform(seed, 0, np.arange(len(texts)), count), texts)


def test_a_swap_exchanges_two_words_and_keeps_their_tokens_together() -> None:
    for text in edited(random_swap(share=0.05), LONG)[:200]:  # one swap in twenty words
        moved = [place for place, word in enumerate(text) if word != LONG[0][place]]
        assert len(moved) == 2
        assert sorted(text) == LONG[0]


def test_as_many_swaps_are_made_as_the_paper_says() -> None:
    """n = max(1, alpha l): three swaps written out by hand for alpha 0.5 and six words."""
    words = [[k] for k in range(6)]
    numbers = [0.0, 0.0, 0.5, 0.99, 0.99, 0.0]  # 0 <-> 1, 3 <-> 3+1+4 mod 6 = 2, 5 <-> 0
    assert swapped(words, numbers, 0.5) == [[5], [0], [3], [2], [4], [1]]
    assert swapped([[7]], numbers, 0.5) == [[7]]


def test_any_two_words_are_as_likely_to_change_places() -> None:
    counts = np.zeros(20)
    for text in edited(random_swap(share=0.05), LONG):
        counts[[place for place, word in enumerate(text) if word != LONG[0][place]]] += 1
    expected = 2 * NUM / 20
    assert ((counts - expected) ** 2 / expected).sum() < 43.8  # 99.9 % point of chi-square with 19 degrees of freedom


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_each_word_falls_with_the_given_probability(share: float) -> None:
    texts = edited(random_deletion(share=share), LONG)
    left = np.array([len(text) for text in texts])
    assert abs(left.mean() / 20 - (1 - share)) <= 3.5 * (share * (1 - share) / (20 * NUM)) ** 0.5
    for text in texts[:100]:
        assert text == [word for word in LONG[0] if word in text]  # the order stays


def test_a_text_whose_words_all_fall_keeps_a_random_one() -> None:
    texts = edited(random_deletion(share=0.99), [[[1], [2], [3]]] * NUM)
    assert {len(text) for text in texts} <= {1, 2}
    alone = [text[0][0] for text in texts if len(text) == 1]
    assert min(np.bincount(alone)[1:]) > 0.28 * len(alone)
    assert edited(random_deletion(share=0.99), [[[4]]]) == [[[4]]]


def test_dropped_tokens_are_read_as_unknown_and_nothing_moves() -> None:
    flat = np.array(edited(token_dropout(share=0.3), LONG)).reshape(NUM, -1)
    before = np.array(LONG).reshape(NUM, -1)
    is_dropped = flat == 1
    assert (flat[~is_dropped] == before[~is_dropped]).all()
    assert abs(is_dropped.mean() - 0.3) < 3.5 * (0.21 / flat.size) ** 0.5


def test_eda_leaves_swaps_or_thins_in_the_given_shares() -> None:
    texts = edited(eda(share=0.3, untouched=0.2), LONG)
    is_same = np.array([text == LONG[0] for text in texts])
    is_thinner = np.array([len(text) < 20 for text in texts])
    is_swapped = ~is_same & ~is_thinner
    assert abs(is_same.mean() - 0.2) < 0.03
    assert abs(is_thinner.mean() - 0.4) < 0.03  # 0.7^20 of the thinned ones lose nothing
    assert abs(is_swapped.mean() - 0.4) < 0.03


@pytest.mark.parametrize("name", EDITS)
def test_empty_texts_stay_empty_and_the_given_ones_as_they_were(name: str) -> None:
    given = [[], [[5]], [[6], [7, 8], [9]]]
    copied = pickle.loads(pickle.dumps(given))
    out = edited(EDITS[name](share=0.5), given)
    assert out[0] == []
    assert given == copied
    assert edited(EDITS[name](), []) == []
    with pytest.raises(StoneError, match="from 0 to below 1"):
        EDITS[name](share=1.0)


TEXTS = ["I lost my unbelievably expensive card!", "where is my money", "", "one", "a b c d e f g h i j"] * 3
SPLIT = ["train"] * len(TEXTS)


def source_with(name: str | None = None, **fields: Any) -> tuple[Tokenizer, TextSource]:
    fields |= {"text__augment__name": name} if name else {}
    plan = a_plan(train__seed=3, text__vocabulary=60, **fields)
    data = a_dataset({"text": TEXTS}, {"text": "text"}, [0] * len(TEXTS), SPLIT)
    encoding = fit(data, plan)
    return Tokenizer.from_str(encoding["tokenizer"]), open_source(data, encoding, plan)


def tokens(source: TextSource, rows: list[int], epoch: int | None) -> list[list[int]]:
    """The rows' tokens without padding."""
    found = source.batch(np.array(rows), epoch).inputs[0].tolist()
    return [[token for token in row if token] for row in found]


@pytest.mark.parametrize("name", EDITS)
def test_a_text_is_the_same_alone_and_in_any_batch_and_new_in_each_epoch(name: str) -> None:
    _, source = source_with(name)
    rows = list(range(len(TEXTS)))
    together = tokens(source, rows, 4)
    assert [tokens(source, [row], 4)[0] for row in rows] == together
    assert tokens(source, rows[::-1], 4) == together[::-1]
    assert tokens(source, rows, 5) != together
    _, again = source_with(name)
    assert tokens(again, rows, 4) == together


def test_texts_are_never_edited_in_evaluation() -> None:
    _, plain = source_with()
    _, source = source_with("eda", text__augment__options__untouched=0.0)
    rows = list(range(len(TEXTS)))
    assert tokens(source, rows, None) == tokens(plain, rows, None) == tokens(plain, rows, 0)
    assert tokens(source, rows, 0) != tokens(plain, rows, 0)


def test_words_of_several_tokens_move_as_one() -> None:
    tokenizer, source = source_with("random_swap")
    for epoch in range(5):
        pieces = "".join(tokenizer.id_to_token(token) for token in tokens(source, [0], epoch)[0])
        assert sorted(pieces.split("▁")) == sorted(["", "i", "lost", "my", "unbelievably", "expensive", "card", "!"])
        assert pieces != "▁i▁lost▁my▁unbelievably▁expensive▁card▁!"


def test_a_tokenizer_that_marks_words_otherwise_is_refused() -> None:
    from tokenizers.models import WordLevel

    plan = a_plan(train__seed=3, text__augment__name="eda")
    data = a_dataset({"text": TEXTS}, {"text": "text"}, [0] * len(TEXTS), SPLIT)
    foreign = Tokenizer(WordLevel({"[PAD]": 0, "[UNK]": 1, "card": 2}, unk_token="[UNK]")).to_str()
    encoding = fit(data, plan, tokenizer=foreign)
    with pytest.raises(StoneError, match="does not mark the starts"):
        open_source(data, encoding, plan)
