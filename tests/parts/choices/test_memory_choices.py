"""What the plan does where memory is short, and that it does nothing where it is not."""

from __future__ import annotations

import pytest

from torchstone.parts.choices.memory import choose_memory, choose_strategy, fixed_bytes, is_memory_short

MIB = 2**20
# 25 million parameters: 100 MB of weights
FACTS = {
    "parameters": 25 * MIB, "weight_bytes": 100 * MIB, "kept_bytes": 20 * MIB, "recomputed_bytes": 5 * MIB,
    "memory_budget": 4000 * MIB, "batch_size": 64, "world": 1,
}  # fmt: skip


def values(optimizer: str = "adamw", **facts: object) -> tuple[object, object]:
    accumulate, recompute = choose_memory({**FACTS, **facts}, optimizer)
    assert (accumulate.field, recompute.field) == ("train.accumulate", "train.recompute")
    assert accumulate.reason
    assert recompute.reason
    return accumulate.value, recompute.value


def test_adamw_holds_sixteen_bytes_for_each_parameter_and_others_less() -> None:
    """Weight, gradient and two means of 4 bytes each."""
    per = {name: fixed_bytes(FACTS, name) / FACTS["parameters"] for name in ("adamw", "sgd", "lion", "adafactor")}
    assert per == {"adamw": 16, "sgd": 12, "lion": 12, "adafactor": 8}
    assert fixed_bytes({**FACTS, "has_average": True}, "adamw") / FACTS["parameters"] == 20
    assert fixed_bytes(FACTS, "adamw_8bit") / FACTS["parameters"] == 10


def test_what_fits_is_left_whole() -> None:
    assert values() == (1, False)  # 400 + 64 x 20 = 1,680


def test_a_batch_that_does_not_fit_is_cut_into_the_fewest_pieces_that_do() -> None:
    """1,000 - 400 leaves room for 30 examples of 20: 64 in three pieces."""
    assert values(memory_budget=1000 * MIB) == (3, False)
    assert values(memory_budget=1000 * MIB, world=2) == (2, False)


def test_blocks_are_computed_anew_only_where_not_even_eight_examples_fit() -> None:
    """560 - 400 = 160: eight examples of 20 fit; 559 - 400: seven, so that blocks are computed anew: 31 of 5."""
    assert values(memory_budget=560 * MIB) == (8, False)
    assert values(memory_budget=559 * MIB) == (3, True)
    assert values(memory_budget=559 * MIB, recomputed_bytes=None) == (10, False)


def test_a_users_accumulation_says_how_many_examples_must_fit() -> None:
    assert values(memory_budget=1000 * MIB, accumulate=1) == (1, True)  # 64 x 5 = 320 fit into 600
    assert values(memory_budget=1000 * MIB, accumulate=4) == (3, False)  # 16 fit anyway


def test_nothing_is_claimed_that_was_not_counted() -> None:
    for facts in ({"kept_bytes": None}, {"memory_budget": 0}):
        accumulate, recompute = choose_memory({**FACTS, **facts}, "adamw")
        assert (accumulate.value, recompute.value) == (1, False)
        assert "could not be counted" in accumulate.reason


def test_memory_is_short_where_weights_and_adamws_state_take_more_than_half() -> None:
    assert not is_memory_short({**FACTS, "memory_budget": 800 * MIB})
    assert is_memory_short({**FACTS, "memory_budget": 799 * MIB})
    assert not is_memory_short({"memory_budget": 799 * MIB})


@pytest.mark.parametrize(
    ("facts", "strategy"),
    [
        ({}, "single"),
        ({"world": 2}, "ddp"),
        ({"world": 2, "strategies": ["ddp", "sharded"]}, "ddp"),
        ({"world": 2, "memory_budget": 399 * MIB}, "ddp"),
        ({"world": 2, "memory_budget": 399 * MIB, "strategies": ["ddp", "sharded"]}, "sharded"),
        ({"world": 1, "memory_budget": 399 * MIB, "strategies": ["ddp", "sharded"]}, "single"),
    ],
)
def test_the_strategy_follows_ranks_and_memory(facts: dict[str, object], strategy: str) -> None:
    assert choose_strategy({**FACTS, **facts}).value == strategy


def test_a_model_that_exceeds_the_device_is_told_of_where_nothing_cuts_it() -> None:
    assert "exceed the memory" in choose_strategy({**FACTS, "world": 2, "memory_budget": 399 * MIB}).reason
    assert "exceed the memory" not in choose_strategy({**FACTS, "world": 2}).reason
