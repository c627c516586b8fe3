"""COD117: losses are summed or kept as tensors with their graphs."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import backwards, innermost, is_grad_off, loss_of, training_loops
from torchstone.parts.source.value import Value, alternatives, origins, peel
from torchstone.parts.source.wiring import trained_calls
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per `total += loss` or `losses.append(loss)` of a tensor that backward() was called on."""
    for play in source.plays:
        passes = [(moment, loss) for moment, loss in backwards(play) if loss is not None and moment.loops]
        sick = [moment for moment in play.moments if _keeps(play, moment, passes)]
        for moment in own(source, sick):
            yield found(RULE, "the loss is kept with its graph: neither item() nor detach()", where=at(moment))
        for moment in own(source, [one for one in play.calls(".append") if _keeps_output(play, one, passes)]):
            yield found(RULE, "outputs of the model are kept with their graphs: no detach()", where=at(moment))


def _keeps_output(play: Play, moment: Moment, passes: list[tuple[Moment, Value]]) -> bool:
    """Whether a training loop appends what a model gave, just as it is, to a list made before that loop."""
    owner, loop = moment.value.receiver, innermost(moment)
    if owner is None or owner.kind != "sequence" or loop not in training_loops(play) or is_grad_off(moment):
        return False
    last = getattr(loop.node, "end_lineno", 0) if loop is not None else 0
    is_made_before = loop is not None and not getattr(loop.node, "lineno", 0) <= owner.line <= last
    given = {id(part) for one, _ in trained_calls(play, training_loops(play))
             if len(one.functions) <= 1 and loss_of(one.value) is None
             for each in [one.value, *alternatives(one.value.result)]
             for part in (each.args if each.kind == "sequence" else [each])}
    is_output = bool(moment.value.args) and all(id(one) in given for one in alternatives(moment.value.args[0]))
    return is_made_before and is_output and not _is_used(play, moment, passes)


def _keeps(play: Play, moment: Moment, passes: list[tuple[Moment, Value]]) -> bool:
    kept = _kept(moment)
    if kept is None or not moment.loops or is_grad_off(moment):
        return False
    lost = [one for one, loss in passes if one.loops[-1] in moment.loops and _is_the_loss(kept, loss)]
    return bool(lost) and not _is_used(play, moment, passes)


def _kept(moment: Moment) -> Value | None:
    """What a moment adds to a sum or a list that stays."""
    if moment.what == "add" and moment.operator == "Add" and moment.target is not None:
        return moment.value
    is_append = moment.is_call(".append") and len(moment.value.args) == 1 and moment.value.receiver is not None
    return moment.value.args[0] if is_append else None


def _is_the_loss(kept: Value, loss: Value) -> bool:
    """Whether what is kept is the very loss, also times a number of examples."""
    wanted = {id(one) for one in [*alternatives(loss), *peel(loss)]}
    parts = [part for one in [*alternatives(kept), *peel(kept)]
             for part in (one.args if one.kind == "op" and one.name in ("Mult", "Div") else [one])]
    whole = [one for part in parts for one in [*alternatives(part), *peel(part)]]
    return any(id(one) in wanted for one in whole)


def _is_used(play: Play, moment: Moment, passes: list[tuple[Moment, Value]]) -> bool:
    """Whether the sum itself, or the list, goes into a backward pass, or the sum is cut in the same loop."""
    for _, loss in passes:
        for one in origins(loss):
            if moment.what == "add" and one.kind == "op" and one.name == "Add" and moment.target is not None \
                    and any(arg is moment.target for arg in one.args) and any(arg is moment.value for arg in one.args):
                return True
            if moment.what == "call" and one is moment.value.receiver:
                return True
    cut = play.calls(".detach_")
    return any(moment.loops[-1] in one.loops for one in cut)


RULE = Rule(
    code="COD117",
    name="source_loss_keeps_graph",
    severity="warning",
    summary="losses are summed or kept with their graphs",
    why="What a loss was computed from stays in memory as long as the sum or list does: memory grows with each step.",
    fix="Keep loss.item(), or loss.detach() where no copy to the host is wanted.",
    source="torch 2.14 documentation, FAQ: don't accumulate history across your training loop",
    check=check,
    trips=lambda: changed(TRAINING, ("total += loss.item()", "total += loss")),
    passes=lambda: changed(TRAINING),
    wrong_when="the sum is differentiated where the code was not followed",
)
