"""REV113: from the model back to its data, plan and machine without a gap."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules.review._ask import file_proof, not_seen, passed, refused, said_no, unsure
from torchstone.rules.review._toy import run as toy_run

NEEDED = ("recipe.json", "data.json", "environment.json", "plan.yaml")


def lineage_complete(run: Reviewed) -> Answer:
    """Whether recipe, data, environment, plan and weights are there and are, byte for byte, those of the run."""
    if run.kind != "run":
        return not_seen(run, "what was recorded of data, settings and machine")
    proofs = [file_proof(run, name, digest) for name, digest in run.papers.items()]
    missing = [*(name for name in NEEDED if name not in run.papers), *_gaps(run)]
    if missing:
        return refused(f"not recorded: {', '.join(missing)}", *proofs)
    starts = run.of("start")
    if not starts:
        return unsure("the run has not begun", *proofs)
    told = starts[-1][1].get("papers")
    if not told or not all(row.get("papers") for _, row in starts):
        return unsure("the trace does not hold the digests of the papers: a version before this one made the run; "
                      "whether they were changed since cannot be told", *proofs)
    changed = [name for name, digest in told.items() if run.papers.get(name) != digest]
    if changed:
        return refused(f"changed since the run began: {', '.join(changed)}", *proofs)
    if run.checkpoint.get("wrong"):
        return refused(f"weights are not what their manifest says: {', '.join(run.checkpoint['wrong'])}", *proofs)
    weights = [file_proof(run, f"checkpoints/{run.checkpoint['name']}/{name}", digest)
               for name, digest in (run.checkpoint.get("files") or {}).items()]  # fmt: skip
    began = "began" if len(starts) == 1 else "was last taken up"
    return passed(f"{len(told)} papers are, byte for byte, those with which the run {began}; the data has the digest "
                  f"{str(run.data['digest'])[:16]}…, {_code(run)}; labels came with the data: who gave them is not "
                  "recorded", *proofs, *weights)  # fmt: skip


def _gaps(run: Reviewed) -> list[str]:
    """What the papers themselves lack."""
    needs = {"data.json": (run.data, ("digest", "source", "counts")),
             "environment.json": (run.environment, ("packages", "seed", "command"))}  # fmt: skip
    return [f"{key} in {name}" for name, (content, keys) in needs.items() if name in run.papers
            for key in keys if content.get(key) is None]  # fmt: skip


def _code(run: Reviewed) -> str:
    git = run.environment.get("git")
    version = (run.environment.get("packages") or {}).get("torchstone")
    if not git:
        return f"trained by torchstone {version}, outside of a git repository"
    changed = f" and {git['num_changed']} changed files" if git.get("num_changed") else ""
    return f"trained by torchstone {version} at commit {str(git.get('commit'))[:12]}{changed}"


RULE: Rule = Rule(
    code="REV113",
    name="lineage_complete",
    severity="error",
    summary="what a model was made from is not recorded, or was changed since",
    why="A model whose data, settings or packages are not known cannot be made again, explained or trusted.",
    fix="Keep the run's folder as it was written; where a file is lost, train again.",
    source="Pineau et al. 2021, Improving Reproducibility in Machine Learning Research (the checklist of NeurIPS 2019)",
    check=lambda run: said_no(RULE, lineage_complete(run)),
    trips=lambda: toy_run(papers={**toy_run().papers, "plan.yaml": "9" * 64}),
    passes=toy_run,
    wrong_when="plan.yaml was edited by hand afterwards for reading",
)
