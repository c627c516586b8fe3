"""What the plan does where memory is short, and that it does nothing where it is not."""

from __future__ import annotations

import pytest

from torchstone.parts.choices.memory import (
    choose_memory,
    choose_strategy,
    fixed_bytes,
    is_memory_short,
    size_text,
    strategy_refusal,
)
from torchstone.parts.choices.which_optimizer import which_optimizer

MIB = 2**20
BUILT = ["ddp", "single", "zero"]
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


@pytest.mark.parametrize(("world", "built", "budget", "is_short"), [
    (2, BUILT, 799, False), (2, BUILT, 600, False), (2, BUILT, 599, True), (4, BUILT, 599, False),
    (4, BUILT, 499, True), (2, ["ddp", "single"], 799, True), (1, BUILT, 799, True),
])  # fmt: skip
def test_several_ranks_share_the_state_out_before_the_optimizer_becomes_a_smaller_one(
    world: int, built: list[str], budget: int, is_short: bool
) -> None:
    """Half of the budget holds 400 MiB whole, 300 over two ranks, 250 over four."""
    facts = {**FACTS, "world": world, "strategies": built, "memory_budget": budget * MIB}
    assert is_memory_short(facts) == is_short
    if not is_short:
        assert choose_strategy(facts).value == "zero"


@pytest.mark.parametrize("family", ["cnn", "transformer"])
def test_a_plan_for_several_ranks_keeps_adamw_where_zero_makes_it_fit(family: str) -> None:
    for world, optimizer in ((1, "adafactor" if family == "transformer" else "lion"), (2, "adamw")):
        facts = {**FACTS, "world": world, "strategies": BUILT, "memory_budget": 700 * MIB, "family": family}
        facts["is_memory_short"] = is_memory_short(facts)
        assert which_optimizer(facts).choice == optimizer


@pytest.mark.parametrize(
    ("facts", "strategy"),
    [
        ({}, "single"),
        ({"world": 2}, "ddp"),
        ({"world": 2, "strategies": BUILT}, "ddp"),
        ({"world": 2, "memory_budget": 800 * MIB, "strategies": BUILT}, "ddp"),
        ({"world": 2, "memory_budget": 799 * MIB, "strategies": BUILT}, "zero"),
        ({"world": 2, "memory_budget": 399 * MIB, "strategies": ["ddp", "single"]}, "ddp"),
        ({"world": 2, "memory_budget": 399 * MIB, "strategies": BUILT}, "zero"),
        ({"world": 2, "memory_budget": 300 * MIB, "strategies": BUILT}, "zero"),
        ({"world": 2, "memory_budget": 299 * MIB, "strategies": BUILT}, "ddp"),
        ({"world": 4, "memory_budget": 299 * MIB, "strategies": BUILT}, "zero"),
        ({"world": 4, "memory_budget": 249 * MIB, "strategies": [*BUILT, "fsdp2"]}, "fsdp2"),
        ({"world": 2, "memory_budget": 400 * MIB, "strategies": BUILT, "optimizer": "adafactor"}, "ddp"),
        ({"world": 1, "memory_budget": 399 * MIB, "strategies": BUILT}, "single"),
    ],
)
def test_the_strategy_follows_ranks_and_memory(facts: dict[str, object], strategy: str) -> None:
    """100 MiB of weights, as much of gradients, 200 of AdamW's state: 400 whole, 300 over two ranks, 250 over four."""
    assert choose_strategy({**FACTS, **facts}).value == strategy


def test_zero_comes_with_reason_source_and_what_would_change_it() -> None:
    choice = choose_strategy({**FACTS, "world": 2, "memory_budget": 399 * MIB, "strategies": BUILT})
    assert "2 ranks" in choice.reason
    assert "share of the state" in choice.reason
    assert "Rajbhandari" in choice.source
    assert "ddp" in choice.changes_if


def test_a_shared_state_counts_by_its_share_and_leaves_room_for_examples() -> None:
    assert fixed_bytes({**FACTS, "state_owners": 4}, "adamw") == (200 + 50) * MIB
    assert values(memory_budget=560 * MIB, world=2) == (4, False)
    assert values(memory_budget=560 * MIB, world=2, state_owners=2) == (3, False)


@pytest.mark.parametrize(
    ("name", "world", "words"),
    [("zero", 2, None), ("ddp", 2, None), ("single", 1, None), ("zero", 1, "several ranks"),
     ("ddp", 1, "several ranks"), ("single", 2, "2 ranks"), ("zro", 2, "there are ddp, single, zero")],
)  # fmt: skip
def test_a_strategy_by_hand_is_refused_where_it_cannot_work(name: str, world: int, words: str | None) -> None:
    refused = strategy_refusal(name, {"world": world, "strategies": BUILT})
    assert refused is None if words is None else refused is not None and words in refused[0]


def test_a_model_that_exceeds_the_device_is_told_of_where_nothing_cuts_it() -> None:
    shared = {**FACTS, "world": 2, "memory_budget": 299 * MIB, "strategies": BUILT}
    assert "FSDP2" in choose_strategy(shared).reason
    assert "exceed the memory" in choose_strategy({**FACTS, "world": 2, "memory_budget": 399 * MIB}).reason
    assert "exceed the memory" not in choose_strategy({**FACTS, "world": 2}).reason


def test_the_reasons_speak_of_the_batch_that_is_planned_and_of_no_size_that_reads_as_nothing() -> None:
    accumulate, recompute = choose_memory({**FACTS, "batch_size": 16, "kept_bytes": 1200}, "adamw")
    assert accumulate.reason == (
        "a batch of 16 fits: about 400 MiB for weights, gradients and state and 1.17 KiB for each example, "
        "of 3.91 GiB, 70% of the memory"
    )
    assert recompute.reason == "all 16 examples of a step fit without it"
    cut, kept = choose_memory({**FACTS, "memory_budget": 1000 * MIB}, "adamw")
    assert "64 examples in pieces of at most 30: about 400 MiB" in cut.reason
    assert kept.reason == "30 examples fit without it"
    _, anew = choose_memory({**FACTS, "memory_budget": 559 * MIB}, "adamw")
    assert anew.reason.startswith("only 7 examples would fit at once, 8 are wanted")


def test_bytes_have_three_digits_and_a_unit_that_fits() -> None:
    sizes = {0: "0 B", 812: "812 B", 1200: "1.17 KiB", 102_000: "99.6 KiB", 1_022_976: "999 KiB", 1_023_999: "0.98 MiB",
             24 * MIB: "24.0 MiB", 5 * 2**30: "5.00 GiB", 2000 * 2**40: "2000 TiB"}  # fmt: skip
    assert {size: size_text(size) for size in sizes} == sizes
