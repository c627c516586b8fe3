"""`torchstone preflight`: one batch through the real pipeline, before anything is trained."""

from __future__ import annotations

import math
import sys
from typing import Any

import click

from torchstone.cli import options, show


@click.command(name="preflight")
@click.argument("path", required=False, type=str)
@click.option("--seconds", type=click.FloatRange(min=0), metavar="S",
              help="How long learning a few examples by heart may take; else 10. 0 leaves it out.")  # fmt: skip
@options.data_options
def command(path: str | None, seconds: float | None, **given: Any) -> int:
    """Send one batch through the real pipeline, before a run.

    PATH is a recipe (.yaml) or data, as for train; without it the recipe is ./torchstone.yaml. Nothing is trained.
    """
    if seconds is not None and not math.isfinite(seconds):
        raise click.BadParameter(f"{seconds} is no number of seconds", param_hint="--seconds")
    recipe, project = options.recipe_from(path, given)
    from torchstone.flows.plan import make_plan
    from torchstone.flows.preflight import SECONDS, preflight_plan

    planned = make_plan(recipe, project=project, progress=show.reading(given["is_json"]))
    tell = show.reading(given["is_json"], "preflight")
    seen = preflight_plan(planned, project=project, seconds=SECONDS if seconds is None else seconds, progress=tell)
    findings = [*planned.findings, *seen.findings]
    if not show.is_first_rank():
        return show.exit_code(findings)
    if given["is_json"]:
        rows, found = list(seen.rows), [finding.to_json() for finding in findings]
        show.answer({"rows": rows, "first_batch": str(seen.sheet), "findings": found})
    else:
        from torchstone.flows.preflight_lines import check_lines
        from torchstone.report.terminal import finding_rows, show_rows

        for name, word, figure in check_lines(seen.rows, seen.findings):
            click.echo(f"{name:<12}{word:<12}{figure}")
        click.echo(f"{'first batch':<12}{seen.sheet}")
        sys.stdout.flush()
        show_rows(finding_rows(findings))
    return show.exit_code(findings)
