"""REV109: those who labelled the data agree."""

from __future__ import annotations

from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.finding import Where
from torchstone.core.review import Answer, Proof, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules.review._ask import passed, refused, said_no, unsure
from torchstone.rules.review._toy import run as toy_run

PRODUCTION, TRAIN = 0.8, 0.7
PURPOSES = ("production", "train")


def agreement_reached(
    run: Reviewed, *, production: float = PRODUCTION, train: float = TRAIN, purpose: str = "production",
    coefficient: str = "krippendorff_alpha",
) -> Answer:  # fmt: skip
    """Whether annotators agree well enough, by what `torchstone agree --json` measured (review --agreement FILE).

    production, train: the least coefficient for a model that is used, and for one that is trained to learn more.
    purpose: which of the two counts, production or train.
    """
    if purpose not in PURPOSES:
        raise StoneError(f"purpose is '{purpose}'", where="the checklist, agreement_reached", fix="production or train")
    needed = production if purpose == "production" else train
    if not run.agreement:
        return unsure("the labels came with the data: who gave them and how far they agree is not recorded; measure "
                      f"it, or say where {coefficient} of {needed:g} or more was found")
    told = (run.agreement.get("coefficients") or {}).get(coefficient) or {}
    value = told.get("value")
    proof = Proof("file", f"{coefficient} {value} [{told.get('low')}, {told.get('high')}]; SHA-256 "
                          f"{run.agreement.get('digest')}", Where(path=run.agreement.get("path")))
    if value is None:
        return unsure(f"{coefficient} is not known: {told.get('undefined') or 'it was not measured'}", proof)
    if value >= needed:
        return passed(f"{coefficient} is {value:.3g}; for {purpose} at least {needed:g} is asked", proof)
    enough = f": enough to train ({train:g}), not for use" if purpose == "production" and value >= train else ""
    return refused(f"{coefficient} is {value:.3g}; for {purpose} at least {needed:g} is asked{enough}", proof)


def _toy(value: float) -> dict[str, Any]:
    return {"coefficients": {"krippendorff_alpha": {"value": value, "low": value - 0.05, "high": value + 0.05}},
            "path": "agree.json", "digest": "0" * 64}  # fmt: skip


RULE: Rule = Rule(
    code="REV109",
    name="agreement_reached",
    severity="error",
    summary="those who labelled the data do not agree well enough",
    why="A model learns the disagreement with the labels, and no score on such labels says more than they do.",
    fix="Make the guideline clearer where annotators disagree, and label these examples again.",
    source="Krippendorff 2004, Content Analysis, 11.4 (rely on 0.8 and more; below 0.667 on nothing); Carletta 1996, "
           "Assessing agreement on classification tasks",
    check=lambda run: said_no(RULE, agreement_reached(run)),
    trips=lambda: toy_run(agreement=_toy(0.74)),
    passes=lambda: toy_run(agreement=_toy(0.83)),
    threshold=f"{PRODUCTION:g} for production; {TRAIN:g} to train, Krippendorff's 0.667 rounded up",
    wrong_when="labels are measurements or outcomes, not anyone's judgement",
)  # fmt: skip
