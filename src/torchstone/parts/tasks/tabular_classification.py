"""One class for each row of a table."""

from __future__ import annotations

from torchstone.core.task import Task

tabular_classification = Task(
    name="tabular-classification",
    modality="table",
    target="single",
    metric="accuracy",
    direction="max",
    loss="cross_entropy",
    loss_reason="one class out of several: the negative log-likelihood of the softmax",
    loss_source="Goodfellow et al. 2016, Deep Learning, 6.2.2.3",
)
