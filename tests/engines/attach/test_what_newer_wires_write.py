"""The rows behind newer kinds: sums of the script, orders of loaders, movement of weights, tails of sequences."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts
from torchstone.engines.attach.likeness import sample
from torchstone.engines.attach.sides import kind_of
from torchstone.engines.attach.targets import tail_of

X = torch.randn(130, 6, generator=torch.Generator().manual_seed(1))
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()


def rows_of(doctor: Any, event: str) -> list[dict[str, Any]]:
    """The rows of one kind."""
    return [row for row in doctor.rows if row["event"] == event]


def train(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader[Any], evaluate: Any) -> None:
    """Three epochs, each with an evaluation."""
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        evaluate(model, DataLoader(TensorDataset(X, Y), batch_size=60))


def by_batches(model: nn.Module, loader: DataLoader[Any]) -> float:
    """A mean of means, with a count that broadcasts."""
    total, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += F.cross_entropy(model(x), y).item()
            correct += int((model(x).argmax(1, keepdim=True) == y).sum())
    return total / len(loader) + 0 * correct


def by_examples(model: nn.Module, loader: DataLoader[Any]) -> float:
    """A mean over examples, in a dictionary."""
    sums = {"total": 0.0, "correct": 0}
    with torch.no_grad():
        for x, y in loader:
            answers = model(x)
            sums["total"] += F.cross_entropy(answers, y).item() * len(y)
            sums["correct"] += int((answers.argmax(1) == y).sum())
    return sums["total"] / 130


def in_a_list(model: nn.Module, loader: DataLoader[Any]) -> float:
    """The losses of the batches, one by one."""
    with torch.no_grad():
        losses = []
        for x, y in loader:
            losses.append(F.cross_entropy(model(x), y))
    return float(torch.stack(losses).mean())


@pytest.mark.parametrize(
    ("evaluate", "added_up"), [(by_batches, "total"), (by_examples, None), (in_a_list, "losses")]
)  # fmt: skip
def test_what_the_script_has_added_up_is_read_from_its_own_variables(evaluate, added_up):
    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        train(model, optimizer, DataLoader(TensorDataset(X, Y), 32, shuffle=True), evaluate)
    row = next(one for one in rows_of(doctor, "pass") if not one["backwards"])
    assert row["added_up"] == added_up
    assert row["own_num"] == 130
    if evaluate is by_batches:
        assert row["counted"]["correct"] > 130
    if evaluate is by_examples:
        assert row["counted"] == {"correct": row["own_right"]}


def test_a_sum_over_a_batch_is_no_mean_times_its_length():
    torch.manual_seed(0)
    model = nn.Linear(6, 3)

    def evaluate(model: nn.Module, loader: DataLoader[Any]) -> None:
        with torch.no_grad():
            for x, y in loader:
                F.cross_entropy(model(x), y, reduction="sum")

    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.SGD(model.parameters(), 1e-9)
        train(model, optimizer, DataLoader(TensorDataset(X, Y), 32), evaluate)
    row = next(one for one in rows_of(doctor, "pass") if not one["backwards"])
    with torch.no_grad():
        assert row["own_loss"] == pytest.approx(float(F.cross_entropy(model(X), Y)), rel=1e-4)


@pytest.mark.parametrize(("seed_again", "same"), [(True, 2), (False, 0)])
def test_the_order_of_a_shuffled_loader_is_compared_over_epochs(seed_again, same):
    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    loader = DataLoader(TensorDataset(X, Y), 32, shuffle=True)
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        for _ in range(3):
            if seed_again:
                torch.manual_seed(3)
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
    (row,) = rows_of(doctor, "order")
    assert (row["again"], row["num"]) == (2, 32)
    assert row["same"] == same
    assert ("RUN512" in [one.code for one in doctor.findings]) == seed_again


class Rebinding(torch.optim.Optimizer):
    """Gradient descent that puts a new tensor into each parameter, or only into a name of its own."""

    def __init__(self, params: Any, is_right: bool) -> None:
        super().__init__(params, {"lr": 0.1})
        self.is_right = is_right

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for p in self.param_groups[0]["params"]:
            if self.is_right:
                p.data = p.data - 0.1 * p.grad
            else:
                p = p - 0.1 * p.grad


@pytest.mark.parametrize(("is_right", "codes"), [(True, set()), (False, {"RUN348"})])
def test_an_optimizer_that_puts_new_tensors_into_parameters_does_move_them(is_right, codes):
    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    with ts.watch(is_quiet=True) as doctor:
        optimizer = Rebinding(model.parameters(), is_right)
        for _ in range(40):
            optimizer.zero_grad()
            F.cross_entropy(model(X), Y).backward()
            optimizer.step()
    assert {one.code for one in doctor.findings if one.severity == "error"} == codes


def test_an_optimizers_own_count_and_the_layers_gradients_are_written_at_some_steps():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Sigmoid(), nn.Linear(8, 3))
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        for _ in range(25):
            optimizer.zero_grad()
            F.cross_entropy(model(X), Y).backward()
            optimizer.step()
    counts = {row["own_step"]: row["state_step"] for row in rows_of(doctor, "step") if row.get("state_step")}
    assert counts == {1: 1.0, 11: 11.0, 21: 21.0}
    (profile,) = rows_of(doctor, "profile")
    assert profile["layers"] == ["0.weight", "2.weight"]
    assert [edge["layer"] for edge in rows_of(doctor, "edges")] == ["1"]


def padded(*lengths: int, width: int = 9) -> Tensor:
    """Sequences of ones and twos, filled up with zeros."""
    return torch.stack([F.pad(torch.arange(n) % 2 + 1, (0, width - n)) for n in lengths])


def test_a_token_that_fills_up_sequences_is_known_by_its_places():
    target = padded(2, 3, 4, 5, 6, 7, 8, 9)
    assert tail_of(target, None) == {"token": 0, "rows": 6, "of": 8, "share": pytest.approx(28 / 72)}
    assert tail_of(target, 0) is None  # ignored
    assert tail_of(padded(*[9] * 8), None) is None  # nothing is filled up
    assert tail_of(padded(*[5] * 8), None) is None  # all of one length: a part of the task
    inside = target.clone()
    inside[7, 3] = 0
    assert tail_of(inside, None) is None  # the token means something elsewhere


def test_batches_are_inputs_or_labels_or_both():
    assert kind_of([torch.zeros(4, 3)]) == "inputs"
    assert kind_of(torch.zeros(4, dtype=torch.long)) == "labels"
    assert kind_of((torch.zeros(4, 3), torch.zeros(4, dtype=torch.long))) == "both"
    assert kind_of([]) == "both"


def test_a_few_weights_stand_for_a_model():
    torch.manual_seed(0)
    one, other = nn.Linear(30, 20), nn.Linear(30, 20)
    assert sample(list(one.parameters())) == sample(list(one.parameters()))
    assert sample(list(one.parameters())) != sample(list(other.parameters()))
    assert 32 <= len(sample(list(one.parameters()))) <= 128
    assert sample([torch.zeros(3)]) == []
