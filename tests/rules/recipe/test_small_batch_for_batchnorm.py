"""PLN108 names a way out that is there."""

from __future__ import annotations

from typing import Any

import pytest

from torchstone.rules.recipe._toy import planning
from torchstone.rules.recipe.small_batch_for_batchnorm import check


def fixes(world: int = 1, **values: Any) -> list[str]:
    return [finding.fix or "" for finding in check(planning(facts={"world": world}, **values))]


def test_another_norm_is_a_way_out_for_the_model_that_has_one() -> None:
    (fix,) = fixes(train__batch_size=4)
    assert "model.norm=group" in fix
    assert "sync_batchnorm" not in fix
    (fix,) = fixes(train__batch_size=4, model__name="resnet18")
    assert "model.norm=group" in fix
    for other in ({"model__name": "efficientnet_b0"}, {"model__name": "resnet18", "model__options__weights": "hub"}):
        (fix,) = fixes(train__batch_size=4, **other)
        assert "model.norm" not in fix


def test_over_ranks_synchronised_statistics_are_a_way_out_if_they_are_of_enough() -> None:
    (fix,) = fixes(world=4, train__batch_size=16, model__name="resnet18")
    assert "train.sync_batchnorm=true: its statistics are then of 16 examples" in fix
    (fix,) = fixes(world=4, train__batch_size=4)
    assert "sync_batchnorm" not in fix


@pytest.mark.parametrize("norm", ["group", "layer", "rms", "none"])
def test_without_batchnorm_nothing_is_found(norm: str) -> None:
    assert fixes(train__batch_size=4, model__options__norm=norm) == []
    assert fixes(train__batch_size=4, model__options__norm="batch") != []


def test_synchronised_statistics_count_the_examples_of_all_ranks() -> None:
    assert fixes(world=4, train__batch_size=16, train__sync_batchnorm=True) == []
    assert "sees 4 examples" in next(
        check(planning(facts={"world": 4}, train__batch_size=16, train__accumulate=4, train__sync_batchnorm=True))
    ).what
