"""`torchstone watch SCRIPT ARGS…`: anyone's training script, unmodified, under the doctor."""

from __future__ import annotations

import atexit
import json
import os
from pathlib import Path
from typing import Any

import click

from torchstone.cli import options


@click.command(
    "watch", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Options of torchstone stand before SCRIPT; all that follows belongs to the script.",
)  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="One JSON object as the last line on standard output.")
@options.ignore
@click.option("--rows", "rows_file", type=click.Path(dir_okay=False, path_type=Path), help="Write what was seen here.")
@click.option("--report", "page", type=click.Path(dir_okay=False, path_type=Path), help="Write a page about it here.")
@click.option(
    "--save-batch", "save_batch", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="Keep the batch of a loss that is not finite here; it holds your data. Else none is kept.",
)  # fmt: skip
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is the name of a module, as with python -m.")
@options.traceback
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    script: str, arguments: tuple[str, ...], is_json: bool, ignore: tuple[str, ...], rows_file: Path | None,
    page: Path | None, save_batch: Path | None, is_module: bool,
) -> int:  # fmt: skip
    """Run anyone's training script, and say what is wrong with it.

    SCRIPT runs with its ARGUMENTS as python would run it.
    The script's numbers, its output and its exit code stay its own; where that is 0, 1 says that there are findings
    of severity error.
    """
    from torchstone.core.finding import has_errors
    from torchstone.flows.run_script import find_script, run_script
    from torchstone.flows.seen import seen
    from torchstone.flows.watch import Doctor, say, write_line

    rules = options.rules_from(ignore)
    find_script(script, is_module=is_module)
    # the script may go to another folder
    process, page, folder = os.getpid(), page and page.absolute(), save_batch and save_batch.absolute()
    answer: dict[str, Any] = {}
    if is_json:  # registered first, so that it comes after all that the script has registered for its end
        atexit.register(tell, answer, os.getpid())
    live, write = (None, None) if is_json else (say, write_line)
    doctor = Doctor(rules=rules, tell=live, write=write, save_batch=folder)
    code = run_script(script, arguments, doctor=doctor, is_module=is_module, rows_file=rows_file)
    findings = doctor.findings
    if page is not None and os.getpid() == process:  # not in a process that the script has forked
        from torchstone.report.watched import write_watched

        write_watched(page, Path(script).name, doctor)
    if is_json:
        unjudged = sorted({name.partition(".")[0] for name in doctor.mistakes})
        listed = [finding.to_json() for finding in findings]
        answer.update({"findings": listed, "exit_code": code, "not_judged": unjudged, "seen": seen(doctor.rows)})
    return code or int(has_errors(findings))


def tell(answer: dict[str, Any], process: int) -> None:
    """The answer, on the last line, if there is one; not from a process that the script has forked."""
    if answer and os.getpid() == process:
        print(json.dumps(answer, ensure_ascii=False), flush=True)
