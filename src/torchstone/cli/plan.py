"""`torchstone plan`: what a training would do and why, without training."""

from __future__ import annotations

from typing import Any

import click

from torchstone.cli import measure, options, show


@click.command(name="plan")
@click.argument("path", required=False, type=str)
@click.option("--all", "is_all", is_flag=True, help="Every choice with its reason, defaults too.")
@measure.finders
@options.data_options
def command(path: str | None, is_all: bool, **given: Any) -> int:
    """Show what a training would do, each choice with its reason.

    PATH is a recipe (.yaml) or data: a folder of pictures per class, or a .csv, .jsonl or .parquet file. Without it
    the recipe is ./torchstone.yaml.
    """
    recipe, project = options.recipe_from(path, given)
    from torchstone.flows.plan import make_plan

    planned = make_plan(recipe, project=project, progress=show.reading(given["is_json"]))
    before, planned = planned, measure.measured(planned, project, given)
    given["sets"] = (*given["sets"], *measure.settings(before.plan, planned.plan))  # for the calls that follow
    from torchstone.flows.transfer import weights_note

    note = weights_note(planned, project=project)
    if given["is_json"]:
        show.answer(
            {
                "plan": planned.plan.to_rows(),
                **({"weights": note} if note else {}),
                "dataset": {"digest": planned.look.dataset.digest, "n": len(planned.look.dataset)},
                "findings": [finding.to_json() for finding in planned.findings],
            }
        )
    else:
        from torchstone.report.terminal import decided_rows, plan_rows, show_rows

        show_rows((plan_rows if is_all else decided_rows)(planned.plan, planned.findings))
        if note:
            click.echo(f"weights     {note}")
        if not is_all:
            click.echo(f"            every choice with its reason: {options.call('plan', path, given)} --all")
        click.echo(f"\nnext        {options.call('train', path, given)}")
    return show.exit_code(planned.findings)
