"""Kinds that scripts written by a fresh eye brought up: each fault in a few lines, and the same loop without it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts
from torchstone.engines.attach.padding import lengths_of
from torchstone.engines.attach.targets import keeps_self
from torchstone.engines.attach.windows import is_windows

X = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()


def codes(doctor: Any) -> list[str]:
    """What was found."""
    return [finding.code for finding in doctor.findings]


def rows_of(doctor: Any, event: str) -> list[dict[str, Any]]:
    """The rows of one kind."""
    return [row for row in doctor.rows if row["event"] == event]


def net_and_optimizer(**options: Any) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A small classifier."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    return model, torch.optim.SGD(model.parameters(), 0.1, **options)


def one_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """A sound step on all examples."""
    optimizer.zero_grad()
    F.cross_entropy(model(X), Y).backward()
    optimizer.step()


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_state_that_is_the_models_own_memory_is_found(is_copied):
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        one_step(model, optimizer)
        best = copy.deepcopy(model.state_dict()) if is_copied else model.state_dict()
        one_step(model, optimizer)
        model.load_state_dict(best)
    assert ("RUN523" in codes(doctor)) is not is_copied


def test_a_state_that_becomes_the_models_own_by_assignment_is_not_its_own_before():
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        one_step(model, optimizer)
        model.load_state_dict(copy.deepcopy(model.state_dict()), assign=True)
    assert rows_of(doctor, "weights")[0]["num_own"] == 0


@pytest.mark.parametrize("is_inside", [True, False])
def test_gradients_that_are_cleared_between_micro_batches_are_counted(is_inside):
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(8):
            optimizer.zero_grad()
            for part in range(4):
                if is_inside:
                    optimizer.zero_grad()
                (F.cross_entropy(model(X[part::4]), Y[part::4]) / 4).backward()
            optimizer.step()
    assert ("RUN524" in codes(doctor)) is is_inside
    assert {row["num_dropped"] for row in rows_of(doctor, "step")[1:]} == {3 if is_inside else 0}


def test_gradients_clipped_between_micro_batches_are_not_thrown_away():
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(6):
            optimizer.zero_grad()
            for part in range(2):
                (F.cross_entropy(model(X[part::2]), Y[part::2]) / 2).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
    assert {row["num_dropped"] for row in rows_of(doctor, "step")} == {0}


@pytest.mark.parametrize("divisor", [3, 9])
def test_a_mean_divided_by_the_accumulation_twice_is_found(divisor):
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(8):
            optimizer.zero_grad()
            for part in range(3):
                (F.cross_entropy(model(X[part::3]), Y[part::3]) / divisor).backward()
            optimizer.step()
    assert ("RUN525" in codes(doctor)) is (divisor == 9)


def hard_share(logits: Tensor) -> Tensor:
    """A term of argmax: no graph is kept of it."""
    return (logits.argmax(1) != Y).float().mean()


@pytest.mark.parametrize(
    ("term", "is_sick"),
    [
        (hard_share, True),
        (lambda logits: hard_share(logits).item(), True),
        (lambda logits: logits.softmax(1)[:, 0].mean(), False),
        (lambda logits: 1e-8, False),
    ],
)
def test_a_term_without_a_graph_is_found_where_it_varies(term, is_sick):
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(30):
            optimizer.zero_grad()
            logits = model(X)
            (F.cross_entropy(logits, Y) + term(logits)).backward()
            optimizer.step()
    assert ("RUN529" in codes(doctor)) is is_sick


@pytest.mark.parametrize("copies_buffers", [False, True])
def test_an_average_without_the_statistics_of_its_norms_is_found(copies_buffers):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    average = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        average.eval()
        for _ in range(60):
            one_step(model, optimizer)
            with torch.no_grad():
                for mean, weight in zip(average.parameters(), model.parameters(), strict=True):
                    mean.lerp_(weight, 0.1)
                for mine, theirs in zip(average.buffers(), model.buffers(), strict=True):
                    if copies_buffers:
                        mine.copy_(theirs)
    assert ("RUN617" in codes(doctor)) is not copies_buffers


def test_a_model_that_was_set_to_evaluation_before_it_was_trained_is_no_copy():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        model.eval()
        model.train()
        for _ in range(60):
            one_step(model, optimizer)
    assert "RUN617" not in codes(doctor)


class Reader(nn.Module):
    """A GRU over tokens, read out at the last place or at the last token."""

    def __init__(self, *, is_packed: bool) -> None:
        super().__init__()
        self.table, self.gru = nn.Embedding(12, 8, padding_idx=0), nn.GRU(8, 8, batch_first=True)
        self.head, self.is_packed = nn.Linear(8, 2), is_packed

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Logits [B, 2]."""
        if not self.is_packed:
            return self.head(self.gru(self.table(tokens))[0][:, -1])
        packed = pack_padded_sequence(self.table(tokens), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.gru(packed)[1][-1])


