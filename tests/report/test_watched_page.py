"""The page of a watched loop: curves, findings, what was not seen; well-formed and escaped whatever the rows hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from made_runs import EVIL
from test_html import Page

from torchstone.core.finding import Finding, Where
from torchstone.report.watched import render_watched
from torchstone.rules._watched import toy_loop, toy_pass, toy_schedule

FINDING = Finding("RUN604", "error", "64 of 64 units never fired", "why", "fix", Where("train.py", 7, step=24))


def passes() -> list[dict[str, Any]]:
    """Three evaluations with the doctor's own count."""
    return [toy_pass(number=n, first_step=10 * n, own_num=96, own_loss=1.0 / n, own_accuracy=0.3 * n, names=["held"])
            for n in (1, 2, 3)]  # fmt: skip


def page(rows: list[dict[str, Any]], findings: list[Finding], **mistakes: str) -> str:
    """The page, checked for tags that pair."""
    text = render_watched("train.py", rows, findings, mistakes=mistakes)
    Page(text)
    return text


def test_it_shows_loss_rate_updates_and_evaluation() -> None:
    text = page(toy_loop(more=[*passes(), toy_schedule()]), [FINDING])
    for title in ("Loss", "Learning rate", "Update-to-weight ratio", "Gradient norm", "Accuracy in evaluation"):
        assert f"<figcaption>{title}<" in text
    assert "64 of 64 units never fired" in text
    assert "train.py:7 step 24" in text
    assert text.index('id="findings"') < text.index('id="curves"')


def test_what_was_not_seen_is_said() -> None:
    text = page(toy_loop(), [])
    assert "Not seen, and so not judged: a DataLoader in training, validation" in text
    assert "No rule found anything." in text
    assert "No step of a torch optimizer was seen" in page([], [])


def test_mistakes_of_the_doctor_are_said() -> None:
    assert "A mistake of the doctor&#x27;s own: RUN604: KeyError" in page(toy_loop(), [], RUN604="KeyError: 'num'")


def test_several_optimizers_have_a_curve_each() -> None:
    rows = toy_loop(change=lambda number, row: {"optimizer": number % 2})
    rows.append({"event": "optimizer", "step": 0, "optimizer": 1, "kind": "SGD"})
    text = page(rows, [])
    assert "AdamW 0" in text
    assert "SGD 1" in text


def test_layers_are_drawn_where_they_were_sampled() -> None:
    units = {"event": "units", "step": 48, "layer": "body.5", "samples": 6, "examples": 192, "num": 64, "num_dead": 60}
    profile = {"event": "profile", "step": 21, "layers": ["a.weight", "b.weight"], "grads": [1e-6, 1.0]}
    text = page(toy_loop(more=[units, profile]), [])
    assert "Share of units that never fired" in text
    assert "Gradient norm by layer, step 21" in text


def test_every_word_of_the_users_is_escaped_and_numbers_that_are_none_leave_gaps() -> None:
    rows = toy_loop(change=lambda number, row: {"loss": float("nan") if number % 7 == 0 else None})
    rows += [toy_pass(names=[EVIL], place=EVIL, own_num=1, own_loss=1.0), toy_schedule(place=EVIL)]
    text = render_watched(EVIL, rows, [replace(FINDING, what=EVIL, where=Where(EVIL, 1))], mistakes={EVIL: EVIL})
    Page(text)
    assert EVIL not in text
