"""Every task names parts that exist."""

from __future__ import annotations

import pytest

from torchstone.core.catalog import find, names
from torchstone.core.task import Task

TASKS = "torchstone.parts.tasks"


@pytest.mark.parametrize("name", names(TASKS))
def test_a_task_is_called_like_its_file_and_its_metric_and_loss_exist(name: str) -> None:
    task = find(TASKS, name)
    assert isinstance(task, Task)
    assert task.name.replace("-", "_") == name
    assert task.metric in names("torchstone.parts.metrics")
    assert task.loss in names("torchstone.engines.pytorch.losses")
    assert task.direction == ("min" if task.target == "number" else "max")


def test_no_two_tasks_learn_the_same_from_the_same() -> None:
    tasks = [find(TASKS, name) for name in names(TASKS)]
    assert len({(task.modality, task.target) for task in tasks}) == len(tasks) == 7
