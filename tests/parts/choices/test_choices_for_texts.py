"""The plan of texts: lengths are measured, steps fit the number of texts."""

from __future__ import annotations

import pytest

from torchstone.parts.choices.text import choose_text, measure_texts


def chosen(num_train, words_p99=20, **facts):
    known = {"num_classes": 5, "has_accelerator": False, **facts}
    return {c.field: c for c in choose_text({"num_train": num_train, "words_p99": words_p99, **known})}


@pytest.mark.parametrize("num_train", [1, 50, 8_500, 60_000, 2_000_000])
def test_every_choice_has_a_reason_and_a_source_and_appears_once(num_train):
    choices = choose_text(
        {"num_train": num_train, "words_p99": 0, "num_classes": 2, "has_accelerator": False}
    )  # fmt: skip
    assert all(choice.reason for choice in choices)
    assert all(choice.source for choice in choices if not isinstance(choice.value, bool))
    assert len({choice.field for choice in choices}) == len(choices)


def test_words_and_marks_are_counted():
    assert measure_texts(["Where is it?", "No.", None]) == {"words_p50": 2, "words_p99": 4}
    assert measure_texts([]) == {"words_p50": 0, "words_p99": 0}


def test_a_long_run_of_letters_counts_as_several_words():
    assert measure_texts(["日" * 80])["words_p50"] == 10


def test_the_length_holds_the_99th_percentile_and_has_bounds():
    assert chosen(1000, 50)["text.max_length"].value == 64
    assert chosen(1000, 0)["text.max_length"].value == 16
    assert chosen(1000, 10_000)["text.max_length"].value == 512


def test_the_number_of_steps_fits_the_number_of_texts():
    def steps(num_train):
        plan = chosen(num_train)
        return plan["train.epochs"].value * -(-num_train // plan["train.batch_size"].value)

    assert steps(100) <= 300
    assert 1_600 <= steps(8_500) <= 1_750
    assert steps(1_000_000) <= 25_000


def test_larger_sets_get_larger_batches_and_vocabularies():
    assert chosen(500)["train.batch_size"].value == 16
    assert chosen(60_000)["train.batch_size"].value == 128
    assert chosen(60_000, has_accelerator=True)["train.batch_size"].value == 256
    assert chosen(60_000)["text.vocabulary"].value > chosen(500)["text.vocabulary"].value


def test_a_model_that_the_user_names_keeps_its_own_options():
    facts = {"num_train": 100, "has_accelerator": False, "words_p99": 9, "model": "text_gru"}
    fields = [choice.field for choice in choose_text(facts)]
    assert not [field for field in fields if field.startswith("model")]
    assert "train.epochs" in fields


def test_an_lstm_gets_the_higher_rate_that_it_needs():
    rates = {name: chosen(8_500, model=name)["optimizer.options.lr"].value for name in ("text_gru", "text_lstm")}
    assert rates == {"text_gru": 1e-3, "text_lstm": 3e-3}
