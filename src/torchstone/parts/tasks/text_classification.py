"""One class for each text."""

from __future__ import annotations

from torchstone.core.task import Task

text_classification = Task(
    name="text-classification",
    modality="text",
    target="single",
    metric="accuracy",
    direction="max",
    loss="cross_entropy",
    loss_reason="one class out of several: the negative log-likelihood of the softmax",
    loss_source="Goodfellow et al. 2016, Deep Learning, 6.2.2.3",
)
