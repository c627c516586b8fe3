"""What holds for every table model."""

from __future__ import annotations

import pytest
import torch

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.columns import Columns, embedding_width
from torchstone.engines.pytorch.models.table_mlp import table_mlp
from torchstone.engines.pytorch.models.table_resnet import table_resnet

SHAPE = Shape(3, numbers=4, categories=(6, 10_000))
EVERY = pytest.mark.parametrize("make", [table_mlp, table_resnet])


def some(rows):
    torch.manual_seed(1)
    return torch.randn(rows, 4), torch.stack([torch.randint(6, (rows,)), torch.randint(10_000, (rows,))], dim=1)


@EVERY
def test_logits_of_each_row(make):
    assert make(SHAPE)(*some(7)).shape == (7, 3)


@EVERY
def test_a_row_does_not_see_the_others_even_in_training(make):
    model = make(SHAPE, dropout=0.0) if make is table_mlp else make(SHAPE, hidden_dropout=0.0)
    numbers, categories = some(7)
    together = model.train()(numbers, categories)
    alone = model(numbers[3:4], categories[3:4])
    torch.testing.assert_close(together[3:4], alone, rtol=1e-4, atol=1e-5)


@EVERY
def test_numbers_alone_and_categories_alone_are_enough(make):
    numbers, categories = some(5)
    assert make(Shape(1, numbers=4))(numbers, categories[:, :0]).shape == (5, 1)
    assert make(Shape(2, categories=(6, 10_000)))(numbers[:, :0], categories).shape == (5, 2)


@EVERY
def test_every_parameter_gets_a_gradient(make):
    model = make(SHAPE)
    model(*some(64)).pow(2).sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


@EVERY
def test_the_same_seed_makes_the_same_model(make):
    def logits():
        torch.manual_seed(5)
        return make(SHAPE).train()(*some(9))

    assert torch.equal(logits(), logits())


@EVERY
def test_depth_is_the_number_of_hidden_layers_or_blocks(make):
    sizes = [sum(p.numel() for p in make(SHAPE, depth=depth, width=16).parameters()) for depth in (1, 2, 3)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] > 0


def test_a_category_never_seen_adds_nothing_before_training():
    columns = Columns(SHAPE)
    row = columns(torch.ones(1, 4), torch.zeros(1, 2, dtype=torch.int64))
    assert row[0, :4].tolist() == [1, 1, 1, 1]
    assert not row[0, 4:].any()
    assert columns.width == row.shape[1]


@pytest.mark.parametrize("count, width", [(1, 2), (2, 2), (10, 6), (100, 21), (400, 46), (10_000, 64)])
def test_embeddings_are_as_wide_as_fastai_says_up_to_64(count, width):
    assert embedding_width(count) == width == min(64, round(1.6 * count**0.56))
