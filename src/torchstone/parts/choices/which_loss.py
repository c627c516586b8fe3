"""Which loss: a table by what is learnt from and by condition, and the plan's choice from it."""

from __future__ import annotations

from typing import Any, get_args

from torchstone.core.errors import StoneError
from torchstone.core.plan import START, Choice
from torchstone.core.task import TargetKind, Task
from torchstone.parts.choices.case import Case, Facts, first_that_holds
from torchstone.parts.choices.imbalance import BUDA, RATIO, choose_imbalance, imbalance_ratio

# Share of training targets beyond Tukey's outer fences (1977: 3 IQR outside the quartiles). A normal law has 0.0002 %
# there and an exponential one 0.9 %, so that mere skew stays below SOME. MANY: starting point, ours.
SOME, MANY = 0.01, 0.10
# Where the squares of Huber's loss end, in robust standard deviations: 95 % as efficient as squares on a normal law,
# which a test computes; in use since Holland & Welsch 1977 (R's MASS, statsmodels' HuberT).
TUNING = 1.345
# Foreground against background in detection is about 1 to 1,000 (Lin et al. 2017, section 3).
RARE_FOREGROUND = 100.0
GOODFELLOW = "Goodfellow et al. 2016, Deep Learning"


def _kind(facts: Facts, kind: str) -> bool:
    return facts.get("target") == kind


def _outliers(facts: Facts) -> float:
    return float(facts.get("target_outliers") or 0.0)


def _delta(facts: Facts) -> dict[str, Any]:
    return {"delta": float(f"{TUNING * facts['target_robust_std']:.2g}")} if facts.get("target_robust_std") else {}


def _margin(facts: Facts) -> dict[str, Any]:
    return {"margin": 1.0}


LOSSES: tuple[Case, ...] = (
    Case("single", f"the largest class has {RATIO:.0f} times the examples of the smallest, or more",
         lambda f: _kind(f, "single") and imbalance_ratio(f) >= RATIO,
         "cross_entropy", "one class out of several, of very different size: rare ones are drawn as often as others",
         BUDA, "with sampler class_balanced",
         changes_if="another sampler: logit_adjusted; easy examples drown the hard ones: loss=focal"),
    Case("single", "else", lambda f: _kind(f, "single"),
         "cross_entropy", "one class out of several: the negative log-likelihood of the softmax",
         f"{GOODFELLOW}, 6.2.2.3", changes_if=f"one class {RATIO:.0f} times another: sampler=class_balanced"),
    Case("multi", "any number of labels", lambda f: _kind(f, "multi"),
         "binary_cross_entropy", "each label is a yes or no of its own", f"{GOODFELLOW}, 6.2.2.2",
         "on logits", changes_if="labels are rare: loss.pos_weight, or loss=focal"),
    Case("number", f"{MANY:.0%} of the training targets or more lie beyond 3 IQR of the quartiles",
         lambda f: _kind(f, "number") and _outliers(f) >= MANY,
         "mae", "many outliers in the target: the median hardly feels them",
         "Huber 1964: with more and more contamination the best estimate tends to the median",
         changes_if="these values are true and count in full: loss=mse, metric=rmse; or train on their logarithm"),
    Case("number", f"{SOME:.0%} of the training targets or more lie beyond 3 IQR of the quartiles",
         lambda f: _kind(f, "number") and _outliers(f) >= SOME,
         "huber", "outliers in the target: squares would follow them, absolute errors far away do not",
         "Huber 1964, Robust Estimation of a Location Parameter",
         f"delta {TUNING} robust standard deviations of the target", _delta,
         "these values are true and count in full: loss=mse, metric=rmse; or train on their logarithm"),
    Case("number", "else", lambda f: _kind(f, "number"),
         "mse", "the mean is what squared error asks for", f"{GOODFELLOW}, 6.2.2.1",
         changes_if=f"{SOME:.0%} of the targets far out: huber; quantiles are wanted: quantile"),
    Case("pairs", "two inputs that belong together or do not", lambda f: _kind(f, "pairs"),
         "contrastive", "alike are pulled together, others pushed apart up to a margin",
         "Hadsell et al. 2006, Dimensionality Reduction by Learning an Invariant Mapping", "margin 1 (starting point)",
         _margin, "angles matter and not lengths: cosine_embedding"),
    Case("triplets", "examples of classes, found again by distance", lambda f: _kind(f, "triplets"),
         "triplet", "nearer to its own class than to others by a margin; the hardest of the batch teach most",
         "Hermans et al. 2017, In Defense of the Triplet Loss", "mining batch_hard",
         changes_if="wrong labels: mining batch_semi_hard (Schroff et al. 2015)"),
    Case("identity", "faces or products of many classes, and new ones later, found again by distance",
         lambda f: _kind(f, "identity"), "arcface", "classes are pushed apart by a margin of angle",
         "Deng et al. 2019, ArcFace, experimental settings", "margin 0.5, scale 64",
         changes_if="few examples of each: triplet"),
    Case("views", "two views of each example and no labels, from one network", lambda f: _kind(f, "views"),
         "nt_xent", "each view is to find its partner among all others of the batch", "Chen et al. 2020, SimCLR",
         "temperature 0.5 (starting point)",
         changes_if="views of two kinds (picture and text), or a small batch: info_nce"),
    Case("two_encoders", "pairs from two networks and no labels", lambda f: _kind(f, "two_encoders"),
         "info_nce", "each first view is to find its own partner among all second ones",
         "van den Oord et al. 2018, CPC; Radford et al. 2021, CLIP", "symmetric, learnt temperature",
         lambda f: {"symmetric": True, "is_learnt": True}),
    Case("boxes", f"background outweighs foreground {RARE_FOREGROUND:.0f} to 1 or more", lambda f: _kind(f, "boxes"),
         "focal", "easy background would drown the few objects", "Lin et al. 2017, Focal Loss, section 4.1, table 1b",
         "gamma 2, alpha 0.25", lambda f: {"gamma": 2.0, "alpha": 0.25}),
    Case("mask", "a class for each pixel", lambda f: _kind(f, "mask"),
         "dice", "measures overlap, so that small objects count as much as large ones; add cross_entropy to it",
         "Milletari et al. 2016, V-Net; the sum: Isensee et al. 2021, nnU-Net",
         changes_if="objects as large as the background: cross_entropy alone"),
    Case("sequence", "labels in order, without their places in time", lambda f: _kind(f, "sequence"),
         "ctc", "sums over all ways to stretch the labels over the frames", "Graves et al. 2006",
         changes_if="places are known: cross_entropy for each frame"),
    Case("teacher", "the outputs of another model", lambda f: _kind(f, "teacher"),
         "distillation", "the teacher's probabilities say more than its answer",
         "Hinton et al. 2015, Distilling the Knowledge in a Neural Network", "temperature 2 (starting point)",
         changes_if="the teacher is no better than the labels: train on these"),
)  # fmt: skip


