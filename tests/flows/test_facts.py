"""What a plan must know of the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torchstone.core.catalog import find
from torchstone.flows.facts import facts_of
from torchstone.rules.dataset._toy import spread

TEXTS = find("torchstone.parts.tasks", "text_classification")


def test_the_length_of_a_text_counts_all_text_columns_as_the_model_reads_them():
    dataset = spread(200)
    second = np.array(["a body of six words here"] * len(dataset), dtype=object)
    second[::2] = None
    two = replace(dataset, inputs={**dataset.inputs, "body": second}, kinds={"value": "text", "body": "text"})
    assert facts_of(dataset, TEXTS)["words_p99"] == 2
    assert facts_of(two, TEXTS)["words_p99"] == 8


def test_counts_are_those_of_the_parts_and_of_train_alone():
    facts = facts_of(spread(200), TEXTS)
    assert (facts["num_train"], facts["num_validation"], facts["num_test"]) == (140, 30, 30)
    assert (facts["smallest_class"], facts["largest_class"], facts["num_classes"]) == (70, 70, 2)
