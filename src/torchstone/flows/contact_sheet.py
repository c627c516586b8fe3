"""The first batch for a person's eye: pictures with their labels, or texts and rows beside theirs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchstone.core import store
from torchstone.core.dataset import Dataset

if TYPE_CHECKING:
    import numpy as np

NUM_SHOWN, COLUMNS, SIDE, MARGIN, LINE = 32, 8, 112, 8, 16
NUM_FIELDS, TEXT_LENGTH, LABEL_LENGTH = 8, 400, 18
NAMES = ("first-batch.png", "first-batch.html")


def write_sheet(folder: Path, batch: Any, dataset: Dataset) -> Path:
    """Writes the first batch's sheet into a folder and returns its path: a PNG of pictures, an HTML page of others.

    batch: an `engines.pytorch.preflight.own.FirstBatch`.
    """
    if batch.pictures is not None:
        path = folder / NAMES[0]
        store.write_bytes(path, picture_sheet(batch.pictures[:NUM_SHOWN], batch.labels))
    else:
        path = folder / NAMES[1]
        store.write_text(path, page(batch.rows[:NUM_SHOWN], batch.labels, dataset))
    return path


def picture_sheet(pictures: np.ndarray, labels: Sequence[str]) -> bytes:
    """A PNG with the pictures uint8 [B, S, S, C] in rows of eight, as the model sees them, each above its label."""
    from PIL import Image, ImageDraw

    num_rows = -(-len(pictures) // COLUMNS)
    cell = SIDE + MARGIN
    columns = min(COLUMNS, len(pictures))
    sheet = Image.new("RGB", (columns * cell + MARGIN, num_rows * (cell + LINE) + MARGIN), "white")
    draw = ImageDraw.Draw(sheet)
    for place, pixels in enumerate(pictures):
        picture = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).convert("RGB")
        is_small = picture.width < SIDE
        picture = picture.resize((SIDE, SIDE), Image.Resampling.NEAREST if is_small else Image.Resampling.LANCZOS)
        x, y = MARGIN + place % COLUMNS * cell, MARGIN + place // COLUMNS * (cell + LINE)
        sheet.paste(picture, (x, y))
        draw.text((x, y + SIDE + 2), _printable(_cut(labels[place], LABEL_LENGTH)), fill="black")
    held = io.BytesIO()
    sheet.save(held, "PNG")
    return held.getvalue()


def page(rows: Sequence[int], labels: Sequence[str], dataset: Dataset) -> str:
    """One line per example: its label as the loss gets it, its place, and what its row of the data says."""
    lines = "".join(
        f"<tr><td><b>{escape(label)}</b></td>{_example(row, dataset)}</tr>"
        for row, label in zip(rows, labels, strict=False)
    )
    style = "body{font:15px/1.5 system-ui,sans-serif;margin:24px}td{padding:4px 14px 4px 0;vertical-align:top;" \
            "border-bottom:1px solid #ddd}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>first batch</title><style>{style}</style>'
        f"</head><body><h1>The first batch</h1><p>{escape(dataset.target_name)}, then the example</p>"
        f"<table>{lines}</table></body></html>\n"
    )


def _example(row: int, dataset: Dataset) -> str:
    if row >= len(dataset):
        return "<td>synthetic</td><td>made from rows of the training part</td>"
    told = []
    for name, kind in list(dataset.kinds.items())[:NUM_FIELDS]:
        value = dataset.inputs[name][row]
        text = f"{value:.6g}" if kind == "number" else str(value)
        told.append(escape(_cut(text, TEXT_LENGTH)) if kind == "text" else f"{escape(name)} {escape(_cut(text, 80))}")
    return f"<td>{escape(str(dataset.where[row]))}</td><td>{' · '.join(told)}</td>"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _printable(text: str) -> str:
    """The text in letters that Pillow's own font has; without FreeType it has those of Latin-1."""
    return text.replace("…", "...").encode("latin-1", "replace").decode("latin-1")
