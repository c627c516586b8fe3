"""RUN360 on real modules: products that stay in single or double precision under autocast, and those that do not."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import torchstone as ts
from torchstone.engines.attach.autocasts import products
from torchstone.rules._watched import toy_loop
from torchstone.rules.protocol.autocast_without_effect import RULE, _row


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the doctor's own is an error here."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")


class Deaf(nn.Module):
    """Turns autocast off for itself; for the head alone, or for all of it."""

    def __init__(self, is_all: bool) -> None:
        super().__init__()
        self.body, self.head, self.is_all = nn.Linear(6, 8), nn.Linear(8, 3), is_all

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x float [B, 6] → logits [B, 3]."""
        with torch.autocast("cpu", enabled=not self.is_all, dtype=torch.bfloat16):
            hidden = F.relu(self.body(x))
        with torch.autocast("cpu", enabled=False):
            logits: torch.Tensor = self.head(hidden.float())
        return logits


def rows_and_codes(model: nn.Module, dtype: torch.dtype = torch.float32, *, is_on: bool = True):
    """The rows "autocast" and the codes of a loop of eight steps under autocast to bfloat16."""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(8):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_on):
                loss = F.cross_entropy(model(torch.randn(16, 6, dtype=dtype)), torch.randint(3, (16,)))
            loss.backward()
            optimizer.step()
    assert doctor.mistakes == {}
    rows = [row for row in doctor.rows if row["event"] == "autocast"]
    return rows, [finding.code for finding in doctor.findings]


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def test_a_model_in_double_precision_and_one_that_turns_autocast_off_are_told():
    for model, dtype in ((net().double(), torch.float64), (Deaf(is_all=True), torch.float32)):
        (row,), codes = rows_and_codes(model, dtype)
        assert row["products"] == {str(dtype).removeprefix("torch."): 2}
        assert "RUN360" in codes


def test_a_model_that_autocast_reaches_in_part_or_whole_is_not():
    assert rows_and_codes(net())[0][0]["products"] == {"bfloat16": 2}
    for model in (net(), Deaf(is_all=False)):
        assert "RUN360" not in rows_and_codes(model)[1]


def test_without_autocast_there_is_no_row():
    assert rows_and_codes(net(), is_on=False)[0] == []


def test_attention_and_convolutions_count_as_products():
    attention, convolution = nn.MultiheadAttention(8, 2), nn.Conv1d(8, 4, 3)
    x = torch.randn(5, 3, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = convolution(attention(x, x, x)[0].permute(1, 2, 0))
    found, is_whole = products(y.grad_fn)
    assert is_whole
    assert set(found) == {"bfloat16"}
    assert sum(found.values()) >= 4


def test_the_device_that_autocast_is_not_on_for_is_named():
    (finding,) = RULE.check(toy_loop(more=[_row(products={"float32": 4}, device="cpu")]))
    assert "it is on for cuda, and the model runs on cpu" in finding.what


def test_a_graph_too_large_to_be_walked_through_needs_many_products():
    for num, is_told in ((3, False), (8, True)):
        rows = toy_loop(more=[_row(products={"float32": num}, is_whole=False)])
        assert bool(list(RULE.check(rows))) is is_told
