"""RUN513: an evaluation that draws examples twice and others never."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader that draws with replacement, or whose ranks get padded shares."""
    trained, told = training_loaders(rows), set()
    for row in of(rows, "pass"):
        is_evaluation = row["is_whole"] and row["forwards"] and row["loader"] not in trained
        if not is_evaluation or row["loader"] in told:
            continue
        if row.get("has_replacement"):
            told.add(row["loader"])
            what = (f"the evaluation loader draws {row['examples']} of {row['of']} examples with replacement "
                    f"({row['order']}): some count twice, about a third never")
            yield found(RULE, what, where=at(row), evidence={"order": row["order"], "of": row["of"]})
        elif padded(row):
            told.add(row["loader"])
            what = (f"{padded(row)} of {row['of']} examples are evaluated twice: {row['world']} ranks are given equal "
                    f"shares of {row['sampler_size']}")
            yield found(RULE, what, where=at(row), severity="advice",
                        evidence={"twice": padded(row), "of": row["of"], "world": row["world"]},
                        fix="Drop the padded ones before the metric, or give the last rank a shorter share.")


def padded(row: Row) -> int:
    """Examples that a DistributedSampler deals out twice to make all shares equal."""
    world, size, whole = row.get("world") or 1, row.get("sampler_size"), row.get("of")
    if world < 2 or not size or not whole or row["order"] != "DistributedSampler":
        return 0
    return int(max(0, world * size - whole))


RULE = Rule(
    code="RUN513",
    name="evaluation_drawn_again",
    severity="warning",
    summary="the evaluation counts examples twice",
    why="The score is of a random set that is not the one it claims to be, and is another one each time.",
    fix="No sampler for validation and test: DataLoader(dataset, shuffle=False).",
    source="pytorch#25162; pytorch-lightning#1192; torch 2.14 documentation, WeightedRandomSampler",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(has_replacement=True, order="WeightedRandomSampler")]),
    passes=lambda: toy_loop(more=[toy_pass(has_replacement=False)]),
    wrong_when="a bootstrap of the score is meant",
)
