"""Which loop trained a run: one digest over the pages on which it stands, so that a review can tell what ran."""

from __future__ import annotations

import hashlib
from pathlib import Path

# The order of train and eval mode, zero_grad, forward, loss, backward, unscale, clip, step and schedule stands here.
PAGES = ("loop.py", "step.py", "scoring.py", "rates.py", "freezing.py", "feed.py")


def loop_digest() -> str:
    """SHA-256 over the pages of the loop that is installed here, in the order of PAGES; nothing is imported."""
    room = Path(__file__).resolve().parents[1] / "engines" / "pytorch"
    whole = hashlib.sha256()
    for page in PAGES:
        whole.update((room / page).read_bytes())
    return whole.hexdigest()


def line_of(page: str, words: str) -> int | None:
    """The line (from 1) of the first of these words in a page of the loop; None where they are not there."""
    path = Path(__file__).resolve().parents[1] / "engines" / "pytorch" / page
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, start=1) if words in line), None)
