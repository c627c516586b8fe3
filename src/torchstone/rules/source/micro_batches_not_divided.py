"""COD115: gradients of several batches are added up, and the loss is not divided by their number."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import backwards, loss_of
from torchstone.parts.source.value import Value, alternatives, origins, peel
from torchstone.parts.source.wiring import has_engine, is_counted, nested_windows, remainder, windows
from torchstone.rules._sketches import ACCUMULATED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per backward pass of a mean loss, undivided, in a loop whose optimizer steps each k batches."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        losses = dict(backwards(play))
        sick = {backward: test for backward, step, test in windows(play)
                if not _is_divided(losses[backward]) and not _is_mended_later(play, step)
                and not _is_one(remainder(test))}
        lines = {backward: test.line for backward, test in sick.items()}
        lines |= {backward: step.line for backward, step in nested_windows(play)
                  if is_counted(backward.loops[-1]) and not _is_divided(losses[backward])
                  and not _is_mended_later(play, step)}
        for backward in own(source, lines):
            yield found(RULE, "gradients are added up over batches, and the loss is not divided by their number",
                        where=at(backward), evidence={"step_test_line": lines[backward]})


def _is_one(count: Value | None) -> bool:
    return count is None or all(one.is_const(1) for one in alternatives(count))


def _is_divided(loss: Value | None) -> bool:
    """Whether the loss is, or may be, divided by something; or is no mean of torch that was seen being computed."""
    means = False
    for one in origins(loss, lambda value: loss_of(value) is None):
        if (one.kind == "op" and one.name in ("Div", "Mult", "FloorDiv")) or one.is_call(".div", ".mul", "torch.div"):
            return True
        if one.is_call(".__call__") and loss_of(one) is None and all(
                each.kind in ("unknown", "param") for each in alternatives(one.receiver)):
            return True  # a function that is not seen
        computed = loss_of(one)
        if computed is not None:
            reduction = computed[1].given("reduction")
            means = means or reduction is None or reduction.is_const("mean")
    return not means or not peel(loss)


def _is_mended_later(play: Play, step: Moment) -> bool:
    """Whether gradients or the rate are changed before the step: p.grad /= k, p.grad.div_(k)."""
    changes = [one.target for one in play.moments if one.what in ("add", "assign")]
    changes += [one.value.receiver for one in play.calls(".div_", ".mul_")]
    return any(one is not None and one.kind == "attr" and one.name == "grad" for one in changes) or bool(
        play.calls("torch._foreach_div_", "torch._foreach_mul_"))


RULE = Rule(
    code="COD115",
    name="source_micro_batches_not_divided",
    severity="warning",
    summary="the loss of each micro-batch counts whole",
    why="The gradient is the sum over the window: the step is as many times larger as batches are accumulated.",
    fix="Divide the loss by the number of accumulated batches before backward().",
    source="torch 2.14 documentation, AMP examples: gradient accumulation",
    check=check,
    trips=lambda: changed(ACCUMULATED, (" / 4\n", "\n")),
    passes=lambda: changed(ACCUMULATED),
    wrong_when="the sum is meant, and the rate was chosen for it",
)
