"""What every schedule must keep."""

from __future__ import annotations

import math

from torchstone.parts.schedules import Schedule, WithMomentum


def check_schedule(schedule: Schedule) -> None:
    """Raises AssertionError where a schedule breaks the contract that the loop builds on.

    Checked for runs of 1 to 1,000 steps: every multiplier is finite and in 0 … 1; some step moves; the same question
    has the same answer; after the run the final value stays and is not above the last step's. If the schedule moves
    momentum, every value of that is in 0 … below 1, and it remembers nothing either.
    """
    for total in (1, 2, 3, 7, 20, 1000):
        values = [schedule(step, total) for step in range(total)]
        assert all(math.isfinite(value) and 0 <= value <= 1 for value in values), f"out of 0 … 1 for {total} steps"
        assert max(values) > 0, f"no step of {total} moves anything"
        assert values == [schedule(step, total) for step in range(total)], "a schedule must remember nothing"
        beyond = [schedule(total + extra, total) for extra in (0, 1, total, 10 * total)]
        assert len(set(beyond)) == 1, f"the value changes after the run's {total} steps"
        assert beyond[0] <= values[-1] + 1e-12, f"the rate climbs again after the run's {total} steps"
        if isinstance(schedule, WithMomentum):
            momenta = [schedule.momentum(step, total) for step in range(total)]
            assert all(0 <= value < 1 for value in momenta), f"a momentum out of 0 … below 1 for {total} steps"
            assert momenta == [schedule.momentum(step, total) for step in range(total)], "it remembers momentum"
