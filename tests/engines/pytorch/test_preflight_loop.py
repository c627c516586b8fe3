"""`ts.preflight` on loops of others: each fault is named, its mended twin is not, and nothing is changed."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

import torchstone as ts
from torchstone.core.errors import StoneError


class Net(nn.Module):
    """Two layers with a BatchNorm and dropout between them."""

    def __init__(self, outputs=3):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.norm, self.head = nn.Linear(6, 32), nn.BatchNorm1d(32), nn.Linear(32, outputs)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.head(self.drop(F.relu(self.norm(self.body(x)))))


def points(num=96, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(num, 6, generator=draw)
    return x, (x[:, :3]).argmax(1)


def loader(x=None, y=None, **options):
    own_x, own_y = points()
    return DataLoader(TensorDataset(own_x if x is None else x, own_y if y is None else y), 32, **options)


def codes(*arguments, **options):
    return [finding.code for finding in ts.preflight(*arguments, **options)]


def test_a_sound_loop_has_no_findings():
    net = Net()
    assert codes(net, loader(shuffle=True), F.cross_entropy, torch.optim.Adam(net.parameters())) == []
    assert codes(net, loader(shuffle=True), nn.CrossEntropyLoss(), seconds=0) == []


class Detached(Net):
    def forward(self, x):
        return self.head(F.relu(self.norm(self.body(x)).detach()))


class Noisy(Net):
    def forward(self, x):
        return F.dropout(self.head(F.relu(self.norm(self.body(x)))), 0.3)  # training=True, always


class Blind(Net):
    def forward(self, x):
        return super().forward(torch.zeros_like(x))


class Unused(Net):
    def __init__(self):
        super().__init__()
        self.spare = nn.Linear(3, 3)


@pytest.mark.parametrize(
    ("model", "expected"), [(Detached, "RUN705"), (Noisy, "RUN708"), (Blind, "RUN710"), (Unused, "RUN705")]
)
def test_a_model_that_is_wired_wrongly(model, expected):
    found = ts.preflight(model(), loader(), F.cross_entropy, seconds=20)
    assert [finding.code for finding in found] == [expected]
    assert found[0].severity == ("error" if model is Detached else "warning")


@pytest.mark.parametrize(
    ("y", "loss", "expected"),
    [
        (points()[1].float(), F.cross_entropy, "RUN701"),
        (points()[1], lambda o, t: F.cross_entropy(o, t, reduction="none"), "RUN701"),
        (points()[1], lambda o, t: F.cross_entropy(o.detach(), t), "RUN701"),
        (points()[1], lambda o, t: F.cross_entropy(o, t, reduction="sum"), "RUN712"),
        (points()[1] + 3, F.cross_entropy, "RUN701"),
    ],
)
def test_a_loss_that_does_not_fit(y, loss, expected):
    assert codes(Net(), loader(y=y), loss, seconds=0) == [expected]


def test_a_column_beside_a_row_is_told_and_its_twin_is_not():
    y = torch.randn(96, generator=torch.Generator().manual_seed(1))
    assert codes(Net(1), loader(y=y), F.mse_loss, seconds=0) == ["RUN711"]
    assert codes(Net(1), loader(y=y[:, None]), F.mse_loss, seconds=0) == []
    assert codes(Net(1), loader(y=y), lambda o, t: F.mse_loss(o.squeeze(-1), t), seconds=0) == []


def test_numbers_that_are_not_finite_are_named_at_their_source():
    x = points()[0]
    x[3, 2] = float("nan")
    (finding,) = ts.preflight(Net(), loader(x=x), F.cross_entropy, seconds=0)
    assert finding.code == "RUN702"
    assert "1 numbers of the inputs" in finding.what


def test_an_optimizer_without_the_new_head_is_told_and_a_frozen_body_is_not():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net.head = nn.Linear(32, 3)
    assert codes(net, loader(), F.cross_entropy, optimizer, seconds=0) == ["RUN706"]
    net.body.requires_grad_(False)
    assert codes(net, loader(), F.cross_entropy, torch.optim.SGD(net.head.parameters(), 0.1), seconds=0) == ["RUN706"]
    net.norm.requires_grad_(False)
    assert codes(net, loader(), F.cross_entropy, torch.optim.SGD(net.head.parameters(), 0.1), seconds=0) == []


def test_a_layer_frozen_after_a_backward_pass_keeps_its_gradient():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    F.cross_entropy(net(points()[0]), points()[1]).backward()
    net.body.requires_grad_(False)
    assert codes(net, loader(), F.cross_entropy, optimizer, seconds=0) == ["RUN707"]
    optimizer.zero_grad()
    assert codes(net, loader(), F.cross_entropy, optimizer, seconds=0) == []


class Shifted(Dataset):
    """Points that are shifted at random: by a generator of its own, by one per example, or by torch's."""

    def __init__(self, how):
        self.how, self.rng = how, np.random.default_rng(0)
        self.x, self.y = points()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        if self.how == "kept":
            shift = torch.tensor(self.rng.normal(size=6), dtype=torch.float32) * 0.1
        else:
            shift = torch.randn(6) * 0.1 if self.how == "torch" else torch.zeros(6)
        return self.x[index] + shift, self.y[index]


@pytest.mark.parametrize(
    ("how", "workers", "expected"),
    [("kept", 2, ["RUN709"]), ("kept", 1, ["RUN709"]), ("kept", 0, []), ("torch", 2, []), ("none", 2, [])],
)
def test_a_generator_kept_in_a_dataset_repeats_in_workers_and_epochs(how, workers, expected):
    data = DataLoader(Shifted(how), 32, num_workers=workers)
    assert codes(Net(), data, F.cross_entropy, seconds=0) == expected


