"""Run by two or three ranks: several checks in one start, their numbers to a JSON file by rank 0."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from hand_made import a_dataset
from torch import nn

from conftest import accuracy, blobs, small_net, toy_job
from torchstone.core.event import Event, Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.averaging.swa import swa
from torchstone.engines.pytorch.freezing import freeze
from torchstone.engines.pytorch.job import Validation
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.scoring import agreed_weights, averaged_state, score
from torchstone.engines.pytorch.seen import Seen
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies import Strategy
from torchstone.engines.pytorch.strategies.ddp import ddp
from torchstone.engines.pytorch.unfreezing import unfreezing


def plain_net() -> nn.Module:
    """Without dropout and BatchNorm, whose results depend on the cut by nature."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))


def job_on(strategy: Strategy, folder: Path | None = None, **changes: Any) -> Any:
    """The toy job with this strategy."""
    model = strategy.wrap(changes.pop("model", None) or small_net())
    job = toy_job(folder, model=model, strategy=strategy, **changes)
    job = replace(job, feed=replace(job.feed, rank=strategy.rank, world=strategy.world))
    torch.manual_seed(100 + strategy.rank)
    return job


def losses(job: Any) -> list[float]:
    """The loss of every step."""
    rows: list[float] = []
    fit(job, Progress(), [lambda e: rows.append(e.values["loss"]) if e.kind == "step" else None])
    return rows


def curve(strategy: Strategy) -> list[float]:
    """Losses of a run on plain_net: to be compared with one process."""
    return losses(job_on(strategy, model=plain_net(), average=None))


def rates(strategy: Strategy) -> list[float]:
    """The learning rate of every step."""
    seen: list[float] = []
    job = job_on(strategy, model=plain_net(), average=None, accumulate=2)
    fit(job, Progress(), [lambda e: seen.append(e.values["lr"]) if e.kind == "step" else None])
    return seen


def kill_and_resume(strategy: Strategy, folder: Path) -> bool:
    """Whether a stopped and resumed run ends with the same state on this rank, dropout and BatchNorm included."""
    whole_job = job_on(strategy, folder / "whole", every_windows=3)
    whole = snapshot.take(whole_job, fit(whole_job, Progress()))
    cut_job = job_on(strategy, folder / "cut", every_windows=3)
    fit(cut_job, Progress(), [lambda e: Stop("cut") if e.kind == "step" and e.step == 11 else None])
    strategy.barrier()
    again = job_on(strategy, folder / "cut", every_windows=3)
    path, _ = checkpoint.newest(folder / "cut")
    assert path is not None
    progress, _ = snapshot.restore(again, checkpoint.read(path))
    cut = snapshot.take(again, fit(again, progress))
    return all(torch.equal(v, cut.tensors[f][n]) for f, part in whole.tensors.items() for n, v in part.items())


def tiny_evaluation(strategy: Strategy, num: int) -> dict[str, Any]:
    """num examples, of which the first is right: accuracy 1/num whatever the number of ranks."""
    logits = torch.eye(3)[torch.zeros(num, dtype=torch.int64)] * 5
    target = torch.ones(num, dtype=torch.int64)
    target[0] = 0
    source, rows = TensorSource([logits], target), np.arange(num)
    model = strategy.wrap(nn.Sequential(nn.Identity(), nn.Linear(3, 3)))
    with torch.no_grad():
        model[1].weight.copy_(torch.eye(3))
        model[1].bias.zero_()
    judged = Validation(source, rows, 2, lambda x: torch.softmax(x, 1).numpy(), target.numpy(), {}, "accuracy", "max")
    result = score(job_on(strategy, model=model, average=None), judged)
    return {"n": result.num, "of": result.expected, "accuracy": accuracy(result.scores, target.numpy())}


def buffers_agree(strategy: Strategy) -> dict[str, float]:
    """BatchNorm's mean before and after agreeing, as the largest difference between ranks."""
    job = job_on(strategy, average=None, epochs=1)
    fit(job, Progress())
    name, own = next((n, b) for n, b in job.model.named_buffers() if n.endswith("running_mean"))
    before = strategy.gather(own.clone())
    with agreed_weights(job):
        after = strategy.gather(own.clone())
    back = strategy.gather(own.clone())
    return {
        "apart": float((before[0] - before[-1]).abs().max()), "agreed": float((after[0] - after[-1]).abs().max()),
        "is_mean": float((after[0] - sum(before) / len(before)).abs().max()),
        "restored": float((back[strategy.rank] - before[strategy.rank]).abs().max()), "name": len(name),
    }  # fmt: skip


