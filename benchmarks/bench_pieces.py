"""What losses, optimizers and schedules cost, as ratios to torch's own in the same run.

Three runs take turns call by call, in an order that rotates: ours, torch's, and torch's once more. Forward and
backward for losses, in CPU time of the process, on one thread, without the garbage collector; of each the fastest
tenth of its calls counts, since whatever else the machine does makes a call slower, never faster. The third run is
the measure of the measurement: `noise` is torch's against itself. All share their inputs: where a tensor lies in
memory moves the time by up to 10 %. The goal is a ratio of at most 1.05. Where torch has no such piece, it is what a
careful person would write with torch's functions, or the nearest optimizer of torch: the name says which. Mining of
triplets, forward and backward, is held against the forward pass alone of torchvision's ResNet-18 on the same batch:
256 pictures of 64 px (or --size 16); the goal is at most 0.10.

A loss of ours takes some 3 to 5 µs a call more than torch's function, for looking at shapes and types.

    python benchmarks/bench_pieces.py                  # everything
    python benchmarks/bench_pieces.py --only loss triplet --seconds 1
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable

import torch
import torchvision
from torch import Tensor
from torch.nn import functional

from torchstone.core import catalog

GOAL, MINING_GOAL = 1.05, 0.10
CLOCK = 2e-5  # seconds; asking for the process's time takes some 0.3 µs
FEWEST = 9  # rounds, however long one takes
Run = Callable[[], object]


def part(kind: str, name: str) -> Callable[..., object]:
    """A part by folder and name."""
    folder = "torchstone.parts" if kind == "schedules" else "torchstone.engines.pytorch"
    return catalog.find(f"{folder}.{kind}", name)


def ratio(ours: Run, theirs: Run, seconds: float) -> tuple[float, float, float, float]:
    """CPU milliseconds of a call of ours and of theirs, their ratio, and the ratio of theirs to theirs."""
    runs: tuple[Run, ...] = (ours, theirs, theirs)
    one = max(min(timed(run, 3) for _ in range(5)) for run in runs)
    calls = max(1, round(CLOCK / one))  # of a run too short for the clock
    times: tuple[list[float], ...] = ([], [], [])
    gc.disable()
    for round_ in range(max(FEWEST, round(seconds / (one * calls)))):
        for turn in range(len(runs)):
            index = (round_ + turn) % len(runs)
            times[index].append(timed(runs[index], calls))
    gc.enable()
    mine, other, again = (sorted(taken)[len(taken) // 10] * 1e3 for taken in times)
    return mine, other, mine / other, again / other


def timed(run: Run, calls: int) -> float:
    """CPU seconds of one call."""
    started = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - started) / calls


def there_and_back(loss: Callable[[Tensor], Tensor], leaf: Tensor) -> Run:
    """Forward and backward of a loss, to a leaf."""

    def run() -> None:
        leaf.grad = None
        loss(leaf).backward()

    return run


def losses() -> dict[str, tuple[Run, Run]]:
    """Name → ours and theirs."""
    f = functional
    wide, classes = torch.randn(512, 100), torch.randint(0, 100, (512,))
    labels, numbers = (torch.rand(512, 100) < 0.1).float(), torch.randn(65_536)
    outputs, pairs, same = torch.randn(65_536, 1), torch.randn(512, 2, 128), torch.randint(0, 2, (512,))
    frames, spelled = torch.randn(16, 80, 30), torch.randint(1, 30, (16, 12))
    moves = (torch.arange(1, 101) / 5050).log()

    def naive_focal(x: Tensor) -> Tensor:
        losses = f.cross_entropy(x, classes, reduction="none")
        return ((1 - torch.exp(-losses)) ** 2 * losses).sum()

    def naive_labels(x: Tensor) -> Tensor:
        losses, chance = f.binary_cross_entropy_with_logits(x, labels, reduction="none"), x.sigmoid()
        right = chance * labels + (1 - chance) * (1 - labels)
        return ((0.25 * labels + 0.75 * (1 - labels)) * (1 - right) ** 2 * losses).sum()

    def kl(x: Tensor) -> Tensor:
        return 4 * f.kl_div(f.log_softmax(x / 2, 1), f.log_softmax(labels / 2, 1), reduction="sum", log_target=True)

    def ctc(x: Tensor) -> Tensor:
        lengths = torch.full((len(spelled),), x.shape[1]), (spelled != -1).sum(1)
        return f.ctc_loss(f.log_softmax(x, 2).transpose(0, 1), spelled.clamp_min(0), *lengths, reduction="sum")

    cases: dict[str, tuple[dict[str, object], Tensor, Tensor, Callable[[Tensor], Tensor]]] = {
        "cross_entropy": ({}, wide, classes, lambda x: f.cross_entropy(x, classes, reduction="sum")),
        "logit_adjusted (by hand)": (
            {"class_counts": list(range(1, 101))}, wide, classes,
            lambda x: f.cross_entropy(x + moves, classes, reduction="sum")),
        "binary_cross_entropy": (
            {}, wide, labels, lambda x: f.binary_cross_entropy_with_logits(x, labels, reduction="sum")),
        "focal": ({"alpha": 0.25}, wide, labels,
                  lambda x: torchvision.ops.sigmoid_focal_loss(x, labels, 0.25, 2.0, "sum")),
        "focal (labels; by hand)": ({"alpha": 0.25}, wide, labels, naive_labels),
        "focal (classes; by hand)": ({}, wide, classes, naive_focal),
        "mae": ({}, outputs, numbers, lambda x: f.l1_loss(x.squeeze(-1), numbers, reduction="sum")),
        "mse": ({}, outputs, numbers, lambda x: f.mse_loss(x.squeeze(-1), numbers, reduction="sum")),
        "smooth_l1": ({}, outputs, numbers, lambda x: f.smooth_l1_loss(x.squeeze(-1), numbers, reduction="sum")),
        "huber": ({}, outputs, numbers, lambda x: f.huber_loss(x.squeeze(-1), numbers, reduction="sum")),
        "cosine_embedding": (
            {}, pairs, same,
            lambda x: f.cosine_embedding_loss(x[:, 0], x[:, 1], (same > 0).float() * 2 - 1, reduction="sum")),
        "distillation": ({}, wide, labels, kl),
        "ctc (padded)": ({}, frames, spelled, ctc),
    }
    made = {}
    for name, (options, logits, target, theirs) in cases.items():
        ours = part("losses", name.partition(" ")[0])(**options)
        ours_sum = lambda x, ours=ours, target=target: ours(x, target)[0]  # type: ignore[operator,misc]  # noqa: E731
        leaf = logits.clone().requires_grad_()
        made[name] = (there_and_back(ours_sum, leaf), there_and_back(theirs, leaf))
    return made


class LambByHand(torch.optim.Optimizer):
    """LAMB as one writes it from the paper, tensor by tensor."""

    def __init__(self, groups: list[dict[str, object]]) -> None:
        super().__init__(groups, {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.01})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """One step."""
        for group in self.param_groups:
            (keep, keep_square), decay = group["betas"], group["weight_decay"]
            for weight in group["params"]:
                state = self.state[weight]
                if not state:
                    state.update(step=0, mean=torch.zeros_like(weight), square=torch.zeros_like(weight))
                state["step"] += 1
                state["mean"].lerp_(weight.grad, 1 - keep)
                state["square"].mul_(keep_square).addcmul_(weight.grad, weight.grad, value=1 - keep_square)
                root = (state["square"] / (1 - keep_square ** state["step"])).sqrt_().add_(group["eps"])
                step = (state["mean"] / (1 - keep ** state["step"])).div_(root).add_(weight, alpha=decay)
                lengths = weight.norm(), step.norm()
                trust = torch.where((lengths[0] > 0) & (lengths[1] > 0), lengths[0] / lengths[1], 1.0)
                weight.add_(step * trust, alpha=-group["lr"])


def optimizers() -> dict[str, tuple[Run, Run]]:
    """Name → a step of ours and of torch's, on the weights of a ResNet-18 a quarter as wide."""
    torch_has = {"adafactor": torch.optim.Adafactor, "nadam": torch.optim.NAdam, "radam": torch.optim.RAdam,
                 "rmsprop": torch.optim.RMSprop, "adamw": torch.optim.AdamW, "adam": torch.optim.Adam,
                 "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), "muon": torch.optim.Muon,
                 "lion (torch's AdamW)": torch.optim.AdamW, "lamb (a loop by hand)": LambByHand}
    made = {}
    for name, make in torch_has.items():
        shapes = [(256, 256)] * 8 if name == "muon" else [(64, 64, 3, 3)] * 12 + [(64,)] * 36 + [(512, 100), (100,)]
        steps = []
        for build in (part("optimizers", name.partition(" ")[0]), make):
            weights = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            steps.append(build([{"params": weights}]).step)  # type: ignore[attr-defined]
        made[name] = (steps[0], steps[1])
    return made


