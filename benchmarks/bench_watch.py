"""What the doctor costs: step time and memory of a plain loop under `watch` / the same loop alone, in one process.

    python benchmarks/bench_watch.py [--rounds 3] [--only mlp,text,resnet18] [--steps 100]

Goals: 1.05 for the tiny MLP, 1.02 for the text model and for ResNet-18; memory 1 % and one copy of a batch.
CPU time of the process. Each round runs the loop alone, watched, and alone again, in turns; printed are medians over
the rounds of: the ratio of sums (watched / mean of both loops alone), the same for the first 64 steps, which are seen
whole, the ratio of the tenth percentiles of steps (least disturbed by other programs), and the noise: the second loop
alone / the first. Memory is what the tensors hold that are alive at once, at most, beyond those of the loop alone.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import resnet18

from torchstone.engines.pytorch.memory import keep_freed_pages
from torchstone.flows.watch import watch

Batch = Callable[[], tuple[torch.Tensor, torch.Tensor]]
WHOLE = 64


def mlp() -> tuple[nn.Module, Batch, int]:
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


def text() -> tuple[nn.Module, Batch, int]:
    """32 texts of 64 tokens."""
    x, y = torch.randint(0, 2000, (32, 64)), torch.randint(0, 20, (32,))
    return Reader(), lambda: (x, y), 200


def pictures() -> tuple[nn.Module, Batch, int]:
    """16 pictures of 64 pixels through ResNet-18."""
    x, y = torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))
    return resnet18(num_classes=10), lambda: (x, y), 100


WORKLOADS = {"mlp": (mlp, 1.05), "text": (text, 1.02), "resnet18": (pictures, 1.02)}


def round_of(name: str, num: int | None, *, is_watched: bool, after: Callable[[], None] | None = None) -> list[float]:
    """CPU seconds of each step of one round, a new model each time; `after` is called behind each step, untimed."""
    torch.manual_seed(0)
    model, batch, usual = WORKLOADS[name][0]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    doctor = watch(model, optimizer, is_quiet=True) if is_watched else None
    seconds = []
    for _ in range(num or usual):
        started = time.process_time()
        x, y = batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - started)
        if after is not None:
            after()
    if doctor is not None:
        doctor.stop()
        assert not doctor.mistakes, doctor.mistakes
    return seconds


def held_bytes() -> int:
    """Bytes of all tensors that live, each storage once."""
    storages: dict[int, int] = {}
    for one in gc.get_objects():
        if issubclass(type(one), torch.Tensor):
            storage = one.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def memory(name: str) -> tuple[int, int, int]:
    """Bytes of tensors at most, alone and watched, over the first 64 steps; bytes of one batch."""
    peaks = []
    for is_watched in (False, True):
        gc.collect()
        before, seen = held_bytes(), [0]
        round_of(name, WHOLE, is_watched=is_watched, after=lambda seen=seen: seen.append(held_bytes()))  # type: ignore[misc]
        peaks.append(max(seen) - before)
    batch = WORKLOADS[name][0]()[1]()
    return peaks[0], peaks[1], sum(tensor.nbytes for tensor in batch)


def ratios(name: str, rounds: int, num: int | None) -> list[float]:
    """Medians over the rounds: all steps, the first ones, the tenth percentile, the noise of all steps."""
    found = []
    for number in range(rounds):
        turns = [("alone", False), ("watched", True), ("again", False)]
        turns = turns[number % 3 :] + turns[: number % 3]
        seen = {key: round_of(name, num, is_watched=is_watched) for key, is_watched in turns}
        both = [one + other for one, other in zip(seen["alone"], seen["again"], strict=True)]
        found.append((
            2 * sum(seen["watched"]) / sum(both), 2 * sum(seen["watched"][:WHOLE]) / sum(both[:WHOLE]),
            _tenth(seen["watched"]) / _tenth(seen["alone"] + seen["again"]), sum(seen["again"]) / sum(seen["alone"]),
        ))  # fmt: skip
    return [statistics.median(values) for values in zip(*found, strict=True)]


def _tenth(values: list[float]) -> float:
    return sorted(values)[len(values) // 10]


def main() -> None:
    """Runs all rounds and prints two rows per workload."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=None, help="steps of a round; else 6000, 200 and 100")
    parser.add_argument("--only", default=",".join(WORKLOADS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_pages()  # else the baseline faults its pages in again and again, and the doctor's few rows prevent it
    for name in asked.only.split(","):
        every, first, tenth, noise = ratios(name, asked.rounds, asked.steps)
        said = f"all {every:.3f}  first {WHOLE} {first:.3f}  tenth {tenth:.3f}  noise {noise:.3f}"
        print(f"{name:9s} {said}  goal {WORKLOADS[name][1]:.2f}", flush=True)
        alone, watched, batch = memory(name)
        more = watched - alone
        print(f"{name:9s} tensors {alone:,} B, {more:+,} B ({more / alone:+.2%}); one batch {batch:,} B", flush=True)


if __name__ == "__main__":
    main()
