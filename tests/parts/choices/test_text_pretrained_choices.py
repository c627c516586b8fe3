"""What the plan says of pretrained encoders for texts, and what it chooses for one."""

from __future__ import annotations

import pytest

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.text import choose_text
from torchstone.parts.choices.text_pretrained import FEW, choose_text_pretrained, help_for_texts


def chosen(num_train: int, **facts: object) -> dict[str, Choice]:
    return {c.field: c for c in choose_text({"num_train": num_train, "words_p99": 20, **facts})}


def test_few_texts_are_told_how_to_use_a_pretrained_encoder_and_why() -> None:
    model = chosen(385)["model.name"]
    assert "--set model=text_pretrained --set model.folder=DIR" in model.reason
    assert "config.json, tokenizer.json, model.safetensors" in model.reason
    assert "Howard & Ruder 2018" in model.source
    assert "0.70 against 0.39" in model.source


def test_many_texts_are_not() -> None:
    assert help_for_texts(FEW) == ("", "")
    model = chosen(FEW)["model.name"]
    assert "text_pretrained" not in model.reason
    assert "Howard" not in model.source


@pytest.mark.parametrize("num_train, batch, epochs", [(10, 10, 20), (385, 16, 20), (2_500, 16, 7), (100_000, 32, 3)])
def test_small_sets_are_seen_often_and_large_ones_three_times(num_train: int, batch: int, epochs: int) -> None:
    choices = chosen(num_train, model="text_pretrained")
    assert choices["train.batch_size"].value == batch
    assert choices["train.epochs"].value == epochs


def test_its_tokens_are_its_own() -> None:
    choices = chosen(385, model="text_pretrained")
    assert "text.vocabulary" not in choices
    assert "text.lowercase" not in choices
    assert choices["text.max_length"].value == 32
    assert "model.name" not in choices


def test_adapters_get_ten_times_the_rate_and_both_are_starting_points() -> None:
    whole, adapted = (
        {c.field: c for c in choose_text_pretrained({"num_train": 385, **more})}["optimizer.options.lr"]
        for more in ({}, {"adapter": "lora"})
    )
    assert (whole.value, adapted.value) == (5e-5, 5e-4)
    assert START in whole.source
    assert START in adapted.source