def test_a_worker_that_seeds_the_kept_generator_anew_is_right():
    def seed(worker):
        torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())

    data = DataLoader(Shifted("kept"), 32, num_workers=2, worker_init_fn=seed)
    assert codes(Net(), data, F.cross_entropy, seconds=0) == []


def test_everything_is_afterwards_what_it_was():
    net, dataset = Net(), Shifted("kept")
    data = DataLoader(dataset, 32, shuffle=True, generator=torch.Generator().manual_seed(4))
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in data:  # one epoch, so that there is state to be lost
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    net.norm.eval()
    state, moments = copy.deepcopy(net.state_dict()), copy.deepcopy(optimizer.state_dict())
    gradients = [parameter.grad.clone() for parameter in net.parameters()]
    kept = (torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist(), data.generator.get_state(),
            dataset.rng.bit_generator.state)  # fmt: skip
    ts.preflight(net, data, F.cross_entropy, optimizer, is_fresh=False, seconds=2)
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
    assert str(optimizer.state_dict()) == str(moments)
    assert all(torch.equal(p.grad, g) for p, g in zip(net.parameters(), gradients, strict=True))
    assert torch.equal(kept[0], torch.get_rng_state())
    assert (kept[1], kept[2]) == (random.getstate(), np.random.get_state()[1].tolist())
    assert torch.equal(kept[3], data.generator.get_state())
    assert kept[4] == dataset.rng.bit_generator.state
    assert (net.training, net.norm.training) == (True, False)


class Answer:
    """As transformers answers: `.loss` and `.logits`."""

    def __init__(self, loss, logits):
        self.loss, self.logits = loss, logits


class Named(Net):
    def forward(self, values, labels):
        logits = super().forward(values)
        return Answer(F.cross_entropy(logits, labels), logits)


def test_mappings_go_to_models_that_answer_with_their_own_loss():
    x, y = points(32)
    assert codes(Named(), [{"values": x, "labels": y}], seconds=0) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((lambda x: x, [], F.cross_entropy), "torch.nn.Module is needed"),
        ((Net(), [], F.cross_entropy), "gives no batch"),
        ((Net(), 3, F.cross_entropy), "gives no batches"),
        ((Net(), ["text"], F.cross_entropy), "it is to be \\(inputs, target\\)"),
    ],
)
def test_a_mistaken_call_is_answered_with_the_way_out(arguments, words):
    with pytest.raises(StoneError, match=words):
        ts.preflight(*arguments)


class Recurrent(nn.Module):
    """The next of 12 tokens."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.words, self.gru = nn.Embedding(12, 16), nn.GRU(16, 24, num_layers=2, dropout=0.3, batch_first=True)
        self.head = nn.Linear(24, 12)

    def forward(self, tokens):
        return self.head(self.gru(self.words(tokens))[0])


class Convolutional(nn.Module):
    """Pictures of one colour, two classes, a head that begins at zero on features that are frozen."""

    def __init__(self, is_frozen):
        super().__init__()
        torch.manual_seed(2)
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(3))
        self.head = nn.Linear(72, 2)
        if is_frozen:
            self.body.requires_grad_(False).eval()
            nn.init.zeros_(self.head.weight)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


class Coder(nn.Module):
    """Gives back its input through four numbers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4), nn.Linear(4, 32), nn.Tanh(),
                                 nn.Linear(32, 6))  # fmt: skip

    def forward(self, x):
        return self.net(x)


def healthy():
    draw = torch.Generator().manual_seed(5)
    tokens = torch.randint(12, (32, 9), generator=draw)
    pictures = torch.randn(64, 1, 8, 8, generator=draw)
    sides = (pictures[:, 0, :, :4].mean((1, 2)) > 0).long()
    x, _ = points(64)
    few = (torch.rand(64, 4, generator=draw) < 0.1).float()

    def of_tokens(output, target):
        return F.cross_entropy(output.flatten(0, 1), target.flatten())

    return {
        "a language model": (Recurrent(), [(tokens[:, :-1], tokens[:, 1:])], of_tokens),
        "a convolutional net": (Convolutional(is_frozen=False), [(pictures, sides)], F.cross_entropy),
        "a head that begins at zero": (Convolutional(is_frozen=True), [(pictures, sides)], F.cross_entropy),
        "an autoencoder": (Coder(), [(x, x)], F.mse_loss),
        "rare labels": (nn.Linear(6, 4), [(x, few)], F.binary_cross_entropy_with_logits),
        "one yes or no": (nn.Sequential(nn.Linear(6, 1), nn.Flatten(0)), [(x, (x[:, 0] > 0).float())],
                          F.binary_cross_entropy_with_logits),
        "probabilities": (nn.Sequential(nn.Linear(6, 1), nn.Sigmoid()), [(x, (x[:, :1] > 0).float())],
                          F.binary_cross_entropy),
        "a large batch of one class": (Net(), [(x, torch.zeros(64, dtype=torch.int64))], F.cross_entropy),
        "a batch of two": (nn.Linear(6, 3), [(x[:2], torch.tensor([0, 2]))], F.cross_entropy),
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(healthy()))
def test_a_right_loop_of_another_kind_is_quiet(kind):
    model, batches, loss = healthy()[kind]
    assert ts.preflight(model, batches, loss, torch.optim.SGD(model.parameters(), 0.1)) == []
