"""`torchstone review RUN`: a checklist, answered with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchstone.cli import options, show

if TYPE_CHECKING:
    from torchstone.core.review import Reviewed

FILE = click.Path(dir_okay=False, path_type=Path)
WORDS = ("pass", "fail", "not-applicable")


@click.command(name="review", epilog="An answer of yours: --answer Q9 --verdict pass --by NAME --reason TEXT")
@click.argument("run", required=False, type=str)
@click.option("--code", multiple=True, type=click.Path(path_type=Path), metavar="PATH", help="Audit this code, too.")
@click.option("--checklist", type=FILE, help="Your own list of rule codes and questions, YAML.")
@click.option("--agreement", type=FILE, help="What torchstone agree --json measured.")
@click.option("--html", "page", type=FILE, help="Write a self-contained page here.")
@click.option("--card", type=FILE, help="Write a card in Markdown here.")
@click.option("--answer", metavar="KEY", help="Answer this question yourself; it is added to the project's ledger.")
@click.option("--verdict", type=click.Choice(WORDS), help="Your answer.")
@click.option("--by", metavar="NAME", help="Who answers.")
@click.option("--reason", metavar="TEXT", help="Why.")
@options.project
@options.as_json
@options.traceback
def command(run: str | None, code: tuple[Path, ...], project: Path | None, is_json: bool, **given: Any) -> int:
    """Answer the checklist of twenty about a run, with evidence.

    RUN is a run's name or folder (without it, the newest), or a file that torchstone watch --rows wrote.
    Exit code 1: an answer is a no.
    """
    from torchstone.flows.checklist import read_checklist
    from torchstone.flows.review import review, say
    from torchstone.flows.review_known import mark_of

    project = project or Path.cwd()
    checklist = read_checklist(given["checklist"])
    reviewed = _reviewed(run, code, project, given["agreement"])
    mark = mark_of(reviewed, code)
    said = {name: (given[name] or "").replace("not-applicable", "not applicable") if name == "verdict"
            else given[name] or "" for name in ("verdict", "by", "reason")}  # fmt: skip
    if given["answer"]:
        say(checklist, given["answer"], said, project=project, run=reviewed.name, mark=mark)
    elif any(said.values()):
        raise click.UsageError("--verdict, --by and --reason go with --answer KEY")
    made = review(reviewed, checklist, project=project, mark=mark)
    _write(made, given["page"], given["card"])
    if is_json:
        show.answer(made.to_json())
    else:
        from torchstone.report.review import review_rows
        from torchstone.report.terminal import show_rows

        show_rows(review_rows(made))
    return int(made.is_refused)


def _reviewed(run: str | None, code: tuple[Path, ...], project: Path, agreement: Path | None) -> Reviewed:
    from torchstone.core.errors import StoneError
    from torchstone.core.run import find_run, runs_folder
    from torchstone.flows.review_known import known_code, known_rows, known_run, with_agreement

    is_run = run is not None and (runs_folder(project) / run / "plan.yaml").is_file()
    if run is not None and not is_run and Path(run).is_file():
        if Path(run).suffix in (".py", ".ipynb"):
            raise StoneError("this is a script, not a run", where=run, fix=f"torchstone review --code {run}")
        reviewed = known_rows(Path(run))
    elif run is None and code:
        reviewed = known_code(code)
    else:
        reviewed = known_run(find_run(project, run))
    if run is not None and code:
        reviewed = known_code(code, reviewed)
    return with_agreement(reviewed, agreement) if agreement is not None else reviewed


def _write(made: Any, page: Path | None, card: Path | None) -> None:
    from torchstone.core import store

    if page is not None:
        from torchstone.report.review import render_review

        store.write_text(page, render_review(made))
    if card is not None:
        from torchstone.report.review import card_text

        store.write_text(card, card_text(made))
