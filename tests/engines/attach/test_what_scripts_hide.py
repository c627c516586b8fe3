"""What the wires see of labels, batches, frozen parts and modes; and what they leave alone."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import torchstone as ts
from torchstone.engines.attach.lengths import fewer_inputs
from torchstone.engines.attach.relabelled import pairs_of
from torchstone.engines.attach.targets import tail_of_zeros
from torchstone.engines.attach.untrained import frozen_layers, is_drawn, is_fresh, is_torchs_own

X = torch.randn(130, 6, generator=torch.Generator().manual_seed(1))
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Mistakes of ours are raised; the wires leave nothing behind."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")
    before = F.scaled_dot_product_attention
    yield
    assert "mean" not in vars(Tensor)
    assert F.scaled_dot_product_attention is before


def rows_of(doctor: Any, event: str) -> list[dict[str, Any]]:
    """The rows of one kind."""
    return [row for row in doctor.rows if row["event"] == event]


def fit(model: nn.Module, loader: Any, epochs: int = 3, after: Callable[[], object] = lambda: None) -> Any:
    """A loop of cross-entropy under the doctor; `after` runs after each epoch."""
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.05)
        for _ in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            after()
    return doctor


def codes(doctor: Any) -> list[str]:
    """The codes of what was found."""
    return [finding.code for finding in doctor.findings]


class Labelled(Dataset[Any]):
    """Rows with their labels, or with labels that are drawn at each access."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        is_drawn = random.random() < self.share
        return X[index], random.randrange(3) if is_drawn else int(Y[index])


@pytest.mark.parametrize(("share", "is_found"), [(1.0, True), (0.1, False), (0.0, False)])
def test_labels_that_are_drawn_at_each_access_are_found_and_a_little_noise_is_not(share, is_found):
    random.seed(0)
    doctor = fit(nn.Linear(6, 3), DataLoader(Labelled(share), 26, shuffle=True))
    row = rows_of(doctor, "relabelled")[0]
    assert row["num"] == 130
    assert (row["different"] > 60) == is_found
    assert ("RUN516" in codes(doctor)) == is_found


def test_pairs_of_the_same_first_input_are_no_other_labels_of_one():
    first, labels = X[:8], torch.arange(8) % 2
    alone, other = pairs_of([first, X[8:16], labels]), pairs_of([first, X[16:24], labels])
    assert [key for key, _ in alone] != [key for key, _ in other]
    assert pairs_of([first, X[8:16], labels]) == alone
    assert pairs_of([torch.arange(8), labels]) == []  # of words alone one draws contexts
    assert pairs_of([X[:4], labels]) == []


def own_loss(scores: Tensor, target: Tensor) -> Tensor:
    """A formula of one's own."""
    return (scores - F.one_hot(target, 3)).square().sum(1).mean()


@pytest.mark.parametrize(("is_weighted", "name"), [(False, "total"), (True, None)])
def test_means_of_an_own_formula_that_are_added_up_over_unequal_batches_are_seen(is_weighted, name):
    torch.manual_seed(0)
    model, held = nn.Linear(6, 3), DataLoader(TensorDataset(X * 3, Y), 60)

    def evaluate() -> None:
        total = 0.0
        with torch.no_grad():
            for x, y in held:
                total += own_loss(model(x), y).item() * (len(y) if is_weighted else 1)
        assert total > 0

    doctor = fit(model, DataLoader(TensorDataset(X, Y), 26), after=evaluate)
    seen = next(row for row in rows_of(doctor, "pass") if not row["backwards"])
    assert (seen.get("own_means") or {}).get("added_up") == name
    if name:
        with torch.no_grad():
            assert seen["own_means"]["num"] == 130
        last = [row for row in rows_of(doctor, "pass") if not row["backwards"]][-1]["own_means"]
        with torch.no_grad():
            assert last["mean"] == pytest.approx(own_loss(model(X * 3), Y).item(), rel=1e-5)


