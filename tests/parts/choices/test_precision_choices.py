"""Half precision where the device has units for it, on a CPU only where it was measured to pay."""

from __future__ import annotations

import pytest

from torchstone.parts.choices.precision import asks_for_probe, choose_precision

CPU = {"device": "cpu", "has_accelerator": False, "has_bf16": True, "world": 1, "parameters": 11_000_000}
GPU = {"device": "cuda", "has_accelerator": True, "has_bf16": True, "world": 1, "parameters": 1000}


@pytest.mark.parametrize(
    ("facts", "precision"),
    [
        (GPU, "bf16"),
        ({**GPU, "has_bf16": False}, "fp16"),
        ({**GPU, "device": "mps", "has_bf16": False}, "fp32"),
        ({**CPU, "bf16_speed": 1.5}, "bf16"),
        ({**CPU, "bf16_speed": 1.49}, "fp32"),
        ({**CPU, "has_bf16": False}, "fp32"),
        ({**CPU, "parameters": 1000}, "fp32"),
        ({**CPU, "parameters": None}, "fp32"),
        ({**CPU, "world": 2}, "fp32"),
    ],
)
def test_the_precision_follows_device_and_measurement(facts: dict[str, object], precision: str) -> None:
    choice = choose_precision(facts)
    assert choice.value == precision
    assert choice.reason
    assert choice.source
    assert choice.changes_if


def test_the_measured_ratio_is_told() -> None:
    assert "ran 2.1 times as fast in bf16" in choose_precision({**CPU, "bf16_speed": 2.13}).reason


def test_only_one_process_with_a_large_model_on_a_cpu_with_units_is_measured() -> None:
    assert asks_for_probe(CPU)
    for change in ({"parameters": 4_999_999}, {"has_bf16": False}, {"world": 2}, {"device": "cuda"}):
        assert not asks_for_probe({**CPU, **change})
