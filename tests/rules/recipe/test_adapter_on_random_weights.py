"""PLN132 over plans that the program makes: an adapter wants weights that know something."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from torchstone.core.recipe_file import recipe_for
from torchstone.flows.plan import make_plan
from torchstone.rules.recipe._toy import TEXT, planning
from torchstone.rules.recipe.adapter_on_random_weights import check


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rows = [[f"some {'old' if i % 2 else 'new'} words {i}", f"k{i % 2}"] for i in range(60)]
    with (tmp_path / "x.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "label"], *rows])
    return tmp_path / "x.csv"


def test_lora_on_a_transformer_from_scratch_is_warned_of(texts: Path) -> None:
    pytest.importorskip("peft")
    settings = ["model=text_transformer", "adapter=lora"]
    findings = make_plan(recipe_for(str(texts), overrides=settings), project=texts.parent).findings
    assert [(f.code, f.severity) for f in findings if f.code == "PLN132"] == [("PLN132", "warning")]


def test_a_transformer_without_an_adapter_is_not(texts: Path) -> None:
    made = make_plan(recipe_for(str(texts), overrides=["model=text_transformer"]), project=texts.parent)
    assert "PLN132" not in {finding.code for finding in made.findings}


def test_weights_of_a_folder_or_a_run_are_trained_ones_and_null_means_random() -> None:
    for weights, num in (("folder", 0), ("run-3", 0), (None, 1)):
        subject = planning(TEXT, model__name="text_pretrained", adapter__name="lora", model__options__weights=weights)
        assert len(list(check(subject))) == num