@pytest.mark.parametrize(("keepdim", "found"), [(True, ["RUN422"]), (False, [])])
def test_a_count_of_one_expression_is_read_when_the_next_pass_begins(keepdim, found):
    torch.manual_seed(0)
    train, held = DataLoader(TensorDataset(X[:70], Y[:70]), 14), DataLoader(TensorDataset(X[70:], Y[70:]), 25)
    model = nn.Linear(6, 3)
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        for _ in range(4):
            for x, y in train:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            with torch.no_grad():
                correct = sum((model(x).argmax(1, keepdim=keepdim) == y).sum().item() for x, y in held)
            assert correct
    assert codes(doctor) == found
    seen = [row["counted_later"] for row in rows_of(doctor, "pass") if row.get("counted_later")]
    assert len(seen) == 3  # nothing comes after the last one
    assert all(one["right"] == one["counted"]["correct"] for one in seen) != keepdim


def test_series_that_are_filled_up_with_zeros_name_the_class_at_their_ends():
    lengths = torch.tensor([9, 5, 7, 9, 4, 6])
    mask = torch.arange(9) < lengths[:, None]
    series, target = torch.randn(6, 9, 4) * mask[..., None], torch.randint(1, 5, (6, 9)) * mask
    tail = tail_of_zeros(target, series, -100)
    assert tail == {"token": 0, "rows": 4, "of": 6, "share": pytest.approx(14 / 54)}
    assert tail_of_zeros(target, series, 0) is None  # that class is left out of the loss
    assert tail_of_zeros(target.masked_fill(~mask, -100), series, -100) is None
    assert tail_of_zeros(target, series + 1, -100) is None
    assert tail_of_zeros(torch.randint(1, 5, (6, 9)), series, -100) is None  # several classes there: no padding


@pytest.mark.parametrize(
    ("shapes", "is_seen"),
    [
        ([(1, 3, 8, 8), (50,)], True),
        ([(1, 3, 8, 8), (50, 1)], True),
        ([(50, 3, 8, 8), (50,)], False),
        ([(12, 50, 4), (50,)], False),  # time comes first
        ([(10, 4), (50, 4), (50,)], False),  # prototypes beside the batch
        ([(400, 4), (50,)], False),  # nodes of 50 graphs
    ],
)
def test_fewer_inputs_than_labels_are_seen_where_no_axis_is_the_batch(shapes, is_seen):
    assert (fewer_inputs(shapes, [True] * len(shapes), 50) is not None) == is_seen


def test_edges_of_a_graph_are_no_inputs_that_are_too_few():
    assert fewer_inputs([(2, 300), (50,)], [False, False], 50) is None


def backbone() -> nn.Sequential:
    """Two layers of torch's own making."""
    return nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())


@pytest.mark.parametrize(
    ("change", "is_found"),
    [(None, True), ("trained", False), ("moves", False), ("not frozen", False)],
)
def test_a_frozen_part_of_fresh_weights_that_stand_still_is_found(change, is_found):
    torch.manual_seed(0)
    body = backbone()
    model = nn.Sequential(body, nn.Linear(32, 3))
    loader = DataLoader(TensorDataset(X, Y), 26)
    if change == "trained":
        fit(model, loader)
    body.requires_grad_(change == "not frozen")

    def drift() -> None:
        with torch.no_grad():
            body[0].weight.mul_(0.99 if change == "moves" else 1.0)

    assert ("RUN354" in codes(fit(model, loader, 5, drift))) == is_found


def test_fresh_weights_are_told_from_trained_ones():
    torch.manual_seed(0)
    layer = nn.Linear(40, 60)
    assert is_torchs_own(layer)
    assert is_torchs_own(nn.ConvTranspose2d(8, 16, 3))
    with torch.no_grad():
        layer.weight.add_(torch.randn(60, 40) * 1e-3)
    assert not is_torchs_own(layer)
    nn.init.normal_(layer.weight, std=0.02)
    assert not is_drawn(layer)  # an offset that is not 0
    nn.init.zeros_(layer.bias)
    assert is_drawn(layer)
    net = nn.Sequential(layer, nn.LayerNorm(60), nn.Linear(60, 60)).requires_grad_(False)
    assert len(frozen_layers(net)) == 2
    assert is_fresh(net, frozen_layers(net))
    net[1].weight[3] = 1.1
    assert not is_fresh(net, frozen_layers(net))


