"""`torchstone audit PATHS…`: reads training code without running it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchstone.cli import options, show

if TYPE_CHECKING:
    from torchstone.flows.audit import Audit
    from torchstone.flows.audit_fix import Mended

FORMATS = ("text", "json", "sarif", "github")


@click.command(name="audit", epilog="In code: # torchstone: ignore[COD104] because REASON, on the line or above it.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATHS]...")
@click.option("--fix", "is_mended", is_flag=True, help="Mend what can be mended with certainty, in place.")
@click.option("--diff", "is_diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to answer.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out such paths; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; else one per core.")
@options.ignore
@options.as_json
@options.traceback
def command(
    paths: tuple[Path, ...], is_mended: bool, is_diff: bool, form: str, exclude: tuple[str, ...], jobs: int | None,
    ignore: tuple[str, ...], is_json: bool,
) -> int:  # fmt: skip
    """Read training code without running it, and say what is wrong.

    PATHS are Python files, notebooks and folders; the current folder where none is named. Nothing is imported or run.
    """
    from torchstone.flows.audit import audit
    from torchstone.flows.audit_fix import mend

    form = "json" if is_json else form
    _refuse(paths, is_mended, is_diff, form)
    rules = options.rules_from(ignore)

    def read() -> Audit:
        progress = show.reading(form != "text", label="reading code")
        return audit(paths or (Path(),), exclude=exclude, rules=rules, jobs=jobs, progress=progress)

    made = read()
    _refuse_nothing(made, paths, exclude)
    if is_diff:
        _show_diff(mend(made.findings), made, form)
    elif is_mended:
        made, mended = _mend(made, read)
        _answer(made, form, {"mended": [one.to_json() for one in mended]})
    else:
        _answer(made, form, {})
    return show.exit_code(made.findings)


def _refuse(paths: tuple[Path, ...], is_mended: bool, is_diff: bool, form: str) -> None:
    """Options that contradict each other, and paths that the system cannot even look for."""
    from torchstone.core.errors import StoneError

    for path in paths:
        try:
            path.exists()
        except OSError as error:
            fix = "name Python files or folders"
            raise StoneError(error.strerror or str(error), where=str(path), fix=fix) from error
    if is_mended and is_diff:
        raise click.UsageError("--diff changes nothing and --fix does: name one of them", click.get_current_context())
    if is_diff and form not in ("text", "json"):
        raise click.UsageError(f"a diff cannot be told as {form}; text and json can", click.get_current_context())


def _refuse_nothing(made: Audit, paths: tuple[Path, ...], exclude: tuple[str, ...]) -> None:
    """Nothing was read although nothing was to be left out: a wrong path, most likely."""
    from torchstone.core.errors import StoneError

    if not made.files and not exclude:
        where = ", ".join(map(str, paths)) or str(Path.cwd())
        raise StoneError("there is no .py or .ipynb file here (hidden folders and environments are passed over)",
                         where=where, fix="name the files or folders with your training code")


def _mend(made: Audit, read: Callable[[], Audit]) -> tuple[Audit, list[Mended]]:
    """Writes what can be mended; returns what is found afterwards, and the files."""
    from torchstone.flows.audit_fix import mend, write
    from torchstone.report.audited import counted

    mended = mend(made.findings)
    write(mended)
    edits, left = sum(one.edits for one in mended), sum(one.left for one in mended)
    changed = sum(one.edits > 0 for one in mended)
    click.echo(f"mended {counted(edits, 'place', 'places')} in {counted(changed, 'file', 'files')}", err=True)
    if left:
        told = "one mend was" if left == 1 else f"{left} mends were"
        click.echo(f"{told} not made, as they would overlap others or spoil the file", err=True)
    return (read() if changed else made), mended


def _show_diff(mended: list[Mended], made: Audit, form: str) -> None:
    changed = [one for one in mended if one.edits]
    if form == "json":
        _answer(made, form, {"diffs": [{**one.to_json(), "diff": one.diff()} for one in changed]})
    for one in changed if form == "text" else ():
        click.echo(one.diff(), nl=False)


def _answer(made: Audit, form: str, more: dict[str, Any]) -> None:
    from torchstone.flows.audit_places import places

    if form == "json":
        show.answer({**made.to_json(), **more})
    elif form == "text":
        from torchstone.report.audited import audit_lines
        from torchstone.report.audited import show as show_lines

        show_lines(audit_lines(made, places(made.findings)))
    else:
        _show_for_services(made, form)


def _show_for_services(made: Audit, form: str) -> None:
    from importlib import metadata

    from torchstone.core.catalog import all_rules
    from torchstone.flows.audit_places import places
    from torchstone.report.sarif import sarif, workflow_commands

    placed = list(zip(made.findings, places(made.findings), strict=True))
    if form == "github":
        click.echo("".join(f"{line}\n" for line in workflow_commands(placed)), nl=False)
        return
    silenced = places([one.finding for one in made.waived])
    waived = [(one.finding, place, one.reason) for one, place in zip(made.waived, silenced, strict=True)]
    asked = [rule for rule in all_rules("torchstone.rules.source") if rule.code in made.rules]
    click.echo(json.dumps(sarif(placed, waived, asked, metadata.version("torchstone")), indent=1, ensure_ascii=False))
