"""REV115: each rank has its own share of the data."""

from __future__ import annotations

from torchstone.core.review import Answer, Proof, Reviewed, Row
from torchstone.core.rule import Rule
from torchstone.rules._watched import of
from torchstone.rules.review._ask import (
    gap,
    ledger,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    unsure,
)
from torchstone.rules.review._toy import TRAIN, examples, trace
from torchstone.rules.review._toy import run as toy_run

# Samplers of ours that deal out an example at most once an epoch.
EACH_ONCE = ("shuffled", "undersampled", "curriculum", "small_loss", "self_paced")


def ranks_share_the_data(run: Reviewed) -> Answer:
    """Whether ranks that train together were given different examples, by the ids that came to each."""
    if run.kind != "run":
        return _watched(run)
    starts, came = run.of("start"), run.of("examples")
    worlds = {int(row.get("world", 1)) for _, row in starts}
    if worlds <= {1} and starts:
        return left_out("one process trained the run", ledger(run, *starts[-1], "world 1"))
    shared = [(line, row) for line, row in came if len(row["ranks"]) > 1]
    if not shared:
        return unsure("the trace does not tell which examples came to which rank")
    is_once = run.plan.get("sampler.name") in EACH_ONCE
    for line, row in shared:
        said = (f"{row['shared']:,} of {row['distinct']:,} examples of epoch {row['epoch'] + 1} came to more than one "
                "rank")  # fmt: skip
        if is_once and row["shared"]:
            return refused(said, *_ranks(run, line, row))
        if _is_same(row):
            is_drawn = any(rank["examples"] > rank["distinct"] for rank in row["ranks"])
            return (unsure if is_drawn else refused)(said, *_ranks(run, line, row))
    if missing := gap(run):
        return unsure(f"the trace does not tell of all examples that came: {missing}")
    line, row = shared[-1]
    said = "no example came to two ranks" if is_once else "the sampler repeats examples, and no two ranks had the same"
    return passed(f"{len(row['ranks'])} ranks in {len(shared):,} epoch(s): {said}", *_ranks(run, line, row),
                  *plan_lines(run, "sampler.name", "train.strategy"))


def _is_same(row: Row) -> bool:
    """Whether two ranks had the very same examples; those without any are left out (very small batches)."""
    digests = [rank["digest"] for rank in row["ranks"] if rank["distinct"]]
    return len(set(digests)) < len(digests) and row["distinct"] > 1


def _ranks(run: Reviewed, line: int, row: Row) -> list[Proof]:
    return [
        ledger(run, line, row, f"rank {number}: {rank['examples']:,} examples, SHA-256 of their ids {rank['digest']}")
        for number, rank in enumerate(row["ranks"])
    ]


def _watched(run: Reviewed) -> Answer:
    passes = [row for row in of(run.rows, "pass") if row["backwards"]]
    worlds = [int(row.get("world") or 1) for row in [*passes, *of(run.rows, "ranks")]]
    if not passes:
        return not_seen(run, "a DataLoader in training")
    if max(worlds, default=1) == 1:
        return left_out("one process trained", seen_row(passes[0], "world 1"))
    for row in passes:
        if row.get("sampler_size") is not None and row["sampler_size"] == row.get("of"):
            return refused(f"each rank deals out all {row['of']:,} examples", seen_row(row, f"order {row['order']}"))
    shares = [row for row in passes if row.get("sampler_size")]
    alike = [row for row in of(run.rows, "alike") if row.get("of") == "batch"]
    if alike and any(row["is_same"] for row in alike):
        return unsure("a batch of this rank was that of another one", seen_row(alike[0], "is_same"))
    if not shares:
        return not_seen(run, "how many examples the sampler of each rank deals out")
    row = shares[-1]
    looked = f"; {len(alike)} batches were held against another rank's" if alike else ""
    return passed(f"this rank deals out {row['sampler_size']:,} of {row['of']:,} examples by {row['order']}{looked}",
                  seen_row(row, f"sampler_size {row['sampler_size']}, world {row.get('world')}"))


def ranks_row(*digests: str, shared: int = 0) -> dict[str, object]:
    """A row of examples of several ranks with these digests."""
    ranks = [{"examples": 64, "distinct": 64, "digest": digest} for digest in digests]
    return examples(ranks=ranks, shared=shared)


def _of_two(row: dict[str, object]) -> Reviewed:
    made = trace(start={"world": 2})
    return toy_run(trace=[one if one["event"] != "examples" else row for one in made])


RULE: Rule = Rule(
    code="REV115",
    name="ranks_share_the_data",
    severity="error",
    summary="several ranks were trained on the same examples",
    why="They then do the same work twice: an epoch takes as long as with one, and examples weigh double.",
    fix="Use a DistributedSampler, and call its set_epoch before each epoch.",
    source="torch 2.14 documentation, torch.utils.data.distributed.DistributedSampler",
    check=lambda run: said_no(RULE, ranks_share_the_data(run)),
    trips=lambda: _of_two(ranks_row(TRAIN, TRAIN, shared=128)),
    passes=lambda: _of_two(ranks_row("1" * 64, "2" * 64)),
)
