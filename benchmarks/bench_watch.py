"""What the doctor costs: CPU time and memory of a plain loop under `watch` / the same loop alone, in one run.

    python benchmarks/bench_watch.py [--rounds 3] [--only mlp,text,resnet18] [--steps 100]

Each round forks one process into three: the loop alone, watched, and alone again. They take turns, a few steps each, so
that other programs disturb all of them alike; each counts its own CPU time. Printed are medians over the rounds of the
ratio of sums, watched / mean of both loops alone, over the same numbers of steps:

    always    steps after the first 64 that carry no probe of norms (asleep or awake): goal 1.05, 1.02 and 1.02
    whole     all steps, with the first 64, which are seen whole, sampled probes and judging: goal 1.05
    first     the first 64 steps alone, and `end`, the milliseconds that the last look takes: no goal, part of `whole`
    noise     the second loop alone / the first, over all steps; `seen`: the share of steps that were looked at

Memory is what the tensors hold that are alive at once, at most, beyond those of the loop alone: goal 1 % and one batch.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import resnet18

from torchstone.engines.attach import recorder
from torchstone.engines.pytorch.memory import keep_freed_pages
from torchstone.flows.watch import watch

Batch = Callable[[], tuple[torch.Tensor, torch.Tensor]]
WHOLE = 64
GOAL = 1.05  # of the whole run


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


# Workload → its maker, the goal of the part that is always on, and the steps of a turn.
WORKLOADS = {"mlp": (mlp, 1.05, 100), "text": (text, 1.02, 4), "resnet18": (pictures, 1.02, 2)}


@dataclass
class Loop:
    """CPU seconds of each step of a loop, numbers of the steps with a row and with a probe, seconds of the last look.
    """

    seconds: list[float] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    probed: list[int] = field(default_factory=list)
    end: float = 0.0


def steps_of(name: str, num: int, *, is_watched: bool) -> Iterator[Loop]:
    """A new model in training; one step each time it is asked, then the last look."""
    torch.manual_seed(0)
    model, batch, _ = WORKLOADS[name][0]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    doctor = watch(model, optimizer, is_quiet=True) if is_watched else None
    loop = Loop()
    for _ in range(num):
        started = time.process_time()
        x, y = batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loop.seconds.append(time.process_time() - started)
        yield loop
    if doctor is not None:
        started = time.process_time()
        doctor.stop()
        loop.end = time.process_time() - started
        assert not doctor.mistakes, doctor.mistakes
        rows = [row for row in doctor.rows if row["event"] == "step"]
        loop.seen = [row["step"] for row in rows]
        loop.probed = [row["step"] for row in rows if "update_ratio" in row]
    yield loop


def in_turns(name: str, num: int) -> list[Loop]:
    """The loop alone, watched and alone again, each in a process of its own, which waits while another one works."""
    workers = []
    for is_watched in (False, True, False):
        (ask, go), (answer, done) = os.pipe(), os.pipe()
        if not os.fork():
            _work(name, num, ask, done, is_watched=is_watched)
        workers.append((go, os.fdopen(answer)))
    turns = -(-num // WORKLOADS[name][2])
    for _ in range(turns):
        for go, answers in workers:
            os.write(go, b".")
            answers.readline()
    found = []
    for go, answers in workers:
        os.write(go, b".")
        found.append(Loop(**json.loads(answers.readline())))
        os.close(go)
        os.wait()
    return found


def _work(name: str, num: int, ask: int, done: int, *, is_watched: bool) -> None:
    """One of the processes: a turn for each byte that it reads, then what it found.

    The doctor's clock counts the time of its own process only: while others have their turn, the loop does not go on.
    """
    recorder.clock = time.process_time
    steps, left = steps_of(name, num, is_watched=is_watched), num
    while os.read(ask, 1) and left:
        for _ in range(min(left, WORKLOADS[name][2])):
            next(steps)
        left -= min(left, WORKLOADS[name][2])
        os.write(done, b"\n")
    with os.fdopen(done, "w") as answers:
        answers.write(json.dumps(asdict(next(steps))) + "\n")
    os._exit(0)


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
        before, most = held_bytes(), 0
        for _ in steps_of(name, WHOLE, is_watched=is_watched):
            most = max(most, held_bytes())
        peaks.append(most - before)
    batch = WORKLOADS[name][0]()[1]()
    return peaks[0], peaks[1], sum(tensor.nbytes for tensor in batch)


def ratios(name: str, rounds: int, num: int) -> dict[str, float]:
    """Medians over the rounds of what the first lines of this file explain."""
    found = []
    for _ in range(rounds):
        alone, watched, again = in_turns(name, num)
        both = [(one + other) / 2 for one, other in zip(alone.seconds, again.seconds, strict=True)]
        probed = set(watched.probed)
        light = [index for index in range(WHOLE, num) if index + 1 not in probed]
        found.append({
            "always": sum(watched.seconds[i] for i in light) / sum(both[i] for i in light) if light else 1.0,
            "whole": (sum(watched.seconds) + watched.end) / sum(both),
            "first": sum(watched.seconds[:WHOLE]) / sum(both[:WHOLE]), "end": watched.end * 1e3,
            "noise": sum(again.seconds) / sum(alone.seconds), "seen": len(watched.seen) / num,
            "step_ms": statistics.median(both) * 1e3,
        })  # fmt: skip
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def main() -> None:
    """Runs all rounds and prints two lines per workload."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=None, help="steps of a round; else 6000, 200 and 100")
    parser.add_argument("--only", default=",".join(WORKLOADS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_pages()  # else the baseline faults its pages in again and again, and the doctor's few rows prevent it
    for name in asked.only.split(","):
        usual = WORKLOADS[name][0]()[2]
        seen = ratios(name, asked.rounds, asked.steps or usual)
        goal = WORKLOADS[name][1]
        said = f"always {seen['always']:.3f} (goal {goal:.2f})  whole {seen['whole']:.3f} (goal {GOAL:.2f})"
        more = f"first {WHOLE} {seen['first']:.3f}  end {seen['end']:.1f} ms  noise {seen['noise']:.3f}"
        print(f"{name:9s} {said}  {more}  seen {seen['seen']:.1%}  step {seen['step_ms']:.2f} ms", flush=True)
        alone, watched, batch = memory(name)
        extra = watched - alone
        print(f"{name:9s} tensors {alone:,} B, {extra:+,} B ({extra / alone:+.2%}); one batch {batch:,} B", flush=True)


if __name__ == "__main__":
    main()
