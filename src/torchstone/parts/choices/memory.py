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
# Examples at a time below which blocks are computed anew instead: the fewer there are, the more BatchNorm's statistics
# are noise (Wu & He 2018, Group Normalization). 8: starting point.
LEAST_MICRO = 8
CHEN = "Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost"
SHARE = 0.7  # of the memory, as --find-batch plans: the rest is for validation, workers and others


def fixed_bytes(facts: Facts, optimizer: str) -> int:
    """Bytes of weights, gradients, the optimizer's state and an average of the weights: what no batch changes.

    facts: parameters, weight_bytes, has_average, and state_owners where ranks share out the state.
    """
    state = STATE_BYTES.get(optimizer, TWO_MEANS) * int(facts["parameters"]) // int(facts.get("state_owners", 1))
    return int(facts["weight_bytes"]) * (3 if facts.get("has_average") else 2) + state


def is_memory_short(facts: Facts) -> bool:
    """Whether weights, gradients and AdamW's state take more than half of the memory for a training.

    Several ranks share the state out before a smaller optimizer is chosen (strategy `zero`): its steps are those of
    AdamW on one rank, a smaller optimizer's are not (Rajbhandari et al. 2020, ZeRO, stage 1).
    facts: parameters, weight_bytes, memory_budget (bytes), world, strategies; False where they are not known.
    """
    owners = _world(facts) if "zero" in facts.get("strategies", ()) else 1
    return _takes_more(facts, "adamw", owners, MOST_FIXED)


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
    each = size_text(int(again) if is_anew and again else int(facts["kept_bytes"]))
    said = f"about {size_text(fixed)} for weights, gradients and state and {each} for each example"
    room = f"{size_text(budget)}, {SHARE:.0%} of the memory"
    pieces = math.ceil(batch / max(micro, 1))
    return [_accumulate(pieces, batch, micro, f"{said}, of {room}"), _recompute(is_anew, fits, needed, batch)]


def _accumulate(pieces: int, batch: int, micro: int, said: str) -> Choice:
    change = "another machine; --find-batch measures instead of counting"
    if pieces == 1:
        return Choice("train.accumulate", 1, "derived", f"a batch of {batch:,} fits: {said}", changes_if=change)
    return Choice("train.accumulate", pieces, "derived", f"{batch:,} examples in pieces of at most {max(micro, 1):,}: "
                  f"{said}", "counted on this model; " + START, change)


def _recompute(is_anew: bool, fits: int, needed: int, batch: int) -> Choice:
    if not is_anew:
        seen = f"all {batch:,} examples of a step fit" if fits >= batch else f"{fits:,} examples fit"
        return Choice("train.recompute", False, "derived", f"{seen} without it",
                      changes_if="memory is short: blocks are computed anew, for about a third more time")
    return Choice("train.recompute", True, "derived", f"only {fits:,} examples would fit at once, {needed:,} are "
                  "wanted: blocks keep their inputs alone and are computed anew, for about a third more time", CHEN,
                  "more memory, or smaller inputs")


def size_text(size: int) -> str:
    """Bytes as a person reads them, to three digits: `812 B`, `84.2 KiB`, `1.37 GiB`."""
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1024, units[1:]
    digits = 0 if units[0] == "B" or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {units[0]}"


def _world(facts: Facts) -> int:
    return int(facts.get("world", 1))


def _takes_more(facts: Facts, optimizer: str, owners: int, share: float) -> bool:
    """Whether weights, gradients and the state of so many owners take more than a share of the memory."""
    if not facts.get("parameters") or not facts.get("memory_budget"):
        return False
    return bool(fixed_bytes({**facts, "state_owners": owners}, optimizer) > share * facts["memory_budget"])


def _exceeds(facts: Facts, owners: int = 1) -> bool:
    return _takes_more(facts, str(facts.get("optimizer", "adamw")), owners, 1.0)


def _is_cramped(facts: Facts) -> bool:
    return _takes_more(facts, str(facts.get("optimizer", "adamw")), 1, MOST_FIXED)


STRATEGIES: tuple[Case, ...] = (
    Case("ranks", "even with the state shared out, weights, gradients and state exceed a rank's memory",
         lambda f: _world(f) > 1 and _exceeds(f, _world(f)) and "fsdp2" in f.get("strategies", ()),
         "fsdp2", "weights and gradients are cut over the ranks too: together they hold them once",
         "Zhao et al. 2023, PyTorch FSDP", changes_if="they fit with the state alone shared out: zero"),
    Case("ranks", f"weights, gradients and state take more than {MOST_FIXED:.0%} of a rank's memory, and fit with the "
         "state shared out",
         lambda f: (_world(f) > 1 and _is_cramped(f) and not _exceeds(f, _world(f))
                    and "zero" in f.get("strategies", ())),
         "zero", f"weights, gradients and state take more than {MOST_FIXED:.0%} of the memory of one, so that each "
         "keeps its share of the state; the optimizer stays, and the weights become those of ddp",
         f"Rajbhandari et al. 2020, ZeRO, stage 1; {MOST_FIXED:.0%}: {START}",
         changes_if=f"they take {MOST_FIXED:.0%} or less: ddp, which does not send the weights"),
    Case("ranks", "several ranks", lambda f: _world(f) > 1,
         "ddp", "each rank holds the whole model, gradients are summed", "Li et al. 2020, PyTorch Distributed",
         changes_if=f"weights, gradients and state take more than {MOST_FIXED:.0%} of a rank's memory: zero"),
    Case("one process", "else", lambda f: True, "single", "one process; torchrun starts several", "",
         changes_if="several ranks: ddp"),
)  # fmt: skip


def choose_strategy(facts: Facts) -> Choice:
    """How ranks share the work. facts: world, strategies (the parts that are there), and as `is_memory_short`.

    A rank's memory is the budget of `memory_budget`: 70 % of its device, or of its part of the machine's memory.
    """
    case = first_that_holds(STRATEGIES, facts)
    assert case is not None  # the last row always holds
    reason = f"{_world(facts)} ranks: {case.reason}" if _world(facts) > 1 else case.reason
    if _exceeds(facts) and case.choice in ("single", "ddp"):
        reason += "; weights, gradients and state exceed the memory"
        reason += ": to cut the weights too (FSDP2) is not built" if _world(facts) > 1 else ""
    return Choice("train.strategy", case.choice, "derived", reason, case.source, case.changes_if)


def strategy_refusal(name: str, facts: Facts) -> tuple[str, str] | None:
    """Why these ranks cannot work by the strategy that a recipe names, and what to do; None where they can."""
    known, world = facts.get("strategies", ()), _world(facts)
    if name not in known:
        return f"found '{name}'; there are {', '.join(known)}", "leave it to the plan, or name one of these"
    if name == "single" and world > 1:
        return f"single is one process; here are {world} ranks", "leave the field out, or start without torchrun"
    if name != "single" and world == 1:
        return f"{name} is for several ranks; here is one process", (
            "leave the field out, or start several: torchrun --nproc-per-node 2 -m torchstone train …")  # fmt: skip
    return None
