"""The table of models: each condition with the plain case beside it, and the plans that follow it."""

from __future__ import annotations

import re

import pytest

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.flows.plan import FOLDERS
from torchstone.parts.choices.image import choose_image
from torchstone.parts.choices.table import choose_table
from torchstone.parts.choices.text import choose_text
from torchstone.parts.choices.which_model import MODELS, which_model


def test_every_row_names_a_model_that_is_there_and_has_a_source_with_its_year() -> None:
    for case in MODELS:
        assert case.choice in catalog.names(FOLDERS["model"])
        assert case.reason
        assert case.changes_if
        assert re.search(r"\b20\d\d\b", case.source), case


@pytest.mark.parametrize(
    ("facts", "model", "condition"),
    [
        ({"modality": "image", "size": 64}, "small_resnet", "at most 64 pixels a side"),
        ({"modality": "image", "size": 65}, "resnet18", "else"),
        ({"modality": "text", "words_p50": 512}, "text_cnn", "else"),
        ({"modality": "text", "words_p50": 513}, "text_cnn", "more than 512 words at the median"),
        ({"modality": "table", "num_train": 99_999}, "table_mlp", "fewer than 100,000 rows"),
        ({"modality": "table", "num_train": 100_000}, "table_mlp", "else"),
    ],
)
def test_each_condition_has_its_model(facts: dict[str, object], model: str, condition: str) -> None:
    case = which_model(facts)
    assert (case.choice, case.condition) == (model, condition)


def test_another_modality_is_an_error() -> None:
    with pytest.raises(StoneError, match="no model is known for 'smell'"):
        which_model({"modality": "smell"})


def test_the_plans_of_each_modality_take_their_model_from_the_table() -> None:
    common = {"num_train": 1000, "num_classes": 3, "has_accelerator": True}
    pictures = {**common, "median_height": 300, "median_width": 300, "channels": 3}
    chosen = [
        choose_image(pictures), choose_image({**pictures, "has_accelerator": False}),
        choose_text({**common, "words_p99": 900, "words_p50": 700}), choose_text({**common, "words_p99": 9}),
        choose_table({**common, "num_numbers": 3, "num_categories": 0}),
    ]  # fmt: skip
    names = [next(c for c in choices if c.field == "model.name") for choices in chosen]
    assert [c.value for c in names] == ["resnet18", "small_resnet", "text_cnn", "text_cnn", "table_mlp"]
    assert "attention" in names[2].reason
    assert "ModernBERT" in names[2].changes_if
    assert "short phrases" in names[3].reason
