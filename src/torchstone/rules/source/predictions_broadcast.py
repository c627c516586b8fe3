"""COD211: predictions of shape (N, 1) are compared with labels of shape (N,)."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import batches_of, is_loader
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

SAME = (".eq", "torch.eq")


def check(source: Source) -> Iterator[Finding]:
    """One finding per comparison of an argmax with keepdim=True and something that was not given an axis."""
    for play in source.plays:
        sick = {}
        for moment in play.calls(".sum", ".mean", "torch.sum", "torch.mean"):
            for one in origins(moment.value.receiver or moment.value.given("input", 0), _goes_on):
                sides = _sides(one)
                is_uneven = len(sides) == 2 and any(_is_kept(a) and _is_plain(b) for a, b in (sides, sides[::-1]))
                if is_uneven and any(is_loader(batches_of(loop)) for loop in moment.loops):
                    sick[moment] = one.line
        for moment in own(source, sick):
            yield found(RULE, "predictions (N, 1) are compared with labels (N,): every one with every one",
                        where=at(moment), evidence={"comparison_line": sick[moment]})


def _goes_on(value: Value) -> bool:
    return value.is_call(".float", ".int", ".long", ".type", ".double")


def _sides(value: Value) -> list[Value]:
    if value.kind == "op" and value.name == "Eq":
        return value.args
    if value.is_call(*SAME):
        return [*([value.receiver] if value.receiver is not None else []), *value.args][:2]
    return []


def _is_kept(value: Value) -> bool:
    """Whether a value is an argmax, or the places of a max, with the axis kept."""
    options = alternatives(value)
    return bool(options) and all(_keeps(one) for one in options)


def _keeps(one: Value) -> bool:
    if one.kind == "item" and one.args and one.args[0].is_const(1) and one.receiver is not None:
        return one.receiver.is_call(".max", "torch.max") and _has_keepdim(one.receiver)
    return one.is_call(".argmax", "torch.argmax") and _has_keepdim(one)


def _has_keepdim(value: Value) -> bool:
    kept = value.given("keepdim", 1 if value.receiver is not None else 2)
    return kept is not None and kept.is_const(True)


def _is_plain(value: Value) -> bool:
    """Whether a value is labels just as the loader gives them."""
    options = alternatives(value)
    for _ in range(4):
        options = [one.receiver if one.is_call(".to", ".cuda", ".cpu", ".long", ".int") and one.receiver is not None
                   else one for one in options]
    return bool(options) and all(one.kind in ("each", "item") and not _is_slice(one) for one in options)


def _is_slice(value: Value) -> bool:
    return value.kind == "item" and any(one.kind in ("sequence", "op") for one in value.args)


RULE = Rule(
    code="COD211",
    name="source_predictions_broadcast",
    severity="error",
    summary="predictions with an axis kept are compared with labels without",
    why="(N, 1) == (N,) compares every prediction with every label: the count is of N x N pairs.",
    fix="Leave keepdim out, or compare with target.view_as(prediction).",
    source="torch 2.14 documentation, Broadcasting semantics; torch.argmax: keepdim",
    check=check,
    trips=lambda: changed(TRAINING, ("total += nn.functional.mse_loss(model(x), y).item()",
                                     "total += model(x).argmax(1, keepdim=True).eq(y).sum().item()")),
    passes=lambda: changed(TRAINING, ("total += nn.functional.mse_loss(model(x), y).item()",
                                      "total += model(x).argmax(1, keepdim=True).eq(y.view_as(out)).sum().item()")),
    wrong_when="labels have an axis of length 1 too",
)
