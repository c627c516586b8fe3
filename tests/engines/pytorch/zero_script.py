"""Run by two or three ranks: `zero` against `ddp`, optimizer by optimizer, to a JSON file by rank 0."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from ranks_script import job_on, leave
from torch import Tensor, nn

from conftest import small_net
from torchstone.core import catalog
from torchstone.core.event import Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.clipping.adaptive import adaptive
from torchstone.engines.pytorch.groups import parameter_groups, scaled_rates
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.optimizers.schedule_free import Averaged, ScheduleFree
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.shrinkage import shrinkage
from torchstone.engines.pytorch.strategies import Strategy
from torchstone.engines.pytorch.strategies.ddp import Ddp, ddp
from torchstone.engines.pytorch.strategies.zero import Zero

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9}, "adam": {}, "adamw": {}, "lion": {"lr": 1e-3}, "nadam": {}, "radam": {}, "rmsprop": {},
    "lamb": {}, "adafactor": {}, "muon": {}, "sam": {"base": "adamw"}, "schedule_free": {"lr": 1e-2},
    **({"adamw_8bit": {}} if importlib.util.find_spec("bitsandbytes") else {}),
}  # fmt: skip


def net(name: str) -> nn.Module:
    """BatchNorm and dropout; large enough for 8 bits where these are asked for."""
    if name not in ("adamw_8bit", "muon"):
        return small_net()
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 96), nn.Tanh(), nn.Linear(96, 96, bias=False), nn.Tanh(), nn.Linear(96, 3))


def zero_job(strategy: Strategy, name: str, folder: Path | None = None, **changes: Any) -> Any:
    """The toy job on this strategy, with this optimizer on groups of unlike rates."""
    model = strategy.wrap(net(name))
    made, _ = parameter_groups(
        model, weight_decay=0.01, layer_decay=0.5, apart_hidden=name == "muon",
        rules=[{"match": "bias", "lr_scale": 2.0}],
    )  # fmt: skip
    part = catalog.find("torchstone.engines.pytorch.optimizers", name)
    optimizer = part(made, **{"weight_decay": 0.01, **OPTIMIZERS[name]})
    changes["base_rates"] = scaled_rates(optimizer)
    strategy.share(optimizer)
    if isinstance(optimizer, ScheduleFree):
        changes["average"] = Averaged(model, optimizer)
    # the model is wrapped already: job_on wraps what it is given
    job = job_on(_Wrapped(strategy), folder, model=model, optimizer=optimizer, **changes)  # type: ignore[arg-type]
    return replace(job, strategy=strategy)


class _Wrapped:
    def __init__(self, strategy: Strategy) -> None:
        self.rank, self.world, self.wrap = strategy.rank, strategy.world, lambda model: model


def run(strategy: Strategy, name: str, **changes: Any) -> tuple[list[Any], dict[str, dict[str, Tensor]]]:
    """Losses, norms and update sizes of every step, and everything that a checkpoint would hold."""
    rows: list[Any] = []
    job = zero_job(strategy, name, **changes)
    keys = ("loss", "grad_norm", "clipped_norm", "update_ratio")
    progress = fit(job, Progress(), [lambda e: rows.append([e.values[k] for k in keys]) if e.kind == "step" else None])
    content = snapshot.take(job, progress)
    rows.append(content.state["optimizer"] if strategy.rank == 0 else None)
    return rows, content.tensors


def equal(one: dict[str, dict[str, Tensor]], other: dict[str, dict[str, Tensor]], rank: int) -> bool:
    """Whether both hold the same, bit for bit; the optimizer's state is whole on rank 0 alone."""
    files = set(one) - ({"optimizer"} if rank else set())
    return set(one) == set(other) and all(
        one[file].keys() == other[file].keys() and all(torch.equal(v, other[file][n]) for n, v in one[file].items())
        for file in files
    )  # fmt: skip


def same_as_ddp(ranks: Ddp, name: str, **changes: Any) -> bool:
    """Whether losses, norms, weights, averages and state are those of ddp on this rank."""
    whole, shared = run(ranks, name, **changes), run(Zero(ranks), name, **changes)
    return whole[0] == shared[0] and equal(whole[1], shared[1], ranks.rank)


def with_all(ranks: Ddp) -> bool:
    """The same with L1, adaptive clipping and micro-batches."""
    found = []
    for strategy in (ranks, Zero(ranks)):
        rows: list[float] = []
        job = zero_job(strategy, "adamw", accumulate=2, clipping=adaptive())
        job = replace(job, shrinkage=shrinkage(job.model, job.optimizer, 0.05))
        progress = fit(job, Progress(), [lambda e, r=rows: r.append(e.values["loss"]) if e.kind == "step" else None])
        found.append((rows, snapshot.take(job, progress).tensors))
    return found[0][0] == found[1][0] and equal(found[0][1], found[1][1], ranks.rank)


def cut_and_resumed(ranks: Ddp, name: str, folder: Path, then: Callable[[], Strategy]) -> bool:
    """Whether a run under zero that is cut off and goes on under `then` ends as one that was not."""
    whole = run(Zero(ranks), name)[1]
    job = zero_job(Zero(ranks), name, folder, every_windows=3)
    fit(job, Progress(), [lambda e: Stop("cut") if e.kind == "step" and e.step == 11 else None])
    ranks.barrier()
    again = zero_job(then(), name)
    path, _ = checkpoint.newest(folder)
    assert path is not None
    progress, _ = snapshot.restore(again, checkpoint.read(path))
    return equal(whole, snapshot.take(again, fit(again, progress)).tensors, ranks.rank)


def state_bytes(strategy: Strategy, name: str) -> float:
    """Bytes of the optimizer's state of a net of eight equal layers on this rank, after a step."""
    torch.manual_seed(0)
    layers = [nn.Linear(32, 32, bias=False) for _ in range(8)]
    model = strategy.wrap(nn.Sequential(nn.Linear(8, 32, bias=False), *layers, nn.Linear(32, 3, bias=False)))
    part = catalog.find("torchstone.engines.pytorch.optimizers", name)
    optimizer = part([{"params": list(model.parameters())}], **OPTIMIZERS[name])
    strategy.share(optimizer)
    model(torch.ones(2, 8)).sum().backward()
    strategy.reduce_gradients()
    optimizer.step()
    state = optimizer.state.values()
    return float(sum(v.numel() * v.element_size() for held in state for v in held.values() if v.ndim))


def main() -> None:
    """All checks."""
    out = Path(sys.argv[1])
    ranks = ddp(torch.device("cpu"), timeout_minutes=2)
    found = {f"as ddp: {name}": same_as_ddp(ranks, name) for name in OPTIMIZERS}
    found["as ddp: everything"] = with_all(ranks)
    for name in ("adamw", "sam", "schedule_free", "muon"):
        found[f"resumed: {name}"] = cut_and_resumed(ranks, name, out.parent / name, lambda: Zero(ranks))
    found["resumed by ddp"] = cut_and_resumed(ranks, "adamw", out.parent / "by-ddp", lambda: ranks)
    answers: dict[str, Any] = {key: ranks.sums([value])[0] == ranks.world for key, value in found.items()}
    for name in ("adamw", "sgd"):
        mine = torch.tensor([state_bytes(Zero(ranks), name)])
        answers[f"bytes {name}"] = {"each": torch.cat(ranks.gather(mine)).tolist(), "whole": state_bytes(ranks, name)}
    if ranks.rank == 0:
        out.write_text(json.dumps(answers))
    leave(ranks)


if __name__ == "__main__":
    main()
