"""Which precision: what the device has units for, and on a CPU what they were measured to give."""

from __future__ import annotations

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.case import Facts

# Parameters from which bf16 is measured on a CPU; smaller nets train in seconds anyway. Starting point: ours.
LARGE = 5_000_000
# How many times as fast a single layer must be in the probe. Whole steps gain less, since casts and the optimizer stay:
# with layers 3.3 and 5.8 times as fast, steps of a ResNet-18 ran 1.7, of a transformer of 10 million 1.5, of an LSTM
# of 6.6 million 1.35 times as fast (2026-12-02, one core with avx512_bf16, torch 2.14.1). Starting point: ours.
LEAST_GAIN = 1.5
OURS = "our measurement, 2026-12-02, torch 2.14.1"


def asks_for_probe(facts: Facts) -> bool:
    """Whether the choice needs bf16's speed measured: one process on a CPU with bf16 units, and a large model.

    facts: device, has_bf16, world, parameters. Ranks plan each for itself and must come to one answer, so that with
    several nothing is measured.
    """
    is_cpu = facts["device"] == "cpu" and bool(facts["has_bf16"])
    return is_cpu and facts.get("world", 1) == 1 and (facts.get("parameters") or 0) >= LARGE


def choose_precision(facts: Facts) -> Choice:
    """bf16 where the device has it, fp16 with a scaler on CUDA without; on a CPU bf16 only where it was measured.

    facts: device, has_accelerator, has_bf16, parameters, and bf16_speed (how many times as fast) if it was measured.
    """
    if facts["has_accelerator"] and facts["has_bf16"]:
        return Choice(
            "train.precision", "bf16", "derived", "the device has bf16; no loss scaling needed",
            "Kalamkar et al. 2019, A Study of BFLOAT16", "a device without bf16: fp16 with a loss scaler",
        )  # fmt: skip
    if facts["device"] == "cuda":
        return Choice(
            "train.precision", "fp16", "derived", "the device lacks bf16: fp16 with a loss scaler",
            "Micikevicius et al. 2018, Mixed Precision Training", "a device with bf16: bf16",
        )  # fmt: skip
    if not facts["has_bf16"]:
        return Choice("train.precision", "fp32", "derived", "this device has no units for bf16", OURS,
                      "a CPU with avx512_bf16 or AMX and a large model: bf16")
    speed = facts.get("bf16_speed")
    if speed is not None:
        return _measured(float(speed))
    if (facts.get("parameters") or 0) >= LARGE:
        return Choice("train.precision", "fp32", "derived", "several ranks share this CPU: bf16 was not measured", OURS,
                      "you measured that it is faster here: train.precision=bf16")
    return Choice("train.precision", "fp32", "derived", "a small net: exact, and fast enough", START,
                  f"{LARGE:,} parameters or more: bf16 is measured then")


def _measured(speed: float) -> Choice:
    seen = f"a layer like this model's ran {speed:.1f} times as fast in bf16 on this CPU"
    source = f"measured on this machine; the threshold of {LEAST_GAIN}: {START}"
    if speed >= LEAST_GAIN:
        return Choice("train.precision", "bf16", "derived", seen, source, f"less than {LEAST_GAIN} times: fp32")
    return Choice("train.precision", "fp32", "derived", seen, source, f"{LEAST_GAIN} times or more: bf16")
