"""What is frozen stays as it is: weights, and the statistics of BatchNorm too."""

from __future__ import annotations

import ast
import copy

import pytest
import torch
from torch import nn

from conftest import small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.freezing import freeze
from torchstone.engines.pytorch.groups import parameter_groups
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress


def test_where_all_is_frozen_the_message_gives_an_expression_that_leaves_the_last_layer() -> None:
    with pytest.raises(StoneError, match="every parameter is frozen") as caught:
        freeze(small_net(), ["^(?!head)"])
    model, (pattern,) = small_net(), ast.literal_eval(str(caught.value.fix).partition(": ")[2])
    freeze(model, [pattern])
    assert [name for name, each in model.named_parameters() if each.requires_grad] == ["4.weight", "4.bias"]


def test_a_frozen_batchnorm_stays_frozen_in_training_and_after_validation() -> None:
    model = small_net()
    frozen = freeze(model, [r"^[01]\."])
    groups, _ = parameter_groups(model, weight_decay=0.1)
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    fit(toy_job(model=model, optimizer=optimizer, frozen=frozen, average=None, epochs=2), Progress())
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before if name[0] in "01")
    assert not torch.equal(before["4.weight"], after["4.weight"])
    assert [module.training for module in (model[0], model[1], model[3], model[4])] == [False, False, True, True]  # type: ignore[index]


def test_nothing_frozen_changes_nothing() -> None:
    model = small_net()
    assert freeze(model, []) == []
    assert all(p.requires_grad for p in model.parameters())


@pytest.mark.parametrize(
    ("pattern", "word"), [("[", "regular expression"), ("nothing_like_it", "matches no"), (".", "every")]
)
def test_patterns_that_cannot_be_meant_are_refused(pattern: str, word: str) -> None:
    with pytest.raises(StoneError, match=word):
        freeze(small_net(), [pattern])


def test_a_partly_frozen_module_stays_in_train_mode() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    assert freeze(model, [r"0\.weight"]) == []
    assert not model[0].weight.requires_grad
