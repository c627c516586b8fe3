"""RUN614 in runs of ours: what a guess costs is known from the labels that are dealt out, if the loss is plain."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import torchstone as ts
from torchstone.core.event import Event
from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.watched import Learnt, dealt_entropy
from torchstone.parts.samplers.class_balanced import class_balanced


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 900 digits, 64 pixels each."""
    found = load_digits()
    path = tmp_path_factory.mktemp("digits") / "digits.csv"
    rows = [",".join(map(str, x.astype(int))) + f",c{y}" for x, y in zip(found.data[:900], found.target, strict=False)]
    path.write_text(",".join(f"p{n}" for n in range(64)) + ",label\n" + "\n".join(rows) + "\n")
    return path


def codes(table: Path, folder: Path, *changes: str) -> tuple[list[str], list[str]]:
    """Codes of runs that were told while SGD trained, and those of the end."""
    told: list[Event] = []
    wanted = ["optimizer=sgd", "schedule=constant", "train.clip_norm=0", "train.epochs=12", *changes]
    result = ts.train(ts.recipe(str(table), *wanted), project=folder, observers=[told.append])
    assert not [e for e in told if e.kind == "note" and "mistake of the doctor" in e.values["text"]]
    live = [str(e.values["code"]) for e in told if e.kind == "finding"]
    return live, [f.code for f in result.findings if f.code.startswith("RUN")]


def test_a_rate_of_three_throws_the_net_to_guessing_and_the_finding_says_how_to_mend_it(digits, tmp_path):
    live, found = codes(digits, tmp_path, "optimizer.lr=3")
    assert "RUN614" in live
    assert found == ["RUN614"]


def test_a_sound_rate_draws_none(digits, tmp_path):
    live, found = codes(digits, tmp_path, "optimizer.lr=0.05")
    assert set(live + found) <= {"RUN606", "RUN806", "RUN810"}  # advice: 900 pictures can be learnt by heart


def test_with_weighted_classes_the_cost_of_a_guess_is_not_known(digits, tmp_path):
    _, found = codes(digits, tmp_path, "optimizer.lr=3", "loss.class_weights=inverse")
    assert "RUN614" not in found


def test_only_a_plain_cross_entropy_has_a_node_that_rules_know():
    assert Learnt("cross_entropy", []).kinds == ["NllLossBackward0"]
    assert Learnt("cross_entropy", [], is_weighted=True).kinds == Learnt("focal", []).kinds == []


def test_the_entropy_is_that_of_the_labels_as_they_are_dealt_out():
    import torch

    labels = np.array([0] * 90 + [1] * 10)
    source = TensorSource([torch.zeros(200, 2)], torch.zeros(200, dtype=torch.int64))
    rows = np.arange(100)[::-1] + 50
    feed = Feed(source, rows, 10, 0, labels=labels)
    assert dealt_entropy(feed) == pytest.approx(-0.9 * math.log(0.9) - 0.1 * math.log(0.1))
    even = dealt_entropy(Feed(source, rows, 10, 0, labels=labels, sampler=class_balanced()))
    assert even == pytest.approx(math.log(2), abs=0.05)
    assert dealt_entropy(Feed(source, rows, 10, 0)) is None
