"""What a training holds in memory, and what the plan does where that is too much."""

from __future__ import annotations

import math

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.case import Case, Facts, first_that_holds

# Bytes of state for each parameter in float32; of others as much as Adam's two means.
STATE_BYTES = {"sgd": 4, "lion": 4, "rmsprop": 4, "muon": 8, "adafactor": 0, "adamw_8bit": 2}
TWO_MEANS = 8
# Share of the memory that weights, gradients and state may take before a smaller optimizer is chosen. Starting point.
MOST_FIXED = 0.5
# Examples at a time below which blocks are computed anew instead: BatchNorm's statistics are noise then (Wu & He
# 2018, figure 1).
LEAST_MICRO = 8
CHEN = "Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost"
SHARE = 0.7  # of the memory, as --find-batch plans: the rest is for validation, workers and others


def fixed_bytes(facts: Facts, optimizer: str) -> int:
    """Bytes of weights, gradients, the optimizer's state and an average of the weights: what no batch changes.

    facts: parameters, weight_bytes, and has_average.
    """
    state = STATE_BYTES.get(optimizer, TWO_MEANS) * int(facts["parameters"])
    return int(facts["weight_bytes"]) * (3 if facts.get("has_average") else 2) + state


def is_memory_short(facts: Facts) -> bool:
    """Whether weights, gradients and AdamW's state take more than half of the memory for a training.

    facts: parameters, weight_bytes, memory_budget (bytes); False where they are not known.
    """
    if not facts.get("parameters") or not facts.get("memory_budget"):
        return False
    return bool(fixed_bytes(facts, "adamw") > MOST_FIXED * facts["memory_budget"])


def choose_memory(facts: Facts, optimizer: str) -> list[Choice]:
    """Micro-batches, and whether blocks are computed anew: only where memory asks for it.

    facts: as `is_memory_short`, and kept_bytes (of one example until its backward pass), recomputed_bytes (the same
    where blocks are computed anew, None where there are none), batch_size, world, accumulate where the user fixes it.
    """
    if not facts.get("kept_bytes") or not facts.get("memory_budget"):
        what = "what an example keeps could not be counted: --find-batch measures it"
        return [Choice("train.accumulate", 1, "default", what), Choice("train.recompute", False, "default", what)]
    budget, fixed = int(facts["memory_budget"]), fixed_bytes(facts, optimizer)
    batch = math.ceil(facts["batch_size"] / facts.get("world", 1))
    fits = max(budget - fixed, 0) // int(facts["kept_bytes"])
    needed = math.ceil(batch / facts["accumulate"]) if facts.get("accumulate") else min(batch, LEAST_MICRO)
    again = facts.get("recomputed_bytes")
    is_anew = fits < needed and bool(again)
    micro = max(budget - fixed, 0) // int(again) if is_anew and again else fits
    said = f"{_gib(fixed)} of weights, gradients and state and {_gib(facts['kept_bytes'])} for each example"
    room = f"{_gib(budget)} ({SHARE:.0%} of the memory)"
    pieces = math.ceil(batch / max(micro, 1))
    return [_accumulate(pieces, batch, micro, f"about {said}; {room}"),
            _recompute(is_anew, f"{needed} examples at a time; {said}; {room}")]


def _accumulate(pieces: int, batch: int, micro: int, said: str) -> Choice:
    change = "another machine; --find-batch measures instead of counting"
    if pieces == 1:
        return Choice("train.accumulate", 1, "derived", f"a batch of {batch:,} fits: {said}", changes_if=change)
    return Choice("train.accumulate", pieces, "derived", f"{batch:,} examples in pieces of at most {max(micro, 1):,}: "
                  f"{said}", "counted on this model; " + START, change)


def _recompute(is_anew: bool, said: str) -> Choice:
    if not is_anew:
        return Choice("train.recompute", False, "derived", f"what the backward pass needs fits for {said}",
                      changes_if="memory is short: blocks are computed anew, for about a third more time")
    return Choice("train.recompute", True, "derived", f"else too little room for {said}: blocks keep their inputs "
                  "alone and are computed anew, for about a third more time", CHEN, "more memory, or smaller inputs")


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 / 100 else f"{size / 2**20:.2f} MiB"


def _world(facts: Facts) -> int:
    return int(facts.get("world", 1))


def _exceeds(facts: Facts) -> bool:
    known = facts.get("parameters") and facts.get("memory_budget")
    return bool(known) and fixed_bytes(facts, str(facts.get("optimizer", "adamw"))) > facts["memory_budget"]


STRATEGIES: tuple[Case, ...] = (
    Case("ranks", "weights, gradients and state exceed a device, several ranks",
         lambda f: _world(f) > 1 and _exceeds(f) and "sharded" in f.get("strategies", ()),
         "sharded", "weights, gradients and state are cut over the ranks: together they hold them once",
         "Rajbhandari et al. 2020, ZeRO", changes_if="they fit into one device: ddp"),
    Case("ranks", "several ranks", lambda f: _world(f) > 1,
         "ddp", "each rank holds the whole model, gradients are summed", "Li et al. 2020, PyTorch Distributed",
         changes_if="weights, gradients and state exceed a device: they would have to be cut over the ranks"),
    Case("one process", "else", lambda f: True, "single", "one process; torchrun starts several", "",
         changes_if="several ranks: ddp"),
)  # fmt: skip


def choose_strategy(facts: Facts) -> Choice:
    """How ranks share the work. facts: world, strategies (the parts that are there), and as `is_memory_short`."""
    case = first_that_holds(STRATEGIES, facts)
    assert case is not None  # the last row always holds
    reason = f"{_world(facts)} ranks: {case.reason}" if _world(facts) > 1 else case.reason
    if _exceeds(facts) and case.choice != "sharded":
        reason += "; weights, gradients and state exceed the memory: nothing here cuts them over ranks yet"
    return Choice("train.strategy", case.choice, "derived", reason, changes_if=case.changes_if)
