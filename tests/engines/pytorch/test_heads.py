"""ArcFace by recipe alone, and losses that no recipe can feed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hand_made import a_plan
from sklearn.datasets import load_iris

from torchstone.core.errors import StoneErrors
from torchstone.core.recipe import Recipe
from torchstone.core.recipe_file import recipe_for
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.heads import Headed, embedding_size, score_scale, with_head
from torchstone.flows.evaluate import evaluate
from torchstone.flows.plan import make_plan
from torchstone.flows.train import train

ARCFACE = {"loss__name": "arcface", "loss__options__scale": 16.0, "loss__options__embedding": 5}


def irises(folder: Path, *settings: str) -> Recipe:
    """Scikit-learn's iris as a CSV, and what is set."""
    data = load_iris(as_frame=True).frame
    data["target"] = [f"kind {k}" for k in data["target"]]
    data.to_csv(folder / "iris.csv", index=False)
    overrides = ["data.label=target", "train.threads=1", *settings]
    return recipe_for(str(folder / "iris.csv"), overrides=overrides)


def test_a_loss_of_scores_leaves_the_model_alone() -> None:
    plan, model = a_plan(loss__name="cross_entropy"), torch.nn.Linear(3, 2)
    assert embedding_size(plan) is None
    assert with_head(model, plan, 2) is model
    assert score_scale(plan) == 1.0


def test_arcface_gets_a_model_that_ends_in_cosines() -> None:
    plan = a_plan(**ARCFACE)
    assert (embedding_size(plan), score_scale(plan)) == (5, 16.0)
    model = with_head(torch.nn.Linear(3, 5), plan, 4)
    assert isinstance(model, Headed)
    cosines = model(torch.randn(7, 3))
    assert cosines.shape == (7, 4)
    assert float(cosines.detach().abs().max()) <= 1.0001


def test_arcface_learns_irises_by_recipe_alone(tmp_path: Path) -> None:
    settings = ("loss=arcface", "loss.scale=16", "loss.margin=0.2", "loss.embedding=16", "train.epochs=40")
    result = train(irises(tmp_path, *settings), project=tmp_path, run_name="a")
    assert result.status == "finished"
    assert result.run is not None
    values = evaluate(result.run, project=tmp_path)["metrics"]
    assert values["accuracy"]["value"] >= 0.85
    assert values["log_loss"]["value"] < 0.6, "the scores are those of scaled cosines"
    weights = checkpoint.read((result.run.checkpoints / "last").resolve()).tensors["model"]
    assert weights["head.weight"].shape == (3, 16)
    saved = np.load(result.run.predictions / "validation.npz")
    assert saved["scores"].sum(1) == pytest.approx(1, abs=1e-5)
    assert json.loads(result.run.result.read_text())["status"] == "finished"


@pytest.mark.parametrize(("name", "said"), [
    ("triplet", "triplet takes embeddings"), ("contrastive", "contrastive takes pairs of embeddings"),
    ("info_nce", "info_nce takes two views"), ("ctc", "ctc takes sequences"), ("distillation", "outputs of a teacher"),
])  # fmt: skip
def test_losses_of_pairs_views_and_sequences_are_for_a_loop_of_ones_own(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StoneErrors, match=said) as caught:
        make_plan(irises(tmp_path, f"loss={name}"), project=tmp_path)
    assert f"for a loop of your own: torchstone.losses.{name}" in str(caught.value)


def test_arcface_needs_classes(tmp_path: Path) -> None:
    settings = ("data.label=petal width (cm)", "loss=arcface")
    with pytest.raises(StoneErrors, match="arcface takes cosines"):
        make_plan(irises(tmp_path, *settings), project=tmp_path)
