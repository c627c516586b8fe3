"""A number for each row of a table."""

from __future__ import annotations

from torchstone.core.task import Task

tabular_regression = Task(
    name="tabular-regression",
    modality="table",
    target="number",
    metric="rmse",
    direction="min",
    loss="mse",
    loss_reason="the mean is what squared error asks for; with outliers try huber",
    loss_source="Goodfellow et al. 2016, Deep Learning, 6.2.2.1",
)
