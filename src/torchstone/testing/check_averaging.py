"""What every average of weights must keep."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn

    from torchstone.engines.pytorch.averaging import Averaging

    Make = Callable[[nn.Module], Averaging]

EPOCHS, STEPS = 4, 6  # of the run that is played, STEPS for each epoch


def check_averaging(make: Make) -> None:
    """Raises AssertionError where an average breaks the contract that the loop builds on.

    make: model → average. Checked on a run of 4 epochs with 6 steps each, over weights that move: the state has the
    model's names, shapes and types; each averaged weight lies between the smallest and the largest that there was;
    the model is left alone, and the average does not move with it; `num` counts up whenever the average moves; saved
    and loaded into a fresh one at any step, it goes on bit for bit.
    """
    whole = _played(make, stop=EPOCHS * STEPS)
    for stop in (1, STEPS, STEPS + 2, 3 * STEPS, EPOCHS * STEPS):
        model, average = _played(make, stop=stop)
        saved, num = {name: value.clone() for name, value in average.state().items()}, average.num
        again = make(model)
        again.load(saved, num)
        _play(model, again, first=stop, stop=EPOCHS * STEPS)
        for name, value in whole[1].state().items():
            assert bool((again.state()[name] == value).all()), f"loaded after step {stop}, {name} goes another way"
    assert whole[1].num > 0, "in a whole run it never moved"
    assert whole[1].recalibrate >= 0, "the number of batches is below 0"


def _played(make: Make, stop: int) -> tuple[nn.Module, Averaging]:
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    for value in model.state_dict().values():  # detached: these are the weights without their history
        value.fill_(1)
    average = make(model)
    _play(model, average, first=0, stop=stop)
    return model, average


def _play(model: nn.Module, average: Averaging, *, first: int, stop: int) -> None:
    """Steps first … stop - 1: all weights and buffers go from 1 to 2, 3, …; the average follows."""
    for step in range(first, stop):
        for value in model.state_dict().values():
            value.add_(1)
        before = copy.deepcopy(model.state_dict())
        _follows(average, lambda step=step: average.update(step, EPOCHS * STEPS))  # type: ignore[misc]
        if (step + 1) % STEPS == 0:
            _follows(average, lambda step=step: average.end_epoch(step // STEPS, EPOCHS))  # type: ignore[misc]
        _check_state(model, average, before)


def _follows(average: Averaging, move: Callable[[], None]) -> None:
    held, num = {name: value.clone() for name, value in average.state().items()}, average.num
    move()
    has_moved = any(bool((value != held[name]).any()) for name, value in average.state().items())
    assert average.num >= num, "num counts down"
    assert not has_moved or average.num > num, "the average moves and num does not"


def _check_state(model: nn.Module, average: Averaging, before: dict[str, Tensor]) -> None:
    live, state = model.state_dict(), average.state()
    assert state.keys() == live.keys(), f"its names are not the model's: {sorted(state.keys() ^ live.keys())}"
    for name, value in live.items():
        one = state[name]
        assert (one.shape, one.dtype) == (value.shape, value.dtype), f"{name} has another shape or type"
        assert bool((value == before[name]).all()), f"it changes {name} of the model"
        assert bool(((one >= 0.999) & (one <= value.max() + 1e-3)).all()), f"{name} is beyond all that there was"
        assert not average.num or one.data_ptr() != value.data_ptr(), f"{name} of the average is the model's own"