def schedules() -> dict[str, tuple[Run, Run]]:
    """Name → the rate of a step by ours, and a step of torch's CosineAnnealingLR."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10_000).step
    names = [name for name in catalog.names("torchstone.parts.schedules") if name != "plateau"]
    made = {}
    for name in names:
        schedule = part("schedules", name)()
        made[f"{name} (torch's cosine)"] = (lambda schedule=schedule: schedule(777, 10_000), theirs)  # type: ignore[misc]
    return made


def triplet(size: int) -> dict[str, tuple[Run, Run]]:
    """Mining → forward and backward of the loss at 256 x 128, and the forward pass of a ResNet-18."""
    model = torchvision.models.resnet18().eval()
    pictures, embeddings = torch.randn(256, 3, size, size), torch.randn(256, 128)
    kinds = torch.arange(256) % 32

    def forward() -> None:
        with torch.inference_mode():
            model(pictures)

    made = {}
    for mining in ("batch_hard", "batch_semi_hard", "batch_all"):
        loss = part("losses", "triplet")(mining=mining)
        mined = lambda x, loss=loss: loss(x, kinds)[0]  # type: ignore[operator,misc]  # noqa: E731
        made[f"{mining} (ResNet-18, {size} px)"] = (there_and_back(mined, embeddings.requires_grad_()), forward)
    return made


def main() -> None:
    """Prints one line per piece and the worst ratio."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--only", nargs="*", default=["loss", "optimizer", "schedule", "triplet"])
    words.add_argument("--seconds", type=float, default=0.5, help="CPU time for each of the three runs of a piece")
    words.add_argument("--size", type=int, default=64, help="pictures of the ResNet-18, in px")
    given = words.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", "Detected call of `lr_scheduler")  # its step alone is what is timed
    makers: dict[str, Callable[[], dict[str, tuple[Run, Run]]]] = {
        "loss": losses, "optimizer": optimizers, "schedule": schedules, "triplet": lambda: triplet(given.size)
    }
    for kind in given.only:
        goal = MINING_GOAL if kind == "triplet" else GOAL
        for name, (ours, theirs) in makers[kind]().items():
            mine, other, share, noise = ratio(ours, theirs, given.seconds)
            verdict = "ok" if share <= goal else f"OVER {goal}"
            times = f"{mine:9.4f} ms  theirs {other:9.4f} ms"
            print(f"{kind:9} {name:38} {times}  ratio {share:5.3f}  noise {noise:5.3f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
