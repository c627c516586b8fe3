"""RUN526: windows of one series that lie in training and in evaluation by chance."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_pass, training_loaders

SHARE, FEWEST = 0.5, 20


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader most of whose windows are training windows moved by one place."""
    training = training_loaders(rows)
    for row in of(rows, "windows"):
        if row["loader"] in training or row["num"] < FEWEST:
            continue
        near, loader = max(((num, int(at_loader)) for at_loader, num in row["beside"].items()
                            if int(at_loader) in training), default=(0, None))  # fmt: skip
        if near >= SHARE * row["num"]:
            what = (f"{near} of {row['num']} evaluation windows are a training window moved by one place: all but one "
                    "of their numbers, and the answers of their neighbours, were trained on")
            yield found(RULE, what, where=at(row), evidence={"near": near, "windows": row["num"], "loader": loader})


def _loop(near: int) -> list[dict[str, object]]:
    row = {"event": "windows", "step": 14, "place": "train.py:30", "loader": 1, "num": 96, "num_sliding": 40,
           "beside": {"0": near}}  # fmt: skip
    return toy_loop(more=[row, toy_pass(loader=0, backwards=14, order="random"), toy_pass()])


RULE = Rule(
    code="RUN526",
    name="windows_on_both_sides",
    severity="warning",
    summary="overlapping windows were split by chance",
    why="The model is judged between points that it has seen, not on times to come: the error looks far too small.",
    fix="Cut the series in time first, then make the windows of each part; leave a gap of a window and a horizon.",
    source="Kapoor & Narayanan 2023, Leakage and the reproducibility crisis in ML-based science (temporal leakage); "
           "scikit-learn documentation, TimeSeriesSplit",
    check=check,
    trips=lambda: _loop(90),
    passes=lambda: _loop(1),
    wrong_when="gaps in a known series are to be filled in, and nothing is forecast",
    threshold=f"{SHARE:.0%} of at least {FEWEST} windows; a series cut in time gives 1",
)
