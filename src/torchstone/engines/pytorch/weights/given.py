"""`model.weights` of a recipe: the same word for every model part, torchvision's and our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.core.task import Modality
from torchstone.engines.pytorch.weights.read import lent_classes, lent_encoding, read_weights
from torchstone.engines.pytorch.weights.report import few, note_report, weights_report
from torchstone.engines.pytorch.weights.take_over import head_of, take_over

FIELD = "model.options.weights"
# What an encoding must hold to be of use for a modality whose first layer reads numbers that the encoding gave out.
_NUMBERED = {"text": ("tokenizer", "vocabulary"), "table": ("numbers", "categories")}


def apart(part: Callable[..., Any], options: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The options that the part is called with, and the weights that are left to `give` (None: nothing to do).

    A part with an option `weights` of its own takes them itself.
    """
    kept = dict(options)
    if any(option.name == "weights" for option in catalog.options(part)):
        return kept, None
    return kept, kept.pop("weights", None)


def lent(plan: Plan, modality: Modality) -> dict[str, Any] | None:
    """The encoding (tokenizer, columns) that comes with the weights of a torchstone run; None where none is of use."""
    weights = plan.get(FIELD)
    if weights is None or modality not in _NUMBERED or plan.get("model.options.folder"):  # a tokenizer of its own
        return None
    encoding = lent_encoding(str(weights))
    return encoding if encoding is not None and encoding.keys() >= set(_NUMBERED[modality]) else None


def lend(encoding: dict[str, Any], lent: Mapping[str, Any] | None, source: str) -> dict[str, Any]:
    """The encoding with the columns of a table as the lender has them; as it was where nothing is lent.

    Raises StoneError where the columns are not the same.
    """
    if lent is None:
        return encoding
    if "categories" not in encoding:
        return {**encoding, "lent_by": source}
    for kind in ("numbers", "categories"):
        own, others = ([column["name"] for column in columns[kind]] for columns in (encoding, lent))
        if own != others:
            raise StoneError(
                f"the weights were learnt on the {kind} {', '.join(others) or 'none'}; here there are "
                f"{', '.join(own) or 'none'}", where=f"model.weights: {source}",
                fix="name the same columns in the same order: data.features",
            )  # fmt: skip
    return {**encoding, "numbers": lent["numbers"], "categories": lent["categories"], "lent_by": source}


def give(model: nn.Module, weights: str, modality: Modality, encoding: Mapping[str, Any]) -> None:
    """Takes the weights over into a model that was just built; see `take_over`.

    Vectors of words belong to a tokenizer: they start afresh unless it came along (`lent_by` in the encoding). A
    table's weights mean nothing without the columns that they were learnt on: StoneError without them.
    """
    given = read_weights(weights)
    if modality == "table" and "lent_by" not in encoding:
        raise StoneError(
            "these weights come without the columns that they were learnt on, so that no number would meet its own "
            "weight", where=f"model.weights: {weights}", fix="give the folder of the torchstone run itself",
        )  # fmt: skip
    take_over(model, given, fresh=("words.",) if modality == "text" and "lent_by" not in encoding else ())


def remark_on_classes(model: nn.Module, weights: object, classes: Sequence[str]) -> None:
    """Says in the model's report where its last layer was learnt by a torchstone run for other classes."""
    report, theirs = weights_report(model), lent_classes(str(weights))
    if report is None or not theirs or list(classes) == theirs:
        return
    if f"{head_of(model.state_dict())}.weight" in report.matched:
        said = f"the last layer was learnt for {few(theirs)}; its outputs now stand for {few(classes)}"
        note_report(model, replace(report, remark=said))


def without_weights(plan: Plan) -> Plan:
    """The plan for a model whose weights come from its own checkpoint: the given ones need not be there any more."""
    choice = plan.choices.get(FIELD)
    return plan if choice is None else Plan({**plan.choices, FIELD: replace(choice, value=None)})
