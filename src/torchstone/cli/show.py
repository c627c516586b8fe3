"""How verbs answer: one JSON object for programs, rows for people, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from torchstone.core.finding import Finding, has_errors
from torchstone.core.ranks import is_first_rank as is_first_rank
from torchstone.core.store import clean


def answer(value: Any) -> None:
    """Prints one JSON object: strict JSON, where NaN is null."""
    click.echo(json.dumps(clean(value), ensure_ascii=False, allow_nan=False, default=str))


def exit_code(findings: Iterable[Finding]) -> int:
    """1 where a finding is of severity error, else 0."""
    return 1 if has_errors(findings) else 0


def reading(is_json: bool, label: str = "reading") -> Callable[[int, int, str], None] | None:
    """Who is told how far reading the data is: a person at a terminal, or nobody."""
    if is_json or not is_first_rank() or not sys.stderr.isatty():
        return None
    from torchstone.report.progress import reading_progress

    return reading_progress(sys.stderr, label=label)


