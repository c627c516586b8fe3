"""The table of optimizers: each condition, the plain case beside it, and rates for other batches."""

from __future__ import annotations

import re

import pytest

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.flows.plan import FOLDERS
from torchstone.parts.choices.family import family_of
from torchstone.parts.choices.scaled_rate import offer_rate, scaled_rate
from torchstone.parts.choices.which_optimizer import (
    OPTIMIZERS,
    choose_clipping,
    choose_optimizer,
    families,
    which_optimizer,
)

USUAL = {"modality": "image", "batch_size": 64, "epochs": 15, "num_train": 50_000, "device": "cpu"}


def test_every_row_names_a_part_that_is_there_with_options_that_it_has() -> None:
    for case in OPTIMIZERS:
        known = {option.name for option in catalog.options(catalog.find(FOLDERS["optimizer"], case.choice))}
        assert set(case.options(USUAL)) <= known, case


def test_every_row_has_a_reason_and_a_source_with_its_year() -> None:
    for case in OPTIMIZERS:
        assert case.reason
        assert re.search(r"\b(19|20)\d\d\b", case.source), case


@pytest.mark.parametrize(
    ("facts", "optimizer"),
    [
        ({"family": "cnn"}, "adamw"),
        ({"family": "cnn", "epochs": 90}, "sgd"),
        ({"family": "cnn", "epochs": 90, "num_train": 19_999}, "adamw"),
        ({"family": "cnn", "epochs": 90, "is_pretrained": True}, "adamw"),
        ({"family": "cnn", "epochs": 90, "modality": "text"}, "adamw"),
        ({"family": "cnn", "batch_size": 4096}, "adamw"),
        ({"family": "cnn", "batch_size": 4097}, "lamb"),
        ({"family": "transformer"}, "adamw"),
        ({"family": "transformer", "is_pretrained": True}, "adamw"),
        ({"family": "transformer", "batch_size": 8192}, "lamb"),
        ({"family": "transformer", "is_memory_short": True}, "adafactor"),
        ({"family": "cnn", "is_memory_short": True}, "lion"),
        ({"family": "cnn", "is_memory_short": True, "device": "cuda"}, "lion"),
        ({"family": "cnn", "is_memory_short": True, "device": "cuda", "has_bitsandbytes": True}, "adamw_8bit"),
        ({"family": "recurrent"}, "adamw"),
        ({"family": "perceptron"}, "adamw"),
        ({"family": "adversarial"}, "adam"),
    ],
)
def test_each_condition_has_its_optimizer(facts: dict[str, object], optimizer: str) -> None:
    assert which_optimizer({**USUAL, **facts}).choice == optimizer


def test_an_unknown_family_is_an_error_that_names_those_known() -> None:
    with pytest.raises(StoneError) as caught:
        which_optimizer({"family": "astrology"})
    assert all(family in str(caught.value) for family in families())


def chosen(**facts: object) -> dict[str, object]:
    return {c.field.removeprefix("optimizer."): c.value for c in choose_optimizer({**USUAL, **facts})}


def test_adamw_leaves_the_rates_to_the_modality() -> None:
    assert chosen(family="cnn") == {"name": "adamw"}


def test_a_gan_has_half_of_adams_memory() -> None:
    assert chosen(family="adversarial")["options.betas"] == [0.5, 0.999]


def test_sgd_on_a_long_run_has_the_rate_of_goyal_and_five_epochs_of_warmup() -> None:
    """0.1 for 256 examples; 5 of 90 epochs."""
    found = chosen(family="cnn", epochs=90, batch_size=256)
    assert found["options.lr"] == pytest.approx(0.1)
    assert (found["options.momentum"], found["options.nesterov"]) == (0.9, True)
    assert found["schedule.options.warmup"] == pytest.approx(5 / 90, rel=0.02)
    assert chosen(family="cnn", epochs=90, batch_size=64)["options.lr"] == pytest.approx(0.025)


def test_lambs_rate_is_that_of_its_paper_at_both_ends() -> None:
    """You et al. 2020, table 6: 5e-3 at 32,768, and the root of the batch below."""
    assert chosen(family="transformer", batch_size=32_768)["options.lr"] == pytest.approx(5e-3)
    assert chosen(family="transformer", batch_size=8_192)["options.lr"] == pytest.approx(2.5e-3)


def test_pretrained_transformers_warm_up_over_a_tenth() -> None:
    assert chosen(family="transformer", is_pretrained=True)["schedule.options.warmup"] == 0.1


def test_an_optimizer_of_the_users_is_left_alone() -> None:
    assert chosen(family="cnn", epochs=90, optimizer="adamw") == {}


def test_schedule_free_gets_a_schedule_that_does_not_fall() -> None:
    assert chosen(family="cnn", optimizer="schedule_free")["schedule.name"] == "constant"


@pytest.mark.parametrize(("family", "origin"), [("recurrent", "derived"), ("transformer", "derived"),
                                                ("cnn", "default"), ("perceptron", "default")])  # fmt: skip
def test_gradients_are_clipped_at_one_with_a_reason_for_each_family(family: str, origin: str) -> None:
    choice = choose_clipping({"family": family})
    assert (choice.value, choice.origin) == (1.0, origin)
    assert choice.reason
    assert choice.source


@pytest.mark.parametrize(
    ("model", "modality", "family"),
    [("resnet18", "image", "cnn"), ("vit_b_16", "image", "transformer"), ("text_transformer", "text", "transformer"),
     ("text_gru", "text", "recurrent"), ("text_cnn", "text", "cnn"), ("table_mlp", "table", "perceptron"),
     ("table_resnet", "table", "perceptron"), ("swin_t", "image", "transformer")],
)  # fmt: skip
def test_a_models_name_says_its_family(model: str, modality: str, family: str) -> None:
    assert family_of(model, modality) == family


def test_rates_follow_the_batch_in_proportion_for_sgd_and_by_the_root_for_adam() -> None:
    assert scaled_rate("sgd", 0.1, 1024, 256)[0] == pytest.approx(0.4)
    assert scaled_rate("adamw", 1e-3, 1024, 256)[0] == pytest.approx(2e-3)
    assert "Goyal et al. 2017" in scaled_rate("sgd", 0.1, 2, 1)[1]
    assert "Malladi et al. 2022" in scaled_rate("adamw", 0.1, 2, 1)[1]


def test_a_rate_is_offered_and_not_taken() -> None:
    planned = Choice("optimizer.options.lr", 1e-3, "default", "usual")
    offered = offer_rate(planned, "adamw", 256, 64)
    assert offered.value == 1e-3
    assert "try 0.002" in offered.changes_if
    assert "starting point" in offered.changes_if
    assert offer_rate(planned, "adamw", 64, 64) == planned
    given = Choice("optimizer.options.lr", 1e-3, "user", "given")
    assert offer_rate(given, "adamw", 256, 64) == given
