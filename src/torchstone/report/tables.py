"""The tables of the page: plan, notes, environment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from torchstone.report.terminal import place

MAX_NOTES = 200
MAX_VALUE = 300


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), names: Sequence[int] = ()
) -> str:
    """A table of ready cells (escape them first); columns `numbers` stand to the right, `names` are never broken."""
    kinds = [f' class="{"n" if i in numbers else "name" if i in names else "wrap"}"' for i in range(len(heads))]
    head = "".join(f'<th scope="col"{kinds[i]}>{escape(text)}</th>' for i, text in enumerate(heads))
    lines = ["".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


BASELINES = {
    "prior": "the same answer for every example: the frequency of the classes, or the median",
    "ridge": "least squares on the columns",
    "boosted_trees": "gradient boosting over histograms, scikit-learn's, as it comes",
    "naive_bayes": "words and pairs of words counted per class",
    "nearest": "the 5 most similar thumbnails of 16 x 16 pixels",
}


def baselines_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """What simple predictors reach on the validation part: the model is worth what it adds."""
    if not rows:
        return ""
    names = list(rows[0]["metrics"])
    cells = [
        [f"<code>{escape(row['name'])}</code> {escape(row.get('missing') or BASELINES.get(row['name'], ''))}",
         f"{row['n_train']:,}",
         *(_number(row["metrics"].get(name)) for name in names)]
        for row in rows
    ]  # fmt: skip
    return table(["baseline", "learnt from", *names], cells, numbers=range(1, len(names) + 2))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def plan_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Every choice with its value, origin, reason, source and what would change it."""
    if not rows:
        return ""
    cells = []
    for row in sorted(rows, key=lambda row: place(str(row.get("field", "")))):
        origin = str(row.get("origin", ""))
        kind = origin if origin in ("user", "derived", "default") else "default"
        change = str(row.get("changes_if") or "")
        reason = escape(str(row.get("reason", "")))
        if change:
            reason += f'<div class="muted small">changes with: {escape(change)}</div>'
        source = f'<span class="muted small">{escape(str(row.get("source", "")))}</span>'
        value = f"<code>{escape(_value(row.get('value')))}</code>"
        badge = f'<span class="badge {kind}">{escape(origin)}</span>'
        name = str(row["field"]).replace(".options.", ".")  # as a recipe says it
        cells.append((f"<code>{escape(name)}</code>", value, badge, reason, source))
    return f'<div class="card">{table(("field", "value", "origin", "reason", "source"), cells, names=(0,))}</div>'


def notes_list(notes: Sequence[tuple[int | None, str]]) -> str:
    """What the run said of itself, by step; the last MAX_NOTES of them."""
    if not notes:
        return ""
    rows = [("" if step is None else f"{step:,}", escape(text)) for step, text in notes[-MAX_NOTES:]]
    return f'<div class="card">{table(("step", "note"), rows, numbers=(0,))}</div>'


def environment_table(values: Mapping[str, Any]) -> str:
    """Nested values as dotted names, folded away; a long list is told by its length."""
    rows = [(f"<code>{escape(name)}</code>", escape(text)) for name, text in _flat("", values)]
    if not rows:
        return ""
    listed = table(("name", "value"), rows, names=(0,))
    return f'<details class="card"><summary>{len(rows)} values</summary>{listed}</details>'


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        if len(value) > 200:
            yield prefix, f"{len(value):,} entries"
            return
        for key, item in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, list) and len(value) > 20:
        yield prefix, f"{len(value):,} entries"
    else:
        yield prefix, _value(value)


def _value(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif value is None:
        text = "none"
    else:
        text = as_json(value)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def as_json(value: Any) -> str:
    """A value as JSON, in one line."""
    return json.dumps(value, ensure_ascii=False, default=str)
