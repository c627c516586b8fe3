"""RUN514: all ranks are dealt the same batches."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop
from torchstone.rules.protocol.ranks_diverged import alike

BATCHES = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where each of the first batches was the very batch of another rank, under DDP."""
    seen = [row for row in of(rows, "alike") if row["of"] == "batch" and row["wrappers"]]
    for other in dict.fromkeys(row["other"] for row in seen):
        mine = [row for row in seen if row["other"] == other]
        if len(mine) >= BATCHES and all(row["is_same"] for row in mine):
            row = mine[-1]
            what = f"this rank and rank {other} were dealt the same batch at each of the first {len(mine)} looks"
            yield found(RULE, what, where=at(row, place_of(rows, "pass")), evidence={"other": other, "same": len(mine)})
            return


RULE = Rule(
    code="RUN514",
    name="same_batches_on_ranks",
    severity="error",
    summary="the ranks compute the same batches",
    why="The average of equal gradients is one of them: several devices do the work of one, and an epoch sees a part "
        "of the data only, or all of it several times.",
    fix="DistributedSampler(dataset) without num_replicas and rank of your own; an IterableDataset must pick its share "
        "by torch.distributed.get_rank().",
    source="coqui Trainer#144; transformers#4398; torch 2.14 documentation, IterableDataset",
    check=check,
    trips=lambda: toy_loop(more=[alike(of="batch", is_same=True, at_step=n) for n in (1, 2, 3)]),
    passes=lambda: toy_loop(more=[alike(of="batch", is_same=False, at_step=n) for n in (1, 2, 3)]),
    wrong_when="ranks share one batch on purpose, as parts of one model",
    threshold=f"{BATCHES} of the first batches, number for number",
)
