"""The rate falls when validation stands still, and a resumed run remembers how long it has stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from conftest import toy_job
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.parts.schedules.plateau import plateau


def job_on(folder: Path, **changes: Any) -> Job:
    model = torch.nn.Linear(8, 3)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)  # nothing is learnt: validation stands still
    return toy_job(folder, model=model, optimizer=optimizer, average=None, schedule=plateau(factor=0.5, patience=1),
                   epochs=8, keep=20, **changes)  # fmt: skip


def rates_of(job: Job, progress: Progress) -> list[float]:
    rates: dict[int, float] = {}

    def observe(event: Any) -> None:
        if event.kind == "step":
            rates[event.values["epoch"]] = event.values["lr"] / 1e-9

    fit(job, progress, [observe])
    return [round(rates[epoch], 6) for epoch in sorted(rates)]


def test_the_rate_is_cut_after_patience_and_again(tmp_path: Path) -> None:
    assert rates_of(job_on(tmp_path), Progress()) == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125]


def test_a_resumed_run_cuts_at_the_same_epochs(tmp_path: Path) -> None:
    rates_of(job_on(tmp_path), Progress())
    third = next(path for path in checkpoint.listed(tmp_path) if "-e0003-" in path.name)
    job = job_on(tmp_path / "again")
    progress, _ = snapshot.restore(job, checkpoint.read(third))
    assert rates_of(job, progress) == [0.5, 0.5, 0.25, 0.25, 0.125]