def sequences(longest: int) -> tuple[Tensor, Tensor]:
    """Sixteen of them, padded with 0 to the longest, and their lengths."""
    lengths = torch.arange(16) % longest + 1
    tokens = torch.randint(1, 12, (16, longest))
    return tokens * (torch.arange(longest) < lengths[:, None]), lengths


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_answer_that_depends_on_padding_is_found(is_packed):
    torch.manual_seed(0)
    model = Reader(is_packed=is_packed)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for longest in (9, 12, 10):
            model.train()
            optimizer.zero_grad()
            F.cross_entropy(model(*sequences(longest)), torch.arange(16) % 2).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                model(*sequences(longest))
    assert "refused" not in rows_of(doctor, "padded")[0]
    assert ("RUN528" in codes(doctor)) is not is_packed


def test_lengths_are_told_only_where_one_token_fills_up_the_ends():
    tokens, lengths = sequences(9)
    assert lengths_of(tokens).tolist() == lengths.tolist()
    tokens[3, 0] = 0  # the token stands in front, too
    assert lengths_of(tokens) is None
    assert lengths_of(torch.randint(1, 12, (16, 9)) % 5 + torch.arange(9)) is None


def windows(values: Tensor) -> Tensor:
    """Every window of eight."""
    return values.unfold(0, 8, 1)


@pytest.mark.parametrize("is_by_chance", [False, True])
def test_windows_of_both_sides_are_told_from_windows_of_two_times(is_by_chance):
    torch.manual_seed(0)
    series = torch.randn(200).cumsum(0)
    every = windows(series)
    order = torch.randperm(len(every)) if is_by_chance else torch.arange(len(every))
    parts = [every[order[:150]], every[order[150:]]]
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for x in DataLoader(parts[0], 25, shuffle=True):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        with torch.no_grad():
            for x in DataLoader(parts[1], 25):
                model(x)
    assert ("RUN526" in codes(doctor)) is is_by_chance
    if not is_by_chance:  # the first one of the second part follows the last one of the first
        assert rows_of(doctor, "windows")[1]["beside"] == {"0": 1}


def test_rows_of_a_table_are_no_windows_of_one_another():
    model, optimizer = net_and_optimizer()
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for x, y in DataLoader(TensorDataset(X, Y), 16):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert [row["num_sliding"] for row in rows_of(doctor, "windows")] == [0]
    assert not is_windows(torch.randint(0, 2, (8, 20)).float())  # two values: alike by chance


def test_similarities_to_oneself_are_seen_in_symmetric_logits_alone():
    z = F.normalize(torch.randn(16, 8, generator=torch.Generator().manual_seed(0)), dim=1)
    pairs = torch.cat([torch.arange(8, 16), torch.arange(8)])
    assert keeps_self(z @ z.t() / 0.2, pairs)
    assert not keeps_self((z @ z.t() / 0.2).fill_diagonal_(-torch.inf), pairs)
    assert not keeps_self(z @ z.t() / 0.2, torch.arange(16))  # two views: the diagonal is the answer
    assert not keeps_self(torch.randn(16, 16), pairs)  # sixteen classes and sixteen examples
    assert not keeps_self(torch.tensor(0.5), torch.tensor(1.0))  # one number, as of an episode's value
