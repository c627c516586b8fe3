"""COD132: the lowest rate of a schedule lies above the rate that it starts from."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at

FLOORS = {"CosineAnnealingLR": ("eta_min", 2), "CosineAnnealingWarmRestarts": ("eta_min", 3),
          "ReduceLROnPlateau": ("min_lr", 6)}


def check(source: Source) -> Iterator[Finding]:
    """One finding per schedule whose floor and whose optimizer's rate are both numbers, the floor not below."""
    for _, moment in source.moments():
        value = moment.value
        tail = value.name.rpartition(".")[2]
        if value.receiver is not None or tail not in FLOORS or not value.name.startswith("torch.optim.lr_scheduler."):
            continue
        floor = _number(value.given(*FLOORS[tail]))
        rates = [_number(one.given("lr", 1)) for one in alternatives(value.given("optimizer", 0))]
        known = [rate for rate in rates if rate is not None]
        if floor is not None and known and len(known) == len(rates) and floor > max(known):
            yield found(RULE, f"the lowest rate is {floor:g}, and the optimizer starts at {max(known):g}",
                        where=at(moment), evidence={"floor": floor, "rate": max(known)})


def _number(value: Value | None) -> float | None:
    options = alternatives(value)
    is_known = len(options) == 1 and isinstance(options[0].const, (int, float)) and options[0].kind == "const"
    return float(options[0].const) if is_known else None


RULE = Rule(
    code="COD132",
    name="source_floor_above_rate",
    severity="error",
    summary="the lowest rate of a schedule is above the first",
    why="The schedule raises the rate where it should lower it, or does nothing.",
    fix="Set eta_min or min_lr well below the optimizer's lr.",
    source="torch 2.14 documentation, CosineAnnealingLR: eta_min, ReduceLROnPlateau: min_lr",
    check=check,
    trips=lambda: changed(TRAINING, ("T_max=epochs * len(train_loader)", "T_max=100, eta_min=0.5")),
    passes=lambda: changed(TRAINING, ("T_max=epochs * len(train_loader)", "T_max=100, eta_min=0.005")),
    wrong_when="the rate is to rise along the cosine",
    threshold="floor above the rate: by definition",
)
