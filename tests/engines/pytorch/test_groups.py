"""Claims about parameter groups and their receipt."""

from __future__ import annotations

import torch
from torch import nn

from torchstone.engines.pytorch.groups import parameter_groups


class ForeignNorm(nn.Module):
    """A norm layer that torch does not know."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))


class Everything(nn.Module):
    """One of each kind of layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.gn = nn.GroupNorm(2, 8)
        self.ln = nn.LayerNorm((8, 4))
        self.rms = nn.RMSNorm(8)
        self.inorm = nn.InstanceNorm1d(8, affine=True)
        self.table = nn.Embedding(10, 8)
        self.bag = nn.EmbeddingBag(10, 8)
        self.lstm = nn.LSTM(8, 8)
        self.attention = nn.MultiheadAttention(8, 2)
        self.foreign = ForeignNorm()
        self.position_embedding = nn.Parameter(torch.zeros(1, 16, 8))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 8))
        self.layer_scale = nn.Parameter(torch.ones(8, 1, 1))
        self.temperature = nn.Parameter(torch.tensor(1.0))
        self.head = nn.Linear(8, 2)


def decaying(model: nn.Module) -> set[str]:
    return {row["name"] for row in parameter_groups(model, weight_decay=0.1)[1] if row["decays"]}


def test_only_matrices_and_kernels_decay():
    assert decaying(Everything()) == {
        "conv.weight", "lstm.weight_ih_l0", "lstm.weight_hh_l0", "attention.in_proj_weight",
        "attention.out_proj.weight", "head.weight",
    }


def test_every_parameter_is_in_one_group_and_on_the_receipt():
    model = Everything()
    groups, receipt = parameter_groups(model, weight_decay=0.1)
    assert [(group["name"], group["weight_decay"]) for group in groups] == [("decayed", 0.1), ("not decayed", 0.0)]
    inside = [id(parameter) for group in groups for parameter in group["params"]]
    assert len(inside) == len(set(inside))
    assert set(inside) == {id(parameter) for parameter in model.parameters()}
    assert [row["name"] for row in receipt] == [name for name, _ in model.named_parameters()]
    assert sum(row["num"] for row in receipt) == sum(parameter.numel() for parameter in model.parameters())
    assert all(row["reason"] for row in receipt)


def test_a_two_dimensional_layer_norm_weight_is_known_by_its_module_type():
    rows = {row["name"]: row for row in parameter_groups(Everything(), weight_decay=0.1)[1]}
    assert rows["ln.weight"]["shape"] == [8, 4]
    assert rows["ln.weight"]["reason"] == "parameter of a norm layer (LayerNorm)"
    assert rows["foreign.scale"]["reason"].startswith("one axis")


def test_tied_parameters_are_listed_once_and_stay_an_embedding():
    model = nn.ModuleDict({"head": nn.Linear(8, 10, bias=False), "table": nn.Embedding(10, 8)})
    model["head"].weight = model["table"].weight
    groups, receipt = parameter_groups(model, weight_decay=0.1)
    assert [row["name"] for row in receipt] == ["head.weight"]
    assert not receipt[0]["decays"]
    assert receipt[0]["reason"] == "embedding (Embedding)"
    assert [len(group["params"]) for group in groups] == [1]


def test_a_shared_layer_is_listed_once():
    layer = nn.Linear(3, 3)
    receipt = parameter_groups(nn.Sequential(layer, nn.ReLU(), layer), weight_decay=0.1)[1]
    assert [row["name"] for row in receipt] == ["0.weight", "0.bias"]


def test_frozen_parameters_are_named_and_left_out():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[0].requires_grad_(False)
    groups, receipt = parameter_groups(model, weight_decay=0.1)
    assert sum(len(group["params"]) for group in groups) == 2
    assert [row["reason"].startswith("frozen") for row in receipt] == [True, True, False, False]


def test_without_weight_decay_the_receipt_says_that_nothing_decays():
    groups, receipt = parameter_groups(nn.Linear(3, 3), weight_decay=0.0)
    assert [group["name"] for group in groups] == ["not decayed"]
    assert not any(row["decays"] for row in receipt)
    assert receipt[0]["reason"] == "weight decay is 0"


def test_norm_weights_do_not_move_under_decay_alone():
    model = Everything()
    torch.manual_seed(0)
    groups, receipt = parameter_groups(model, weight_decay=0.5)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(groups, lr=0.1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == {row["name"] for row in receipt if row["decays"]}
