"""REV112: the best checkpoint is kept."""

from __future__ import annotations

from torchstone.core.finding import Where
from torchstone.core.review import Answer, Proof, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import of
from torchstone.rules.review._ask import ledger, left_out, passed, refused, said_no, unsure
from torchstone.rules.review._toy import run as toy_run


def best_checkpoint_kept(run: Reviewed) -> Answer:
    """Whether the checkpoint of the best validation is there, whole and unchanged."""
    if run.kind != "run":
        return _watched(run)
    if not (run.data.get("counts") or {"validation": 1}).get("validation"):
        return left_out("without a validation part none is the best; the last one is kept")
    judged = [(line, row) for line, row in run.of("validation") if row.get("is_best")]
    if not judged:
        return unsure("no validation was made yet")
    line, best = judged[-1]
    row = ledger(run, line, best, f"the best validation so far, at step {best['step']}: {best.get('metrics')}")
    kept = run.checkpoint
    if not kept:
        return refused(f"the best validation was at step {best['step']:,}, and there is no checkpoint 'best'", row)
    if kept["wrong"]:
        return refused(f"the best checkpoint is damaged: {', '.join(kept['wrong'])} is not what its manifest says", row)
    files = [Proof("file", f"{name}: SHA-256 {digest}, as its manifest says",
                   Where(path=run.path(f"checkpoints/{kept['name']}/{name}")))
             for name, digest in kept["files"].items()]  # fmt: skip
    if kept["step"] != best["step"]:
        return refused(f"the best validation was at step {best['step']:,}, the checkpoint 'best' is of step "
                       f"{kept['step']:,}", row, *files)  # fmt: skip
    return passed(f"the checkpoint of step {best['step']:,}, the best validation, is there and whole", row, *files)


def _watched(run: Reviewed) -> Answer:
    ends = of(run.rows, "end")
    saves = int(ends[-1].get("num_saves") or 0) if ends else 0
    if saves:
        return unsure(f"torch.save was called {saves:,} times; whether the best is among them is not seen")
    return unsure("no call of torch.save was seen")


RULE: Rule = Rule(
    code="REV112",
    name="best_checkpoint_kept",
    severity="error",
    summary="the checkpoint of the best validation is missing or damaged",
    why="The last weights are seldom the best ones, and what was measured cannot be used any more.",
    fix="Keep the checkpoint of the best validation; train again where it is lost.",
    source="Prechelt 1998, Early Stopping - But When?",
    check=lambda run: said_no(RULE, best_checkpoint_kept(run)),
    trips=lambda: toy_run(checkpoint={}),
    passes=toy_run,
)
