"""What the doctor costs: step time of a plain loop under `watch` / the same loop alone, in turns in one process.

    python benchmarks/bench_watch.py [--rounds 5] [--only mlp,text,resnet18]

Goals: 1.05 for the tiny MLP, 1.02 for the text model and for ResNet-18. CPU time of the process.
Printed: the ratio of the sums, of the medians of all steps and of the tenth percentile (least disturbed by other
programs), one row per workload.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import resnet18

from torchstone.engines.pytorch.memory import keep_freed_pages
from torchstone.flows.watch import watch

Step = Callable[[], None]


def mlp() -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]], int]:
    """64 examples of 20 numbers, 4 classes; steps of one round."""
    x, y = torch.randn(64, 20), torch.randint(0, 4, (64,))
    hidden = [nn.Linear(20, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 256), nn.ReLU()]
    model = nn.Sequential(*hidden, nn.Linear(256, 4))
    return model, lambda: (x, y), 6000


class Reader(nn.Module):
    """Two transformer layers over 64 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(2000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(128, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens int64 [B, T] → logits [B, 20]."""
        logits: torch.Tensor = self.head(self.body(self.embed(tokens)).mean(1))
        return logits


def text() -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]], int]:
    """32 texts of 64 tokens."""
    x, y = torch.randint(0, 2000, (32, 64)), torch.randint(0, 20, (32,))
    return Reader(), lambda: (x, y), 60


def pictures() -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]], int]:
    """16 pictures of 64 pixels through ResNet-18."""
    x, y = torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))
    return resnet18(num_classes=10), lambda: (x, y), 25


WORKLOADS = {"mlp": (mlp, 1.05), "text": (text, 1.02), "resnet18": (pictures, 1.02)}


def round_of(name: str, *, is_watched: bool) -> list[float]:
    """Seconds of each step of one round, a new model each time."""
    torch.manual_seed(0)
    model, batch, num = WORKLOADS[name][0]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    doctor = watch(model, optimizer, is_quiet=True) if is_watched else None
    seconds = []
    for _ in range(num):
        started = time.process_time()
        x, y = batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - started)
    if doctor is not None:
        doctor.stop()
        assert not doctor.mistakes, doctor.mistakes
    return seconds


def main() -> None:
    """Runs all rounds and prints one row per workload."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(WORKLOADS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_pages()  # else the baseline faults its pages in again and again, and the doctor's few rows prevent it
    for name in asked.only.split(","):
        means, medians, tenths = [], [], []
        for number in range(asked.rounds):
            order = (False, True) if number % 2 else (True, False)
            seen = {is_watched: round_of(name, is_watched=is_watched) for is_watched in order}
            means.append(sum(seen[True]) / sum(seen[False]))
            medians.append(statistics.median(seen[True]) / statistics.median(seen[False]))
            tenths.append(_tenth(seen[True]) / _tenth(seen[False]))
        mean, median, tenth = (statistics.median(values) for values in (means, medians, tenths))
        ratios = f"all {mean:.3f}  median {median:.3f}  tenth {tenth:.3f}"
        print(f"{name:9s} {ratios}  goal {WORKLOADS[name][1]:.2f}", flush=True)


def _tenth(values: list[float]) -> float:
    return sorted(values)[len(values) // 10]


if __name__ == "__main__":
    main()
