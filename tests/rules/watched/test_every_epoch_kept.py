"""RUN509: a script that keeps every epoch chooses nothing on its test set."""

from __future__ import annotations

import pytest

from torchstone.rules._watched import toy_loop, toy_pass
from torchstone.rules.feeding.selection_on_test import RULE


@pytest.mark.parametrize(
    ("path", "saved", "codes"),
    [
        ("checkpoint.pth", (1, 2, 3), []),  # as torchvision's reference script does after each evaluation
        ("model_best.pth", (1, 2, 3), ["RUN509"]),  # each epoch was the best one so far
        ("checkpoint.pth", (1, 3), ["RUN509"]),  # the second epoch was not good enough
        ("checkpoint.pth", (1,), []),
    ],
)
def test_the_test_set_chooses_where_some_passes_save_or_the_file_is_called_the_best(path, saved, codes):
    passes = [toy_pass(names=["loader", "test_loader"], number=n, last_step=14 * n, first_step=14 * n)
              for n in (1, 2, 3)]  # fmt: skip
    save = {"event": "save", "path": path, "place": "train.py:40", "holds": ["optimizer", "weights"]}
    rows = toy_loop(more=[*passes, *({**save, "step": 14 * n} for n in saved)])
    assert [finding.code for finding in RULE.check(rows)] == codes
