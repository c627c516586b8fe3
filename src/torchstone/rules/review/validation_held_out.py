"""REV111: validation is held out and never trained on."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed, Row
from torchstone.core.rule import Rule
from torchstone.rules._watched import of, training_loaders
from torchstone.rules.feeding.evaluation_overlaps_training import FEWEST, SHARE, has_few_values
from torchstone.rules.review._ask import (
    file_proof,
    finding_proofs,
    gap,
    ledger,
    not_seen,
    passed,
    refused,
    said_no,
    seen_row,
    unsure,
)
from torchstone.rules.review._toy import examples, trace
from torchstone.rules.review._toy import run as toy_run


def validation_held_out(run: Reviewed) -> Answer:
    """Whether none of the held-out examples was trained on, by the ids of the examples that came to the model."""
    if run.kind != "run":
        return _watched(run)
    counts, digests = run.data.get("counts") or {}, run.data.get("digests") or {}
    leaks = run.found("DAT202")
    if leaks:
        return refused("equal inputs stand in two parts of the split", *finding_proofs(leaks))
    if not counts.get("validation"):
        return refused("nothing is held out: the validation part is empty")
    came = run.of("examples")
    if not came or not digests:
        return unsure("the trace does not tell which examples came: no step was made, or a version before this one "
                      "made the run")  # fmt: skip
    return _by_ids(run, came, digests)


def _by_ids(run: Reviewed, came: list[tuple[int, Row]], digests: dict[str, str]) -> Answer:
    for line, row in came:
        inside = {split: row["by_split"][split] for split in ("validation", "test") if row["by_split"].get(split)}
        if inside:
            said = " and ".join(f"{num:,} of {split}" for split, num in inside.items())
            return refused(f"examples of held-out parts were trained on in epoch {row['epoch'] + 1}: {said}",
                           ledger(run, line, row, f"by_split {inside}"))
    steps, told = run.of("step"), came[-1][1]
    if steps and steps[-1][1].get("step", 0) > told["step"]:
        return unsure(f"which examples came is told up to step {told['step']:,}, and the run went on to step "
                      f"{steps[-1][1]['step']:,}", ledger(run, *came[-1], "the last row about examples"))
    if missing := gap(run):
        return unsure(f"the trace does not tell of all examples that came: {missing}")
    whole = [one for one in came if one[1]["digest"] == digests.get("train")]
    line, row = (whole or came)[-1]
    which = "are those of the training part" if whole else "are of the training part, none of another"
    said = f"distinct {row['distinct']:,}, validation 0, test 0; SHA-256 of their ids {row['digest']}"
    papers = [file_proof(run, "data.json", str(digests[split]), f"SHA-256 of the ids of {split}")
              for split in ("train", "validation") if split in digests]  # fmt: skip
    asked = "; no input is in two parts (DAT202 was asked)" if "DAT202" in run.asked else ""
    return passed(f"the ids of all examples that came in {_epochs(came)} {which}{asked}",
                  ledger(run, line, row, said), *papers)


def _epochs(came: list[tuple[int, Row]]) -> str:
    num = len({row["epoch"] for _, row in came})
    return "one epoch" if num == 1 else f"{num:,} epochs"


def _watched(run: Reviewed) -> Answer:
    trained, data = training_loaders(run.rows), of(run.rows, "data")
    held = [row for row in data if row["loader"] not in trained and row.get("num_distinct")]
    if not held or not any(row["loader"] in trained for row in data):
        return not_seen(run, "inputs of both a training and an evaluation loader")
    shares = [(max((row["overlap"].get(str(one), 0) for one in trained), default=0) / row["num_distinct"], row)
              for row in held]  # fmt: skip
    share, row = max(shares, key=lambda one: one[0])
    proof = seen_row(row, f"{share * row['num_distinct']:.0f} of {row['num_distinct']:,} distinct inputs are shared")
    if share == 0:
        return passed(f"none of {row['num_distinct']:,} distinct inputs of evaluation came in the first pass of "
                      "training", proof)  # fmt: skip
    if share >= SHARE and row["num_distinct"] >= FEWEST and not has_few_values(run.rows, trained):
        return refused(f"{share:.0%} of the inputs of evaluation were dealt out in training, too", proof)
    return unsure(f"{share:.1%} of the inputs of evaluation came in training, too: by chance, or by a leak", proof)


RULE: Rule = Rule(
    code="REV111",
    name="validation_held_out",
    severity="error",
    summary="held-out examples were trained on, or nothing was held out",
    why="The score says then how well the model remembers, not how well it does on new data.",
    fix="Split by distinct examples, and train on the training part alone.",
    source="Kapoor & Narayanan 2023, Leakage and the reproducibility crisis",
    check=lambda run: said_no(RULE, validation_held_out(run)),
    trips=lambda: toy_run(trace=[*trace()[:-2], examples(by_split={"train": 128, "validation": 3, "test": 0})]),
    passes=toy_run,
    threshold=f"one example in our own runs; {SHARE:.0%} of {FEWEST} or more inputs in watched ones, as RUN505",
)
