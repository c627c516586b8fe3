"""RUN810: the validation loss gets worse while the validation score gets better."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from torchstone.core.curves import History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, best_before_rise, between, noise, toy_history

SINCE, SHARE, ERRORS, NUM = 3, 0.05, 3.0, 6


def check(history: History) -> Iterator[Finding]:
    """One finding where the loss has risen clearly since its best and the score since then, too."""
    loss, score = (curve.finite() if curve else None for curve in (history.validation, history.score))
    if loss is None or score is None or min(len(loss), len(score)) < NUM or history.is_game:
        return
    best = best_before_rise(loss.values, since=SINCE, share=SHARE, errors=ERRORS)
    if best is None:
        return
    near = between(score, loss, max(0, best - 1), min(best + 1, len(loss) - 1))
    late = between(score, loss, len(loss) - SINCE, len(loss) - 1)
    if not near or not late:
        return
    gain = (fmean(late) - fmean(near)) * (-1 if history.is_lower_better else 1)
    needed = ERRORS * noise(score.values) / min(len(near), len(late)) ** 0.5
    if gain > max(needed, 0.002 * abs(fmean(near))):
        what = (f"since step {loss.steps[best]:g} {loss.name} rose from {loss.values[best]:.4g} to "
                f"{loss.values[-1]:.4g} while {score.name} went from {fmean(near):.4g} to {fmean(late):.4g}")
        yield found(RULE, what, where=at(history, loss, best),
                    evidence={"best_step": loss.steps[best], "loss": loss.values[-1], "gain": gain, "needed": needed})


RULE = Rule(
    code="RUN810",
    name="loss_against_score",
    severity="advice",
    summary="validation loss and score go opposite ways",
    why="More answers are right, but the wrong ones are given with ever more certainty: probabilities can no longer be "
        "trusted, and which epoch is best depends on what is asked.",
    fix="Choose the checkpoint by the score that counts; for probabilities use temperature scaling, label smoothing "
        "or the epoch of the best loss.",
    source="Guo et al. 2017, On Calibration of Modern Neural Networks, section 3",
    check=check,
    trips=lambda: toy_history(validation=lambda e: 0.5 + 1.8 * 0.7**e + 0.03 * max(0, e - 8) + 0.01 * (-1) ** e,
                              score=lambda e: 0.93 - 0.6 * 0.9**e + 0.001 * (-1) ** e),
    passes=toy_history,
    wrong_when="only the score counts: then nothing is lost",
    threshold="loss as for RUN806; score by 3 standard errors",
    confidence="likely",
    explains=("RUN806", "RUN606"),
)
