"""Any number of labels for each row of a table."""

from __future__ import annotations

from torchstone.core.task import Task

tabular_multilabel = Task(
    name="tabular-multilabel",
    modality="table",
    target="multi",
    metric="macro_f1",
    direction="max",
    loss="binary_cross_entropy",
    loss_reason="each label is a yes or no of its own",
    loss_source="Goodfellow et al. 2016, Deep Learning, 6.2.2.2",
)
