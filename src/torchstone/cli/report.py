"""`torchstone report`: the page of a run."""

from __future__ import annotations

from pathlib import Path

import click

from torchstone.cli import options, show


@click.command(name="report")
@click.argument("run", required=False, type=str)
@options.project
@options.as_json
@options.traceback
def command(run: str | None, project: Path | None, is_json: bool) -> int:
    """Write one self-contained page about a run.

    RUN is a run's name or folder; without it, the newest. The page needs no network and no torchstone to be read.
    """
    from torchstone.core.run import find_run
    from torchstone.report.page import data_of, write_page

    found = find_run(project or Path.cwd(), run)
    dataset, gap = data_of(found)
    page = write_page(found, dataset)
    if is_json:
        show.answer({"run": found.name, "report": str(page), "without_examples": gap or None})
    else:
        if gap:
            click.echo(f"note        examples are shown by row number; their data cannot be read: {gap}", err=True)
        click.echo(f"report      {page}")
    return 0
