"""The user's split is kept; a missing validation is cut from train and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from torchstone.core.errors import StoneError
from torchstone.core.recipe import Shares
from torchstone.flows.cut_split import cut_split

TARGET, GROUPS = np.arange(100) % 2, np.arange(100)
OWN = ["train"] * 60 + ["validation"] * 20 + ["test"] * 20


def test_a_whole_split_is_kept() -> None:
    split, (choice,) = cut_split(TARGET, "single", GROUPS, OWN, None, 0)
    assert split.tolist() == OWN
    assert choice.value == {"train": 60, "validation": 20, "test": 20}


def test_validation_comes_out_of_train_and_test_is_untouched() -> None:
    own = ["train"] * 80 + ["test"] * 20
    split, _ = cut_split(TARGET, "single", GROUPS, own, Shares(train=0.6, validation=0.2, test=0.2), 0)
    assert split[80:].tolist() == ["test"] * 20
    assert int((split == "validation").sum()) == 20


def test_a_split_without_test_keeps_none_and_says_so() -> None:
    split, (choice,) = cut_split(TARGET, "single", GROUPS, ["train"] * 80 + ["validation"] * 20, None, 0)
    assert set(split) == {"train", "validation"}
    assert "no test part" in choice.reason


def test_train_alone_is_no_split() -> None:
    split, (choice,) = cut_split(TARGET, "single", GROUPS, ["train"] * 100, None, 0)
    assert (choice.value, choice.origin) == ({"train": 70, "validation": 15, "test": 15}, "default")
    assert set(split) == {"train", "validation", "test"}


def test_a_split_without_train_and_shares_without_effect_are_mistakes() -> None:
    with pytest.raises(StoneError, match="has only validation, test"):
        cut_split(TARGET, "single", GROUPS, ["validation"] * 50 + ["test"] * 50, None, 0)
    with pytest.raises(StoneError, match="no effect"):
        cut_split(TARGET, "single", GROUPS, OWN, Shares(), 0)


def test_numbers_and_label_sets_are_stratified() -> None:
    numbers = np.linspace(0, 1, 200)
    split, _ = cut_split(numbers, "number", np.arange(200), [None] * 200, None, 3)
    assert abs(numbers[split == "test"].mean() - 0.5) < 0.05
    flags = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 25, dtype=np.uint8)
    split, _ = cut_split(flags, "multi", GROUPS, [None] * 100, None, 3)
    assert len(np.unique(flags[split == "test"], axis=0)) == 4
