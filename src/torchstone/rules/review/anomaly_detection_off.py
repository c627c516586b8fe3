"""REV117: anomaly detection is off."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import of
from torchstone.rules.review._ask import ledger, not_seen, passed, refused, said_no, seen_row, unsure
from torchstone.rules.review._toy import run as toy_run
from torchstone.rules.review._toy import trace


def anomaly_detection_off(run: Reviewed) -> Answer:
    """Whether autograd's anomaly detection was off while the run trained."""
    if run.kind != "run":
        return _watched(run)
    starts = run.of("start")
    told = [(line, row) for line, row in starts if row.get("is_anomaly_on") is not None]
    if not told or len(told) < len(starts):
        return unsure("the trace does not tell: the run has not begun, or a version before this one made it")
    on = [one for one in told if one[1]["is_anomaly_on"]]
    if on:
        return refused("anomaly detection was on when the run began", ledger(run, *on[0], "is_anomaly_on is true"))
    return passed("anomaly detection was off when the run began, and the loop does not turn it on",
                  ledger(run, *told[-1], "is_anomaly_on is false"))


def _watched(run: Reviewed) -> Answer:
    told = [row for row in of(run.rows, "end") if row.get("is_anomaly_on") is not None]
    if not told:
        return not_seen(run, "torch.autograd.set_detect_anomaly")
    if told[-1]["is_anomaly_on"]:
        return refused("anomaly detection was still on at the end", seen_row(told[-1], "is_anomaly_on is true"))
    said = seen_row(told[-1], "is_anomaly_on is false")
    return unsure("anomaly detection was off at the end; whether it was on before is not seen", said)


RULE: Rule = Rule(
    code="REV117",
    name="anomaly_detection_off",
    severity="warning",
    summary="autograd's anomaly detection was left on",
    why="Every step takes 1.7 to 2.7 times as long; replay and the doctor name the layer without it.",
    fix="Remove torch.autograd.set_detect_anomaly(True); look for a NaN with torchstone replay.",
    source="our measurement, torch 2.14.1, CPU: x2.73 for a perceptron, x1.66 for a language model",
    check=lambda run: said_no(RULE, anomaly_detection_off(run)),
    trips=lambda: toy_run(trace=trace(start={"is_anomaly_on": True})),
    passes=toy_run,
    wrong_when="the run is there to find a NaN",
)
