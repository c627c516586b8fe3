"""Run by two or three ranks: what a sampler by difficulty deals out on each, whole and resumed, to a JSON file."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from ranks_script import leave, plain_net
from test_difficulty import ordered

from conftest import small_net
from torchstone.core.event import Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.strategies import Strategy
from torchstone.engines.pytorch.strategies.ddp import ddp
from torchstone.parts.samplers.self_paced import self_paced

SAMPLER = self_paced(start=0.3, end=0.9)


def job_on(strategy: Strategy, folder: Path | None = None, **changes: Any) -> Job:
    """The toy job, self-paced, on these ranks."""
    job = ordered(SAMPLER, folder, strategy=strategy, **changes)
    job = replace(job, feed=replace(job.feed, rank=strategy.rank, world=strategy.world))
    torch.manual_seed(100 + strategy.rank)
    return job


def dealt(job: Job) -> list[list[int]]:
    """The rows that each of four epochs deals out, ascending, on this rank's own account."""
    orders: dict[int, list[int]] = {}

    def look(event: Any) -> None:
        if event.kind == "step":
            orders.setdefault(event.values["epoch"], sorted(job.feed.order(event.values["epoch"]).tolist()))

    fit(job, Progress(), [look])
    return [orders[epoch] for epoch in sorted(orders)]


def resumed(strategy: Strategy, folder: Path) -> bool:
    """Whether a run of a net with BatchNorm and dropout, cut within an epoch, ends with the same losses and weights."""
    ends = []
    for name, at in (("whole", 10**9), ("cut", 13)):
        job = job_on(strategy, folder / name, model=strategy.wrap(small_net()), every_windows=2)
        progress = fit(job, Progress(), [lambda e, at=at: Stop("cut") if e.kind == "step" and e.step == at else None])
        strategy.barrier()
        if name == "cut":
            job = job_on(strategy, folder / name, model=strategy.wrap(small_net()), every_windows=2)
            path, _ = checkpoint.newest(folder / name)
            assert path is not None
            progress, _ = snapshot.restore(job, checkpoint.read(path))
            fit(job, progress)
        ends.append(snapshot.take(job, progress).tensors)
    return all(torch.equal(v, ends[1][f][n]) for f, part in ends[0].items() for n, v in part.items())


def main() -> None:
    """All checks."""
    out = Path(sys.argv[1])
    strategy = ddp(torch.device("cpu"), timeout_minutes=2)
    mine = dealt(job_on(strategy, model=strategy.wrap(plain_net()), average=None))
    flat = torch.tensor([row for rows in mine for row in rows])
    answers = {
        "dealt": mine, "same": all(torch.equal(flat, other) for other in strategy.gather(flat)),
        "resumed": strategy.sums([resumed(strategy, out.parent)])[0] == strategy.world,
    }  # fmt: skip
    if strategy.rank == 0:
        out.write_text(json.dumps(answers))
    leave(strategy)


if __name__ == "__main__":
    main()
