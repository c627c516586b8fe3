"""What the plan does about classes of very different size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torchstone.core.plan import Choice
from torchstone.parts.resamplers import GROWING
from torchstone.parts.samplers import BY_CLASS

# From here on something is done: the default threshold of Amazon SageMaker Debugger's rule ClassImbalance.
RATIO = 10.0
# One example more of a class tells less the more there are. Cui et al. 2019 take 0.999 for ImageNet and iNaturalist
# and 0.9999 for CIFAR-10 (their published scripts): starting point, tune on your data.
BETA = 0.999
MEASURED = (
    "measured, 2026-12-02, benchmarks/known_imbalance.py: chosen on 10 KEEL sets (balanced accuracy above plain "
    "cross-entropy: sampler 0.099, logit adjustment 0.061, class weights 0.011); on 26 others 0.066, Wilcoxon p 3e-5"
)
BUDA = "Buda et al. 2018, A systematic study of the class imbalance problem in convolutional neural networks"
MENON = "Menon et al. 2021, Long-tail learning via logit adjustment"
CUI = "Cui et al. 2019, Class-Balanced Loss Based on Effective Number of Samples"
BRODERSEN = "Brodersen et al. 2010, The balanced accuracy and its posterior distribution"
# What logit_adjusted takes of cross_entropy's options.
SHARED_OPTIONS = ("label_smoothing", "tau", "class_counts")


def choose_imbalance(facts: Mapping[str, Any]) -> list[Choice]:
    """What is dealt out, and a metric that weighs classes alike, where the largest class has 10 times the smallest.

    facts: target and class_counts (training examples per class); of what the user fixed: loss, sampler, resample, and
    loss_options, sampler_options, resample_options. The remedy is the sampler class_balanced; where the user chose
    another sampler, the loss logit_adjusted; nothing where the user's own loss, weights, sampler or resampler see to
    it. logit_adjusted gets its class_counts whatever they are.
    """
    if facts["target"] != "single" or not facts.get("class_counts"):
        return []
    dealt = dealt_counts(facts)
    resampled = _resampled(facts, dealt)
    if imbalance_ratio(facts) < RATIO:
        return [*resampled, *(_adjusted(facts, dealt) if facts.get("loss") == "logit_adjusted" else [])]
    ratio = f"the largest class has {imbalance_ratio(facts):,.0f} times the examples of the smallest"
    metric = Choice(
        "metric", "balanced_accuracy", "derived", f"{ratio}: accuracy would look good without the small ones",
        BRODERSEN, "classes matter in proportion to their number: metric=accuracy",
    )  # fmt: skip
    return [*resampled, metric, *_remedy(facts, dealt, ratio)]


def _remedy(facts: Mapping[str, Any], dealt: Sequence[float], ratio: str) -> list[Choice]:
    options = facts.get("loss_options") or {}
    if facts.get("loss") == "logit_adjusted":
        return _adjusted(facts, dealt)
    if facts.get("loss") not in (None, "cross_entropy") or options.get("class_weights") or ratio_of(dealt) < RATIO:
        return []
    if facts.get("sampler") is None:
        return [Choice(
            "sampler.name", "class_balanced", "derived",
            f"{ratio}: an epoch draws all classes equally often, so that each batch holds rare ones; weights in the "
            "loss do less, as a batch without a rare example has none to weigh", f"{BUDA}; {MEASURED}",
            "rare examples are learnt by heart: loss=logit_adjusted sampler=shuffled; probabilities are to be those "
            "of the data: sampler=shuffled loss=cross_entropy; tables: data.resample=smote",
        )]  # fmt: skip
    if facts.get("loss") == "cross_entropy" or set(options) - set(SHARED_OPTIONS):
        return []
    return _adjusted(facts, dealt, f"{ratio}: rare classes must be told by a margin, the sampler being yours; ")


def _adjusted(facts: Mapping[str, Any], dealt: Sequence[float], reason: str = "") -> list[Choice]:
    counts = [int(count) if float(count).is_integer() else float(f"{count:.6g}") for count in dealt]
    change = "a sampler or resampler that makes classes alike: counts become equal, and it is cross_entropy"
    return [
        Choice("loss.name", "logit_adjusted", "derived", f"{reason}log shares of the classes are added in training",
               f"{MENON}; {MEASURED}", "loss=cross_entropy for the shares of the data"),
        Choice("loss.options.class_counts", counts, "derived", "examples of each class as training deals them out",
               MENON, change),
    ]


def _resampled(facts: Mapping[str, Any], dealt: Sequence[float]) -> list[Choice]:
    name = facts.get("resample")
    if not name:
        return []
    before = ", ".join(f"{count:,}" for count in facts["class_counts"])
    says = "leaves out rows at borders, so that these are the most there can be" if "tomek" in name else "makes rows"
    grown = _grown(facts)
    return [Choice("data.counts", grown, "derived",
                   f"training rows of each class, {before} in the data; {name} {says}; the run tells its counts")]


def _grown(facts: Mapping[str, Any]) -> list[int]:
    """Training rows of each class after the resampler; of those that leave rows out, at most so many."""
    counts = [int(count) for count in facts["class_counts"]]
    if facts.get("resample") not in GROWING:
        return counts
    share = (facts.get("resample_options") or {}).get("share", 1.0)
    return [max(count, round(share * max(counts))) if count else 0 for count in counts]


def dealt_counts(facts: Mapping[str, Any]) -> list[float]:
    """Examples of each class as an epoch deals them out: after the resampler and the sampler that the user chose.

    facts: class_counts, and where the user chose them: resample, resample_options, sampler, sampler_options.
    """
    counts = _grown(facts)
    if facts.get("sampler") not in BY_CLASS:
        return [float(count) for count in counts]
    power = (facts.get("sampler_options") or {}).get("power", 0.0) if facts["sampler"] == "class_balanced" else 0.0
    return [float(count) ** power if count else 0.0 for count in counts]


def counted_weights(choices: Mapping[str, Choice], facts: Mapping[str, Any]) -> dict[str, Choice]:
    """The choices with numbers where the user asked for class weights by a word: `inverse` or `effective_number`.

    facts: as `dealt_counts`; counts are those that training deals out.
    """
    field, done = "loss.options.class_weights", dict(choices)
    asked = choices.get(field)
    if asked is not None and isinstance(asked.value, str) and facts.get("class_counts"):
        counts = dealt_counts(facts)
        count = {"inverse": inverse_weights, "effective_number": effective_number_weights}[asked.value]
        source = CUI if asked.value == "effective_number" else "scikit-learn: compute_class_weight, balanced"
        done[field] = replace(asked, value=count(counts), reason=f"{asked.reason}: {asked.value}", source=source)
    return done


def imbalance_ratio(facts: Mapping[str, Any]) -> float:
    """How many times as many training examples the largest class has as the smallest; 1 with fewer than two classes.

    facts: class_counts; classes without examples do not count.
    """
    return ratio_of(facts.get("class_counts") or [])


def ratio_of(counts: Sequence[float]) -> float:
    """The largest count by the smallest above 0; 1 with fewer than two such counts."""
    present = [count for count in counts if count]
    return max(present) / min(present) if len(present) > 1 else 1.0


def effective_number_weights(counts: Sequence[float], beta: float = BETA) -> list[float]:
    """(1-beta) / (1-beta^n) for each class of n examples, scaled to a mean of 1 over the classes that have any.

    A class without examples weighs 0. Rounded to 4 digits, so that a plan can be read. Source: Cui et al. 2019,
    the proposition on the effective number, and section 4.
    """
    raw = [(1 - beta) / (1 - beta**count) if count else 0.0 for count in counts]
    present = sum(1 for count in counts if count)
    total = sum(raw)
    return [float(f"{weight * present / total:.4g}") for weight in raw]


def inverse_weights(counts: Sequence[float]) -> list[float]:
    """N / (K·n) for each class to 4 digits, as scikit-learn's "balanced"; 0 for a class without examples."""
    present = sum(1 for count in counts if count)
    return [float(f"{sum(counts) / (present * count):.4g}") if count else 0.0 for count in counts]
