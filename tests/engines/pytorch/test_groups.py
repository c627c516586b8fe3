"""Claims about parameter groups and their receipt."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.groups import as_given, layers, parameter_groups, scaled_rates


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


class Tower(nn.Module):
    """Four layers: a stem with its norm, two blocks, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8)) for _ in range(2))
        self.head = nn.Linear(8, 2)


def test_layers_are_cut_at_the_first_number_of_a_path_and_norms_join_the_layer_before():
    model = Tower()
    found = layers({name: parameter.shape for name, parameter in model.named_parameters()})
    assert [layer[0] for layer in found] == ["stem.weight", "blocks.0.0.weight", "blocks.1.0.weight", "head.weight"]
    assert "norm.bias" in found[0]
    assert [len(layer) for layer in found] == [4, 6, 6, 2]
    resnet = torchvision.models.resnet18()
    found = layers({name: parameter.shape for name, parameter in resnet.named_parameters()})
    assert [layer[0].partition(".conv")[0] for layer in found] == [
        "conv1.weight", "layer1.0", "layer1.1", "layer2.0", "layer2.1", "layer3.0", "layer3.1", "layer4.0", "layer4.1",
        "fc.weight",
    ]


def test_each_layer_learns_at_a_share_of_the_next():
    model = Tower()
    groups, receipt = parameter_groups(model, weight_decay=0.1, layer_decay=0.5)
    scales = {row["name"]: row["lr_scale"] for row in receipt}
    expected = {"stem.weight": 0.125, "norm.weight": 0.125, "blocks.0.2.bias": 0.25, "blocks.1.0.weight": 0.5,
                "head.bias": 1.0}
    assert {name: scales[name] for name in expected} == expected
    optimizer = torch.optim.AdamW(groups, lr=0.4)
    rates = scaled_rates(optimizer)
    given = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        assert given[id(parameter)] == 0.4 * scales[name]
    assert rates == [group["lr"] for group in optimizer.param_groups]
    assert [group["name"] for group in groups if "lr_scale" not in group] == ["decayed", "not decayed"]
    assert "decayed, rate x 0.125" in {group["name"] for group in groups}


def test_rules_by_name_set_share_and_decay_and_the_last_one_wins():
    rules = [{"match": r"^blocks\.", "lr_scale": 0.1}, {"match": r"^blocks\.1\.", "lr_scale": 0.3},
             {"match": "head", "weight_decay": 0.7, "lr_scale": 10}, {"match": r"stem\.weight", "weight_decay": 0.0}]
    model = Tower()
    groups, receipt = parameter_groups(model, weight_decay=0.1, rules=rules)
    rows = {row["name"]: (row["lr_scale"], row["weight_decay"]) for row in receipt}
    assert rows["blocks.0.0.weight"] == (0.1, 0.1)
    assert rows["blocks.1.1.weight"] == (0.3, 0.0)
    assert rows["head.bias"] == (10, 0.7)
    assert rows["stem.weight"] == (1.0, 0.0)
    assert {row["name"]: row["reason"] for row in receipt}["head.bias"] == "asked for by 'head'"
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    optimizer = torch.optim.SGD(groups, lr=1.0)
    given = as_given(parameter_groups(model, weight_decay=0.1)[1], model, optimizer.param_groups)
    assert {row["name"]: (row["lr_scale"], row["weight_decay"]) for row in given} == rows


@pytest.mark.parametrize(("rule", "said"), [
    ({"match": "nothing", "lr_scale": 0.1}, "they begin with stem, norm, blocks, head"),
    ({"match": "(", "lr_scale": 0.1}, "no regular expression"),
    ({"match": "head"}, "asks for nothing"),
    ({"match": "head", "lr_scale": 0.0}, "above 0"),
    ({"match": "head", "rate": 1.0}, "a rule has match"),
])
def test_a_rule_that_would_do_nothing_is_refused(rule, said):
    with pytest.raises(StoneError, match=said):
        parameter_groups(Tower(), weight_decay=0.1, rules=[rule])


def test_a_layer_decay_above_one_is_refused():
    with pytest.raises(StoneError, match="at most 1"):
        parameter_groups(Tower(), weight_decay=0.1, layer_decay=1.5)


def test_hidden_matrices_are_those_between_the_first_and_the_last_weight():
    model = Tower()
    for decay in (0.1, 0.0):
        groups, _ = parameter_groups(model, weight_decay=decay, apart_hidden=True)
        assert groups[0]["name"] == "hidden"
        hidden = {id(parameter) for parameter in groups[0]["params"]}
        names = {name for name, parameter in model.named_parameters() if id(parameter) in hidden}
        assert names == {f"blocks.{i}.{j}.weight" for i in (0, 1) for j in (0, 2)}
    assert not any(g["name"] == "hidden" for g in parameter_groups(model, weight_decay=0.1)[0])
    with_table = nn.Sequential(nn.Embedding(5, 8), nn.Linear(8, 8), nn.Linear(8, 2))
    groups, _ = parameter_groups(with_table, weight_decay=0.1, apart_hidden=True)
    assert [tuple(p.shape) for p in groups[0]["params"]] == [(8, 8)]
