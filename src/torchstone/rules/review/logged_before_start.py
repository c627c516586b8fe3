"""REV120: everything was written down before the run began."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules.review._ask import file_proof, ledger, not_seen, passed, refused, said_no, unsure
from torchstone.rules.review._toy import run as toy_run
from torchstone.rules.review._toy import trace
from torchstone.rules.review.lineage_complete import NEEDED


def logged_before_start(run: Reviewed) -> Answer:
    """Whether plan, data and environment stood in files before the first step, by their digests in the trace."""
    if run.kind != "run":
        return not_seen(run, "what was written before the loop began")
    starts, made = run.of("start"), run.of("step")
    if not starts or not made:
        return unsure("the run has not made a step")
    told = starts[0][1].get("papers")
    if told is None:
        return _by_times(run)
    missing = [name for name in NEEDED if name not in told]
    if missing:
        return refused(f"not there when the run began: {', '.join(missing)}", ledger(run, *starts[0], "papers"))
    if starts[0][0] > made[0][0]:
        return refused("a step was made before the start was written", ledger(run, *made[0], "the first step"))
    again = len(starts) - 1
    resumed = f"; resumed {'once' if again == 1 else f'{again:,} times'}" if again else ""
    gap = made[0][1].get("time", 0.0) - starts[0][1].get("time", 0.0)
    said = f"the digests of {', '.join(told)} stand in line {starts[0][0]} of the trace, the first step in line"
    papers = [file_proof(run, name, digest, "SHA-256 at the start") for name, digest in told.items()]
    return passed(f"{said} {made[0][0]}, {max(gap, 0.0):.3g} s later{resumed}",
                  ledger(run, *starts[0], "papers"), ledger(run, *made[0], "the first step"), *papers)


def _by_times(run: Reviewed) -> Answer:
    """For a run of a version that did not write digests into its trace: when the files were last written."""
    first = run.of("step")[0]
    late = [name for name in NEEDED if run.written.get(name, float("inf")) > first[1].get("time", 0.0)]
    proof = ledger(run, *first, "the first step")
    if late:
        return unsure(f"written, or written again, after the first step: {', '.join(late)}", proof)
    return passed(f"{', '.join(NEEDED)} were last written before the first step", proof)


RULE: Rule = Rule(
    code="REV120",
    name="logged_before_start",
    severity="error",
    summary="the run began before its plan, data or environment were written down",
    why="What is written down afterwards is what one remembers, or what one would have liked.",
    fix="Write plan, data and environment before the first step.",
    source="Pineau et al. 2021, Improving Reproducibility in Machine Learning Research",
    check=lambda run: said_no(RULE, logged_before_start(run)),
    trips=lambda: toy_run(trace=trace(start={"papers": {"plan.yaml": "d" * 64}})),
    passes=toy_run,
)