def kinds() -> list[str]:
    """What `which_loss` knows: the kinds of target of torchstone's tasks, and those that no task has yet."""
    return list(dict.fromkeys(case.kind for case in LOSSES))


def has_task(kind: str) -> bool:
    """Whether a task of torchstone trains on this kind; for others the loss is a part for a loop of one's own."""
    return kind in get_args(TargetKind)


def which_loss(facts: Facts) -> Case:
    """The loss for what is learnt from, by the table `LOSSES`.

    facts: target (one of `kinds()`), and what the conditions ask for: class_counts, target_outliers
    (share beyond 3 IQR), target_robust_std. For a kind that `has_task` denies, no run can be planned.
    Raises StoneError for an unknown kind.
    """
    case = first_that_holds(LOSSES, facts)
    if case is None:
        raise StoneError(f"no loss is known for '{facts.get('target')}'", fix=f"one of: {', '.join(kinds())}")
    return case


def choose_loss(task: Task, facts: Facts) -> list[Choice]:
    """The loss of a plan with its options, and the metric where the target asks for another one than the task's.

    facts: as `which_loss`, and loss where the user names one. A task whose own loss differs from its kind's keeps it.
    """
    if facts["target"] not in kinds() or (not _is_special(facts) and which_loss(facts).choice != task.loss):
        return [Choice("loss.name", task.loss, "derived", task.loss_reason, task.loss_source)]
    case = which_loss(facts)
    imbalance = choose_imbalance(facts)
    named = Choice("loss.name", case.choice, "derived", _reason(case, facts), case.source, case.changes_if)
    if facts.get("loss") not in (None, case.choice):
        return [named, *imbalance]
    options = [
        Choice(f"loss.options.{name}", value, "derived",
               f"{case.options_say}, as the model sees it (standardised)", f"Holland & Welsch 1977; {START}")
        for name, value in case.options(facts).items()
    ]  # fmt: skip
    return [named, *options, *_metric(case), *imbalance]


def _is_special(facts: Facts) -> bool:
    return which_loss(facts).condition != "else" and facts["target"] in ("single", "number")


def _reason(case: Case, facts: Facts) -> str:
    if case.choice not in ("huber", "mae"):
        return case.reason
    return f"{_outliers(facts):.1%} of the training targets lie beyond 3 IQR of the quartiles; {case.reason}"


def _metric(case: Case) -> list[Choice]:
    if case.choice not in ("huber", "mae"):
        return []
    return [Choice(
        "metric", "mae", "derived", "outliers in the target: the root of squares would judge by them alone",
        "Hyndman & Koehler 2006, section 2", "large errors cost more than in proportion: metric=rmse",
    )]  # fmt: skip
