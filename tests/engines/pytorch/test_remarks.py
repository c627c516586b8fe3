"""What a run tells once: what decays, what a source has to say, and when."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import nn

from torchstone.core.event import Event
from torchstone.engines.pytorch.groups import parameter_groups
from torchstone.engines.pytorch.remarks import Remarks, receipt_remark


class Told:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, event: Event) -> None:
        if event.kind == "note":
            self.texts.append(str(event.values["text"]))


def test_what_a_source_says_is_told_once_also_where_it_comes_later():
    told, notes = Told(), ["no cache"]
    source: Any = SimpleNamespace(notes=notes)
    remarks = Remarks(source, [told])
    remarks(Event("start", 0, {}))
    remarks(Event("validation", 5, {}))
    notes.append("a damaged file")
    remarks(Event("step", 6, {}))
    assert told.texts == ["no cache"]
    remarks(Event("validation", 10, {}))
    remarks(Event("checkpoint", 10, {}))
    assert told.texts == ["no cache", "a damaged file"]


def test_the_receipt_in_one_line_counts_every_parameter():
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    _, receipt = parameter_groups(model, weight_decay=0.1)
    assert receipt_remark(receipt) == (
        "weight decay acts on 20 of 34 parameters; not on: 8 (parameter of a norm layer), 6 (bias)"
    )


def test_without_decay_the_line_says_why():
    _, receipt = parameter_groups(nn.Linear(3, 2, bias=False), weight_decay=0.0)
    assert receipt_remark(receipt) == "weight decay acts on 0 of 6 parameters; not on: 6 (weight decay is 0)"
