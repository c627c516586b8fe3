"""What the plan does about classes of very different size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchstone.core.plan import Choice

# From here on classes are weighed: the default threshold of Amazon SageMaker Debugger's rule ClassImbalance.
RATIO = 10.0
# One example more of a class tells less the more there are; beta of Cui et al. 2019, table 2.
BETA = 0.999
CUI = "Cui et al. 2019, Class-Balanced Loss Based on Effective Number of Samples"


def choose_imbalance(facts: Mapping[str, Any]) -> list[Choice]:
    """Class weights and a metric that weighs classes alike, where the largest class outweighs the smallest 10 to 1.

    facts: target and class_counts (training examples per class). Nothing otherwise, and nothing for a loss that the
    user chose (facts["loss"]).
    """
    counts = facts.get("class_counts") or []
    present = [count for count in counts if count]
    if facts["target"] != "single" or len(present) < 2 or max(present) / min(present) < RATIO:
        return []
    ratio = f"the largest class has {max(present) / min(present):,.0f} times the examples of the smallest"
    metric = Choice(
        "metric", "balanced_accuracy", "derived", f"{ratio}: accuracy would look good without the small ones",
        "Brodersen et al. 2010, The balanced accuracy and its posterior distribution",
        "classes matter in proportion to their number: metric=accuracy",
    )  # fmt: skip
    if facts.get("loss") not in (None, "cross_entropy"):
        return [metric]
    weights = effective_number_weights(counts)
    reason = f"{ratio}: rare classes weigh more, by their effective number"
    change = "a sampler (sampler=class_balanced) or loss=focal instead; probabilities are to be calibrated"
    return [metric, Choice("loss.options.class_weights", weights, "derived", reason, CUI, change)]


def effective_number_weights(counts: Sequence[int], beta: float = BETA) -> list[float]:
    """(1-beta) / (1-beta^n) for each class of n examples, scaled to a mean of 1 over the classes that have any.

    A class without examples weighs 0. Rounded to 4 digits, so that a plan can be read.
    """
    raw = [(1 - beta) / (1 - beta**count) if count else 0.0 for count in counts]
    present = sum(1 for count in counts if count)
    total = sum(raw)
    return [float(f"{weight * present / total:.4g}") for weight in raw]


def inverse_weights(counts: Sequence[int]) -> list[float]:
    """N / (K·n) for each class, as scikit-learn's "balanced"; 0 for a class without examples."""
    present = sum(1 for count in counts if count)
    return [sum(counts) / (present * count) if count else 0.0 for count in counts]
