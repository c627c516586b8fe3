"""COD111: gradients are clipped while they are still scaled."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play, exclude_each_other
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import clippings, optimizer_steps
from torchstone.parts.source.wiring import is_scaler, scaled_backwards
from torchstone.rules._sketches import SCALED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per clipping between a scaled backward pass and the scaler's step with no unscale_ before it."""
    for play in source.plays:
        for clip in own(source, [clip for clip in clippings(play) if _is_scaled(play, clip)]):
            yield found(RULE, "gradients are clipped before scaler.unscale_(optimizer)", where=at(clip))


def _is_scaled(play: Play, clip: Moment) -> bool:
    before = [one for one in scaled_backwards(play) if one.index < clip.index and not exclude_each_other(one, clip)]
    steps = [step for step, _ in optimizer_steps(play) if step.index > clip.index and is_scaler(step.value.receiver)
             and step.value.args and not exclude_each_other(step, clip)]
    if not before or not steps or set(before[-1].loops) - set(clip.loops):
        return False
    return not any(before[-1].index < one.index < clip.index for one in play.calls(".unscale_", ".unscale_gradients"))


RULE = Rule(
    code="COD111",
    name="source_clip_scaled",
    severity="error",
    summary="gradients are clipped before they are unscaled",
    why="The threshold is compared with gradients times the loss scale (65,536 at first): nearly all are cut to it.",
    fix="Call scaler.unscale_(optimizer) after backward() and before clipping.",
    source="torch 2.14 documentation, AMP examples: gradient clipping",
    check=check,
    trips=lambda: changed(SCALED, ("    scaler.unscale_(optimizer)\n", "")),
    passes=lambda: changed(SCALED),
    wrong_when="the scaler is switched off",
)
