"""What a watch says where it saw batches of a training, and no optimizer that it knows."""

from __future__ import annotations

from torchstone.flows.seen import nothing_found
from torchstone.rules._watched import toy_pass


def test_passes_without_a_step_name_the_door_into_keras():
    said = nothing_found([toy_pass(names=["loader"], backwards=4, forwards=4)])
    assert said.startswith("no step of a torch optimizer was seen")
    assert "ts.keras.Doctor()" in said
    assert "keras" not in nothing_found([])
