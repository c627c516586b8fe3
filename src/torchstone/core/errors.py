"""Mistakes that a user can mend: what was found, where, and the way out."""

from __future__ import annotations

from collections.abc import Sequence


class StoneError(Exception):
    """One mistake in a file, a field or a call; shown without a traceback, exit code 2.

    what: what was found and what was expected, with the numbers.
    where: file, file:line, field or row, as a person would look it up.
    fix: the next thing to type or change.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """The error as one JSON object."""
        return {"what": self.what, "where": self.where, "fix": self.fix}


class StoneErrors(StoneError):
    """Several mistakes of one file, told all at once."""

    def __init__(self, errors: Sequence[StoneError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

    def __str__(self) -> str:
        return self.what

    def to_json(self) -> dict[str, object]:
        """The errors as one JSON object."""
        return {"errors": [error.to_json() for error in self.errors]}


def missing_extra(package: str, extra: str, purpose: str) -> StoneError:
    """The error for an optional dependency that is not installed."""
    return StoneError(
        f"{purpose} needs the package {package}, which is not installed",
        fix=f"pip install 'torchstone[{extra}]'",
    )
