"""The plan of a table: reasons, sources, and a number of steps that fits the number of rows."""

from __future__ import annotations

import pytest

from torchstone.parts.choices.table import choose_table


def chosen(rows, **facts):
    known = {"target": "single", "num_numbers": 4, "num_categories": 2, "has_accelerator": False, **facts}
    return {choice.field: choice for choice in choose_table({"num_train": rows, **known})}


@pytest.mark.parametrize("rows", [1, 10, 178, 5_000, 100_000, 3_000_000])
def test_every_choice_has_a_reason_and_a_source_and_appears_once(rows):
    facts = {"num_train": rows, "target": "single", "num_numbers": 4, "num_categories": 2, "has_accelerator": False}
    choices = choose_table(facts)
    assert all(choice.reason and choice.source for choice in choices)
    assert len({choice.field for choice in choices}) == len(choices)


def steps(rows, **facts):
    plan = chosen(rows, **facts)
    return plan["train.epochs"].value * -(-rows // plan["train.batch_size"].value)


def test_tiny_tables_train_in_seconds_and_large_ones_not_for_hours():
    # a step of the default model takes about 1 ms on one core
    assert 100 <= steps(124) <= 1_000
    assert 800 <= steps(10_000) <= 1_000
    assert steps(100_000) <= 4_000
    assert steps(1_000_000) <= 20_000


def test_batches_grow_with_the_table_and_the_machine():
    sizes = [chosen(rows)["train.batch_size"].value for rows in (20, 600, 2_000, 5_000, 1_000_000)]
    assert sizes == [16, 16, 32, 128, 256]
    assert chosen(1_000_000, has_accelerator=True)["train.batch_size"].value == 1024


def test_boosted_trees_are_named_below_a_hundred_thousand_rows_only():
    assert "boosted trees often win" in chosen(99_999)["model.name"].reason
    assert "Grinsztajn et al. 2022" in chosen(99_999)["model.name"].source
    assert "boosted trees" not in chosen(100_000)["model.name"].reason


def test_the_reason_says_the_number_of_steps():
    plan = chosen(1000)
    assert f"{steps(1000):,} optimizer steps" in plan["train.epochs"].reason


def test_a_model_that_the_user_names_keeps_its_own_options():
    facts = {"num_train": 100, "has_accelerator": False, "num_numbers": 1, "num_categories": 0}
    facts["model"] = "table_resnet"
    fields = [choice.field for choice in choose_table(facts)]
    assert not [field for field in fields if field.startswith("model")]
    assert "train.epochs" in fields
