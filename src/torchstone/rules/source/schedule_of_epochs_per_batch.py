"""COD105: a schedule counted in epochs steps with each batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import innermost, scheduler_steps, training_loops
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import count_of, is_same_number
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

# Where each schedule is told its length.
LENGTHS = {"CosineAnnealingLR": ("T_max", 1), "OneCycleLR": ("total_steps", 2), "LinearLR": ("total_iters", 3),
           "PolynomialLR": ("total_iters", 1)}  # fmt: skip
# An exponential decay at or below this, per batch, leaves 2e-9 of the rate after 1,000 batches: 0.98 ** 1000.
SLOWEST = 0.98


def check(source: Source) -> Iterator[Finding]:
    """One finding per schedule whose length is the number of epochs, or that decays for epochs, stepped per batch."""
    for play in source.plays:
        sick: dict[Moment, Value] = {}
        for moment, scheduler in scheduler_steps(play):
            loop = innermost(moment)
            if loop not in training_loops(play) or moment.value.args:
                continue
            made = next((one for one in alternatives(scheduler) if _is_of_epochs(play, moment, one)), None)
            if made is not None:
                sick[moment] = made
        for moment in own(source, sick):
            name = sick[moment].name.rpartition(".")[2]
            yield found(RULE, f"{name} is made for epochs (line {sick[moment].line}) and steps with each batch",
                        where=at(moment), evidence={"schedule": name, "schedule_line": sick[moment].line})


def _is_of_epochs(play: Play, moment: Moment, scheduler: Value) -> bool:
    if not scheduler.name.startswith("torch.optim.lr_scheduler."):
        return False
    outer = [loop for loop in moment.loops[:-1] if count_of(loop) is not None]
    name = scheduler.name.rpartition(".")[2]
    if name == "ExponentialLR":
        gamma = scheduler.given("gamma", 1)
        return bool(outer) and gamma is not None and isinstance(gamma.const, float) and gamma.const <= SLOWEST
    keyword, position = LENGTHS.get(name, ("", None))
    length = scheduler.given(keyword, position)
    return any(is_same_number(length, count_of(loop)) for loop in outer)


RULE = Rule(
    code="COD105",
    name="source_schedule_of_epochs_per_batch",
    severity="warning",
    summary="a schedule counted in epochs steps with each batch",
    why="The rate reaches its end within the first epochs, or swings up and down again for the rest of the training.",
    fix="Count the schedule in steps (epochs * len(loader)), or call scheduler.step() once per epoch.",
    source="torch 2.14 documentation, CosineAnnealingLR: T_max is the maximum number of iterations",
    check=check,
    trips=lambda: changed(TRAINING, ("T_max=epochs * len(train_loader)", "T_max=epochs")),
    passes=lambda: changed(TRAINING),
    wrong_when="an epoch is a single batch, or the fast swing is wanted",
    threshold="ExponentialLR: gamma <= 0.98 per batch; 0.98 to the power of 1,000 is 2e-9",
)
