"""The table of losses: each condition, the plain case beside it, and the facts about a target's spread."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from torchstone.core import catalog
from torchstone.core.catalog import find, names
from torchstone.core.errors import StoneError
from torchstone.flows.facts import spread_of
from torchstone.flows.plan import FOLDERS
from torchstone.parts.choices.which_loss import LOSSES, SOME, TUNING, choose_loss, has_task, kinds, which_loss

TASKS = [find("torchstone.parts.tasks", name) for name in names("torchstone.parts.tasks")]
REGRESSION = find("torchstone.parts.tasks", "tabular_regression")


def test_every_row_names_a_part_that_is_there_with_options_that_it_has() -> None:
    facts = {"target_robust_std": 0.3}
    for case in LOSSES:
        known = {option.name for option in catalog.options(catalog.find(FOLDERS["loss"], case.choice))}
        assert set(case.options(facts)) <= known, case


def test_every_row_has_a_reason_and_a_source_with_its_year() -> None:
    for case in LOSSES:
        assert case.reason
        assert re.search(r"\b(19|20)\d\d\b", case.source), case


def test_every_row_can_be_reached() -> None:
    facts = [
        {"target": kind, "class_counts": counts, "target_outliers": share}
        for kind in kinds() for counts in ([10, 10], [1000, 10]) for share in (0.0, 0.05, 0.2)
    ]  # fmt: skip
    assert {id(which_loss(known)) for known in facts} == {id(case) for case in LOSSES}


@pytest.mark.parametrize(
    ("facts", "loss"),
    [
        ({"target": "single", "class_counts": [50, 50]}, "cross_entropy"),
        ({"target": "multi"}, "binary_cross_entropy"),
        ({"target": "number", "target_outliers": 0.0}, "mse"),
        ({"target": "number", "target_outliers": 0.009}, "mse"),
        ({"target": "number", "target_outliers": 0.01}, "huber"),
        ({"target": "number", "target_outliers": 0.10}, "mae"),
        ({"target": "number", "target_outliers": None}, "mse"),
        ({"target": "pairs"}, "contrastive"),
        ({"target": "triplets"}, "triplet"),
        ({"target": "views"}, "nt_xent"),
        ({"target": "two_encoders"}, "info_nce"),
        ({"target": "mask"}, "dice"),
        ({"target": "sequence"}, "ctc"),
        ({"target": "teacher"}, "distillation"),
        ({"target": "identity"}, "arcface"),
        ({"target": "boxes"}, "focal"),
    ],
)
def test_each_condition_has_its_loss(facts: dict[str, object], loss: str) -> None:
    assert which_loss(facts).choice == loss


def test_what_a_task_trains_on_is_told_from_what_waits_for_one() -> None:
    assert has_task("single")
    assert has_task("number")
    assert not has_task("no such kind")
    with pytest.raises(StoneError, match="no loss is known for 'tea leaves'"):
        which_loss({"target": "tea leaves"})


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_with_nothing_else_known_a_task_keeps_its_own_loss(task) -> None:
    chosen = {choice.field: choice.value for choice in choose_loss(task, {"target": task.target})}
    assert chosen == {"loss.name": task.loss}


def chosen(**facts: object) -> dict[str, object]:
    return {c.field: c.value for c in choose_loss(REGRESSION, {"target": "number", **facts})}


def test_outliers_bring_another_metric_and_a_delta_in_units_of_the_clean_rows() -> None:
    found = chosen(target_outliers=0.05, target_robust_std=0.1)
    assert found == {"loss.name": "huber", "loss.options.delta": 0.13, "metric": "mae"}
    assert chosen(target_outliers=0.3, target_robust_std=0.1) == {"loss.name": "mae", "metric": "mae"}


def test_a_loss_of_the_users_is_left_its_metric() -> None:
    assert chosen(target_outliers=0.05, target_robust_std=0.1, loss="mse") == {"loss.name": "huber"}


def test_the_share_is_said_with_the_loss() -> None:
    named, *_ = choose_loss(REGRESSION, {"target": "number", "target_outliers": 0.05, "target_robust_std": 0.1})
    assert named.reason.startswith("5.0% of the training targets lie beyond 3 IQR")


def test_the_threshold_lies_above_plain_skew_and_below_gross_errors() -> None:
    rng = np.random.default_rng(0)
    normal, skewed = rng.normal(size=100_000), rng.exponential(size=100_000)
    assert spread_of(normal)["target_outliers"] < 1e-4
    assert 0.007 < spread_of(skewed)["target_outliers"] < 0.01  # exp(-(ln 4 + 3 ln 3)) = 1 / 108
    dirty = np.concatenate([normal[:9500], rng.normal(scale=100, size=500)])
    assert 0.04 < spread_of(dirty)["target_outliers"] < 0.06


def test_spread_is_scipys_and_survives_what_cannot_be_measured() -> None:
    values = np.random.default_rng(1).standard_t(5, size=2000)
    spread = spread_of(values)
    assert spread["target_kurtosis"] == pytest.approx(stats.kurtosis(values))
    assert spread["target_robust_std"] == pytest.approx(stats.iqr(values) / 1.349 / values.std())
    nothing = {"target_outliers": None, "target_robust_std": None, "target_kurtosis": None}
    for sick in (np.zeros(10), np.array([]), np.array([np.nan, np.inf]), np.array([0.0] * 9 + [5.0])):
        assert spread_of(sick) == nothing


def test_the_squares_of_huber_end_where_it_is_95_percent_as_efficient_as_the_mean_on_a_normal_law() -> None:
    """Huber 1964: the variance of the estimate is E[psi^2] / E[psi']^2, of the mean it is 1."""
    inside = 2 * stats.norm.cdf(TUNING) - 1
    squares = inside - 2 * TUNING * stats.norm.pdf(TUNING) + 2 * TUNING**2 * stats.norm.sf(TUNING)
    assert inside**2 / squares == pytest.approx(0.95, abs=1e-4)


def test_the_fences_of_tukey_hold_nearly_all_of_a_normal_law_and_99_percent_of_an_exponential_one() -> None:
    def beyond(law: object) -> float:
        low, high = law.ppf([0.25, 0.75])  # type: ignore[attr-defined]
        width = high - low
        return float(law.cdf(low - 3 * width) + law.sf(high + 3 * width))  # type: ignore[attr-defined]

    assert beyond(stats.norm()) == pytest.approx(0.000_002, abs=0.000_001)
    assert SOME * 0.9 < beyond(stats.expon()) < SOME