class Attends(nn.Module):
    """Attention over three numbers, with dropout of its own."""

    def __init__(self, always: bool) -> None:
        super().__init__()
        self.always, self.out = always, nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        q = x.reshape(-1, 1, 3, 2)
        rate = 0.2 if self.always or self.training else 0.0
        return self.out(F.scaled_dot_product_attention(q, q, q, dropout_p=rate).reshape(-1, 6))


@pytest.mark.parametrize(("always", "mode", "found"), [(True, False, True), (False, False, False), (True, True, False)])
def test_attention_that_drops_in_eval_mode_is_found(always, mode, found):
    model = Attends(always)

    def evaluate() -> None:
        model.train(mode)
        with torch.no_grad():
            model(X)
        model.train()

    doctor = fit(model, DataLoader(TensorDataset(X, Y), 26), after=evaluate)
    assert bool(rows_of(doctor, "dropped")) == found
    assert ("RUN411" in codes(doctor)) == found


@pytest.mark.parametrize(
    ("rates", "found"),
    [((0.3, 0.0, 0.0, 0.0), True), ((0.0, 0.0, 0.0, 0.0), True), ((0.3, 0.2, 0.0, 0.0), False), ((0.3,) * 4, False)],
)
def test_dropout_that_was_turned_off_is_told_and_one_that_is_lowered_is_not(rates, found):
    drop = nn.Dropout(rates[0])
    left = iter(rates[1:])

    def set_rate() -> None:
        drop.p = next(left, drop.p)

    model = nn.Sequential(nn.Linear(6, 8), drop, nn.Linear(8, 3))
    doctor = fit(model, DataLoader(TensorDataset(X, Y), 13), 4, set_rate)
    assert ("RUN353" in codes(doctor)) == found


@pytest.mark.parametrize(
    ("old", "is_trained", "found"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_spectral_norm_is_found_where_it_is_evaluated_first(old, is_trained, found):
    torch.manual_seed(0)
    lay = nn.utils.spectral_norm if old else nn.utils.parametrizations.spectral_norm
    model = nn.Sequential(lay(nn.Linear(6, 40)), nn.ReLU(), nn.Linear(40, 3))
    if is_trained:
        fit(model, DataLoader(TensorDataset(X, Y), 26), 4)
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        model.eval()
        with torch.no_grad():
            model(X)
        model.train()
        F.cross_entropy(model(X), Y).backward()
        optimizer.step()
    assert ("RUN355" in codes(doctor)) == found


class FreezesItself(nn.Module):
    """A stem that train() freezes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(6, 8), nn.Linear(8, 3)

    def train(self, mode: bool = True) -> FreezesItself:
        super().train(mode)
        self.stem.requires_grad_(not mode)
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stem(x).relu())


@pytest.mark.parametrize(("is_called_first", "found"), [(False, True), (True, False)])
def test_a_part_that_train_freezes_after_it_was_trained_is_found(is_called_first, found):
    model = FreezesItself()
    if is_called_first:
        model.train()
    doctor = fit(model, DataLoader(TensorDataset(X, Y), 26), 4, after=model.train)
    assert ("RUN356" in codes(doctor)) == found


@pytest.fixture
def warn_always() -> Iterator[None]:
    """Torch says each warning each time, and all are errors."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    torch.set_warn_always(before)


@pytest.mark.usefixtures("warn_always")
def test_numbers_with_a_graph_are_read_without_a_warning():
    train, held = DataLoader(TensorDataset(X[:70], Y[:70]), 14), DataLoader(TensorDataset(X[70:], Y[70:]), 25)
    model = nn.Linear(6, 3)
    with ts.watch(is_quiet=True) as doctor:
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        for _ in range(4):
            total = torch.zeros((), requires_grad=True)
            for x, y in train:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                total = total + loss
            model.eval()
            with torch.no_grad():
                for x, y in held:
                    F.cross_entropy(model(x), y)
            model.train()
            scheduler.step(loss.detach())
    assert doctor.rows
