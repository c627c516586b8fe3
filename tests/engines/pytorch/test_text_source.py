"""Texts become tokens, learnt on the training texts alone."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from hand_made import a_dataset, a_plan
from tokenizers import Tokenizer

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.text import fit, open_source, shape

TEXTS = ["I lost my card", "my card is lost!", "where is my money", "", None, "my quixotic zebra"]
SPLIT = ["train"] * 4 + ["validation", "test"]


def opened(texts=TEXTS, split=SPLIT, **fields):
    data = a_dataset({"text": texts}, {"text": "text"}, [0] * len(texts), split)
    encoding = json.loads(json.dumps(fit(data, a_plan(**fields))))
    return encoding, open_source(data, encoding, a_plan(**fields))


def tokens_of(source, *rows):
    return source.batch(np.array(rows), None).inputs[0].numpy()


def test_a_batch_holds_what_the_tokenizer_says_padded_with_zeros():
    encoding, source = opened()
    tokenizer = Tokenizer.from_str(encoding["tokenizer"])
    for row, tokens in zip((0, 1, 2), tokens_of(source, 0, 1, 2), strict=True):
        expected = tokenizer.encode(TEXTS[row]).ids
        assert tokens[: len(expected)].tolist() == expected
        assert not tokens[len(expected) :].any()
    assert tokens_of(source, 0).dtype == np.int64


def test_padding_goes_to_the_longest_of_the_batch_and_a_multiple_of_four():
    _, source = opened(text__max_length=64)
    lengths = [np.count_nonzero(tokens_of(source, row)) for row in range(6)]
    assert tokens_of(source, 0, 1).shape[1] == -(-max(lengths[:2]) // 4) * 4
    assert tokens_of(source, *range(6)).shape[1] == -(-max(lengths) // 4) * 4


def test_an_empty_and_a_missing_text_are_all_padding():
    _, source = opened()
    assert not tokens_of(source, 3, 4).any()
    assert tokens_of(source, 3, 4).shape == (2, 4)


def test_words_of_other_splits_are_not_learnt():
    one, _ = opened()
    other, _ = opened([*TEXTS[:5], "entirely different words"])
    assert one == other


def test_unseen_characters_are_unknown_and_not_an_error():
    _, source = opened([*TEXTS[:5], "日本 🦓"])
    assert tokens_of(source, 5)[0].tolist().count(1) == 3


def test_width_and_case_of_letters_are_one_word():
    _, source = opened(["my card my card", "ＭＹ ＣＡＲＤ", "My Card", "my card"], ["train"] + ["test"] * 3)
    assert tokens_of(source, 1).tolist() == tokens_of(source, 2).tolist() == tokens_of(source, 3).tolist()


def test_case_is_kept_when_the_plan_says_so():
    _, source = opened(["CARD card CARD card"], ["train"], text__lowercase=False)
    tokens = tokens_of(source, 0)[0]
    assert tokens[0] != tokens[1]


def test_long_texts_lose_their_end_and_the_encoding_says_how_many():
    encoding, source = opened(text__max_length=4)
    assert encoding["train_texts_cut"] == 1
    assert tokens_of(source, 1).shape == (1, 4)
    assert encoding["max_length"] == shape(encoding, 2).max_length == 4


def test_without_a_planned_length_99_of_100_texts_stay_whole():
    texts = ["a b c d e f"] * 199 + ["a " * 400]
    encoding, _ = opened(texts, ["train"] * 200)
    assert encoding["max_length"] == 6
    assert encoding["train_texts_cut"] == 1


def test_the_vocabulary_has_at_most_the_planned_size():
    words = [" ".join(f"word{i}x{j}" for j in range(20)) for i in range(200)]
    encoding, source = opened(words, ["train"] * 200, text__vocabulary=100)
    assert encoding["vocabulary"] == shape(encoding, 2).vocabulary == 100
    assert tokens_of(source, *range(200)).max() < 100


def test_training_the_tokenizer_again_and_again_gives_the_same():
    first = opened()[0]
    assert all(opened()[0] == first for _ in range(5))


def test_the_start_of_a_word_is_another_token_than_its_middle():
    encoding, source = opened(["card postcard card postcard"], ["train"])
    names = {number: name for name, number in Tokenizer.from_str(encoding["tokenizer"]).get_vocab().items()}
    words = "".join(names[number] for number in tokens_of(source, 0)[0] if number)
    assert words == "▁card▁postcard▁card▁postcard"


def test_rows_in_any_order_and_twice():
    _, source = opened()
    batch = tokens_of(source, 2, 0, 2)
    assert batch[0].tolist() == batch[2].tolist() != batch[1].tolist()


def test_no_rows_make_an_empty_batch():
    _, source = opened()
    assert source.batch(np.array([], dtype=np.int64), None).inputs[0].shape == (0, 4)


def test_several_text_columns_are_read_one_after_the_other():
    data = a_dataset({"a": ["lost"], "b": ["card"]}, {"a": "text", "b": "text"}, [0], ["train"])
    both = a_dataset({"t": ["lost\ncard"]}, {"t": "text"}, [0], ["train"])
    plan = a_plan()
    encoding = fit(both, plan)
    joined = open_source(data, encoding, plan)
    assert tokens_of(joined, 0).tolist() == tokens_of(open_source(both, encoding, plan), 0).tolist()


def test_a_dataset_without_text_is_refused_by_name():
    with pytest.raises(StoneError, match=r"found: x \(number\)"):
        fit(a_dataset({"x": [1]}, {"x": "number"}, [0], ["train"]), a_plan())


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(StoneError) as caught:
        opened()
    assert "torchstone[text]" in str(caught.value)
