"""COD124: the loss is cut from its graph before the backward pass, whole or in one of its terms."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import loss_of
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import is_cut, losses, terms
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per backward pass of a loss that is, or has a term that is, a number without its graph."""
    for play in source.plays:
        sick = {}
        for moment, loss in losses(play):
            cut = [one for one in terms(loss) if is_cut(one) and _is_of_the_model(play, one)]
            whole = bool(cut) and len(cut) == len(terms(loss))
            if cut and (whole or all(any(one is each for each in alternatives(cut[0])) for one in cut[:1])):
                sick[moment] = (cut[0], whole)
        for moment in own(source, sick):
            cut_by, is_whole = sick[moment]
            part = "the loss" if is_whole else "a term of the loss"
            what = f"{part} has no graph: {shown(cut_by)} on line {cut_by.line} leaves its number only"
            yield found(RULE, what, where=at(moment), evidence={"cut_line": cut_by.line, "whole": is_whole},
                        severity="error" if is_whole else "warning")


def _is_of_the_model(play: Play, value: Value) -> bool:
    """Whether what was cut is a loss, or was computed by one or by a model."""
    inner = [value.receiver] if value.receiver is not None else value.args[:1]
    return any(loss_of(one) is not None or (one.is_call(".__call__") and "loss" in (one.alias or "").lower())
               or "loss" in one.alias.lower() for each in inner for one in origins(each))


def shown(value: Value) -> str:
    """How a cut looks in code."""
    return f".{value.name}" if value.kind == "attr" else f".{value.name}()" if value.receiver is not None \
        else f"{value.name}(…)"


RULE = Rule(
    code="COD124",
    name="source_loss_cut_from_graph",
    severity="error",
    summary="the loss, or a term of it, is cut from its graph before backward",
    why="No gradient flows through a number: what was cut trains nothing.",
    fix="Take item() or detach() only for what is shown or kept, never for what backward() is called on.",
    source="torch 2.14 documentation, Tensor.item and Tensor.detach",
    check=check,
    trips=lambda: changed(TRAINING, ("        loss.backward()", "        loss = torch.tensor(loss.item(), requires_grad"
                                     "=True)\n        loss.backward()")),
    passes=lambda: changed(TRAINING),
    wrong_when="the term is to be shown in the loss and not to be trained on",
)
