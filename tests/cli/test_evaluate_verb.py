"""How `evaluate` shows its numbers."""

from __future__ import annotations

from torchstone.cli.evaluate import lines


def test_a_long_name_keeps_its_distance_from_the_number_and_all_numbers_stand_in_one_column() -> None:
    metrics = {"macro_f1": {"value": 0.5, "low": 0.4, "high": 0.6}, "mean_average_precision": {"value": None}}
    shown = lines({"run": "r", "split": "test", "n": 31, "metrics": metrics})[-2:]
    assert shown == ["macro_f1                0.5  [0.4, 0.6]", "mean_average_precision  undefined"]
