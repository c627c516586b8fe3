"""`torchstone new`: looks at data and writes the recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from torchstone.cli import options, show


@click.command(name="new")
@click.argument("data", type=str)
@click.option("--force", is_flag=True, help="Replace a torchstone.yaml that is already there.")
@options.data_options
def command(data: str, force: bool, **given: Any) -> int:
    """Look at a folder or file and write torchstone.yaml.

    The recipe fixes only the data, the task and what you said; every other field stands in it as a comment with the
    value that the plan would take and the reason.
    """
    from torchstone.flows.new import new

    home, sets, progress = given["project"] or Path.cwd(), options.overrides(given), show.reading(given["is_json"])
    made = new(data, project=home, overrides=sets, is_forced=force, progress=progress)
    if given["is_json"]:
        findings = [finding.to_json() for finding in made.planned.findings]
        show.answer({"recipe": str(made.path), "plan": made.planned.plan.to_rows(), "findings": findings})
    else:
        from torchstone.report.terminal import brief_rows, show_rows

        show_rows(brief_rows(made.planned.plan, made.planned.findings))
        click.echo(f"recipe      {made.path}")
        click.echo("next        torchstone plan · torchstone train")
    return show.exit_code(made.planned.findings)
