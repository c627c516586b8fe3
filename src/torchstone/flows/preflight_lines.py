"""What a preflight saw, a line for each check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torchstone.core.finding import Finding
from torchstone.rules.preflight.first_loss_unexpected import NUM_ERRORS, SHARE

Row = Mapping[str, Any]

# Check → the row that it reads, and the codes that speak of it.
CHECKS = {
    "shapes": ("batch", ("RUN701", "RUN702", "RUN711")),
    "first loss": ("first_loss", ("RUN703", "RUN704", "RUN712")),
    "gradients": ("gradients", ("RUN705", "RUN706", "RUN707")),
    "evaluation": ("evaluation", ("RUN708",)),
    "augment": ("augmentation", ("RUN709",)),
    "by heart": ("overfit", ("RUN710",)),
}


class Line(NamedTuple):
    """A check: its name, how it went (`ok`, `error`, `warning`, `advice`, `not judged`) and its figure."""

    name: str
    word: str
    figure: str


def check_lines(rows: Sequence[Row], findings: Iterable[Finding]) -> Iterator[Line]:
    """A line for every check that has a row; the worst finding gives its word."""
    said = {"batch": _batch, "first_loss": _first_loss, "gradients": _gradients, "evaluation": _evaluation,
            "augmentation": _augmentation, "overfit": _overfit}  # fmt: skip
    found = list(findings)
    for name, (event, codes) in CHECKS.items():
        row = next((row for row in rows if row["event"] == event), None)
        if row is None:
            continue
        severities = [finding.severity for finding in found if finding.code in codes]
        if row.get("not_judged"):
            yield Line(name, severities[0] if severities else "not judged", str(row["not_judged"]))
        else:
            unsure = event == "overfit" and row["is_over"] and not row["is_learnt"]
            yield Line(name, severities[0] if severities else "not judged" if unsure else "ok", said[event](row))


def first_loss_line(rows: Sequence[Row], findings: Iterable[Finding]) -> str:
    """`first loss 1.63, log 5 = 1.61: as expected`; empty where there is none."""
    row = next((row for row in rows if row["event"] == "first_loss"), None)
    if row is None:
        return ""
    word = next((line.word for line in check_lines(rows, findings) if line.name == "first loss"), "ok")
    end = "as expected" if word == "ok" and row["is_fresh"] and not row.get("not_judged") else ""
    return f"first loss {_first_loss(row)}" + (f": {end}" if end else "")


def _first_loss(row: Row) -> str:
    value = f"{row['value']:.3g}"
    if row.get("not_judged"):
        return value
    if not row["is_fresh"]:
        return f"{value}, from given weights: not foretold"
    guess, log = row["guess"], row["log"]
    if log and abs(guess / log - 1) < 0.01:
        base = f"log {row['num_outputs'] if row['kind'] == 'classes' else 2} = {log:.3g}"
    elif row["kind"] == "numbers":
        base = f"always the mean = {guess:.3g}"
    else:
        base = f"equal outputs = {guess:.3g}"
    chance = max(NUM_ERRORS * row["error"], SHARE * abs(guess))
    if abs(row["value"] - guess) < SHARE * abs(guess):
        return f"{value}, {base}"
    return f"{value}, {base}, {row['expected']:.3g} ± {chance:.2g} with outputs that spread by {row['spread']:.2g}"


def _batch(row: Row) -> str:
    return f"{row['inputs']} → {row['output'] or 'no output'}; targets {row['target']}"


def _gradients(row: Row) -> str:
    frozen = f", {row['num_frozen']} frozen" if row["num_frozen"] else ""
    return f"{row['num'] - len(row['missing'])} of {row['num']} parameters{frozen}"


def _evaluation(row: Row) -> str:
    same = "the same" if row["difference"] == 0 else f"differs by {row['difference']:.1g} of its spread"
    return f"{row['num']} examples twice: {same}"


def _augmentation(row: Row) -> str:
    if row["is_wanted"]:
        differ = (1 - row["same_in_epochs"]) * row["num"]
        return f"{', '.join(row['parts'])}: {differ:.0f} of {row['num']} examples differ in the next epoch"
    if row.get("same_when_asked_again", 1.0) == 1.0:
        return "none"
    places = [f"{(1 - row[key]) * row['num']:.0f} differ in {word}" for key, word in
              (("same_in_workers", "workers"), ("same_in_epochs", "epochs")) if row.get(key) is not None]  # fmt: skip
    return f"random; of {row['num']} examples {', '.join(places) or 'all are made in one process'}"


def _overfit(row: Row) -> str:
    over = ", then the time was over" if row["is_over"] and not row["is_learnt"] else ""
    return (f"{row['num']} examples: loss {row['first']:.3g} → {row['last']:.3g} in {row['steps']} steps, "
            f"{row['seconds']:.2g} s{over}")  # fmt: skip
