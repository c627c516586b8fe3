"""REV110: classes of very different size are seen to."""

from __future__ import annotations

from torchstone.core.review import Answer, Proof, Reviewed
from torchstone.core.rule import Rule
from torchstone.parts.choices.imbalance import RATIO
from torchstone.parts.samplers import BY_CLASS
from torchstone.rules._watched import of
from torchstone.rules.review._ask import (
    finding_proofs,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    unsure,
)
from torchstone.rules.review._toy import finding
from torchstone.rules.review._toy import run as toy_run

LOSSES = ("focal", "logit_adjusted", "dice")
METRICS = ("balanced_accuracy", "macro_f1")
FIELDS = ("sampler.name", "loss.name", "loss.options.class_weights", "data.resample.name", "metric")


def imbalance_addressed(run: Reviewed) -> Answer:
    """Whether something is done about classes that outweigh others by far: sampler, weights, loss, or resampling."""
    if run.kind != "run":
        return _watched(run)
    lines = plan_lines(run, *FIELDS)
    if not run.data.get("classes"):
        return left_out("a number is learnt: there are no classes", *lines)
    seen = run.found("DAT206")
    if not seen and "DAT206" not in run.asked:
        return unsure("DAT206 was not asked: the sizes of the classes are not known", *lines)
    if not seen and str(run.data.get("task", "")).endswith("multilabel"):
        return unsure("each example has several labels, whose sizes no rule judges", *lines)
    if not seen:
        return left_out(f"no class has more than {RATIO:g} times the examples of another (DAT206 was asked)", *lines)
    remedies = _remedies(run)
    proofs = (*finding_proofs(seen), *lines)
    if remedies:
        return passed(f"the classes are of very different size; {', '.join(remedies)} sees to it", *proofs)
    if run.plan.get("metric") in METRICS:
        return unsure(f"{run.plan.get('metric')} weighs classes alike when it judges; training does not", *proofs)
    return refused("the classes are of very different size, and nothing is done about it", *proofs)


def _remedies(run: Reviewed) -> list[str]:
    plan, found = run.plan, []
    if plan.get("sampler.name") in BY_CLASS:
        found.append(f"sampler {plan['sampler.name']}")
    if plan.get("loss.name") in LOSSES:
        found.append(f"loss {plan['loss.name']}")
    if plan.get("loss.options.class_weights"):
        found.append("class weights of the loss")
    if plan.get("data.resample.name"):
        found.append(f"resampling by {plan['data.resample.name']}")
    return found


def _watched(run: Reviewed) -> Answer:
    weighted = [row for row in of(run.rows, "loss") if row.get("weighted")]
    drawn = [row for row in of(run.rows, "pass") if row.get("order") == "WeightedRandomSampler" and row["backwards"]]
    proofs: list[Proof] = [seen_row(row, "the loss has class weights") for row in weighted[:1]]
    proofs += [seen_row(row, "order WeightedRandomSampler") for row in drawn[:1]]
    if proofs:
        return passed("classes are weighed, or drawn by weight", *proofs)
    mixed = [row for row in of(run.rows, "data") if row.get("entropy") is not None and row.get("num_labels")]
    if not mixed:
        return not_seen(run, "labels of classes in a DataLoader")
    return unsure(f"labels of {mixed[0]['num_labels']} classes with an entropy of {mixed[0]['entropy']:.3g}; whether "
                  "that matters here, and what is done about it, is not seen", seen_row(mixed[0], "entropy"))


RULE: Rule = Rule(
    code="REV110",
    name="imbalance_addressed",
    severity="warning",
    summary="classes are of very different size, and nothing is done about it",
    why="The rare classes are then hardly learnt, while the accuracy looks good.",
    fix="Set sampler to class_balanced, or loss to logit_adjusted.",
    source="Buda et al. 2018, A systematic study of the class imbalance problem in convolutional neural networks",
    check=lambda run: said_no(RULE, imbalance_addressed(run)),
    trips=lambda: toy_run(findings=[finding("DAT206")]),
    passes=lambda: toy_run({"sampler.name": "class_balanced"}, findings=[finding("DAT206")]),
    threshold=f"{RATIO:g} to 1, as DAT206",
    wrong_when="probabilities are to be those of the data",
)
