"""The part of the page about predictions: metrics, confusion, classes, residuals, examples worth a look."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torchstone.flows.predictions import Judged, Shown
from torchstone.report.heat_map import MAX_CLASSES, heat_map
from torchstone.report.plots import histogram, scatter
from torchstone.report.scales import score
from torchstone.report.tables import table

MAX_PAIRS = 15
# Classes of the table; beyond, only those with the lowest F1.
MAX_ROWS = 200


def judged_section(judged: Judged) -> str:
    """Everything about the predictions of one split."""
    return _metrics(judged) + _confusion(judged) + _classes(judged) + _numbers(judged) + _examples(judged)


def confused_pairs(judged: Judged) -> list[tuple[str, str, int, int]]:
    """(true, said, count, true in all) of the most frequent mistakes, at most MAX_PAIRS."""
    import numpy as np

    assert judged.confusion is not None
    wrong = judged.confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_PAIRS]
    pairs = [(int(i) // len(wrong), int(i) % len(wrong)) for i in order]
    names, totals = judged.classes, judged.confusion.sum(1)
    return [(names[i], names[j], int(wrong[i, j]), int(totals[i])) for i, j in pairs if wrong[i, j]]


def _metrics(judged: Judged) -> str:
    rows = [
        (escape(name), f"<b>{score(value)}</b>", f"[{score(low)}, {score(high)}]")
        for name, (value, low, high) in judged.metrics.items()
    ]
    heads = ("metric", "value", "95 % interval")
    below = f'<div class="muted small">{judged.num:,} examples, each scored once</div>'
    return f'<div class="card">{table(heads, rows, numbers=(1, 2))}{below}</div>'


def _confusion(judged: Judged) -> str:
    if judged.confusion is None:
        return ""
    pairs = confused_pairs(judged)
    rows = [
        (escape(true), escape(said), f"{count:,}", f"{100 * count / total:.3g} %")
        for true, said, count, total in pairs
    ]
    heads = ("true", "said", "count", "of the true ones")
    listed = f'<div class="card">{table(heads, rows, numbers=(2, 3))}</div>' if rows else ""
    if len(judged.classes) <= MAX_CLASSES:
        legend = '<div class="muted small">rows are true, columns are said; colour is the share of the row</div>'
        picture = f'<div class="card">{heat_map(judged.confusion, judged.classes)}{legend}</div>'
        return f'<h3>Confusion, and the most confused pairs</h3><div class="pair">{picture}{listed}</div>'
    return f"<h3>Most confused pairs</h3>{listed}" if rows else '<p class="muted">Nothing was confused.</p>'


def _classes(judged: Judged) -> str:
    if not judged.per_class:
        return ""
    ordered = sorted(judged.per_class, key=lambda row: (row.f1 != row.f1, row.f1))
    rows = [
        (
            escape(judged.classes[row.index]), f"{row.num_true:,}", f"{row.num_said:,}",
            score(row.precision), score(row.recall), f"{score(row.f1)}{_meter(row.f1)}",
        )
        for row in ordered[:MAX_ROWS]
    ]
    cut = f", the lowest {MAX_ROWS} of {len(ordered):,}" if len(ordered) > MAX_ROWS else ""
    heads = ("label" if judged.kind == "multi" else "class", "true", "said", "precision", "recall", "F1")
    title = f"<h3>By {heads[0]}, lowest F1 first{cut}</h3>"
    return f'{title}<div class="card">{table(heads, rows, numbers=range(1, 6))}</div>'


def _meter(value: float) -> str:
    width = 0.0 if value != value else 100 * value
    return f'<span class="meter" aria-hidden="true"><i style="width:{width:.0f}%"></i></span>'


def _numbers(judged: Judged) -> str:
    if judged.truth is None or judged.said is None or judged.num == 0:
        return ""
    residual = judged.said - judged.truth
    drawn = (
        scatter("Predicted against true", "true", "predicted", judged.truth, judged.said),
        scatter("Residuals", "predicted", "predicted - true", judged.said, residual, line="zero"),
        histogram("Spread of the residuals", "predicted - true", residual),
    )
    return f'<h3>Numbers</h3><div class="charts">{"".join(drawn)}</div>'


def _examples(judged: Judged) -> str:
    return _grid("Highest loss", judged.worst) + _grid("Most uncertain", judged.uncertain)


def _grid(title: str, examples: Sequence[Shown]) -> str:
    if not examples:
        return ""
    is_wide = any(example.text or example.fields for example in examples)
    cards = "".join(_card(example) for example in examples)
    return f'<h3>{escape(title)}</h3><div class="{"shown text" if is_wide else "shown"}">{cards}</div>'


def _card(example: Shown) -> str:
    picture = f'<img src="{example.picture}" alt="{escape(example.where)}">' if example.picture else ""
    quote = f'<p class="quote">{escape(example.text)}</p>' if example.text else ""
    fields = "".join(f"{escape(name)} <b>{escape(value)}</b> · " for name, value in example.fields)
    row = f'<p class="quote">{fields[:-3]}</p>' if fields else ""
    tone = "good" if example.is_right else "bad"
    sure = "" if example.confidence is None else f" · score {score(example.confidence)}"
    answer = f'true <b>{escape(example.true)}</b><br>said <span class="said {tone}">{escape(example.said)}</span>'
    numbers = f'<div class="muted small">loss {score(example.loss)}{sure}</div>'
    where = f'<div class="muted small">{escape(example.where)}</div>'
    return f'<div class="ex">{picture}{quote}{row}{answer}{numbers}{where}</div>'
