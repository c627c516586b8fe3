"""`torchstone doctor PATH…`: what the log of a training shows, after the fact; `doctor env`: what is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchstone.cli import options, show

if TYPE_CHECKING:
    from torchstone.flows.doctor import Diagnosis


@click.command(name="doctor", epilog="torchstone doctor env: versions, extras, processor, memory, devices.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--train", metavar="NAME", help="The training loss, where names do not tell.")
@click.option("--val", "validation", metavar="NAME", help="The validation loss.")
@click.option("--metric", "score", metavar="NAME", help="The validation score.")
@options.ignore
@options.as_json
@options.traceback
def command(
    paths: tuple[str, ...], train: str | None, validation: str | None, score: str | None, ignore: tuple[str, ...],
    is_json: bool,
) -> int:  # fmt: skip
    """Say what the log of a training shows, after the fact.

    PATH is a run of torchstone or its trace.jsonl, rows of torchstone watch, event files of TensorBoard, a run,
    store or database of MLflow, trainer_state.json, or a CSV, TSV or JSONL of losses with a header.
    """
    if paths == ("env",):
        return _environment(is_json)
    from torchstone.flows.doctor import diagnose
    from torchstone.flows.name_curves import Wanted

    made = diagnose(
        [Path(path) for path in paths], wanted=Wanted(train, validation, score), rules=options.rules_from(ignore))
    findings = [finding for one in made for finding in one.findings]
    if is_json:
        show.answer({"runs": [one.to_json() for one in made], "findings": [finding.to_json() for finding in findings]})
    else:
        for one in made:
            _show(one)
    return show.exit_code(findings)


def _show(diagnosis: Diagnosis) -> None:
    from torchstone.report.terminal import Row, finding_rows, show_rows

    log, history = diagnosis.log, diagnosis.history
    rows = [Row("log", f"{log.name}   ({log.kind}, {len(log.series)} series)", "bold")]
    for what, curve in (history.curves() if history else {}).items():
        rows.append(Row("curves", f"{what} = {curve.name}, {len(curve):,} points"))
    rows += [Row("note", note, "dim") for note in diagnosis.notes]
    rows += finding_rows(diagnosis.findings)
    if not diagnosis.findings:
        rows.append(Row("finding", "nothing found"))
    show_rows(rows)


def _environment(is_json: bool) -> int:
    from torchstone.flows.environment import environment, lines

    facts = environment()
    if is_json:
        show.answer(facts)
    else:
        for line in lines(facts):
            click.echo(line)
    return 0
