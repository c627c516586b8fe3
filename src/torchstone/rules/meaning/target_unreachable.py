"""RUN418: regression targets that the last activation cannot say."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_loss

LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
# The operation behind the outputs, as torch names it → the lowest and the highest value that it can give.
RANGES = {
    "Sigmoid": (0.0, 1.0), "Softmax": (0.0, 1.0), "Tanh": (-1.0, 1.0), "Relu": (0.0, None), "Softplus": (0.0, None),
    "Exp": (0.0, None), "LogSoftmax": (None, 0.0),
}  # fmt: skip
BEYOND, CALLS = 0.1, 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where targets of two of the first batches lie outside of what the outputs can reach."""
    sick = [row for row in of(rows, "loss") if row["has_grad"] and row["function"] in LOSSES and is_beyond(row)]
    if len(sick) >= CALLS:
        row = sick[0]
        low, high = RANGES[row["node"]]
        reach = f"{'minus infinity' if low is None else f'{low:g}'} to {'infinity' if high is None else f'{high:g}'}"
        what = (f"the outputs come from {row['node'].lower()}, which gives {reach}; targets go from "
                f"{row['target_low']:.4g} to {row['target_high']:.4g}")
        yield found(RULE, what, where=at(row), evidence={
            "node": row["node"], "target_low": row["target_low"], "target_high": row["target_high"]})  # fmt: skip


def is_beyond(row: Row) -> bool:
    """Whether the targets of a call leave the range of the operation behind the outputs, by more than a tenth."""
    low, high = RANGES.get(str(row.get("node")), (None, None))
    below, above = row.get("target_low"), row.get("target_high")
    if below is None or above is None:
        return False
    return (low is not None and below < low - BEYOND) or (high is not None and above > high + BEYOND)


def _loss(high: float) -> dict[str, object]:
    return toy_loss(function="mse_loss", node="Sigmoid", target_low=-1.4, target_high=high, entropy=None,
                    input_shape=[32, 1], target_shape=[32, 1], target_dtype="torch.float32")  # fmt: skip


RULE = Rule(
    code="RUN418",
    name="target_unreachable",
    severity="error",
    summary="the last activation cannot give the targets",
    why="A sigmoid ends at 0 and 1, a ReLU at 0: whatever lies beyond can never be said, and the outputs are driven to "
        "the edge, where gradients are zero.",
    fix="End a regression with a linear layer, or scale the targets into the activation's range.",
    source="Stack Overflow 48221692; torch 2.14 documentation, torch.nn: non-linear activations",
    check=check,
    trips=lambda: toy_loop(more=[_loss(3.1)] * 3),
    passes=lambda: toy_loop(more=[{**_loss(0.9), "target_low": 0.0}] * 3),
    wrong_when="a few outliers are clipped on purpose",
    threshold=f"more than {BEYOND:g} beyond the range, in {CALLS} of the first batches",
    explains=("RUN303", "RUN604", "RUN605", "RUN602"),
)