def measured_anew(strategy: Strategy) -> dict[str, float]:
    """BatchNorm's mean for averaged weights: how far ranks are apart, and how far from the mean over all examples."""
    model = strategy.wrap(small_net())
    job = job_on(strategy, model=model, average=swa(model, start=0.5), batch_size=7)
    fit(job, Progress())
    state = averaged_state(job)
    assert state is not None
    found = strategy.gather(torch.cat([state["1.running_mean"], state["1.running_var"]]))
    inputs = job.feed.source.batch(job.feed.rows, None).inputs[0]
    right = (inputs @ state["0.weight"].T + state["0.bias"]).mean(0)
    return {"apart": float((found[0] - found[-1]).abs().max()), "off": float((found[0][:16] - right).abs().max())}


def unfreezes(strategy: Strategy) -> list[float]:
    """Losses of a run whose first layer is released after its first epoch: to be compared with one process."""
    model = plain_net()
    freeze(model, [r"^0\."])
    releases = unfreezing(model, 1, 3)
    assert releases is not None
    job = job_on(strategy, model=model, average=None, unfreezing=releases)
    return losses(job)


def unused_parameter(strategy: Strategy) -> bool:
    """A parameter that no rank uses keeps no gradient, as with one process."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(8, 3), nn.Linear(8, 3)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return self.used(inputs)

    model = Net()
    before = model.unused.weight.detach().clone()
    fit(job_on(strategy, model=model, average=None, epochs=1), Progress())
    return bool(torch.equal(before, model.unused.weight)) and model.unused.weight.grad is None


def stops_together(strategy: Strategy) -> int:
    """Rank 1 alone wishes to stop after step 4; every rank returns its own step."""

    def observe(event: Event) -> Stop | None:
        return Stop("here") if strategy.rank == 1 and event.kind == "step" and event.step == 4 else None

    progress = fit(job_on(strategy, average=None), Progress(), [observe])
    steps = strategy.sums([progress.step])[0] / strategy.world
    return int(steps) if progress.status == "stopped" else -1


def examples_once(strategy: Strategy) -> list[int]:
    """How often each training row is seen in one epoch over all ranks: smallest and largest count."""
    job = job_on(strategy, average=None, batch_size=4, accumulate=3)
    counts = torch.zeros(75, dtype=torch.int64)
    for window in job.feed.epoch(0):
        for batch in window.batches:
            counts[torch.from_numpy(batch.rows)] += 1
    total = sum(strategy.gather(counts))
    assert isinstance(total, torch.Tensor)
    return [int(total.min()), int(total.max())]


def examples_told(strategy: Strategy) -> list[dict[str, Any]]:
    """What the trace is told of the examples of one epoch; on rank 0."""
    split = ["train"] * 75 + ["validation"] * 15
    data = a_dataset({"x": np.arange(90.0)}, {"x": "number"}, np.arange(90) % 3, split)
    rows: list[dict[str, Any]] = []
    job = job_on(strategy, average=None, epochs=1, seen=Seen(data, 90))
    fit(job, Progress(), [lambda e: rows.append(dict(e.values)) if e.kind == "examples" else None])
    return rows


def empty_shares(strategy: Strategy) -> list[float]:
    """One example a step: all ranks but one have nothing to do."""
    return losses(job_on(strategy, model=plain_net(), average=None, batch_size=1, epochs=1, source=blobs(20)))


def leave(strategy: Strategy) -> None:
    """Closes, although gloo is slow to let go of the last sum; fails where a thread of gloo stays that could abort."""
    work = dist.all_reduce(torch.ones(2000), async_op=True)
    work.get_future().then(lambda _: time.sleep(0.5))
    del work
    strategy.close()
    tasks = Path("/proc/self/task")
    names = [(task / "comm").read_text().strip() for task in tasks.iterdir()] if tasks.is_dir() else []
    assert not [name for name in names if "gloo" in name], names


def main() -> None:
    """All checks."""
    out = Path(sys.argv[1])
    strategy = ddp(torch.device("cpu"), timeout_minutes=2)
    answers = {
        "curve": curve(strategy),
        "rates": rates(strategy),
        "resumed": strategy.sums([kill_and_resume(strategy, out.parent)])[0] == strategy.world,
        "five": tiny_evaluation(strategy, 5),
        "one": tiny_evaluation(strategy, 1),
        "buffers": buffers_agree(strategy),
        "measured": measured_anew(strategy),
        "unfrozen": unfreezes(strategy),
        "unused": unused_parameter(strategy),
        "stopped": stops_together(strategy),
        "seen": examples_once(strategy),
        "told": examples_told(strategy),
        "empty_shares": empty_shares(strategy),
        "world": strategy.world,
    }
    if strategy.rank == 0:
        out.write_text(json.dumps(answers))
    leave(strategy)


if __name__ == "__main__":
    main()
