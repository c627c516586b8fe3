"""What holds for every text model, and what each is made of."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.text_cnn import text_cnn
from torchstone.engines.pytorch.models.text_gru import text_gru
from torchstone.engines.pytorch.models.text_lstm import text_lstm
from torchstone.engines.pytorch.models.text_transformer import sinusoids, text_transformer
from torchstone.engines.pytorch.pooling import max_over_time, mean_over_time
from torchstone.engines.pytorch.recurrence import turned
from torchstone.engines.pytorch.words import Words

SHAPE = Shape(5, vocabulary=50, max_length=12)
EVERY = pytest.mark.parametrize("make", [text_cnn, text_gru, text_lstm, text_transformer])
TEXTS = [[7, 3, 9, 4, 2], [5], [], [11, 12, 13, 14, 15, 16, 17, 18]]


def built(make, **options):
    torch.manual_seed(0)
    return make(SHAPE, **options).eval()


def padded(texts, width):
    tokens = torch.zeros(len(texts), width, dtype=torch.int64)
    for row, text in enumerate(texts):
        tokens[row, : len(text)] = torch.tensor(text, dtype=torch.int64)
    return tokens


@EVERY
def test_more_padding_changes_nothing(make):
    model = built(make)
    torch.testing.assert_close(model(padded(TEXTS, 8)), model(padded(TEXTS, 20)), rtol=1e-4, atol=1e-5)


@EVERY
def test_a_text_does_not_see_the_others_of_its_batch(make):
    model = built(make)
    together = model(padded(TEXTS, 8))
    alone = torch.cat([model(padded([text], max(len(text), 1))) for text in TEXTS])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@EVERY
def test_an_empty_text_has_finite_logits_and_gradients(make):
    model = make(SHAPE).train()
    logits = model(padded([[], [3, 4]], 4))
    logits.sum().backward()
    assert logits.shape == (2, 5)
    assert torch.isfinite(logits).all()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@EVERY
def test_every_parameter_learns_and_padding_stays_zero(make):
    model = make(SHAPE).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = {name: p.clone() for name, p in model.named_parameters()}
    model(padded(TEXTS, 8))[:, 0].pow(2).sum().backward()
    optimizer.step()
    assert [name for name, p in model.named_parameters() if torch.equal(p, before[name])] == []
    assert not model.words.embedding.weight[0].any()


@EVERY
def test_the_order_of_words_counts(make):
    model = built(make)
    one, other = model(padded([[7, 3, 9], [9, 7, 3]], 3))
    assert not torch.allclose(one, other, atol=1e-6)


@EVERY
def test_the_same_seed_makes_the_same_weights_and_the_same_dropout(make):
    def first_step():
        torch.manual_seed(3)
        return make(SHAPE).train()(padded(TEXTS, 8))

    assert torch.equal(first_step(), first_step())


def test_turning_reads_each_text_from_its_end_and_twice_is_nothing():
    tokens = padded(TEXTS, 8)
    places = turned(tokens != 0)
    back = tokens.gather(1, places)
    assert back[0].tolist() == [2, 4, 9, 3, 7, 0, 0, 0]
    assert torch.equal(back.gather(1, places), tokens)


def test_both_directions_are_those_of_a_packed_bidirectional_gru():
    model = built(text_gru)
    tokens = padded([TEXTS[0], TEXTS[1], TEXTS[3]], 8)
    reference = nn.GRU(128, 128, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, value in model.forwards[0].named_parameters():
            reference.get_parameter(name).copy_(value)
        for name, value in model.backwards[0].named_parameters():
            reference.get_parameter(f"{name}_reverse").copy_(value)
    packed = nn.utils.rnn.pack_padded_sequence(
        model.words(tokens), torch.tensor([5, 1, 8]), batch_first=True, enforce_sorted=False
    )
    states, _ = nn.utils.rnn.pad_packed_sequence(reference(packed)[0], batch_first=True)
    mask = tokens != 0
    pooled = torch.cat((mean_over_time(states, mask), max_over_time(states, mask)), dim=-1)
    torch.testing.assert_close(model(tokens), model.head(pooled), rtol=1e-4, atol=1e-5)


def test_pooling_by_hand():
    states = torch.tensor([[[-1.0], [-3.0], [9.0]], [[5.0], [5.0], [5.0]]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert mean_over_time(states, mask).tolist() == [[-2.0], [0.0]]
    assert max_over_time(states, mask).tolist() == [[-1.0], [0.0]]


def test_unread_words_become_unknown_in_training_alone():
    words = Words(50, 4, dropout=0.5)
    tokens = padded([[7] * 400], 500)
    torch.manual_seed(0)
    unread = (words.train()(tokens) == words.embedding.weight[1]).all(-1)
    assert 150 < int(unread.sum()) < 250
    assert not unread[0, 400:].any()
    assert torch.equal(words.eval()(tokens)[0, 0], words.embedding.weight[7])


def test_positions_are_the_sines_and_cosines_of_the_paper():
    table = sinusoids(6, 4)
    expected = [math.sin(5), math.cos(5), math.sin(5 / 100), math.cos(5 / 100)]
    assert table[5].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_attention_of_a_block_is_that_of_torch():
    model = built(text_transformer, depth=1)
    block, tokens = model.blocks[0], padded(TEXTS[:2], 8)
    states = torch.randn(2, 8, 128)
    reference = nn.MultiheadAttention(128, 4, batch_first=True).eval()
    with torch.no_grad():
        reference.in_proj_weight.copy_(block.qkv.weight)
        reference.in_proj_bias.copy_(block.qkv.bias)
        reference.out_proj.weight.copy_(block.mix.weight)
        reference.out_proj.bias.copy_(block.mix.bias)
    mask = tokens != 0
    expected, _ = reference(states, states, states, key_padding_mask=~mask)
    got = block.mix(block.attend(states, mask[:, None, None, :]))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_heads_that_do_not_divide_the_width_are_refused_with_a_width_that_does():
    with pytest.raises(StoneError) as caught:
        text_transformer(SHAPE, width=130, heads=4)
    assert "take 128" in str(caught.value)
