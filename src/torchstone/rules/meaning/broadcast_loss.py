"""RUN404: prediction and target of different shape."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

FUNCTIONS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per function that compared tensors of different shape, in training or in validation."""
    told = set()
    for row in of(rows, "loss"):
        shapes = row["input_shape"], row["target_shape"]
        if row["function"] in FUNCTIONS and shapes[0] != shapes[1] and row["function"] not in told:
            told.add(row["function"])
            what = f"{row['function']} compares {shapes[0]} with {shapes[1]}: they are broadcast against each other"
            yield found(RULE, what, where=at(row), evidence={"input": shapes[0], "target": shapes[1]})
    for row in of(rows, "hand_loss"):
        if is_square_of(row["shape"], row["output_shape"]):
            what = (f"the loss is a mean over {row['shape']} differences, and the model answered with "
                    f"{row['output_shape']}: each prediction is compared with every target")
            yield found(RULE, what, where=at(row), evidence={"shape": row["shape"], "output": row["output_shape"]})
            return


def is_square_of(shape: list[int], output: list[int]) -> bool:
    """Whether N numbers, [N] or [N, 1], became N x N differences."""
    num = output[0] if output else 0
    return num > 1 and output in ([num], [num, 1]) and shape == [num, num]


RULE = Rule(
    code="RUN404",
    name="broadcast_loss",
    severity="error",
    summary="a loss compares every prediction with every target",
    why="(N,) against (N, 1) becomes (N, N): the best answer is then the mean of all targets, and the loss stays flat.",
    fix="Make the shapes equal: prediction.squeeze(-1), or target.unsqueeze(1).",
    source="FARM#229; neural_prophet#735; DiscoGAN#16",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function="mse_loss", input_shape=[32], target_shape=[32, 1])]),
    passes=lambda: toy_loop(more=[toy_loss(function="mse_loss", input_shape=[32, 1], target_shape=[32, 1])]),
    wrong_when="a target of one number for all is meant: write it with expand_as",
    explains=("RUN208",),
)
