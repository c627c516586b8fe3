"""COD405: anomaly detection is on for all of training."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per set_detect_anomaly(True) that stands under no branch."""
    for _, moment in source.moments("torch.autograd.set_detect_anomaly"):
        given = moment.value.given("mode", 0)
        if given is not None and given.is_const(True) and not moment.guards:
            yield found(RULE, "anomaly detection is switched on and stands under no flag", where=at(moment))


RULE = Rule(
    code="COD405",
    name="anomaly_detection_left_on",
    severity="warning",
    summary="anomaly detection left on",
    why="Every backward pass records tracebacks and tests all gradients for NaN: measured 1.7 to 2.7 times slower.",
    fix="Remove it, or switch it on under a debug flag.",
    source="torch 2.14 documentation, set_detect_anomaly: for debugging only",
    check=check,
    trips=lambda: sketch('import torch\ntorch.autograd.set_detect_anomaly(True)\n'),
    passes=lambda: sketch('import torch\nif args.debug:\n    torch.autograd.set_detect_anomaly(True)\n'),
    wrong_when="the script is for debugging only",
)
