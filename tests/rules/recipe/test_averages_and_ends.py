"""Rules about averaged weights and runs that end early."""

from __future__ import annotations

import pytest

from torchstone.rules.recipe import early_end_of_schedule, mean_of_settled_weights
from torchstone.rules.recipe._toy import planning


@pytest.mark.parametrize(("values", "fields"), [
    ({}, []), ({"train__patience": 2}, ["train.patience"]),
    ({"train__stop_on__patience": 2}, ["train.stop_on.patience"]),
    ({"train__stop_on__patience": 2, "schedule__name": "constant"}, []),
])
def test_either_way_to_stop_early_may_cut_a_schedule_off(values: dict[str, object], fields: list[str]) -> None:
    findings = early_end_of_schedule.check(planning(**values))
    assert [finding.where.field for finding in findings] == fields


@pytest.mark.parametrize(("averaging", "schedule", "num"), [
    ("swa", "cosine", 1), ("swa", "one_cycle", 1), ("swa", "cosine_restarts", 0), ("swa", "constant", 0),
    ("ema", "cosine", 0), (None, "cosine", 0),
])
def test_swa_wants_weights_that_move(averaging: str | None, schedule: str, num: int) -> None:
    found = list(mean_of_settled_weights.check(planning(averaging__name=averaging, schedule__name=schedule)))
    assert len(found) == num
