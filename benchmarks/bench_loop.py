"""What a step of the loop costs, as a ratio to a plain hand-written PyTorch loop.

Both train the same seeded model on the same data: AdamW, cosine rate per step, gradients clipped at norm 1. The
hand-written loop is what a careful person writes: DataLoader over a TensorDataset, AdamW as it comes, a LambdaLR,
the loss noted every 50 steps. Ours is the loop with everything on: the ledger of every step written to a trace,
the norm before and after clipping, the update-to-weight ratio on sampled steps, the check for non-finite numbers.

The clock sits in the model: a step is what passes from one forward pass to the next, in CPU time of the process,
which a busy machine disturbs less than wall time. Every measurement is a process of its own, forked from one that
has imported everything; rounds are interleaved. The fastest step of a run repeats best; the median is shown beside.

    python benchmarks/bench_loop.py                    # all four workloads, 5 rounds
    python benchmarks/bench_loop.py --only mlp cnn --rounds 3
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from torchstone.engines.pytorch.drive import Recorder
from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.memory import keep_freed_pages
from torchstone.engines.pytorch.optimizers.adamw import adamw
from torchstone.engines.pytorch.precisions.fp32 import fp32
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies.single import single

# name: (steps, batch size, goal for the ratio of the fastest step)
WORKLOADS = {"mlp": (1200, 64, 0.70), "cnn": (60, 64, 0.95), "text": (16, 32, 1.00), "resnet18": (8, 16, 0.92)}
RATE, DECAY, CLIP = 1e-3, 0.01, 1.0


class Clocked(nn.Module):
    """Notes the CPU time at each forward pass."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.ticks = net, []

    def forward(self, inputs: Tensor) -> Tensor:
        self.ticks.append(time.process_time_ns())
        output: Tensor = self.net(inputs)
        return output


class Encoder(nn.Module):
    """Two transformer layers over 64 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(1000, 128), nn.Parameter(torch.randn(64, 128) * 0.02)
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(128, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.head(self.layers(self.tokens(inputs) + self.places).mean(1))
        return output


def net_of(workload: str) -> nn.Module:
    """The seeded network."""
    torch.manual_seed(0)
    if workload == "mlp":
        return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    if workload == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10),
        )  # fmt: skip
    model: nn.Module = Encoder() if workload == "text" else torchvision.models.resnet18(num_classes=10)
    return model


def data_of(workload: str) -> tuple[Tensor, Tensor]:
    """Seeded examples with a label that can be learnt."""
    steps, batch, _ = WORKLOADS[workload]
    generator = torch.Generator().manual_seed(0)
    if workload == "text":
        tokens = torch.randint(1, 1000, (steps * batch, 64), generator=generator)
        return tokens, torch.randn(1000, 4, generator=generator)[tokens].mean(1).argmax(1)
    shape = {"mlp": (64,), "cnn": (1, 28, 28), "resnet18": (3, 64, 64)}[workload]
    inputs = torch.randn(steps * batch, *shape, generator=generator)
    return inputs, (inputs.flatten(1) @ torch.randn(math.prod(shape), 10, generator=generator)).argmax(1)


def cosine(step: int, total: int) -> float:
    """The rate's multiplier."""
    return 0.5 * (1 + math.cos(math.pi * step / total))


def by_hand(workload: str, model: Clocked) -> None:
    """What a careful person writes."""
    steps, batch, _ = WORKLOADS[workload]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: cosine(step, steps))
    noted = []
    model.train()
    for step, (inputs, target) in enumerate(DataLoader(TensorDataset(*data_of(workload)), batch_size=batch), 1):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            noted.append(loss.item())


def ours(workload: str, model: Clocked) -> None:
    """The loop with ledger and trace."""
    steps, batch, _ = WORKLOADS[workload]
    keep_freed_pages()
    inputs, target = data_of(workload)
    groups = [{"params": list(model.parameters()), "weight_decay": DECAY}]
    optimizer = adamw(groups, lr=RATE, weight_decay=DECAY)
    job = Job(
        model=model, loss=cross_entropy(), optimizer=optimizer, schedule=cosine,
        feed=Feed(TensorSource([inputs], target), np.arange(len(target)), batch, seed=0), epochs=1,
        strategy=single(torch.device("cpu")), precision=fp32(torch.device("cpu")), clip_norm=CLIP, base_rates=[RATE],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "trace.jsonl")
        fit(job, Progress(), [recorder])
        recorder.close()
        assert len((Path(folder) / "trace.jsonl").read_text().splitlines()) == steps + 1


LOOPS: dict[str, Callable[[str, Clocked], None]] = {"by hand": by_hand, "ours": ours}


def measure(loop: str, workload: str) -> dict[str, float]:
    """One training in a forked process: CPU µs of the fastest and the median step, peak memory in MB."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        model = Clocked(net_of(workload))
        LOOPS[loop](workload, model)
        ticks = np.diff(np.array(model.ticks))[len(model.ticks) // 10 :] / 1e3
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(write, json.dumps({"min": ticks.min(), "median": float(np.median(ticks)), "peak": peak}).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        row: dict[str, float] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return row


def main() -> None:
    """Measures and prints a table of ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("CPU time of a step, ours / by hand, one thread; medians over rounds (smallest to largest)")
    heads = f"{'workload':<10}{'by hand µs':>12}{'ours µs':>10}{'fastest step':>24}{'goal':>6}"
    print(heads + f"{'median step':>22}{'peak memory':>13}")
    for workload in arguments.only:
        rounds = [{loop: measure(loop, workload) for loop in LOOPS} for _ in range(arguments.rounds)]
        show(workload, rounds)


def show(workload: str, rounds: list[dict[str, Any]]) -> None:
    """One row of the table."""

    def ratios(key: str) -> list[float]:
        return sorted(r["ours"][key] / r["by hand"][key] for r in rounds)

    def text(values: list[float]) -> str:
        return f"{statistics.median(values):.2f} ({values[0]:.2f}-{values[-1]:.2f})"

    hand, own = (statistics.median(r[loop]["min"] for r in rounds) for loop in LOOPS)
    goal, peak = WORKLOADS[workload][2], statistics.median(ratios("peak"))
    print(
        f"{workload:<10}{hand:>12,.0f}{own:>10,.0f}{text(ratios('min')):>24}{goal:>6.2f}{text(ratios('median')):>22}"
        f"{peak:>13.3f}", flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
