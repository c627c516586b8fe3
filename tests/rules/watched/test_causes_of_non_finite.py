"""What an autopsy is turned into: one of four causes, in plain words, with a mend."""

from __future__ import annotations

from typing import Any

import pytest

from torchstone.rules._non_finite import HUGE, cause
from torchstone.rules._watched import toy_loop, toy_non_finite
from torchstone.rules.health.loss_not_finite import check
from torchstone.rules.health.losses_skipped import check as check_skipped


def autopsy(**different: Any) -> dict[str, Any]:
    return toy_non_finite(**different)


def test_a_logarithm_of_zero_is_an_operation_and_says_how_many() -> None:
    why = cause(autopsy())
    assert (why.kind, why.what) == ("operation", "layer head (Linear), forward: log of 0 (3 of 128 values)")


def test_the_layer_before_is_called_so() -> None:
    assert cause(autopsy(is_after=True)).what.startswith("after layer head")
    assert cause(autopsy(layer="")).what.startswith("the model's own forward")
    assert cause(autopsy(layer="loss")).what.startswith("the loss, forward")


def test_a_loss_that_had_grown_puts_the_blame_on_the_run() -> None:
    why = cause(autopsy(), "the loss had grown from 2 to 40 before")
    assert why.kind == "explosion"
    assert "from 2 to 40" in why.what
    assert "log of 0" in why.what


@pytest.mark.parametrize(("size", "kind"), [(HUGE / 2, "operation"), (HUGE * 2, "explosion")])
def test_weights_beyond_all_measure_put_the_blame_on_the_run(size: float, kind: str) -> None:
    weights = {"largest": size, "largest_of": "head.weight", "bad": [], "num_bad": 0}
    assert cause(autopsy(weights=weights)).kind == kind


def data(kind: str, of: str = "input 0", **different: Any) -> dict[str, Any]:
    return {"of": of, "kind": kind, "dtype": "float32", "num": 1, "num_places": 1, "columns": [2], "value": 3e9,
            "usual": 1.0, "rows": [7], "examples": ["a.csv:9"], "column_names": ["height"], **different}  # fmt: skip


def test_broken_data_is_blamed_where_it_was_followed_to_only() -> None:
    why = cause(autopsy(origin="input 0", operation="addmm", data=[data("nan")]))
    assert (why.kind, why.what) == ("data", "NaN in input 0 came in with the batch: a.csv:9, column height")
    assert cause(autopsy(origin=None, data=[data("nan")])).kind == "operation"


def test_an_absurd_value_is_blamed_where_finite_numbers_overflowed() -> None:
    sizes = {"operation": "addmm", "operands": [{"low": -3e30, "high": 3e30, "num": 9}], "output": {"inf": 3,
             "dtype": "float32"}}  # fmt: skip
    why = cause(autopsy(**sizes, data=[data("absurd")]))
    assert why.kind == "data"
    assert "a value of 3e+09 in input 0" in why.what
    assert cause(autopsy(**sizes)).kind == "overflow"
    assert cause(autopsy(data=[data("absurd")])).kind == "operation"


def test_what_did_not_come_again_is_said_so() -> None:
    assert cause({"phase": None}).what == "it did not come again when the batch was run once more"


def loop(*rows: dict[str, Any], bad_from: int = 99) -> list[Any]:
    sick = toy_loop(30, lambda number, row: {"loss": float("nan")} if number >= bad_from else {}, more=rows)
    return list(check(sick))


def test_weights_that_are_spoilt_are_an_error_at_once_and_a_bad_loss_alone_is_none() -> None:
    assert loop(autopsy()) == []
    (found,) = loop(autopsy(is_spoilt=True))
    assert found.evidence["cause"] == "operation"
    assert (found.where.layer, found.where.step) == ("head", 20)


@pytest.mark.parametrize(("streak", "num"), [(9, 0), (10, 1)])
def test_ten_steps_in_a_row_that_a_scaler_skips_for_a_bad_loss_are_an_error(streak: int, num: int) -> None:
    assert len(loop(autopsy(is_scaled=True, most_in_a_row=streak))) == num


def test_a_loss_that_stays_bad_is_explained_by_the_row_before_it() -> None:
    (found,) = loop(autopsy(), bad_from=21)
    assert "log of 0" in found.what
    (found,) = loop(bad_from=21)
    assert "nothing that was seen explains it" in found.what


def test_losses_left_out_are_counted_and_told_with_their_cause() -> None:
    rows = toy_loop(more=[autopsy(num_used=0, num_skipped=2), autopsy(step=30, num_used=0, num_skipped=1)])
    (found,) = check_skipped(rows)
    assert (found.severity, found.evidence["num"], found.where.step) == ("warning", 3, 20)
    assert "log of 0" in found.what
